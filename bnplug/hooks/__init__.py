"""Discovery of plugins, and access to methods by name."""
