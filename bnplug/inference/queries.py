"""Answers about any variables: P(variables | evidence), by variable elimination in logarithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from bnplug.arrays import FloatArray
from bnplug.data.coding import State, label_index
from bnplug.errors import did_you_mean
from bnplug.inference._cliques import MAX_CLIQUE_SIZE, check_clique
from bnplug.inference._factors import Factor, Factors, product
from bnplug.model.log_tables import LogTables


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
    given = dict(evidence or {})
    known = {name: int(state) for name, state in given.items() if isinstance(state, Integral)}
    _check_query(tables, variables, known, [name for name in given if name not in known])
    soft = {name: _log_likelihood(tables, name, given[name]) for name in given if name not in known}
    joint = log_measure(tables, variables, known, soft, max_clique_size)
    total = logsumexp(joint)
    if np.isneginf(total):
        raise ValueError(f"the evidence {given} is impossible: it has probability 0")
    return np.asarray(np.exp(joint - total))


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
    left = Factors(tables, factors, {*variables})
    while left.hidden:
        v, clique = left.cheapest()
        check_clique(tables, clique, max_clique_size)
        left.sum_out(v, clique)
    check_clique(tables, tuple(variables), max_clique_size)
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
    codes = np.indices(probabilities.shape).reshape(len(states), -1)
    labels = [label_index(own) for own in states.values()]
    cells = zip(states, labels, codes, strict=True)
    frame = pd.DataFrame({name: pd.Series(own.take(c), dtype=own.dtype) for name, own, c in cells})
    column = "probability"
    while column in states:
        column += "_"
    frame.insert(len(states), column, probabilities.ravel())
    return frame


def _check_query(tables: LogTables, variables: Sequence[str], known: Mapping[str, int], soft: Sequence[str]) -> None:
    for name in (*variables, *known, *soft):
        if name not in tables.states:
            raise ValueError(f"no variable {name!r} in the network.{did_you_mean(name, tables.names)}")
    if not variables or len({*variables, *known}) < len(variables) + len(known):
        raise ValueError(
            f"variables {list(variables)} and evidence {list(known)}: ask about at least one variable, "
            "each once, and not about what is known"
        )
    for name, state in known.items():
        if not 0 <= state < len(tables.states[name]):
            raise ValueError(f"evidence {name!r}: {state} is no state of its {len(tables.states[name])}")


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
    needed = names | {name for name, table in tables.tables.items() if not table.normalized}
    pending = list(needed)
    while pending:
        new = {*tables.tables[pending.pop()].parents} - needed
        needed |= new
        pending += new
    factors = []
    for name in tables.names:
        if name in needed:
            family = (name, *tables.tables[name].parents)
            index = tuple(known.get(u, slice(None)) for u in family)
            factors.append((tuple(u for u in family if u not in known), tables.tables[name].values[index]))
    return factors
