"""What holds for every discretiser: cuts that a bin can be found by, learned from the rows that it is given."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from bnplug.arrays import FloatArray
from bnplug.classifier import BayesianNetworkClassifier, load, save
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import Check, essential
from bnplug.testing._registering import registered
from bnplug.testing._subjects import DiscretizerSubject, require


@essential
def check_cut_points(subject: DiscretizerSubject) -> None:
    """``fit`` leaves ``cut_points_``: for each column ascending finite numbers, or None."""
    X, y = data.numbers()
    fitted = subject.fit(subject.make(), X, y)
    cuts = getattr(fitted, "cut_points_", None)
    require(
        isinstance(cuts, list) and len(cuts) == X.shape[1],
        f"cut_points_ must be a list with one entry for each of the {X.shape[1]} columns, and is {cuts!r}",
    )
    for name, own in zip(X.columns, cuts or (), strict=True):
        values = np.empty(0) if own is None else np.asarray(own, dtype=np.float64)
        require(
            values.ndim == 1 and bool(np.isfinite(values).all() and (np.diff(values) > 0).all()),
            f"the cuts of {name!r} must be finite and strictly ascending, and are {values.tolist()}",
        )


def check_weights_are_rows(subject: DiscretizerSubject) -> None:
    """A row of weight 2 equals two rows, and weight 0 none; with ``relative_weights``, only their ratios matter."""
    X, y = data.numbers()
    if getattr(subject.make(), "relative_weights", False):
        shares = np.random.RandomState(2).random_sample(len(X))
        cuts = [subject.fit(subject.make(), X, y, factor * shares).cut_points_ for factor in (1.0, 3.7)]
        require(_close(*cuts), f"multiplying all weights by 3.7 changes the cuts from {cuts[0]} to {cuts[1]}")
        return
    weights = np.random.RandomState(2).randint(0, 3, len(X))
    times = np.repeat(np.arange(len(X)), weights)
    weighted = subject.fit(subject.make(), X, y, weights.astype(np.float64)).cut_points_
    repeated = subject.fit(subject.make(), X.iloc[times], y[times]).cut_points_
    require(
        _close(weighted, repeated),
        f"the cuts are {weighted} with weights, and {repeated} of rows repeated as often; count a row by its weight",
    )


def check_missing_numbers_take_no_part(subject: DiscretizerSubject) -> None:
    """Rows in which every number is NaN are accepted, and change no cut."""
    X, y = data.numbers()
    empty = pd.DataFrame(np.nan, index=range(20), columns=X.columns)
    more = pd.concat([X, empty], ignore_index=True)
    usual = subject.fit(subject.make(), X, y).cut_points_
    with_gaps = subject.fit(subject.make(), more, np.concatenate([y, np.resize([0, 1, 2], 20)])).cut_points_
    require(_close(usual, with_gaps), f"the cuts are {usual}, and {with_gaps} with rows of NaN; leave NaN out")


def check_new_rows_move_no_cut(subject: DiscretizerSubject) -> None:
    """``transform`` puts other rows into the bins of the training rows, and learns nothing from them."""
    X, y = data.numbers()
    fitted = subject.fit(subject.make(), X, y)
    before = [None if own is None else np.array(own) for own in fitted.cut_points_]
    fitted.transform(X * 100.0)
    require(_close(before, fitted.cut_points_), "transform changes cut_points_; they come from fit alone")


def check_bins_follow_from_cuts(subject: DiscretizerSubject) -> None:
    """``transform`` tells bins apart by the cuts: a value is in the bin below a cut when it is at most the cut."""
    X, y = data.numbers()
    fitted = subject.fit(subject.make(), X, y)
    for j, name in enumerate(X.columns):
        for cut in () if fitted.cut_points_[j] is None else fitted.cut_points_[j]:
            rows = pd.DataFrame(0.0, index=range(3), columns=X.columns)
            rows[name] = [np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)]
            below, at, above = np.asarray(fitted.transform(rows))[:, j]
            require(
                below == at != above,
                f"around the cut {cut} of {name!r} transform gives {below}, {at} and {above}; a value that is the cut "
                "belongs to the bin below it, as in numpy.searchsorted(cuts, values)",
            )


def check_goes_by_name_and_is_saved(subject: DiscretizerSubject) -> None:
    """A classifier takes it by name or as it is; saved and loaded, that answers the same, and learns the same again."""
    X, y = data.numbers()
    with registered(subject.method) as name, tempfile.TemporaryDirectory() as folder:
        for given in (name, subject.make()):
            model = BayesianNetworkClassifier("nb", discretizer=given).fit(X, y)
            save(model, Path(folder, "model"))
            loaded = load(Path(folder, "model"))
            usual, kept = model.predict_proba(X), loaded.predict_proba(X)
            again = clone(loaded).fit(X, y).predict_proba(X)
            require(np.array_equal(usual, kept), "a loaded classifier answers otherwise; it knows cut_points_ alone")
            require(np.array_equal(usual, again), "a loaded classifier that is fitted again learns something else")


def _close(one: Any, other: Any) -> bool:
    pairs: list[tuple[FloatArray | None, FloatArray | None]] = list(zip(one, other, strict=True))
    return all(
        (a is None and b is None)
        or (a is not None and b is not None and np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9))
        for a, b in pairs
    )


#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    _common_checks.check_described,
    _common_checks.check_cloneable,
    _common_checks.check_parameters_untouched,
    _common_checks.check_same_seed_same_result,
    _common_checks.check_pickles,
    check_cut_points,
    check_weights_are_rows,
    check_missing_numbers_take_no_part,
    check_new_rows_move_no_cut,
    check_bins_follow_from_cuts,
    check_goes_by_name_and_is_saved,
)
