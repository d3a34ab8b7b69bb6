"""Random networks and rows with holes, and their marginals by enumeration of all completions."""

import numpy as np
from scipy.special import log_softmax, logsumexp

from bnplug import LogTables

MISSING = 255

# Parents of numbered variables, of which the first is the class.
TREE = [[], [0], [0, 1], [0, 1], [0, 3], [0]]
TWO_TREE = [[], [0], [0, 1], [0, 1, 2], [0, 1, 3], [0, 2, 3]]
CLASS_WITH_PARENTS = [[1, 2], [], [1], [0, 2], [3], [0, 3, 4]]


def random_tables(rng, parents, cards, target=0, normalized=True, zeros=0.0, spread=1.0):
    """Log tables on a structure of numbered variables; a share of the entries is -inf."""
    names = [f"v{i}" for i in range(len(cards))]
    tables = {}
    for v, own in enumerate(parents):
        values = rng.normal(scale=spread, size=[cards[u] for u in (v, *own)])
        values[rng.random(values.shape) < zeros] = -np.inf
        if normalized:
            values[0, np.isneginf(values).all(axis=0)] = 0.0
            values = log_softmax(values, axis=0)
        tables[names[v]] = ([names[u] for u in own], values)
    return LogTables(names, {name: range(card) for name, card in zip(names, cards, strict=True)}, tables, names[target])


def full_joint(tables):
    """The log of the product of all tables, with one axis for each variable."""
    total = np.zeros([len(tables.states[name]) for name in tables.names])
    for name, (own, values) in tables.tables.items():
        axes = [tables.names.index(u) for u in (name, *own)]
        shape = [size if axis in axes else 1 for axis, size in enumerate(total.shape)]
        total = total + values.transpose(np.argsort(axes)).reshape(shape)
    return total


def enumerated(tables, codes):
    """log P(class, observed) of every row, by summing over all completions of it."""
    joint, target = full_joint(tables), tables.names.index(tables.target)
    rows = []
    for row in codes.T:
        index = tuple(slice(None) if v == target or state == MISSING else int(state) for v, state in enumerate(row))
        kept = joint[index]
        axis = sum(isinstance(part, slice) for part in index[:target])
        rows.append(logsumexp(np.moveaxis(kept, axis, 0).reshape(joint.shape[target], -1), axis=1))
    return np.array(rows)


def random_rows(rng, tables, n_rows, missing):
    codes = np.stack([rng.integers(0, len(tables.states[name]), n_rows, dtype=np.uint8) for name in tables.names])
    codes[rng.random(codes.shape) < missing] = MISSING
    return codes
