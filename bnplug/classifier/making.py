"""Unfitted classifiers by name."""

from __future__ import annotations

from typing import Any

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.hooks import expressions, recipes, registry
from bnplug.hooks.descriptors import ClassifierMethod, Kind, name_and_parameters
from bnplug.hooks.expressions import Expression


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


def make_classifier(name: str | Expression, /, **params: Any) -> Any:
    """Create a classifier by whatever names one: a recipe, a plugin's classifier, a structure learner, an expression.

    Parameters
    ----------
    name : str or Expression
        A registered name, or a composition: ``"tan+ccbn-w"`` is a structure with parameters, ``"hill-climb[cr]"`` a
        structure by a score, ``"hill-climb(max_parents=2)[cr(cv=5)]+ml(alpha=0.5)"`` all of it. A recipe may stand for
        its structure, ``"TAN-CR-ML+ccbn-w"``; without a structure, ``"+ccbn-w"``, it is the default one, and with a
        score, ``"[cr]"``, hill climbing.
    **params
        Further parameters of what is created; they win over those of a recipe.

    Returns
    -------
    estimator
        Not fitted: a plugin's classifier, or a `BayesianNetworkClassifier`.

    Raises
    ------
    UnknownMethodError
        If nothing has such a name.
    ValueError
        If the text is no expression; the message says where.
    TypeError
        If a part has no such parameter, or parts do not go together.

    Examples
    --------
    >>> make_classifier("kdb(k=1)+ml(alpha=0.5)", missing="drop")
    BayesianNetworkClassifier(missing='drop', parameters=('ml', {'alpha': 0.5}),
                              structure=('kdb', {'k': 1}))
    """
    expression = expressions.parse(name) if isinstance(name, str) else name
    if expression.structure is not None and expression.score is expression.parameters is None:
        whole, own = name_and_parameters(expression.structure)
        found = expressions.find_whole(whole)
        if found.kind == Kind.RECIPE:
            return recipe(str(registry.name_of(found)), **{**own, **params})
        if isinstance(found, ClassifierMethod):
            return registry.make(found, {**own, **params})
    parts = expressions.components(expression)
    registry.check_parameters(f"the classifier {str(expression)!r}", BayesianNetworkClassifier, params)
    return BayesianNetworkClassifier(**{**parts, **params})
