"""A parameter learner for bnplug: frequencies, shrunk to those of the variable alone."""
