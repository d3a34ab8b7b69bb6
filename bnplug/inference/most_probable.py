"""The most probable explanation: the joint state of all that is not known that goes best with what is.

By elimination with the largest in place of the sum (Dechter 1999). Joint states whose log probabilities are within
`TIE` of the largest are tied, and the first of them is taken: lowest state of the first variable, then of the second.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray
from bnplug.inference._calibrated import Calibrated, evidence_factors
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.inference.complete import TIE
from bnplug.inference.queries import impossible, split_evidence
from bnplug.model.log_tables import LogTables


def most_probable(
    tables: LogTables,
    evidence: Mapping[str, int | npt.ArrayLike] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> dict[str, int]:
    """Return the most probable state of all variables that are not known, jointly, given the evidence.

    Parameters
    ----------
    tables : LogTables
    evidence : mapping of str to int or array, optional
        The position of a variable's state in ``tables.states``, or a likelihood for each of its states (soft
        evidence); the state of a variable that is known softly is found like the others.
    max_clique_size : int
        The number of cells that the largest table may have.

    Returns
    -------
    dict of str to int
        The position of each variable's state, in the order of ``tables.names``.

    Raises
    ------
    ValueError
        For an unknown variable, evidence that is impossible or no state, or a table of more than `max_clique_size`
        cells.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.6, 0.4])), "x": (("c",), np.log([[0.5, 0.1], [0.5, 0.9]]))})
    >>> most_probable(tables), most_probable(tables, {"c": 0})
    ({'c': 1, 'x': 1}, {'x': 0})
    """
    known, soft = split_evidence(tables, evidence)
    found: dict[str, int] = {}
    largest = None
    while len(known) + len(found) < len(tables.names):
        calibrated = Calibrated(
            tables, evidence_factors(tables, tables.names, {**known, **found}, soft), _largest, max_clique_size
        )
        if largest is None:
            largest = calibrated.total
            if np.isneginf(largest):
                raise impossible(evidence)
        found |= _settled(tables, calibrated.marginals(), largest)
    return {name: found[name] for name in tables.names if name in found}


def _settled(tables: LogTables, maxima: Mapping[str, FloatArray], largest: float) -> dict[str, int]:
    """Return the states that all tied joint states have, and of the first variable in which they differ the lowest."""
    settled, open_yet = {}, True
    for name in tables.names:
        if name in maxima:
            tied = np.flatnonzero(maxima[name] >= largest - TIE)
            if len(tied) == 1 or open_yet:
                settled[name] = int(tied[0])
            open_yet &= len(tied) == 1
    return settled


def _largest(values: FloatArray, axis: int) -> FloatArray:
    return np.asarray(values.max(axis=axis))
