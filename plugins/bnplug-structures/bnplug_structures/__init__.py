"""Structure learners that need no class variable, for bnplug."""
