"""Small problems that the tests of bnplug.gradient share, and what to hold them against."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from strategies import random_parents

from bnplug import Structure, parameter_learner
from bnplug.inference.complete import terms
from bnplug.model.log_tables import LogTables
from bnplug.table.table import Table


def random_problem(table, seed):
    """Random log parameters on a random structure, as tables and as terms."""
    rng = np.random.default_rng(seed)
    dag = Structure(table.names, random_parents(rng, len(table.names)))
    ml = parameter_learner("ml").fit(table, dag)
    noise = {name: (own.parents, own.values + rng.normal(size=own.values.shape)) for name, own in ml.tables.items()}
    tables = LogTables(ml.names, ml.states, noise, table.target)
    return tables, terms(tables, table.target)


def slow_nll(tables, table):
    """The NLL row by row; a node that has a missing variable adds nothing."""
    total = 0.0
    c = table.target_index
    for m in range(table.n_rows):
        joint = np.zeros(table.cards[c])
        for name, (parents, values) in tables.tables.items():
            family = [table.index(v) for v in (name, *parents)]
            if c not in family or any(table.codes[v, m] == table.missing for v in family):
                continue
            joint += values[tuple(slice(None) if v == c else table.codes[v, m] for v in family)]
        weight = 1.0 if table.weights is None else table.weights[m]
        total += weight * (logsumexp(joint) - joint[table.codes[c, m]])
    return total


def differences(function, point, step=1e-6):
    """The gradient by central differences."""
    result = np.empty_like(point)
    for i in range(point.size):
        up, down = point.copy(), point.copy()
        up[i] += step
        down[i] -= step
        result[i] = (function(up) - function(down)) / (2 * step)
    return result


def large_table(rows=4000, features=6, classes=3, states=4, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, states, (rows, features))).rename(columns=str)
    frame["c"] = rng.integers(0, classes, rows)
    return Table.from_frame(frame, "c")


def naive_bayes(table):
    return Structure(
        table.names, [[] if v == table.target_index else [table.target_index] for v in range(len(table.names))]
    )
