"""What holds for every classifier of a plugin: scikit-learn's rules, columns as they come, and a model that reloads."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bnplug.classifier import load, save
from bnplug.contracts import SavesState
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import Check, essential, only_if
from bnplug.testing._registering import registered
from bnplug.testing._subjects import ClassifierSubject, require


@essential
def check_is_a_classifier(subject: ClassifierSubject) -> None:
    """``fit`` returns the classifier and leaves ``classes_``; each row gets one of them, and a probability for each."""
    X, y = data.mixed()
    model = subject.make()
    require(subject.fit(model, X, y) is model, "fit must return self")
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
    """Classes may be text, whole numbers or booleans: ``predict`` gives them back, and the model is the same."""
    X, y = data.mixed()
    truth = y == y[0]
    usual = subject.fit(subject.make(), X, truth.astype(str)).predict_proba(X)
    for kind in (int, bool):
        model = subject.fit(subject.make(), X, truth.astype(kind))
        decided = np.asarray(model.predict(X))
        require(
            decided.dtype == np.dtype(kind),
            f"the classes are of type {np.dtype(kind)}, and predict returns {decided.dtype}; index classes_",
        )
        require(
            subject.alike(usual, model.predict_proba(X)),
            f"classes of type {kind.__name__} give another model than text",
        )


def check_learns_what_a_column_tells(subject: ClassifierSubject) -> None:
    """Of rows in which one column tells the class, nearly all get theirs."""
    X, y = data.mixed()
    right = float((np.asarray(subject.fit(subject.make(), X, y).predict(X)) == y).mean())
    require(right > 0.8, f"a column tells the class of every row, and only {right:.0%} of the rows get theirs")


def check_arrays_will_do(subject: ClassifierSubject) -> None:
    """An array of numbers is as good as a frame of them."""
    X, y = data.numbers()
    X = X.fillna(0.0)
    of_frame, of_array = (subject.fit(subject.make(), own, y).predict_proba(own) for own in (X, X.to_numpy()))
    require(subject.alike(of_frame, of_array), "an array of numbers gives another model than a frame of them")


def check_missing_cells_everywhere(subject: ClassifierSubject) -> None:
    """Cells may be missing (NaN, None, pandas' NA) in every column, in training and in prediction; a column wholly."""
    X, y = data.mixed()
    holes = data.with_holes(X)
    usual, of_holes = (subject.fit(subject.make(), own, y) for own in (X, holes))
    for model in (usual, of_holes):
        for rows in (X, holes, holes.assign(**{holes.columns[0]: None})):
            subject.require_usable(model.predict_proba(rows), rows)


def check_values_never_seen(subject: ClassifierSubject) -> None:
    """A word, a category or a number that no training row has gets an answer too."""
    X, y = data.mixed()
    new = X.assign(length=1e6, colour="never seen", size=pd.Categorical(["giant"] * len(X)))
    subject.require_usable(subject.fit(subject.make(), X, y).predict_proba(new), new)


def check_columns_go_by_name(subject: ClassifierSubject) -> None:
    """Columns in another order are put back by their names, or refused with a ``ValueError``."""
    X, y = data.mixed()
    model = subject.fit(subject.make(), X, y)
    usual = model.predict_proba(X)
    try:
        turned = model.predict_proba(X[X.columns[::-1]])
    except ValueError:
        return
    require(subject.alike(usual, turned), "columns in another order change the answer; match them by name")


def check_row_labels_do_not_matter(subject: ClassifierSubject) -> None:
    """What a frame's rows are labelled, twice the same or none like those of ``y``, changes nothing."""
    X, y = data.mixed()
    labelled, classes = X.set_axis(np.arange(len(X)) // 2 + 7, axis=0), pd.Series(y, index=np.arange(len(X))[::-1])
    usual, odd = (subject.fit(subject.make(), *own).predict_proba(own[0]) for own in ((X, y), (labelled, classes)))
    require(subject.alike(usual, np.asarray(odd)), "the index of X or y changes the model; take rows by their position")


def check_rows_are_answered_alone(subject: ClassifierSubject) -> None:
    """A row's answer does not depend on the rows that it is asked with."""
    X, y = data.mixed()
    model = subject.fit(subject.make(), X, y)
    together, alone = model.predict_proba(X), [model.predict_proba(X.iloc[[m]]) for m in range(0, len(X), 10)]
    require(
        subject.alike(together[::10], np.concatenate(alone)),
        "a row by itself gets another answer than among others; learn nothing in predict_proba",
    )


def check_fit_starts_anew(subject: ClassifierSubject) -> None:
    """A second ``fit`` forgets the first."""
    X, y = data.mixed()
    again = subject.make()
    subject.fit(again, X.iloc[::2], np.roll(y, 1)[::2])
    require(
        subject.same(subject.result, subject.call(again, X, y)),
        "after it was fitted to other rows the model is another; set every attribute anew in fit",
    )


def check_lengths_must_agree(subject: ClassifierSubject) -> None:
    """Fewer classes than rows are refused with a ``ValueError``."""
    X, y = data.mixed()
    try:
        subject.fit(subject.make(), X, y[:-1])
    except ValueError:
        return
    raise AssertionError("fit accepts fewer classes than rows; call sklearn.utils.check_consistent_length(X, y)")


@only_if(lambda method: not method.stochastic)
def check_order_of_rows_does_not_matter(subject: ClassifierSubject) -> None:
    """The order of the training rows does not matter, unless the descriptor says ``stochastic``."""
    X, y = data.mixed()
    order = np.random.RandomState(1).permutation(len(X))
    shuffled = subject.fit(subject.make(), X.iloc[order], y[order]).predict_proba(X)
    require(
        subject.alike(subject.result, shuffled),
        "another order of the rows gives another model; if it draws from the rows, declare stochastic=True",
    )


@only_if(lambda method: not method.stochastic)
def check_weight_is_a_row_repeated(subject: ClassifierSubject) -> None:
    """Where ``fit`` takes ``sample_weight``, 2 is the row twice, unless the descriptor says ``stochastic``."""
    if "sample_weight" not in inspect.signature(subject.factory.fit).parameters:
        return
    X, y = data.mixed()
    weights = np.random.RandomState(2).randint(1, 4, len(X))
    times = np.repeat(np.arange(len(X)), weights)
    weighted = subject.make().fit(X, y, sample_weight=weights.astype(np.float64)).predict_proba(X)
    repeated = subject.fit(subject.make(), X.iloc[times], y[times]).predict_proba(X)
    require(subject.alike(weighted, repeated), "weights give another model than rows repeated as often")


def check_saved_and_loaded(subject: ClassifierSubject) -> None:
    """Saved and loaded, it gives the same answers, bit for bit, and learns again what it would have learned."""
    X, y = data.mixed()
    X = data.with_holes(X)
    model = subject.fit(subject.make(), X, y)
    require(
        isinstance(model, SavesState),
        "it cannot be saved: give it the methods saved_state and restore_state of bnplug.SavesState",
    )
    with registered(subject.method), tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder, "model"))
        loaded = load(Path(folder, "model"))
        again = subject.call(clone(loaded), X, y)
    _require_equal(model, loaded, X, subject)
    require(subject.same(model.predict_proba(X), again), "a loaded model that is fitted again learns something else")


