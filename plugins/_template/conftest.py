"""The templates are tested as they are generated and installed, not where they lie."""

collect_ignore = ["score", "structure", "parameters"]
