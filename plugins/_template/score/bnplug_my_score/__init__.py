"""A score for bnplug: how far posteriors are from the truth."""
