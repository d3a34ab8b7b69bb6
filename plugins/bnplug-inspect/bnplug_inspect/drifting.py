"""Drift: do later rows still look like the training rows, and if not, which dependence has changed?"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import comb
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from bnplug import BayesianNetworkClassifier
from bnplug.errors import BnplugWarning, article
from bnplug.files import write_atomically
from bnplug.model.training_summary import HeldOutSummary, TrainingSummary, reliability
from bnplug.typing import FloatArray, IntArray
from bnplug_inspect._alarms import alarms
from bnplug_inspect._later_rows import LaterRows
from bnplug_inspect._two_sample import (
    MODEL_VARIANCE,
    adjusted,
    compare_counts,
    compare_shares,
    in_lower_tail,
    jensen_shannon,
    lower_than,
    population_stability,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LISTED = 8


# The name of a measure, its values in training and now, and a p value.
Measure = tuple[str, float, float, float]


@dataclass(frozen=True)
class DriftReport:
    """The differences between training rows and later rows; see :func:`drift`.

    Attributes
    ----------
    target : str
        The class.
    n_training, n_new : int
        The numbers of rows; `n_training` is 0 if the model has no counts of training rows.
    level : float
        The share of false alarms among alarms that the tests allow, and of reports with an alarm without any drift.
    features : pandas frame
        A row for each feature and, with labels, the class: ``psi`` (the population stability index), ``js`` (the
        Jensen-Shannon distance, 0 to 1), ``missing_training`` and ``missing_new`` (shares of rows), ``new_values``
        (with their rows), ``vanished`` (states without rows), the p values of the states and of missing cells,
        adjusted for all tests of the report, and ``alarm``.
    tables : pandas frame
        A row for each conditional table: ``variable``, ``given`` (its parents, without the class if there are no
        labels), ``variation`` (the mean total variation distance of the conditional distributions), ``where`` (the
        parents' states that changed most), ``state``, its probabilities ``training`` and ``new``, ``p_value`` and
        ``alarm``.
    predictions : pandas frame
        Log-likelihoods, log scores and confidence in training (on held-out rows) and now, with p values and alarms.
    notes : list of str
        What could not be compared, and why.
    """

    target: str
    n_training: int
    n_new: int
    level: float
    features: pd.DataFrame
    tables: pd.DataFrame
    predictions: pd.DataFrame
    notes: list[str]
    edges: list[tuple[str, str]] = field(repr=False)
    shares: dict[str, pd.DataFrame] = field(repr=False)

    @property
    def alarm(self) -> bool:
        """Whether any test raises an alarm."""
        return bool(len(self.alarms))

    @property
    def alarms(self) -> pd.DataFrame:
        """The alarms, largest differences first: ``kind``, ``name``, ``size``, ``evidence`` and ``p_value``."""
        frame = pd.DataFrame(list(alarms(self)), columns=["kind", "name", "size", "evidence", "p_value"])
        order = frame["size"].map({"large": 0, "medium": 1, "small": 2})
        return frame.iloc[order.argsort(kind="stable")].reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        frames = {name: getattr(self, name) for name in ("alarms", "features", "tables", "predictions")}
        plain = {name: json.loads(frame.to_json(orient="records")) for name, frame in frames.items()}
        numbers = {name: getattr(self, name) for name in ("target", "n_training", "n_new", "level", "alarm")}
        return {**numbers, **plain, "notes": self.notes}

    def to_text(self) -> str:
        """Return the report as text."""
        from bnplug_inspect._drift_page import to_text

        return to_text(self)

    def __str__(self) -> str:
        return self.to_text()

    def report(self, path: str | PathLike[str]) -> None:
        """Write one self-contained HTML page."""
        from bnplug_inspect._drift_page import to_html

        write_atomically(path, to_html(self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the population stability index of each feature, alarms in color; return the axes."""
        from bnplug_inspect._drift_page import plot

        return plot(self, ax)

    def _repr_html_(self) -> str:
        from bnplug_inspect._drift_page import to_display

        return to_display(self)


def drift(model: BayesianNetworkClassifier, X_new: Any, y_new: Any = None, *, level: float = 0.05) -> DriftReport:
    """Compare later rows with the rows that a model was trained on.

    The model keeps counts of its training rows, and quantiles of held-out rows if its evidence is calibrated. All
    tests compare two samples, so they account for a small training set. The p values are adjusted to control
    false discoveries (Benjamini and Yekutieli 2001), among all tests together and among those of features, of tables
    and of predictions. If nothing has changed, at most a share `level` of reports raises an alarm.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        A fitted model.
    X_new : frame or array
        Later rows. Columns that the model does not know are named in the notes.
    y_new : array-like, optional
        Their classes, as far as they are known; by default the column of `X_new` with the name of the class. Without
        classes, tables are compared without the class.
    level : float
        The level of the tests.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sky = rng.choice(["sun", "rain"], 1000)
    >>> wet = np.where(rng.random(1000) < 0.9, sky == "rain", sky == "sun")
    >>> model = BayesianNetworkClassifier("nb", calibrate=None).fit(pd.DataFrame({"wet": wet}), sky)
    >>> later = pd.DataFrame({"wet": rng.permutation(wet)})
    >>> report = drift(model, later, sky)
    >>> report.alarms[["kind", "name", "size"]]
        kind name   size
    0  table  wet  large
    """
    _check(model, level)
    rows = LaterRows.of(model, X_new, y_new)
    training, notes = model.training_summary_, _notes(model, rows)
    features, shares = _features(model, rows, training)
    tables = _tables(model, rows, training)
    predictions = _predictions(model, rows, training, notes)
    _adjust([(features, "p_value"), (features, "missing_p_value")], [(tables, "p_value")], [(predictions, "p_value")])
    features["alarm"] = (features["p_value"] <= level) | (features["missing_p_value"] <= level)
    tables["alarm"], predictions["alarm"] = tables["p_value"] <= level, predictions["p_value"] <= level
    n_training = 0 if training is None else training.n_rows
    kept = {name: shares[name] for name in features.loc[features["alarm"], "feature"]}
    return DriftReport(
        model.target_,
        n_training,
        rows.table.n_rows,
        level,
        features,
        tables,
        predictions,
        notes,
        model.tables_.edges,
        kept,
    )


def _adjust(*parts: list[tuple[pd.DataFrame, str]]) -> None:
    """Replace p values by those adjusted for all tests of the report and, if they are larger, for those of its part."""
    raw = [np.concatenate([frame[name].to_numpy(dtype=np.float64) for frame, name in part]) for part in parts]
    whole = np.split(adjusted(np.concatenate(raw)), np.cumsum(list(map(len, raw)))[:-1])
    for part, p_values, in_whole in zip(parts, raw, whole, strict=True):
        values = np.maximum(in_whole, adjusted(p_values))
        for (frame, name), chosen in zip(
            part, np.split(values, np.cumsum([len(f) for f, _ in part])[:-1]), strict=True
        ):
            frame[name] = chosen


def _check(model: Any, level: float) -> None:
    if not isinstance(model, BayesianNetworkClassifier) or not hasattr(model, "tables_"):
        hint = ". Pass one of its networks, such as model.members_[0]" if hasattr(model, "members_") else ""
        raise TypeError(f"drift needs a fitted BayesianNetworkClassifier, not {article(type(model).__name__)}{hint}")
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must be a number between 0 and 1")


def _notes(model: BayesianNetworkClassifier, rows: LaterRows) -> list[str]:
    """Return what cannot be compared."""
    notes, training = [], model.training_summary_
    if training is None:
        notes.append(
            "The model has no counts of training rows, because it was read from a network file or made from tables. "
            "Differences from the network are shown, but not tested."
        )
    if rows.labels is None:
        notes.append(
            f"The classes of the new rows were not given. The prevalence of {model.target_!r} and the calibration are "
            "not compared, and tables are compared without the class: a change that differs between classes can remain "
            "unnoticed."
        )
    single = [name for name in model.encoder_.names if len(model.schema_.states[name]) == 1]
    left_out = [name for name in model.encoder_.left_out if name in rows.frame.columns]
    for names, what in (
        (single, "have a single state in the model, so only missing cells and new values are compared"),
        (left_out, "were omitted in training and are not compared"),
        (rows.extra, "were not in the training data and are not compared"),
    ):
        if names:
            notes.append(f"Columns {_listed(names)} {what}.")
    return notes


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(map(repr, names[:_MOST_LISTED])) + more


def _features(
    model: BayesianNetworkClassifier, rows: LaterRows, training: TrainingSummary | None
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Compare the distribution of each feature, and of the class if there are labels."""
    names = [*([] if rows.labels is None else [model.target_]), *model.encoder_.names]
    counts = dict(zip(names, rows.table.counts([[rows.table.index(name)] for name in names]), strict=True))
    records, shares = [], {}
    for name in names:
        states, new = list(model.schema_.states[name]), rows.new.get(name, {})
        before, now = _reference(model, name, training, rows.table.n_rows), counts[name]
        n_missing = np.array([0.0, 0.0])
        if training is not None:
            n_missing[0] = training.n_rows - training.states[name].sum()
        if name in rows.missing:
            n_missing[1] = rows.missing[name].sum()
        elif rows.labels is not None:
            n_missing[1] = rows.table.n_rows - now.sum() - sum(new.values())
        label = model.encoder_.missing_states.get(name)
        if label is not None:
            place = states.index(label)
            n_missing[0] += before[place]
            before, now = np.delete(before, place), np.delete(now, place)
            del states[place]
        others = np.array(list(new.values()), dtype=np.float64)
        both = np.append(before, np.zeros(len(others))), np.append(now, others)
        effect = np.append(before, 0.0) if len(others) else before, np.append(now, others.sum()) if len(others) else now
        n_rows = (0 if training is None else training.n_rows, rows.table.n_rows)
        records.append(
            {
                "feature": name,
                "psi": population_stability(*effect) if before.sum() and effect[1].sum() else np.nan,
                "js": jensen_shannon(*effect),
                "missing_training": n_missing[0] / n_rows[0] if n_rows[0] else np.nan,
                "missing_new": n_missing[1] / n_rows[1],
                "new_values": ", ".join(f"{value} ({n:,})" for value, n in list(new.items())[:_MOST_LISTED]),
                "vanished": ", ".join(str(s) for s, b, a in zip(states, before, now, strict=True) if b and not a),
                "p_value": compare_counts(*both).p_value if training is not None and len(both[0]) > 1 else np.nan,
                "missing_p_value": _missing_p_value(n_missing, n_rows) if training is not None else np.nan,
            }
        )
        labels = [*map(str, states), *(["(new)"] if len(others) else [])]
        shares[name] = _share_frame(labels, *effect, n_missing)
    return pd.DataFrame(records), shares


def _share_frame(states: list[str], before: FloatArray, now: FloatArray, n_missing: FloatArray) -> pd.DataFrame:
    """Return the shares of rows in each state, and of rows with a missing cell if there are any."""
    if n_missing.any():
        states, before, now = [*states, "(missing)"], np.append(before, n_missing[0]), np.append(now, n_missing[1])
    return pd.DataFrame({"state": states, "training": before / max(before.sum(), 1), "new": now / max(now.sum(), 1)})


def _missing_p_value(n_missing: FloatArray, n_rows: tuple[int, int]) -> float:
    first, second = int(n_missing[0]), int(n_missing[1])
    return compare_shares(first, n_rows[0], second, n_rows[1]) if first + second else np.nan


def _reference(
    model: BayesianNetworkClassifier, name: str, training: TrainingSummary | None, n_rows: int
) -> FloatArray:
    """Return the counts of training rows; without any, those that the network expects for as many rows."""
    if training is not None:
        return training.states[name].astype(np.float64)
    if not model.tables_.normalized:
        return np.zeros(len(model.schema_.states[name]))
    return n_rows * model.query(name)["probability"].to_numpy()


def _tables(model: BayesianNetworkClassifier, rows: LaterRows, training: TrainingSummary | None) -> pd.DataFrame:
    """Compare the conditional tables of the network."""
    target, tables = model.target_, model.tables_
    families: dict[str, tuple[str, ...]] = {}
    for name, parents in tables.parents.items():
        known = tuple(p for p in parents if rows.labels is not None or p != target)
        if known and (rows.labels is not None or name != target):
            families[name] = known
    positions = [[rows.table.index(v) for v in (name, *known)] for name, known in families.items()]
    records = []
    for (name, known), now in zip(families.items(), rows.table.counts(positions), strict=True):
        if training is None:
            break
        before = training.families[name].astype(np.float64)
        if len(known) < len(tables[name].parents):
            before = before.sum(axis=1 + tables[name].parents.index(target))
        shape = before.shape[1:]
        before, now = before.reshape(len(before), -1), now.reshape(len(now), -1)
        result = compare_counts(before, now)
        where = np.unravel_index(result.column, shape)
        shares = [part[:, result.column] / max(part[:, result.column].sum(), 1) for part in (before, now)]
        state = int(np.abs(shares[0] - shares[1]).argmax())
        records.append(
            {
                "variable": name,
                "given": ", ".join(known),
                "variation": result.variation,
                "where": ", ".join(f"{p}={tables.states[p][i]}" for p, i in zip(known, where, strict=True)),
                "state": str(tables.states[name][state]),
                "training": shares[0][state],
                "new": shares[1][state],
                "p_value": min(1.0, result.p_value * _n_candidates(model, name)),
            }
        )
    names = ["variable", "given", "variation", "where", "state", "training", "new", "p_value"]
    return pd.DataFrame(records, columns=names)


def _n_candidates(model: BayesianNetworkClassifier, name: str) -> int:
    """Return how many sets of parents a learner chose those of `name` from.

    A learned edge is one that looks strong in the training rows, partly by chance. Later rows do not share that
    chance. A p value times the number of candidates is valid, however the parents were chosen.
    """
    parents, target = model.tables_[name].parents, model.target_
    if model.made_["structure"] == "given":
        return 1
    n_features = sum(parent != target for parent in parents)
    children = [target in model.tables_[other].parents for other in model.encoder_.names]
    # Unless every feature has the class as a parent, this choice is learned, too.
    return comb(len(model.tables_.names) - 2, n_features) * (1 if all(children) else 2)


def _predictions(
    model: BayesianNetworkClassifier, rows: LaterRows, training: TrainingSummary | None, notes: list[str]
) -> pd.DataFrame:
    """Compare likelihoods and, with labels, scores and confidence with held-out training rows."""
    return pd.DataFrame(
        list(_measures(model, rows, training, notes)), columns=["measure", "training", "new", "p_value"]
    )


def _measures(
    model: BayesianNetworkClassifier, rows: LaterRows, training: TrainingSummary | None, notes: list[str]
) -> Iterator[Measure]:
    held_out = None if training is None else training.held_out
    if held_out is None or not len(held_out.log_score):
        held_out = None
        notes.append(
            "The model has no figures of held-out training rows, so likelihoods and calibration are not tested. Models "
            'with generative parameters and calibrate="evidence" have them.'
        )
    if held_out is not None:
        codes = rows.table.codes.copy()
        codes[rows.table.target_index] = rows.table.missing
        network = model.engine_.compile(model.tables_, model.target_)
        values = np.logaddexp.reduce(network.log_joint(codes, complete=True), axis=1)
        quantiles, n = held_out.log_likelihood, held_out.n_rows
        yield "mean log-likelihood", float(np.mean(quantiles)), float(np.mean(values)), np.nan
        yield "pairs of rows in which the new one is less probable", 0.5, *lower_than(quantiles, n, values)
        yield "rows as improbable as the 5% least probable", 0.05, *in_lower_tail(quantiles, n, values)
    if rows.labels is not None and (rows.labels >= 0).any():
        log_posterior, labels = _known_posteriors(model, rows)
        yield from _scores(log_posterior, labels, held_out)


def _scores(log_posterior: FloatArray, labels: IntArray, held_out: HeldOutSummary | None) -> Iterator[Measure]:
    """Compare predictions of rows with known classes; without held-out rows, there are no tests."""
    score, bins = log_posterior[np.arange(len(labels)), labels], reliability(log_posterior, labels)
    gap, variance = _overconfidence(bins)
    mean = float(np.mean(score))
    if held_out is None:
        yield "mean log score of the true class", np.nan, mean, np.nan
        yield "accuracy", np.nan, _accuracy(bins), np.nan
        yield "confidence above accuracy", np.nan, gap, np.nan
        return
    before, old_variance = _overconfidence(held_out.reliability)
    quantiles = held_out.log_score
    yield "mean log score of the true class", float(np.mean(quantiles)), mean, np.nan
    yield "pairs of rows in which the new one scores lower", 0.5, *lower_than(quantiles, held_out.n_rows, score)
    yield "accuracy", _accuracy(held_out.reliability), _accuracy(bins), np.nan
    z = (gap - before) / np.sqrt(max(MODEL_VARIANCE * (old_variance + variance), 1e-12))
    yield "confidence above accuracy", before, gap, float(norm.sf(z))


def _known_posteriors(model: BayesianNetworkClassifier, rows: LaterRows) -> tuple[FloatArray, IntArray]:
    assert rows.labels is not None
    known = rows.labels >= 0
    with warnings.catch_warnings():
        # The report lists unseen values and absent columns.
        warnings.simplefilter("ignore", BnplugWarning)
        log_posterior = model.predict_log_proba(rows.frame[known])
    return log_posterior, rows.labels[known]


def _accuracy(bins: FloatArray) -> float:
    return float(bins[:, 2].sum() / bins[:, 0].sum())


def _overconfidence(bins: FloatArray) -> tuple[float, float]:
    """Return the mean confidence minus the accuracy, and its variance.

    If all predictions are correct, their spread says nothing, so the variance is at least that of calibrated ones.
    """
    n, confidence, correct = bins.T
    total = n.sum()
    filled = n > 0
    if not total > 0:
        return np.nan, np.nan
    c, a = confidence[filled] / n[filled], correct[filled] / n[filled]
    gap = float((confidence.sum() - correct.sum()) / total)
    square = (n[filled] * (a * (1 - c) ** 2 + (1 - a) * c**2)).sum() / total
    calibrated = (n[filled] * c * (1 - c)).sum() / total
    return gap, float(max(square - gap**2, calibrated) / total)
