"""Log joints for prediction: rows that are impossible under every class get the class prior."""

from __future__ import annotations

import numpy as np

from bnplug.arrays import CodeArray, FloatArray
from bnplug.contracts import Marginals


def predictive_log_joint(marginals: Marginals, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
    """Return the log joint of every row and class; a row impossible under every class gets the log prior of the class.

    Otherwise all classes of an impossible row would be tied, and the order of the labels would decide.

    Parameters
    ----------
    marginals : Marginals
        The compiled network. The class prior is its answer for a row without any known feature.
    codes : unsigned array of shape (variables, rows)
        In the order of the tables' names; the largest value of the type is missing.
    n_jobs : int, optional
        Threads, as joblib counts them.

    Returns
    -------
    float64 array of shape (rows, classes)

    Examples
    --------
    >>> from bnplug.inference import Marginalizer, posterior
    >>> from bnplug.model.log_tables import LogTables
    >>> never = -np.inf
    >>> tables = LogTables(
    ...     ["x", "c"], {"x": [0, 1], "c": ["n", "p"]},
    ...     {"x": (("c",), np.array([[0.0, 0.0], [never, never]])), "c": ((), np.log([0.3, 0.7]))}, "c")
    >>> codes = np.array([[1], [255]], dtype=np.uint8)  # x is 1
    >>> posterior(predictive_log_joint(Marginalizer(tables, "c"), codes)).round(3)
    array([[0.3, 0.7]])
    """
    joint = marginals.log_joint(codes, n_jobs)
    impossible = np.isneginf(joint).all(axis=1, keepdims=True)
    if not impossible.any():
        return joint
    nothing_known = np.full((len(codes), 1), np.iinfo(codes.dtype).max, dtype=codes.dtype)
    return np.where(impossible, marginals.log_joint(nothing_known, n_jobs), joint)
