"""P(variables | evidence) by compiled variable elimination, conflicts between findings, and notebook displays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.contracts import CompiledNetwork
from bnplug.errors import did_you_mean
from bnplug.html import _kit as html
from bnplug.html._kit import with_display
from bnplug.inference._asking import POSSIBLE, Asked
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.model.log_tables import LogTables
from bnplug.table.coding import State, label_index
from bnplug.typing import FloatArray


def query(
    tables: LogTables,
    variables: Sequence[str],
    evidence: Mapping[str, int | npt.ArrayLike] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> FloatArray:
    """Return P(variables | evidence), the class and features alike.

    Parameters
    ----------
    tables : LogTables
    variables : sequence of str
        The variables of the joint distribution.
    evidence : mapping of str to int or array, optional
        The position of a variable's state in ``tables.states``, or a likelihood for each of its states (soft
        evidence), of which only the ratios matter.
    max_clique_size : int
        The maximum number of cells of a table; a ``ValueError`` if a larger one is needed.

    Returns
    -------
    float64 array
        One axis for each of `variables`; it sums to one.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> query(tables, ["x"]), query(tables, ["c"], {"x": 1}).round(3)
    (array([0.55, 0.45]), array([0.111, 0.889]))
    >>> query(tables, ["c"], {"x": [1.0, 3.0]}).round(3)
    array([0.316, 0.684])
    """
    return posterior(Asked(tables, max_clique_size), variables, evidence)


def posterior(asked: Asked, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike] | None) -> FloatArray:
    """Return P(variables | evidence) of a network that is kept; see :func:`query`."""
    known, soft = split_evidence(asked.tables, evidence)
    check_variables(asked.tables, variables, known)
    joint = asked.log_measure(variables, known, soft, POSSIBLE)
    largest = joint.max()
    if largest == -np.inf:
        raise impossible(evidence, partial(log_probability, asked))
    joint -= largest
    np.exp(joint, out=joint)
    joint /= joint.sum()
    return joint


def log_probability(asked: Asked, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
    """Return log P(evidence), relative to no evidence."""
    known, soft = split_evidence(asked.tables, evidence)
    return float(asked.log_measure((), known, soft)) - asked.log_total


def split_evidence(
    tables: LogTables, evidence: Mapping[str, int | npt.ArrayLike] | None
) -> tuple[dict[str, int], dict[str, FloatArray]]:
    """Check the evidence, and return the codes of known states and the log likelihoods of soft evidence, by name."""
    given = dict(evidence or {})
    for name in given:
        _check_name(tables, name)
    known = {name: int(state) for name, state in given.items() if isinstance(state, Integral)}
    for name, state in known.items():
        if not 0 <= state < len(tables.states[name]):
            raise ValueError(f"evidence {name!r}: {state} is not one of its {len(tables.states[name])} states")
    return known, {name: _log_likelihood(tables, name, given[name]) for name in given if name not in known}


def check_variables(tables: LogTables, variables: Sequence[str], known: Collection[str]) -> None:
    """Raise a ``ValueError`` if a queried variable is unknown, repeated or in the evidence."""
    for name in variables:
        _check_name(tables, name)
    if not variables or len({*variables, *known}) < len(variables) + len(known):
        raise ValueError(
            f"variables {list(variables)} and evidence {list(known)}: ask about at least one variable, "
            "each once, and not about what is known"
        )


def impossible(
    evidence: Mapping[str, Any] | None, log_probability: Callable[[Mapping[str, Any]], float] | None = None
) -> ValueError:
    """Return the error for evidence with probability 0; it names findings that contradict each other.

    With `log_probability`, which computes the log probability of evidence, these are as few as possible: without any
    of them, the others are possible.
    """
    given = dict(evidence or {})
    names = list(given)
    if log_probability is not None and len(given) > 1:
        names = _contradicting([], names, lambda some: log_probability({name: given[name] for name in some}) == -np.inf)
    others = f". These findings contradict each other: {names}" if 1 < len(names) < len(given) else ""
    others = f". This finding alone is impossible: {names}" if len(names) == 1 < len(given) else others
    return ValueError(f"the evidence {given} is impossible: it has probability 0{others}")


def _contradicting(before: list[str], names: list[str], is_impossible: Callable[[list[str]], bool]) -> list[str]:
    """Return a minimal part of `names` that is impossible together with `before` (Junker: QuickXplain, 2004)."""
    if is_impossible(before):
        return []
    if len(names) == 1:
        return names
    half = len(names) // 2
    second = _contradicting(before + names[:half], names[half:], is_impossible)
    return _contradicting(before + second, names[:half], is_impossible) + second


def log_measure(
    tables: LogTables,
    variables: Sequence[str],
    known: Mapping[str, int],
    soft: Mapping[str, FloatArray],
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> FloatArray:
    """Return log P(variables, evidence), one axis for each of `variables`; `soft` evidence is log likelihoods."""
    return Asked(tables, max_clique_size).log_measure(variables, known, soft)


def query_frame(probabilities: FloatArray, states: Mapping[str, Sequence[State]]) -> pd.DataFrame:
    """Return the result of :func:`query` as a frame: the labels of each joint state, and their ``probability``."""
    # The labels of a distribution that is asked for again and again are made once.
    key = tuple((name, id(labels)) for name, labels in states.items())
    if key not in _FRAMES:
        if len(_FRAMES) >= _MOST_FRAMES:
            _FRAMES.clear()
        _FRAMES[key] = [*states.values()], _joint_states(states)
    frame = _FRAMES[key][1].copy()
    frame[_unlike("probability", states)] = probabilities.ravel()
    return with_display(frame, _answers_display)


# Frames of labels, by the names of variables and the identities of their labels, which are kept with them.
_FRAMES: dict[tuple[tuple[str, int], ...], tuple[list[Sequence[State]], pd.DataFrame]] = {}
_MOST_FRAMES = 64


def explanations_frame(rows: Sequence[Mapping[str, State]], probabilities: Sequence[float]) -> pd.DataFrame:
    """Return joint states as a frame, and their ``probability``."""
    frame = pd.DataFrame([dict(row) for row in rows])
    return with_display(frame.assign(**{_unlike("probability", frame.columns): probabilities}), _answers_display)


def rows_frame(probabilities: FloatArray, states: Mapping[str, Sequence[State]], rows: pd.Index[Any]) -> pd.DataFrame:
    """Return the results for many rows as a frame: ``row``, the labels of the joint states, and ``probability``."""
    joint = _joint_states(states)
    frame = joint.take(np.tile(np.arange(len(joint)), len(rows))).reset_index(drop=True)
    frame.insert(0, _unlike("row", states), rows.repeat(len(joint)))
    return with_display(frame.assign(**{_unlike("probability", states): probabilities.ravel()}), _rows_display)


def _unlike(column: str, names: Collection[str]) -> str:
    while column in names:
        column += "_"
    return column


def _joint_states(states: Mapping[str, Sequence[State]]) -> pd.DataFrame:
    codes = np.indices([len(labels) for labels in states.values()]).reshape(len(states), -1)
    columns = zip(states, map(label_index, states.values()), codes, strict=True)
    return pd.DataFrame({name: pd.Series(labels.take(c), dtype=labels.dtype) for name, labels, c in columns})


def _check_name(tables: LogTables, name: str) -> None:
    if name not in tables.states:
        raise ValueError(f"no variable {name!r} in the network.{did_you_mean(name, tables.names)}")


def _log_likelihood(tables: LogTables, name: str, given: npt.ArrayLike) -> FloatArray:
    likelihood = np.asarray(given, dtype=np.float64)
    n_states = len(tables.states[name])
    if likelihood.shape != (n_states,) or not np.isfinite(likelihood).all() or (likelihood < 0).any():
        raise ValueError(
            f"evidence {name!r}: {given!r} is neither a state nor a finite likelihood, not negative, for each of its "
            f"{n_states} states"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(likelihood))


def relevant(tables: LogTables, names: set[str]) -> set[str]:
    """Return the variables whose tables matter for `names`: these, their ancestors, and unnormalized tables."""
    needed = names | {name for name, table in tables.tables.items() if not table.normalized}
    pending = list(needed)
    while pending:
        new = {*tables.tables[pending.pop()].parents} - needed
        needed |= new
        pending += new
    return needed


def conflict(marginals: CompiledNetwork, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
    """Return ``log(P(e1) P(e2) ... / P(e1, e2, ...))`` of findings, in nats.

    Findings that support each other are more probable together than apart, and the measure is negative. Positive values
    indicate a conflict: a rare case, an error in the data, or a case that the network does not model. `evidence` is as
    in :func:`query`; impossible evidence is a ``ValueError``.
    """
    together = marginals.log_probability(evidence)
    if np.isneginf(together):
        raise impossible(evidence)
    return sum(marginals.log_probability({name: finding}) for name, finding in evidence.items()) - together


# Limits of a display, which shows the first part of larger objects.
_MOST_LINES, _MOST_CLASSES, _MOST_CASES = 15, 8, 3


def _answers_display(answers: pd.DataFrame) -> str:
    """Return rows whose last column is a nonnegative number, for example a joint posterior, with bars."""
    return html.display(*_lines(answers, len(answers)))


def _rows_display(answers: pd.DataFrame) -> str:
    """Return the same for several rows of data, whose labels are in the first column: the first rows."""
    labels = answers.iloc[:, 0].tolist()
    begins = [i for i in range(len(labels)) if i == 0 or labels[i] != labels[i - 1]]
    end = [*begins, len(labels)][min(_MOST_CASES, len(begins))]
    return html.display(*_lines(answers, end), _further(len(begins) - _MOST_CASES, "row"))


def _lines(answers: pd.DataFrame, n_lines: int) -> list[str]:
    shown = answers.head(min(n_lines, _MOST_LINES))
    values = shown.iloc[:, -1].to_numpy(dtype=np.float64)
    finite = np.isfinite(values)
    largest = 1.0 if str(answers.columns[-1]).startswith("probability") else values[finite].max(initial=0.0) or 1.0
    rows = [
        [*map(_words, row[:-1]), html.Cell(html.number(value), bar=value / largest if np.isfinite(value) else None)]
        for row, value in zip(shown.itertuples(index=False, name=None), values, strict=True)
    ]
    kinds = ["" if pd.api.types.is_float_dtype(kind) else "words" for kind in answers.dtypes]
    head = [html.Cell(html.short(name), kind) for name, kind in zip(answers.columns, kinds, strict=True)]
    return [html.table([head], rows, headings=0), _further(n_lines - len(shown), "line")]


def _words(value: object) -> html.Cell:
    return html.Cell(html.number(value)) if isinstance(value, float) else html.Cell(html.short(value), "words")


def _further(n: int, noun: str) -> str:
    return html.note(f"… and {n:,} more {noun}{'s' if n > 1 else ''}.") if n > 0 else ""


def _explanation_display(explanation: pd.DataFrame) -> str:
    """Display contributions to log odds: a table for each of the first rows, the largest contributions first."""
    features, classes = explanation["feature"].tolist(), explanation["class"].tolist()
    # Each row of data begins with the prior log odds of every class.
    n_classes = next((i for i, name in enumerate(features) if name != features[0]), len(features))
    cases = explanation["contribution"].to_numpy().reshape(features.count(features[0]) // n_classes, -1, n_classes)
    size = cases[0].size
    names, labels = features[:size:n_classes], explanation["row"].tolist()[::size]
    expected = [(name, label) for name in names for label in classes[:n_classes]] * len(cases)
    if explanation.shape[1] != 4 or list(zip(features, classes, strict=True)) != expected:
        raise ValueError("the frame was changed and is no longer an explanation; call explain again")
    shown = zip(labels[:_MOST_CASES], cases, strict=False)
    parts = [part for label, case in shown for part in _contributions(label, names, classes[:n_classes], case)]
    return html.display(*parts, _further(len(cases) - _MOST_CASES, "row"))


def _contributions(case: object, names: list[str], classes: list[object], values: FloatArray) -> list[str]:
    """Return the contributions to each class in one row of data, with their sum, the posterior log odds."""
    size = np.abs(values).max(axis=1)
    largest = size.max() or 1.0
    order = [f for f in np.argsort(-size[1:], kind="stable") + 1 if size[f] > 0]
    rows = [
        [names[f], *(html.Cell(f"{x:+.3f}", bar=x / largest, signed=True) for x in values[f, :_MOST_CLASSES])]
        for f in [0, *order[:_MOST_LINES]]
    ]
    total = [html.Cell(f"{value:+.3f}") for value in values.sum(axis=0)[:_MOST_CLASSES]]
    silent, less = len(names) - 1 - len(order), len(order) - _MOST_LINES
    remarks = [f"{silent:,} of {len(names) - 1:,} features add nothing."] if silent else []
    remarks += [f"{less:,} more add less than these."] if less > 0 else []
    return [
        html.title(f"row {case}", "what each known feature adds to the log odds of each class"),
        html.table([["log odds of", *classes[:_MOST_CLASSES]]], [*rows, ["sum", *total]], n_sums=1),
        html.note(" ".join(remarks)) if remarks else "",
    ]
