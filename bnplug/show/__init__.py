"""A model in pictures, words and figures."""
