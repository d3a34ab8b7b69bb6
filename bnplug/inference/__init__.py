"""Inference in a network: log joints of complete rows, marginals, queries, explanations, EM and samples."""
