"""Checks of classifiers and discretizers, which receive raw columns."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bnplug.classifier import BayesianNetworkClassifier, load, save
from bnplug.contracts import SavesState
from bnplug.sources.training import encode_training
from bnplug.table.discretizer import Discretizer
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import essential, only_if, registered
from bnplug.testing._subjects import ClassifierSubject, DiscretizerSubject, require


@essential
def check_is_a_classifier(subject: ClassifierSubject) -> None:
    """``fit`` returns the classifier and sets ``classes_``; predictions and probabilities are of these classes."""
    X, y = data.mixed()
    model = subject.make()
    require(model.fit(X, y) is model, "fit must return self")
    classes = getattr(model, "classes_", None)
    require(
        isinstance(classes, np.ndarray) and np.array_equal(classes, np.unique(y)),
        f"classes_ must be the array of sorted classes {np.unique(y)}, and is {classes!r}",
    )
    decided = np.asarray(model.predict(X))
    require(
        decided.shape == y.shape and set(decided) <= set(np.unique(y)),
        f"predict must return one of classes_ for each row, not {decided!r}",
    )
    subject.require_usable(model.predict_proba(X), X)


def check_unfitted_says_so(subject: ClassifierSubject) -> None:
    """Before ``fit``, ``predict`` and ``predict_proba`` raise scikit-learn's ``NotFittedError``."""
    X, _ = data.mixed()
    for verb in ("predict", "predict_proba"):
        try:
            getattr(subject.make(), verb)(X)
        except NotFittedError:
            continue
        except Exception as error:
            raise AssertionError(f"{verb} raises {error!r} before fit; call check_is_fitted(self) first") from error
        raise AssertionError(f"{verb} answers before fit; call sklearn.utils.validation.check_is_fitted(self) first")


def check_classes_keep_their_type(subject: ClassifierSubject) -> None:
    """Classes may be text, whole numbers or booleans; ``predict`` returns the same type, and the model is the same."""
    X, y = data.mixed()
    truth = y == y[0]
    usual = subject.fit(X, truth.astype(str)).predict_proba(X)
    for kind in (int, bool):
        model = subject.fit(X, truth.astype(kind))
        decided = np.asarray(model.predict(X))
        require(
            decided.dtype == np.dtype(kind),
            f"the classes are of type {np.dtype(kind)}, and predict returns {decided.dtype}; index classes_",
        )
        same = subject.alike(usual, model.predict_proba(X))
        require(same, f"classes of type {kind.__name__} give a different model than text")


def check_learns_what_a_column_tells(subject: ClassifierSubject) -> None:
    """If one column determines the class, nearly all rows are predicted correctly."""
    X, y = data.mixed()
    right = float((np.asarray(subject.fit(X, y).predict(X)) == y).mean())
    require(right > 0.8, f"a column tells the class of every row, and only {right:.0%} of the rows get theirs")


def check_arrays_will_do(subject: ClassifierSubject) -> None:
    """An array of numbers gives the same result as a frame."""
    X, y = data.numbers()
    X = X.fillna(0.0)
    of_frame, of_array = (subject.fit(rows, y).predict_proba(rows) for rows in (X, X.to_numpy()))
    require(subject.alike(of_frame, of_array), "an array of numbers gives another model than a frame of them")


def check_missing_cells_everywhere(subject: ClassifierSubject) -> None:
    """Cells of every column, or a whole column, may be missing (NaN, None, NA), in training and prediction."""
    X, y = data.mixed()
    holes = data.with_holes(X)
    for model in (subject.fit(X, y), subject.fit(holes, y)):
        for rows in (X, holes, holes.assign(**{holes.columns[0]: None})):
            subject.require_usable(model.predict_proba(rows), rows)


def check_values_never_seen(subject: ClassifierSubject) -> None:
    """Text, categories and numbers that do not occur in the training rows are accepted in prediction."""
    X, y = data.mixed()
    new = X.assign(length=1e6, colour="never seen", size=pd.Categorical(["giant"] * len(X)))
    subject.require_usable(subject.fit(X, y).predict_proba(new), new)


def check_columns_go_by_name(subject: ClassifierSubject) -> None:
    """Columns in another order are matched by name, or raise a ``ValueError``."""
    X, y = data.mixed()
    try:
        turned = subject.fit(X, y).predict_proba(X[X.columns[::-1]])
    except ValueError:
        return
    require(subject.alike(subject.result, turned), "columns in another order change the answer; match them by name")


