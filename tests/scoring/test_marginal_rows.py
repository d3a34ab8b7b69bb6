"""The rows of a block and their marginal log joints, where the engine has to help."""

import numpy as np
import pytest
from random_networks import MISSING, enumerated, random_rows, random_tables

from bnplug import Table
from bnplug.builtin.scores.cll import ConditionalLogLikelihood
from bnplug.scoring._gains import evaluate
from bnplug.scoring._marginal import MarginalRows

GAIN = ConditionalLogLikelihood.gain
NAMES = [f"v{i}" for i in range(15)]
# A chain of which the class is every variable's parent.
CHAIN = [[], *([0, v - 1] if v > 1 else [0] for v in range(1, 15))]


def long_rows():
    """Six rows, two of which lack so much between what they know that there are 2 ** 13 joint states; two folds."""
    rng = np.random.default_rng(0)
    networks = [random_tables(rng, CHAIN, [2] * 15) for _ in range(2)]
    codes = random_rows(rng, networks[0], 6, 0.0)
    codes[1:14, :2] = MISSING
    codes[3:5, 2:] = MISSING
    codes[0] = [0, 1, 0, 1, 0, 1]
    folds = np.array([0, 1, 0, 1, 0, -1])
    return Table(codes, networks[0].names, networks[0].states, "v0"), networks, folds


def families_of(networks, parents):
    logs = [np.stack([network[name].values for network in networks]) for name in NAMES]
    return {v: (tuple(own), values) for (v, own), values in zip(enumerate(parents), logs, strict=True)}


def wanted(table, networks, folds):
    joint = np.stack([enumerated(network, table.codes) for network in networks])
    tested = np.flatnonzero(folds >= 0)
    own = joint[folds[tested], tested]
    return evaluate(GAIN, own, table.codes[0, tested].astype(np.int64), np.empty(0)).sum()


@pytest.mark.parametrize("finite", [True, False])
def test_many_joint_states_are_left_to_the_engine(finite):
    table, networks, folds = long_rows()
    rows = MarginalRows(table, folds, GAIN, np.empty(0), finite, 1)
    rows.start(families_of(networks, CHAIN))
    assert rows.gain()[0] == pytest.approx(wanted(table, networks, folds))
    rng = np.random.default_rng(1)
    changed = [*CHAIN[:14], [0, 12, 13]]
    others = [random_tables(rng, changed, [2] * 15) for _ in range(2)]
    own = families_of(others, changed)
    mixed = [
        type(a)(a.names, a.states, {**a.tables, "v14": (b["v14"].parents, b["v14"].values)}, "v0")
        for a, b in zip(networks, others, strict=True)
    ]
    (found,) = rows.scores([{14: own[14]}, {}])
    np.testing.assert_allclose(found, [wanted(table, mixed, folds), wanted(table, networks, folds)])


def test_weights_count_and_threads_do_not():
    table, networks, folds = long_rows()
    weighted = Table(table.codes, table.names, table.states, "v0", [1.0, 2.0, 0.5, 1.0, 1.0, 9.0])
    twice = table.take([0, 1, 1, 2, 3, 4])
    rows = [MarginalRows(weighted, folds, GAIN, np.empty(0), True, n_jobs) for n_jobs in (1, 2)]
    for own in rows:
        own.start(families_of(networks, CHAIN))
    assert rows[0].gain() == rows[1].gain()
    half = MarginalRows(table.take([2]), folds[[2]], GAIN, np.empty(0), True, 1)
    plain = MarginalRows(twice, folds[[0, 1, 1, 2, 3, 4]], GAIN, np.empty(0), True, 1)
    for own in (half, plain):
        own.start(families_of(networks, CHAIN))
    assert rows[0].gain()[0] == pytest.approx(plain.gain()[0] - 0.5 * half.gain()[0])
