"""Maximum-margin scores and parameters of Bayesian-network classifiers (Pernkopf and Wohlmayr 2013)."""
