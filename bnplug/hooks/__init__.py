"""How plugins are found, what they bring, and from names to methods."""
