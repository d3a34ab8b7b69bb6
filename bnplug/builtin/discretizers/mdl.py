"""Minimum-description-length bins of Fayyad and Irani."""

from __future__ import annotations

from bnplug.table.column_summary import ColumnSummary
from bnplug.table.discretizer import Discretizer
from bnplug.typing import FloatArray


class MDLDiscretizer(Discretizer):
    """Cut where classes differ, by the minimum description length criterion of Fayyad and Irani.

    An interval is cut where the remaining class entropy E is smallest; both parts are cut in turn. A cut is accepted if
    its gain exceeds ``[log2(n - 1) + log2(3^k - 2) - k E + k1 E1 + k2 E2] / n``. Cuts lie midway between neighboring
    values. If entropies are equal (within 1e-11 nats), the lowest cut is taken. A column without cuts has one bin,
    ``all``. The parameter is as for :class:`bnplug.Discretizer`.

    Notes
    -----
    With weights, ``n`` is the total weight of an interval, and n - 1 is at least 1. Weights that sum to 1 count as one
    row, too little for most cuts.

    References
    ----------
    Fayyad, Irani: Multi-interval discretization of continuous-valued attributes for classification learning (1993).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> mdl = MDLDiscretizer().set_output(transform="pandas")
    >>> mdl.fit_transform(X, y)["petal width (cm)"].cat.categories.tolist()
    ['<=0.8', '0.8..1.75', '>1.75']
    """

    supervised = True

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the cuts of a column."""
        # Compiled code is loaded when it is first needed.
        from bnplug.builtin.discretizers.mdl_cuts import mdl_cuts

        return mdl_cuts(column)
