"""The templates are tested as they are generated and installed, not where they lie."""

collect_ignore = ["classifier", "common", "discretizer", "engine", "parameters", "score", "structure"]