def _require_equal(model: Any, loaded: Any, X: pd.DataFrame, subject: ClassifierSubject) -> None:
    require(
        model.classes_.dtype == loaded.classes_.dtype and np.array_equal(model.classes_, loaded.classes_),
        f"classes_ is {model.classes_!r}, and {loaded.classes_!r} when loaded",
    )
    require(
        subject.same(model.predict_proba(X), loaded.predict_proba(X)),
        "a loaded model gives other probabilities; saved_state must hold all that fit found, and arrays keep every bit",
    )
    require(np.array_equal(model.predict(X), loaded.predict(X)), "a loaded model decides otherwise")


#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    _common_checks.check_described,
    _common_checks.check_cloneable,
    _common_checks.check_parameters_untouched,
    _common_checks.check_input_not_mutated,
    _common_checks.check_same_seed_same_result,
    _common_checks.check_n_jobs_does_not_matter,
    _common_checks.check_pickles,
    check_is_a_classifier,
    check_unfitted_says_so,
    check_classes_keep_their_type,
    check_learns_what_a_column_tells,
    check_arrays_will_do,
    check_missing_cells_everywhere,
    check_values_never_seen,
    check_columns_go_by_name,
    check_row_labels_do_not_matter,
    check_rows_are_answered_alone,
    check_fit_starts_anew,
    check_lengths_must_agree,
    check_order_of_rows_does_not_matter,
    check_weight_is_a_row_repeated,
    check_saved_and_loaded,
)
