"""The demonstration: every registered recipe and structure on data that ships, compared, drawn and saved.

Nothing here lists methods by hand: what registers, appears.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

import bnplug
from bnplug import datasets, drawing, registry
from bnplug.explaining import PRIOR

Say = Callable[[str], Any]

LOADERS = (datasets.iris, datasets.wine, datasets.breast_cancer, datasets.tic_tac_toe)

_FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


class Result(NamedTuple):
    """One method on one data set."""

    method: str
    accuracy: float
    model: Any
    seconds: float


def run(output: Path, say: Say = print, loaders: Sequence[Callable[[], Any]] = LOADERS) -> None:
    """Compare all methods on each demonstration data set; draw, save and load the best one's network.

    Parameters
    ----------
    output : path
        The folder for pictures and models.
    say : callable
        Takes each line of text.
    loaders : sequence of callable
        Each returns the features and the class of a data set.
    """
    output.mkdir(parents=True, exist_ok=True)
    for load in loaders:
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


def _compare(X: Any, y: Any, say: Say) -> Iterator[Result]:
    say(f"  {'method':<22} {'accuracy':>8} {'edges':>6} {'parameters':>10} {'seconds':>8}")
    for name, classifier in methods():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = _measure(name, classifier.set_params(random_state=0), X, y)
            except Exception as error:
                say(f"  {name:<22} failed: {' '.join(str(error).split())}")
                continue
        tables = result.model.tables_
        row = (
            f"  {name:<22} {result.accuracy:8.3f} {len(tables.edges):6} {tables.n_parameters:10} {result.seconds:8.2f}"
        )
        say(row + ("  (warned)" if caught else ""))
        yield result


def _measure(name: str, classifier: Any, X: Any, y: Any) -> Result:
    started = time.perf_counter()
    accuracy = float(np.mean(cross_val_score(classifier, X, y, cv=_FOLDS, error_score="raise")))
    return Result(name, accuracy, classifier.fit(X, y), time.perf_counter() - started)


def _keep(best: Result, X: Any, y: Any, path: Path, say: Say) -> None:
    """Draw, save, export and report the best model; load it again, and show that it answers the same."""
    model = best.model
    say(f"  best: {best.method}")
    _explain(model, X.head(1), say)
    drawing.save_picture(path.with_suffix(".png"), model.tables_.names, model.tables_.edges, model.target_)
    model.report(path.with_suffix(".html"), X, y)
    model.save(path)
    same = (bnplug.load(path).predict_proba(X) == model.predict_proba(X)).all()
    say(f"  drawn in {path}.png, reported in {path}.html, saved in {path}")
    say(f"  loaded again, it gives {'the same' if same else 'OTHER'} answers")
    try:
        model.to_bif(path.with_suffix(".bif"))
        say(f"  exported to {path}.bif")
    except bnplug.NotRepresentableError as error:
        say(f"  not exported: {error}")


def _explain(model: Any, row: Any, say: Say) -> None:
    """Say what the first row is taken for, and the features that speak most for it."""
    label = model.predict(row)[0]
    explained = model.explain(row)
    reasons = explained[(explained["class"] == label) & (explained["feature"] != PRIOR)]
    top = reasons.reindex(reasons["contribution"].abs().sort_values(ascending=False).index).head(3)
    listed = ", ".join(f"{r.feature} {r.contribution:+.2f}" for r in top.itertuples())
    say(f"  row {row.index[0]} is {label}, P = {model.predict_proba(row).max():.3f}")
    say(f"  to its log odds contribute {listed}, ...")
