"""A structure learner for bnplug: a tree of features, grown from super parents."""
