"""Discretizers."""
