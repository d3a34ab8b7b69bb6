"""Questions to a fitted network, shared by all estimators."""
