"""Whether findings go together: Jensen's measure of conflict (Jensen, Chamberlain, Nordahl, Jensen 1991)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray
from bnplug.contracts import Marginals
from bnplug.inference.queries import impossible


def conflict(marginals: Marginals, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
    """Return ``log(P(e1) P(e2) ... / P(e1, e2, ...))`` of findings, in nats.

    Findings that support each other are more probable together than apart, and the measure is negative; above 0 they
    are in conflict: a rare case, an error in the data, or one that the network does not know. The probability of a soft
    finding is its mean likelihood.

    Parameters
    ----------
    marginals : Marginals
    evidence : mapping of str to int or array
        The position of a variable's state, or a likelihood for each of its states.

    Raises
    ------
    ValueError
        For evidence that is impossible.

    Examples
    --------
    >>> from bnplug import LogTables
    >>> from bnplug.inference import Marginalizer
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> [round(conflict(Marginalizer(tables, "c"), {"c": c, "x": 1}), 3) for c in (0, 1)]
    [1.504, -0.575]
    """
    result = 0.0
    before: dict[str, int | npt.ArrayLike] = {}
    for name, finding in evidence.items():
        alone = _probability(marginals.query([name], {}), finding)
        given = _probability(marginals.query([name], before), finding)
        if alone == 0 or given == 0:
            raise impossible(evidence)
        result += float(np.log(alone) - np.log(given))
        before[name] = finding
    return result


def _probability(posterior: FloatArray, finding: int | npt.ArrayLike) -> float:
    weights = np.asarray(finding)
    return float(posterior[weights] if weights.ndim == 0 else posterior @ weights)
