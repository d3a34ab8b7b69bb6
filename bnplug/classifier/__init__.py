"""The classifier: the estimator, how one is made by name, and how a fitted one is opened and saved."""

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.classifier.imputer import BayesianNetworkImputer
from bnplug.classifier.opening import load, make_classifier, read_bif, read_network, read_xmlbif, recipe, save

__all__ = [
    "BayesianNetworkClassifier",
    "BayesianNetworkImputer",
    "load",
    "make_classifier",
    "read_bif",
    "read_network",
    "read_xmlbif",
    "recipe",
    "save",
]
