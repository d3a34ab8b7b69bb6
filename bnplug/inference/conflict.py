"""Whether findings go together: Jensen's measure of conflict (Jensen, Chamberlain, Nordahl, Jensen 1991)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bnplug.contracts import Marginals
from bnplug.inference.queries import impossible


def conflict(marginals: Marginals, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
    """Return ``log(P(e1) P(e2) ... / P(e1, e2, ...))`` of findings, in nats.

    Findings that support each other are more probable together than apart, and the measure is negative. Positive values
    indicate a conflict: a rare case, an error in the data, or a case that the network does not model. The probability
    of a soft finding is its expected likelihood.

    Parameters
    ----------
    marginals : Marginals
    evidence : mapping of str to int or array
        The position of a variable's state, or a likelihood for each of its states.

    Raises
    ------
    ValueError
        If the evidence is impossible: its probability is exactly 0.

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
    together = marginals.log_probability(evidence)
    if np.isneginf(together):
        raise impossible(evidence)
    return sum(marginals.log_probability({name: finding}) for name, finding in evidence.items()) - together
