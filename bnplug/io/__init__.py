"""Model folders and network files."""
