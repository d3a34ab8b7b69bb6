"""Answers about any variables: P(variables | evidence), by variable elimination in logarithms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from bnplug.arrays import FloatArray
from bnplug.data.coding import State, label_index
from bnplug.errors import did_you_mean
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, check_clique
from bnplug.inference._factors import Factor, Factors, product
from bnplug.inference._shown import answers_display, rows_display
from bnplug.model.log_tables import LogTables
from bnplug.notebook._frames import with_display


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
        What is asked about, jointly.
    evidence : mapping of str to int or array, optional
        What is known: the position of a variable's state in ``tables.states``, or a likelihood for each of its states
        (soft evidence), of which the ratios count.
    max_clique_size : int
        The number of cells that the largest table may have.

    Returns
    -------
    float64 array
        One axis for each of `variables`; it sums to one.

    Raises
    ------
    ValueError
        For an unknown or repeated variable, evidence that is impossible or no state, or a table of more
        than `max_clique_size` cells.

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
    known, soft = split_evidence(tables, evidence)
    check_variables(tables, variables, known)
    joint = log_measure(tables, variables, known, soft, max_clique_size)
    total = logsumexp(joint)
    if np.isneginf(total):
        raise impossible(evidence)
    return np.asarray(np.exp(joint - total))


def split_evidence(
    tables: LogTables, evidence: Mapping[str, int | npt.ArrayLike] | None
) -> tuple[dict[str, int], dict[str, FloatArray]]:
    """Return the codes of states that are known, and the logarithms of likelihoods; both by name, and checked.

    Examples
    --------
    >>> tables = LogTables(["c"], {"c": ["n", "p"]}, {"c": ((), np.log([0.25, 0.75]))})
    >>> split_evidence(tables, {"c": 1}), split_evidence(tables, {"c": [1, 0]})
    (({'c': 1}, {}), ({}, {'c': array([  0., -inf])}))
    """
    given = dict(evidence or {})
    for name in given:
        _check_name(tables, name)
    known = {name: int(state) for name, state in given.items() if isinstance(state, Integral)}
    for name, state in known.items():
        if not 0 <= state < len(tables.states[name]):
            raise ValueError(f"evidence {name!r}: {state} is no state of its {len(tables.states[name])}")
    return known, {name: _log_likelihood(tables, name, given[name]) for name in given if name not in known}


def check_variables(tables: LogTables, variables: Sequence[str], known: Collection[str]) -> None:
    """Raise a ``ValueError`` where a variable that is asked about is unknown, repeated, or no question."""
    for name in variables:
        _check_name(tables, name)
    if not variables or len({*variables, *known}) < len(variables) + len(known):
        raise ValueError(
            f"variables {list(variables)} and evidence {list(known)}: ask about at least one variable, "
            "each once, and not about what is known"
        )


def impossible(evidence: Mapping[str, Any] | None) -> ValueError:
    """Return the error of evidence that has probability 0."""
    return ValueError(f"the evidence {dict(evidence or {})} is impossible: it has probability 0")


def log_measure(
    tables: LogTables,
    variables: Sequence[str],
    known: Mapping[str, int],
    soft: Mapping[str, FloatArray],
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> FloatArray:
    """Return log P(variables, evidence), one axis for each of `variables`, of which none is `known`.

    `soft` has logarithms of likelihoods.

    Examples
    --------
    >>> tables = LogTables(["c"], {"c": ["n", "p"]}, {"c": ((), np.log([0.25, 0.75]))})
    >>> np.exp(log_measure(tables, ["c"], {}, {"c": np.log([1.0, 0.2])}))
    array([0.25, 0.15])
    """
    factors = _instantiated(tables, {*variables, *known, *soft}, known)
    factors += [((name,), likelihood) for name, likelihood in soft.items()]
    check_clique(tables, tuple(variables), max_clique_size)
    left = Factors(tables, factors, {*variables}, max_clique_size)
    while left.hidden:
        left.sum_out(*left.cheapest())
    return product(list(left.by_number.values()), tuple(variables))


def query_frame(probabilities: FloatArray, states: Mapping[str, Sequence[State]]) -> pd.DataFrame:
    """Return an answer of :func:`query` as a frame: a row for each joint state, by its labels, and ``probability``.

    A variable of that name keeps it: the column of probabilities is then called ``probability_``.

    Examples
    --------
    >>> query_frame(np.array([0.25, 0.75]), {"sky": ["rain", "sun"]})
        sky  probability
    0  rain         0.25
    1   sun         0.75
    """
    frame = _joint_states(states).assign(**{_unlike("probability", states): probabilities.ravel()})
    return with_display(frame, answers_display)


def rows_frame(probabilities: FloatArray, states: Mapping[str, Sequence[State]], rows: pd.Index[Any]) -> pd.DataFrame:
    """Return an answer for each of many rows as a frame: ``row``, the joint states by their labels, ``probability``.

    Examples
    --------
    >>> rows_frame(np.array([[0.25, 0.75], [0.5, 0.5]]), {"sky": ["rain", "sun"]}, pd.Index(["mon", "tue"]))
       row   sky  probability
    0  mon  rain         0.25
    1  mon   sun         0.75
    2  tue  rain         0.50
    3  tue   sun         0.50
    """
    joint = _joint_states(states)
    frame = joint.take(np.tile(np.arange(len(joint)), len(rows))).reset_index(drop=True)
    frame.insert(0, _unlike("row", states), rows.repeat(len(joint)))
    return with_display(frame.assign(**{_unlike("probability", states): probabilities.ravel()}), rows_display)


def _unlike(column: str, names: Collection[str]) -> str:
    while column in names:
        column += "_"
    return column


def _joint_states(states: Mapping[str, Sequence[State]]) -> pd.DataFrame:
    codes = np.indices([len(own) for own in states.values()]).reshape(len(states), -1)
    labels = [label_index(own) for own in states.values()]
    cells = zip(states, labels, codes, strict=True)
    return pd.DataFrame({name: pd.Series(own.take(c), dtype=own.dtype) for name, own, c in cells})


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


def _instantiated(tables: LogTables, names: set[str], known: Mapping[str, int]) -> list[Factor]:
    """Return the tables that `names` depend on, with what is known filled in."""
    needed = relevant(tables, names)
    return [instantiated(tables, name, known) for name in tables.names if name in needed]


def relevant(tables: LogTables, names: set[str]) -> set[str]:
    """Return the variables whose tables tell of `names`: these, their ancestors, and what does not sum to one."""
    needed = names | {name for name, table in tables.tables.items() if not table.normalized}
    pending = list(needed)
    while pending:
        new = {*tables.tables[pending.pop()].parents} - needed
        needed |= new
        pending += new
    return needed


def instantiated(tables: LogTables, name: str, known: Mapping[str, int]) -> Factor:
    """Return a variable's table with what is known filled in."""
    family = (name, *tables.tables[name].parents)
    index = tuple(known.get(u, slice(None)) for u in family)
    return tuple(u for u in family if u not in known), np.asarray(tables.tables[name].values[index])