def check_row_labels_do_not_matter(subject: ClassifierSubject) -> None:
    """The index of a frame does not matter, even with duplicates or if it differs from that of ``y``."""
    X, y = data.mixed()
    labelled, classes = X.set_axis(np.arange(len(X)) // 2 + 7, axis=0), pd.Series(y, index=np.arange(len(X))[::-1])
    odd = subject.fit(labelled, classes).predict_proba(labelled)
    require(subject.alike(subject.result, odd), "the index of X or y changes the model; take rows by their position")


def check_rows_are_answered_alone(subject: ClassifierSubject) -> None:
    """The prediction of a row does not depend on the other rows."""
    X, y = data.mixed()
    model = subject.fit(X, y)
    together, alone = model.predict_proba(X), [model.predict_proba(X.iloc[[m]]) for m in range(0, len(X), 10)]
    require(
        subject.alike(together[::10], np.concatenate(alone)),
        "a row by itself gets another answer than among others; learn nothing in predict_proba",
    )


def check_fit_starts_anew(subject: ClassifierSubject) -> None:
    """A second ``fit`` does not depend on the first."""
    X, y = data.mixed()
    again = subject.make()
    subject.call(again, X.iloc[::2], np.roll(y, 1)[::2])
    require(
        subject.same(subject.result, subject.call(again, X, y)),
        "after it was fitted to other rows the model is another; set every attribute anew in fit",
    )


def check_lengths_must_agree(subject: ClassifierSubject) -> None:
    """If ``y`` has fewer entries than ``X`` has rows, ``fit`` raises a ``ValueError``."""
    X, y = data.mixed()
    try:
        subject.fit(X, y[:-1])
    except ValueError:
        return
    raise AssertionError("fit accepts fewer classes than rows; call sklearn.utils.check_consistent_length(X, y)")


@only_if(lambda method: not method.stochastic)
def check_order_of_rows_does_not_matter(subject: ClassifierSubject) -> None:
    """The order of the training rows does not matter, unless the descriptor says ``stochastic``."""
    X, y = data.mixed()
    order = np.random.RandomState(1).permutation(len(X))
    shuffled = subject.fit(X.iloc[order], y[order]).predict_proba(X)
    require(
        subject.alike(subject.result, shuffled),
        "another order of the rows gives another model; if it draws from the rows, declare stochastic=True",
    )


@only_if(lambda method: not method.stochastic)
def check_weight_is_a_row_repeated(subject: ClassifierSubject) -> None:
    """If ``fit`` takes ``sample_weight``, a weight of 2 is equivalent to two rows, unless it is ``stochastic``."""
    if "sample_weight" not in inspect.signature(subject.factory.fit).parameters:
        return
    X, y = data.mixed()
    weights = np.random.RandomState(2).randint(1, 4, len(X))
    times = np.repeat(np.arange(len(X)), weights)
    weighted = subject.make().fit(X, y, sample_weight=weights.astype(np.float64)).predict_proba(X)
    repeated = subject.fit(X.iloc[times], y[times]).predict_proba(X)
    require(subject.alike(weighted, repeated), "weights give another model than rows repeated as often")


def check_saved_and_loaded(subject: ClassifierSubject) -> None:
    """After saving and loading, predictions are the same, bit for bit, and refitting gives the same model."""
    X, y = data.mixed()
    X = data.with_holes(X)
    model = subject.fit(X, y)
    require(isinstance(model, SavesState), "it cannot be saved; give it the methods of bnplug.SavesState")
    with registered(subject.method), tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder, "model"))
        loaded = load(Path(folder, "model"))
        again = subject.call(clone(loaded), X, y)
    require(
        model.classes_.dtype == loaded.classes_.dtype and np.array_equal(model.classes_, loaded.classes_),
        f"classes_ is {model.classes_!r}, and {loaded.classes_!r} when loaded",
    )
    usual = model.predict_proba(X)
    require(
        subject.same(usual, loaded.predict_proba(X)),
        "a loaded model gives other probabilities; saved_state must hold all that fit found, and arrays keep every bit",
    )
    require(np.array_equal(model.predict(X), loaded.predict(X)), "a loaded model predicts other classes")
    require(subject.same(usual, again), "refitting a loaded model gives a different model")


@essential
def check_cut_points(subject: DiscretizerSubject) -> None:
    """``fit`` sets ``cut_points_``: ascending finite numbers, or None, for each column."""
    X, _ = data.numbers()
    cuts = getattr(subject.fit(), "cut_points_", None)
    require(
        isinstance(cuts, list) and len(cuts) == X.shape[1],
        f"cut_points_ must be a list with one entry for each of the {X.shape[1]} columns, and is {cuts!r}",
    )
    for name, column in zip(X.columns, cuts or (), strict=True):
        values = np.empty(0) if column is None else np.asarray(column, dtype=np.float64)
        require(
            values.ndim == 1 and bool(np.isfinite(values).all() and (np.diff(values) > 0).all()),
            f"the cuts of {name!r} must be finite and strictly ascending, and are {values.tolist()}",
        )


