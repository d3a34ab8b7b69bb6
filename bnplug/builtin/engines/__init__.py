"""Engines of inference, one a file."""
