"""The structure learners of the core, one a file."""
