"""The pictures of the methods' pages, drawn while the documentation is built, on data that ship or are made by rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.model_selection import train_test_split

import bnplug
from bnplug import datasets
from bnplug.hooks.descriptors import Method

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: Training rows of the learning curves.
SIZES = (25, 50, 100, 200, 400)
DRAWS = 5


def draw(method: Method, path: Path) -> str:
    """Draw the picture of a method; return what it shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bnplug.BnplugWarning)
        figure, caption = _DRAWERS[method.kind](method)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return caption


def _structure(method: Method) -> tuple[Any, str]:
    """The network on the corral data, whose rule is known."""
    X, y = datasets.corral()
    model = bnplug.BayesianNetworkClassifier(method.name, random_state=0).fit(X, y)
    figure, ax = plt.subplots(figsize=(7, 3.6))
    model.plot(ax=ax)
    return figure, (
        f"`{method.name}` on `corral`, whose class is (A0 and A1) or (B0 and B1); `Correlated` equals the class in "
        f"three of four rows. {len(model.tables_.edges)} edges, {model.tables_.n_parameters} free parameters."
    )


def _score(method: Method) -> tuple[Any, str]:
    """The score along a climb, and the network at its end."""
    X, y = datasets.corral()
    climb = bnplug.structure_learner("hill-climb", score=method.name, max_iter=12, max_parents=3)
    model = bnplug.BayesianNetworkClassifier(climb, random_state=0).fit(X, y)
    found = model.structure_
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 3.6), gridspec_kw={"width_ratios": [2, 3]}, layout="constrained"
    )
    left.plot(found.trace_, marker="o", markersize=4)
    left.set(xlabel="moves", ylabel=method.name, xlim=(-0.3, max(1, len(found.moves_)) + 0.3))
    left.xaxis.get_major_locator().set_params(integer=True)
    left.grid(alpha=0.3)
    model.plot(ax=right)
    return figure, (
        f"Hill climbing by `{method.name}` on `corral`, whose class is (A0 and A1) or (B0 and B1), from naive Bayes, "
        f"with at most three parents: the score after each of {len(found.moves_)} moves, and the network at the end."
    )


def _parameters(method: Method) -> tuple[Any, str]:
    """Learning curves on tic-tac-toe, beside smoothed frequencies on the same trees."""
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    for label, parameters in _rivals(method):
        mean, spread = _learning_curve(parameters)
        line = ax.plot(SIZES, mean, marker="o", markersize=4, label=label)[0]
        ax.fill_between(SIZES, mean - spread, mean + spread, color=line.get_color(), alpha=0.15)
    ax.set(xlabel="training rows", ylabel="accuracy on the other rows (%)", xscale="log", xticks=SIZES)
    ax.set_xticklabels(map(str, SIZES))
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return figure, (
        "A TAN on `tic-tac-toe`: accuracy by the number of training rows, mean and standard deviation of "
        f"{DRAWS} draws."
    )


def _rivals(method: Method) -> Iterator[tuple[str, Any]]:
    if method.name == "ml":
        for alpha in (0.0, 1.0, 10.0):
            yield f"ml, alpha={alpha:g}", bnplug.parameter_learner("ml", alpha=alpha)
    else:
        yield "ml", "ml"
        yield method.name, method.name


def _learning_curve(parameters: Any) -> tuple[Any, Any]:
    X, y = datasets.tic_tac_toe()
    accuracies = np.empty((len(SIZES), DRAWS))
    for draw in range(DRAWS):
        for i, size in enumerate(SIZES):
            parts = train_test_split(X, y, train_size=size, stratify=y, random_state=draw)
            model = bnplug.BayesianNetworkClassifier("tan", parameters, random_state=0)
            accuracies[i, draw] = 100 * model.fit(parts[0], parts[2]).score(parts[1], parts[3])
    return accuracies.mean(axis=1), accuracies.std(axis=1)


def _classifier(method: Method) -> tuple[Any, str]:
    """How many of a mixture's networks have each edge, on the corral data, whose rule is known."""
    X, y = datasets.corral()
    model = bnplug.make_classifier(method.name)
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    model.set_params(**seed).fit(X, y)
    figure, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
    model.plot(ax=ax)
    return figure, (
        f"`{method.name}` on `corral`, whose class is (A0 and A1) or (B0 and B1): the darker, the more of its "
        f"{len(model.members_)} networks have an edge between two features."
    )


_DRAWERS: dict[str, Callable[[Method], tuple[Any, str]]] = {
    "structure learner": _structure,
    "score function": _score,
    "parameter learner": _parameters,
    "classifier": _classifier,
}
