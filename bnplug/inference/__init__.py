"""Answers of a network: complete rows, marginals, queries, explanations, samples."""
