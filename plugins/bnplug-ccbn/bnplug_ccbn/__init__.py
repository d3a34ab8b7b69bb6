"""Weighted class-conditional Bayesian networks (Zaidi et al. 2017)."""
