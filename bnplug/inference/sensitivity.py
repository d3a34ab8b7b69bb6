"""How a posterior moves with each entry of the tables: exact derivatives (Darwiche 2003; Chan and Darwiche 2002).

An entry cannot move alone where its column sums to one: the others of its column move against it, in proportion to what
they are. Let ``g[k]`` be the derivative of P(y | e) by the entry of state k as if it moved alone. Then

    dP(y | e) / dtheta[k] = g[k] - sum over j != k of theta[j] g[j] / sum over j != k of theta[j],

where all others are 0, with their plain mean. The column keeps its sum, also where that is not one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from bnplug.arrays import FloatArray
from bnplug.data.coding import label_index
from bnplug.inference._calibrated import Calibrated, evidence_factors
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.inference._factors import log_sum
from bnplug.inference.queries import check_variables, impossible, relevant, split_evidence
from bnplug.model.log_tables import LogTables


def sensitivity(
    tables: LogTables,
    target: str,
    evidence: Mapping[str, int | npt.ArrayLike] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> dict[str, FloatArray]:
    """Return the derivative of P(target | evidence) by every entry of every table.

    Parameters
    ----------
    tables : LogTables
    target : str
        The variable whose posterior moves; not one that is known.
    evidence : mapping of str to int or array, optional
        The position of a variable's state, or a likelihood for each of its states.
    max_clique_size : int
        The number of cells that the largest table may have.

    Returns
    -------
    dict of str to float64 array
        For each variable an array of its table's shape and, behind it, an axis of the target's states. What the answer
        does not depend on has derivative 0.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> sensitivity(tables, "c", {"x": 1})["x"][1].round(3)  # by P(x=1 | c), of P(c=n | x=1) and P(c=p | x=1)
    array([[ 0.988, -0.988],
           [-0.123,  0.123]])
    """
    known, soft = split_evidence(tables, evidence)
    check_variables(tables, [target], known)
    needed = relevant(tables, {target, *known, *soft})
    names = [name for name in tables.names if name in needed]
    factors = [evidence_factors(tables, names, {**known, target: y}, soft) for y in range(len(tables.states[target]))]
    answers = [Calibrated(tables, own, log_sum, max_clique_size) for own in factors]
    totals = np.array([answer.total for answer in answers])
    if np.isneginf(totals).all():
        raise impossible(evidence)
    result = {name: np.zeros((*table.values.shape, len(totals))) for name, table in tables.tables.items()}
    for number, name in enumerate(names):
        family = (name, *tables.tables[name].parents)
        for y, answer in enumerate(answers):
            cells = tuple({**known, target: y}.get(u, slice(None)) for u in family)
            with np.errstate(over="ignore"):
                result[name][(*cells, y)] = np.exp(answer.outside(number) - logsumexp(totals))
        _with_the_column(result[name], tables.tables[name].values, np.exp(totals - logsumexp(totals)))
    return result


def sensitivity_frame(
    tables: LogTables, slopes: Mapping[str, FloatArray], target: str, posterior: FloatArray
) -> pd.DataFrame:
    """Return :func:`sensitivity` as a frame, the largest derivative in absolute terms first.

    Columns ``variable``, ``state``, ``given`` (a dict of the parents' states), ``parameter``, ``target`` (a state of
    it), ``probability`` (the posterior of that state) and ``derivative``.
    """
    entries = [entry for name in tables.names for entry in _entries(tables, name)]
    n_states = len(posterior)
    frame = pd.DataFrame(entries, columns=["variable", "state", "given", "parameter"], dtype=object)
    frame = frame.take(np.arange(len(entries)).repeat(n_states)).reset_index(drop=True)
    labels = label_index(tables.states[target])
    frame = frame.astype({"parameter": np.float64}).assign(
        target=pd.Series(labels.take(np.tile(np.arange(n_states), len(entries))), dtype=labels.dtype),
        probability=np.tile(posterior, len(entries)),
        derivative=np.concatenate([slopes[name].ravel() for name in tables.names]),
    )
    order = np.argsort(-frame["derivative"].abs().to_numpy(), kind="stable")
    return frame.take(order).reset_index(drop=True)


def _entries(tables: LogTables, name: str) -> list[tuple[str, Any, dict[str, Any], float]]:
    """Return the entries of a table: variable, state, the parents' states, parameter."""
    parents, values = tables.tables[name]
    family = [tables.states[u] for u in (name, *parents)]
    cells = zip(product(*family), np.exp(values).ravel(), strict=True)
    return [(name, state, dict(zip(parents, own, strict=True)), float(theta)) for (state, *own), theta in cells]


def _with_the_column(slopes: FloatArray, logs: FloatArray, posterior: FloatArray) -> None:
    """Turn derivatives of P(y, e) / P(e), its numerator alone moving, into those of P(y | e) with co-variation."""
    slopes -= posterior * slopes.sum(axis=-1, keepdims=True)
    largest = logs.max(axis=0, keepdims=True)
    theta = np.exp(logs - np.where(np.isneginf(largest), 0.0, largest))
    # Sums without one's own, not a sum minus one's own: that would lose all digits where one entry is nearly all.
    others = _others(theta)
    alone = others == 0
    moved = _others(theta[..., None] * slopes) / np.where(alone, 1.0, others)[..., None]
    spread = _others(slopes) / max(1, len(slopes) - 1)
    slopes -= np.where(alone[..., None], spread, moved)
    if len(slopes) == 1:
        slopes[:] = 0.0


def _others(values: FloatArray) -> FloatArray:
    """Return at each position of the first axis the sum over all other positions."""
    sums = np.zeros_like(values)
    sums[1:] += np.cumsum(values[:-1], axis=0)
    sums[:-1] += np.cumsum(values[:0:-1], axis=0)[::-1]
    return sums
