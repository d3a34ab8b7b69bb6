"""The conditional log-likelihood less the description length of the parameters."""

from __future__ import annotations

import numpy as np

from bnplug.builtin.scores.cll import ConditionalLogLikelihood
from bnplug.scoring import dimension
from bnplug.table.table import Table


class ConditionalMDL(ConditionalLogLikelihood):
    """`cmdl`: `cll` minus 1/2 Dim(G) log M, for M rows (their total weight).

    Dim(G) is the number of free parameters of all nodes. Parameters are those of
    :class:`~bnplug.scoring.PredictiveScore`.

    References
    ----------
    Grossman, Domingos: Learning Bayesian network classifiers by maximizing conditional likelihood (2004).

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> ConditionalMDL().score(table, Structure(table.names, [[], []]))  # log 2 less: two parameters
    -2.079...
    """

    def penalty(self, table: Table, child: int, parents: tuple[int, ...]) -> float:
        """Return 1/2 log M for each free parameter of the family."""
        return 0.5 * float(np.log(table.total_weight)) * dimension(table, child, parents)
