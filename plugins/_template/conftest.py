"""The templates are tested as they are generated and installed, not where they lie."""

collect_ignore = ["common", "score", "structure", "parameters"]