def check_weights_are_rows(subject: DiscretizerSubject) -> None:
    """A weight of 2 is equivalent to two rows, 0 to none; with ``relative_weights``, only ratios matter."""
    X, y = data.numbers()
    if subject.has_relative_weights:
        shares = np.random.RandomState(2).random_sample(len(X))
        cuts = [subject.fit(X, y, factor * shares).cut_points_ for factor in (1.0, 3.7)]
        require(_close(*cuts), f"multiplying all weights by 3.7 changes the cuts from {cuts[0]} to {cuts[1]}")
        return
    weights = np.random.RandomState(2).randint(0, 3, len(X))
    times = np.repeat(np.arange(len(X)), weights)
    weighted = subject.fit(X, y, weights.astype(np.float64)).cut_points_
    repeated = subject.fit(X.iloc[times], y[times]).cut_points_
    require(_close(weighted, repeated), f"the cuts are {weighted} with weights, but {repeated} with repeated rows")


def check_class_matters_as_declared(subject: DiscretizerSubject) -> None:
    """With ``supervised=False``, cuts do not depend on the class; the class and its descriptor agree."""
    (X, y), declared = data.numbers(), subject.method.supervised
    of_class = getattr(subject.factory, "supervised", declared)
    require(of_class == declared, f"supervised is {of_class} in the class, and {declared} in its descriptor")
    if not declared:
        usual, other = (subject.fit(X, labels).cut_points_ for labels in (y, np.random.RandomState(4).permutation(y)))
        require(
            _close(usual, other),
            f"the cuts are {usual}, and {other} with the classes in another order; declare supervised=True",
        )


def check_files_have_the_same_cuts(subject: DiscretizerSubject) -> None:
    """A subclass of `Discretizer` finds the same cuts in files and in memory, bit for bit."""
    if not issubclass(subject.factory, Discretizer):
        return
    X, y = data.numbers()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        X.assign(label=y).to_csv(path, index=False)
        cuts = encode_training(str(path), "label", discretizer=subject.make())[1].discretizer.cut_points_
    usual = subject.fit(X, y).cut_points_
    require(
        subject.same(usual, cuts),
        f"fit finds the cuts {usual} in memory, and {cuts} in a file; override cuts, not fit, and use the summary only",
    )


def check_missing_numbers_take_no_part(subject: DiscretizerSubject) -> None:
    """Rows with NaN in every column are accepted and do not change the cuts."""
    X, y = data.numbers()
    empty = pd.DataFrame(np.nan, index=range(20), columns=X.columns)
    more = pd.concat([X, empty], ignore_index=True)
    usual = subject.fit().cut_points_
    with_gaps = subject.fit(more, np.concatenate([y, np.resize([0, 1, 2], 20)])).cut_points_
    require(_close(usual, with_gaps), f"the cuts are {usual}, and {with_gaps} with rows of NaN; leave NaN out")


def check_new_rows_move_no_cut(subject: DiscretizerSubject) -> None:
    """``transform`` puts new rows into the bins of the training rows and does not change the cuts."""
    fitted = subject.fit()
    before = [None if cuts is None else np.array(cuts) for cuts in fitted.cut_points_]
    fitted.transform(data.numbers()[0] * 100.0)
    require(_close(before, fitted.cut_points_), "transform changes cut_points_; they come from fit alone")


def check_bins_follow_from_cuts(subject: DiscretizerSubject) -> None:
    """``transform`` uses the cuts: a value is in the bin below a cut if it is at most the cut."""
    fitted, (X, _) = subject.fit(), data.numbers()
    for j, name in enumerate(X.columns):
        for cut in () if fitted.cut_points_[j] is None else fitted.cut_points_[j]:
            rows = pd.DataFrame(0.0, index=range(3), columns=X.columns)
            rows[name] = [np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)]
            below, at, above = np.asarray(fitted.transform(rows))[:, j]
            require(
                below == at != above,
                f"around the cut {cut} of {name!r} transform gives {below}, {at} and {above}; use numpy.searchsorted",
            )


def check_goes_by_name_and_is_saved(subject: DiscretizerSubject) -> None:
    """A classifier accepts it by name or as an instance, and predicts and refits the same after loading."""
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
    return all(
        a is b is None or (a is not None and b is not None and np.shape(a) == np.shape(b) and np.allclose(a, b, 1e-9))
        for a, b in zip(one, other, strict=True)
    )


#: In the order in which they are made.
CHECKS = (
    *_common_checks.BASIC_CHECKS,
    _common_checks.check_input_not_mutated,
    _common_checks.check_n_jobs_does_not_matter,
    *_common_checks.checks_in(globals(), "ClassifierSubject"),
)
DISCRETIZER_CHECKS = (*_common_checks.BASIC_CHECKS, *_common_checks.checks_in(globals(), "DiscretizerSubject"))
