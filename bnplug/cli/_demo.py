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
from sklearn.model_selection import train_test_split

import bnplug
from bnplug import datasets
from bnplug.errors import one_line
from bnplug.experiments._runner import interrupts_raised
from bnplug.hooks import recipes, registry
from bnplug.inference.explain import PRIOR
from bnplug.show import drawing

Say = Callable[[str], Any]

#: The data sets of the demonstration.
LOADERS = (datasets.iris, datasets.wine, datasets.breast_cancer, datasets.tic_tac_toe)


class Result(NamedTuple):
    """One method on one data set: its accuracy and mean log P(class) on the rows held out."""

    method: str
    accuracy: float
    log_probability: float
    model: Any
    seconds: float


def run(output: Path, say: Say = print, loaders: Sequence[Callable[[], Any]] | None = None) -> None:
    """Compare all methods on each demonstration data set; draw, save and load the best one's network.

    Parameters
    ----------
    output : path
        The folder for pictures and models.
    say : callable
        Takes each line of text.
    loaders : sequence of callable, optional
        Each returns the features and the class of a data set; by default those of ``LOADERS``.
    """
    output.mkdir(parents=True, exist_ok=True)
    for load in LOADERS if loaders is None else loaders:
        name = load.__name__.replace("_", "-")
        X, y = load()
        say(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} features, {y.nunique()} classes")
        results = list(_compare(X, y, say))
        if results:
            _keep(max(results, key=lambda result: (result.accuracy, result.log_probability)), X, y, output / name, say)


def methods() -> Iterator[tuple[str, Any]]:
    """Yield a classifier for every available recipe, and one for every structure learner with its defaults."""
    for found in recipes.availabilities():
        if found.available:
            yield found.recipe.name, bnplug.recipe(found.recipe.name)
    for learner in registry.methods("structure learner"):
        yield learner.name, bnplug.BayesianNetworkClassifier(structure=learner.name)


def _compare(X: Any, y: Any, say: Say) -> Iterator[Result]:
    say("  learned on two thirds of the rows, compared on the rest")
    say(f"  {'method':<24} {'accuracy':>8} {'log P':>8} {'edges':>6} {'parameters':>10} {'seconds':>8}")
    parts = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    for name, classifier in methods():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with interrupts_raised():
                    result = _measure(name, classifier.set_params(random_state=0), *parts)
            except Exception as error:
                say(f"  {name:<24} failed: {one_line(error)}")
                continue
        tables = result.model.tables_
        scores = f"{result.accuracy:8.3f} {result.log_probability:8.3f}"
        row = f"  {name:<24} {scores} {len(tables.edges):6} {tables.n_parameters:10} {result.seconds:8.2f}"
        say(row + ("  (warned)" if caught else ""))
        yield result


def _measure(name: str, classifier: Any, X: Any, X_out: Any, y: Any, y_out: Any) -> Result:
    started = time.perf_counter()
    model = classifier.fit(X, y)
    seconds = time.perf_counter() - started
    own = model.predict_log_proba(X_out)[np.arange(len(y_out)), np.searchsorted(model.classes_, y_out)]
    return Result(name, float(model.score(X_out, y_out)), float(own.mean()), model, seconds)


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
    """Say which class is predicted for the first row, and which features contribute most to that."""
    label = model.predict(row)[0]
    explained = model.explain(row)
    reasons = explained[(explained["class"] == label) & (explained["feature"] != PRIOR)]
    top = reasons.reindex(reasons["contribution"].abs().sort_values(ascending=False).index).head(3)
    listed = ", ".join(f"{r.feature} {r.contribution:+.2f}" for r in top.itertuples())
    say(f"  row {row.index[0]} is {label}, P = {model.predict_proba(row).max():.3f}")
    say(f"  to its log odds contribute {listed}, ...")
