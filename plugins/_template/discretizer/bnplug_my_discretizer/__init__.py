"""A discretiser for bnplug: bins that hold a fixed number of rows."""
