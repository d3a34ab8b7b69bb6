"""Mixtures of Bayesian-network classifiers: a plugin for bnplug."""
