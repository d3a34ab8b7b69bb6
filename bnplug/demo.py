"""The demonstration: every registered recipe and structure on data that ships, compared, drawn and saved.

Nothing here lists methods by hand: what registers, appears.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

import bnplug
from bnplug import datasets, drawing, registry

_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


class Result(NamedTuple):
    """One method on one data set."""

    method: str
    accuracy: float
    model: Any
    seconds: float


def run(output: Path, say: Callable[[str], Any] = print) -> None:
    """Compare all methods on each demonstration data set; draw, save and load the best one's network.

    Parameters
    ----------
    output : path
        The folder for pictures and models.
    say : callable
        Takes each line of text.
    """
    output.mkdir(parents=True, exist_ok=True)
    for load in (datasets.iris, datasets.wine, datasets.breast_cancer, datasets.tic_tac_toe):
        name = load.__name__.replace("_", "-")
        X, y = load()
        say(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} features, {y.nunique()} classes")
        results = list(_compare(X, y, say))
        if results:
            _keep(max(results, key=lambda result: result.accuracy), X, y, output / name, say)


def methods() -> Iterator[tuple[str, Any]]:
    """Yield a classifier for every available recipe, and one for every structure learner with its defaults."""
    for found in registry.recipes():
        if found.available:
            yield found.recipe.name, bnplug.recipe(found.recipe.name)
    for learner in registry.methods("structure learner"):
        yield learner.name, bnplug.BayesianNetworkClassifier(structure=learner.name)


def _compare(X: Any, y: Any, say: Callable[[str], Any]) -> Iterator[Result]:
    say(f"  {'method':<22} {'accuracy':>8} {'edges':>6} {'parameters':>10} {'seconds':>8}")
    for name, classifier in methods():
        classifier.set_params(random_state=0)
        started = time.perf_counter()
        try:
            accuracy = float(np.mean(cross_val_score(classifier, X, y, cv=_FOLDS, error_score="raise")))
            model = classifier.fit(X, y)
        except Exception as error:
            say(f"  {name:<22} failed: {' '.join(str(error).split())}")
            continue
        result = Result(name, accuracy, model, time.perf_counter() - started)
        tables = model.tables_
        say(f"  {name:<22} {accuracy:8.3f} {len(tables.edges):6} {tables.n_parameters:10} {result.seconds:8.2f}")
        yield result


def _keep(best: Result, X: Any, y: Any, path: Path, say: Callable[[str], Any]) -> None:
    """Draw and save the best model, load it again, and show that it answers the same."""
    model = best.model
    picture = path.with_suffix(".png")
    drawing.save_picture(picture, model.tables_.names, model.tables_.edges, model.target_)
    model.save(path)
    same = (bnplug.load(path).predict_proba(X) == model.predict_proba(X)).all()
    say(f"  best: {best.method}; drawn in {picture}, saved in {path}, loaded: {'same' if same else 'OTHER'} answers")
