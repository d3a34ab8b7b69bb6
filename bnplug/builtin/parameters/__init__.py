"""The parameter learners of the core, one a file."""
