"""Unfitted classifiers by name."""

from __future__ import annotations

from typing import Any

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.hooks import recipes, registry


def recipe(name: str, /, **params: Any) -> BayesianNetworkClassifier:
    """Create the classifier that a recipe describes.

    Parameters
    ----------
    name : str
        A registered recipe.
    **params
        Further parameters of `BayesianNetworkClassifier`; they win over the recipe's own.

    Returns
    -------
    BayesianNetworkClassifier

    Raises
    ------
    UnknownMethodError
        If there is no such recipe, or a method it is made of is not installed.

    Examples
    --------
    >>> recipe("no such recipe")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no recipe 'no such recipe'...
    """
    parts = recipes.parts(name)
    registry.check_parameters(f"recipe {name!r}", BayesianNetworkClassifier, params)
    return BayesianNetworkClassifier(**{**parts, **params})
