"""Every exact engine agrees with enumeration on networks whose log parameters spread over 600 nats."""

import numpy as np
import pytest
from random_networks import MISSING, enumerated, full_joint, random_rows
from scipy.special import log_softmax, logsumexp, softmax

import bnplug
from bnplug import LogTables
from bnplug.inference.complete import posterior


def extreme_network(seed):
    """Return a random network of 4 to 7 variables; log parameters are uniform between -300 and 300, some are -inf."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    names = [f"v{i}" for i in range(n)]
    cards = rng.integers(2, 4, n)
    tables = {}
    for v in range(n):
        parents = sorted(rng.choice(v, rng.integers(0, min(v, 3) + 1), replace=False).tolist())
        values = rng.uniform(-300, 300, [cards[u] for u in (v, *parents)])
        values[rng.random(values.shape) < 0.05] = -np.inf
        values[0, np.isneginf(values).all(axis=0)] = 0.0
        tables[names[v]] = ([names[u] for u in parents], log_softmax(values, axis=0) if seed % 2 else values)
    target = names[int(rng.integers(n))]
    return rng, LogTables(names, {name: range(card) for name, card in zip(names, cards, strict=True)}, tables, target)


@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
def test_posteriors_are_those_of_enumeration(engine):
    wrong = []
    for seed in range(100):
        rng, tables = extreme_network(seed)
        codes = random_rows(rng, tables, 8, 0.4)
        exact = enumerated(tables, codes)
        found = bnplug.engine(engine).compile(tables, tables.target).log_joint(codes)
        possible = np.isfinite(exact).any(axis=1)
        off = np.abs(posterior(found) - posterior(exact)).max(axis=1)[possible]
        wrong += [(seed, m) for m in np.flatnonzero(possible)[~(off < 1e-9)]]
    assert not wrong


@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
def test_log_ratios_of_classes_are_kept_where_their_probabilities_are_below_every_float(engine):
    for seed in range(0, 40, 2):
        rng, tables = extreme_network(seed)
        codes = random_rows(rng, tables, 8, 0.4)
        exact = enumerated(tables, codes)
        found = bnplug.engine(engine).compile(tables, tables.target).log_joint(codes)
        holes = (np.delete(codes, tables.names.index(tables.target), axis=0) == MISSING).any(axis=0)
        for one, other in zip(found[holes], exact[holes], strict=True):
            if np.isfinite(other).all():
                assert np.diff(one) == pytest.approx(np.diff(other), abs=1e-9), seed


@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
def test_queries_are_those_of_enumeration(engine):
    for seed in range(40):
        _, tables = extreme_network(seed)
        joint, n = full_joint(tables), len(tables.names)
        compiled = bnplug.engine(engine).compile(tables, tables.target)
        # The least probable state of the last variable, and soft evidence on the first.
        totals = logsumexp(joint, axis=tuple(range(n - 1)))
        state = int(np.argmin(np.where(np.isfinite(totals), totals, np.inf)))
        likelihood = np.geomspace(1e-290, 1e290, joint.shape[0])
        given = joint[..., state] + np.log(likelihood).reshape([-1] + [1] * (n - 2))
        asked = tables.names[1:3]
        exact = softmax(logsumexp(given, axis=(0, *range(3, n - 1))))
        found = compiled.query(asked, {tables.names[-1]: state, tables.names[0]: likelihood})
        assert found == pytest.approx(exact, abs=1e-9), seed


@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
def test_expected_counts_are_those_of_enumeration(engine):
    for seed in range(20):
        rng, tables = extreme_network(seed)
        codes, c = random_rows(rng, tables, 1, 0.6), tables.names.index(tables.target)
        joint = full_joint(tables)
        for v in range(len(codes)):
            if v != c and codes[v, 0] != MISSING:
                others = np.arange(joint.shape[v]) != codes[v, 0]
                np.moveaxis(joint, v, 0)[others] = -np.inf
        totals = logsumexp(joint, axis=tuple(v for v in range(joint.ndim) if v != c), keepdims=True)
        shares = np.exp(joint - np.where(np.isneginf(totals), 0.0, totals))
        weights = np.ones((1, joint.shape[c]))
        found = bnplug.engine(engine).compile(tables, tables.target).expected_counts(codes, weights)
        for counts, (name, (parents, _)) in zip(found, tables.tables.items(), strict=True):
            family = [tables.names.index(u) for u in (name, *parents)]
            exact = shares.sum(axis=tuple(v for v in range(joint.ndim) if v not in family))
            exact = exact.transpose(np.argsort(np.argsort(family)))
            assert counts == pytest.approx(exact, abs=1e-9), (seed, name)
