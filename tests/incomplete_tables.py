"""Rows with missing cells that the tests of several learners share, and the log joint that a model gives them."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from bnplug.inference.marginals import Marginalizer
from bnplug.table.table import Table

#: Parents of four features and, last, the class: C1, C1 with parents of the class, and not C1.
STRUCTURES = {
    "tree": [[4], [4, 0], [4, 0], [4, 1], []],
    "class with parents": [[], [4, 0], [4, 1], [1], [0]],
    "not C1": [[4], [4], [4, 0, 1], [2], []],
}


def incomplete_table(rows=150, missing=0.3, unlabeled=0.0, missing_policy="em", seed=0):
    """Features that follow the class and one another, each cell missing with a probability."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    columns, before = [], y
    for states in (2, 3, 2, 3):
        before = np.where(rng.random(rows) < 0.5, (y + before) % states, rng.integers(0, states, rows))
        columns.append(before)
    codes = np.array([*columns, y], dtype=np.uint8)
    holes = rng.random(codes.shape) < np.array([missing] * 4 + [unlabeled])[:, None]
    codes[holes] = 255
    names = ["x0", "x1", "x2", "x3", "c"]
    states = {name: range(n) for name, n in zip(names, (2, 3, 2, 3, 3), strict=True)}
    return Table(codes, names, states, "c", missing_policy=missing_policy)


def joint_of(tables, table):
    """The log joint of every row and class by what a learner returned, but for what is the same for all classes."""
    return Marginalizer(tables, "c").log_joint(table.codes)


def nll_of(tables, table):
    """The sum of -log P(class | what is known) over the rows that have a class."""
    y = table.codes[table.target_index].astype(int)
    rows = np.flatnonzero(y != table.missing)
    joint = joint_of(tables, table)
    return float((logsumexp(joint[rows], axis=1) - joint[rows, y[rows]]).sum())
