"""Simulated annealing of structures: a plugin for bnplug."""
