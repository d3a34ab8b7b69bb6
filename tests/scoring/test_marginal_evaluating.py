"""Predictive scores on incomplete rows: their marginal log joints, against enumeration of all completions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import MISSING, enumerated, full_joint, random_rows, random_tables
from scipy.special import log_softmax, logsumexp
from sklearn.model_selection import PredefinedSplit
from strategies import LONG

from bnplug import LogTables, Table, score_function
from bnplug.inference import sample
from bnplug.inference.expected_table import ExpectedTable
from bnplug.model.log_tables import estimate
from bnplug.scoring import PredictiveScore, winner
from bnplug.table.block_table import BlockTable

CARDS = [2, 3, 2, 2, 3]


def random_graph(rng, n, most=2, share=0.5):
    """Parents of numbered variables; any may be the class's."""
    order = rng.permutation(n).tolist()
    parents = [[] for _ in range(n)]
    for i, v in enumerate(order):
        parents[v] = sorted(u for u in order[:i] if rng.random() < share)[:most]
    return parents


def case(seed, n_rows=25, weighted=False, cards=CARDS, missing=0.35):
    """Rows, the network that says what is expected of them, and another graph."""
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, random_graph(rng, len(cards)), cards, spread=1.5)
    codes = random_rows(rng, tables, n_rows, missing)
    codes[0, :8] = np.arange(8) % 2  # both classes are there, and in every fold
    weights = rng.integers(1, 4, n_rows) / 2 if weighted else None
    rows = Table(codes, tables.names, tables.states, tables.target, weights, missing_policy="em")
    return rows, tables, random_graph(rng, len(cards))


def completions(table, tables):
    """For each row the probability of every joint state, given what it knows."""
    joint = full_joint(tables)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    for row, weight in zip(table.codes.T, weights, strict=True):
        place = tuple(slice(None) if state == MISSING else int(state) for state in row)
        shares = np.zeros_like(joint)
        shares[place] = weight * np.exp(joint[place] - logsumexp(joint[place]))
        yield shares


def estimated(total, tables, parents, alpha, floor=0.0):
    """The network of a graph whose parameters are estimated from how often each joint state is expected."""
    own = {}
    for v, given_ in enumerate(parents):
        family = [v, *given_]
        counts = total.sum(axis=tuple(u for u in range(total.ndim) if u not in family))
        values = estimate(counts.transpose(np.argsort(np.argsort(family))), alpha, floor)
        own[tables.names[v]] = [tables.names[p] for p in given_], values
    return LogTables(tables.names, tables.states, own, tables.target)


def enumerated_joint(table, tables, parents, folds=None, alpha=1.0, floor=0.0):
    """The log joints of the rows with a class, each by the rows outside its fold; nan where not tested."""
    shares, known = list(completions(table, tables)), np.flatnonzero(table.codes[0] != MISSING)
    joint = np.full((len(known), 2), np.nan)
    if folds is None:
        return enumerated(estimated(sum(shares), tables, parents, alpha, floor), table.codes[:, known])
    for fold in np.unique(folds[folds >= 0]):
        held_out = set(known[folds == fold].tolist())
        total = sum(own for m, own in enumerate(shares) if m not in held_out)
        network = estimated(total, tables, parents, alpha, floor)
        joint[folds == fold] = enumerated(network, table.codes[:, known[folds == fold]])
    return joint


def weights_of(table):
    known = table.codes[0] != MISSING
    return (np.ones(table.n_rows) if table.weights is None else table.weights)[known]


def is_acyclic(parents):
    left = set(range(len(parents)))
    while ready := {v for v in left if not left & set(parents[v])}:
        left -= ready
    return not left


def neighbours(parents):
    """Graphs that differ in one or two families."""
    n = len(parents)
    for v in range(n):
        for u in range(n):
            if u != v:
                changes = {v: sorted(set(parents[v]) ^ {u})}
                if v in parents[u]:  # turn the edge
                    changes[u] = [p for p in parents[u] if p != v]
                if is_acyclic([changes.get(w, own) for w, own in enumerate(parents)]):
                    yield changes


@settings(max_examples=60 if LONG else 6)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_every_neighbour_is_scored_by_the_log_joint_with_all_that_is_missing_summed_out(seed, weighted, folded):
    table, tables, parents = case(seed, weighted=weighted)
    labels = table.codes[0][table.codes[0] != MISSING].astype(int)
    folds = np.arange(len(labels)) // 2 % 3 - (np.arange(len(labels)) > 20) if folded else None
    score = score_function("cll", cv=PredefinedSplit(folds) if folded else None, alpha=0.7)
    evaluator = score.evaluator(ExpectedTable(table, lambda: tables))

    def wanted(graph):
        joint = enumerated_joint(table, tables, graph, folds, alpha=0.7)
        tested = ~np.isnan(joint).any(axis=1)
        gains = log_softmax(joint[tested], axis=1)[np.arange(tested.sum()), labels[tested]]
        return float(weights_of(table)[tested] @ gains)

    assert evaluator.start(parents) == pytest.approx(wanted(parents), abs=1e-9)
    candidates = list(neighbours(parents))[:: 1 if LONG else 3]
    for changes, found in zip(candidates, evaluator.propose_many(candidates), strict=True):
        assert found == pytest.approx(wanted([changes.get(v, own) for v, own in enumerate(parents)]), abs=1e-9)
    changes = candidates[seed % len(candidates)]
    assert evaluator.commit(changes) == pytest.approx(evaluator.start(evaluator.parents), abs=1e-9)


def _cost(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * L.shape[1] + winner(L, m)] + 0.01 * (L[m, y[m]] - L[m, 1 - y[m]])


class ThirdPartyCost(PredictiveScore):
    gain = _cost
    aggregate = "mean"

    def gain_params(self, table):
        return [0.0, 1.0, 5.0, 0.0]

    def penalty(self, table, child, parents):
        return 0.1 * len(parents)


@pytest.mark.parametrize("seed", range(3))
def test_a_score_of_a_third_party_sees_the_same(seed):
    table, tables, parents = case(seed, weighted=True)
    evaluator = ThirdPartyCost().evaluator(ExpectedTable(table, lambda: tables))
    y, weights = table.codes[0][table.codes[0] != MISSING].astype(int), weights_of(table)

    def wanted(graph):
        joint = enumerated_joint(table, tables, graph)
        wins = (joint[:, 1] > joint[:, 0] + 1e-9).astype(int)
        rows = np.arange(len(y))
        gains = -np.array([0.0, 1.0, 5.0, 0.0])[2 * y + wins] + 0.01 * (joint[rows, y] - joint[rows, 1 - y])
        return weights @ gains / weights.sum() - 0.1 * sum(map(len, graph))

    assert evaluator.start(parents) == pytest.approx(wanted(parents))
    for changes in neighbours(parents):
        graph = [changes.get(v, own) for v, own in enumerate(parents)]
        assert evaluator.propose_many([changes])[0] == pytest.approx(wanted(graph))


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_of_zero(seed):
    table, tables, parents = case(seed, n_rows=12, missing=0.15)
    evaluator = score_function("cr", alpha=0.0).evaluator(ExpectedTable(table, lambda: tables))
    y = table.codes[0][table.codes[0] != MISSING]
    evaluator.start(parents)
    for changes in neighbours(parents):
        joint = enumerated_joint(table, tables, [changes.get(v, own) for v, own in enumerate(parents)], alpha=0.0)
        best = np.maximum(joint[:, 0], joint[:, 1])
        wins = np.where(joint[:, 0] >= best - 1e-9, 0, 1)
        assert evaluator.propose_many([changes])[0] == pytest.approx((wins == y).mean())


def test_blocks_threads_and_turns_score_alike():
    table, tables, parents = case(5, n_rows=40, weighted=True)
    candidates = list(neighbours(parents))
    whole = score_function("cll", cv=3).evaluator(ExpectedTable(table, lambda: tables))
    whole.start(parents)
    scores = whole.propose_many(candidates)
    for n_jobs, own in ((2, table), (1, BlockTable.cut(table, [11, 29]))):
        other = score_function("cll", cv=3).evaluator(ExpectedTable(own, lambda: tables), n_jobs)
        other.start(parents)
        np.testing.assert_allclose(other.propose_many(candidates), scores, rtol=1e-12)
    in_turn = whole.propose_in_turn(candidates, np.full(len(candidates), np.median(scores)))
    first = int(np.flatnonzero(scores >= np.median(scores))[0])
    np.testing.assert_array_equal(in_turn, scores[: first + 1])


@pytest.mark.parametrize("name", ["cr", "cll", "cmdl", "mm", "rmcv", "rmho"])
def test_rows_that_lack_nothing_are_scored_as_ever(name):
    table, tables, parents = case(1, n_rows=60, missing=0.0)
    plain = Table(table.codes, table.names, table.states, table.target)
    one, other = (score_function(name, random_state=0) for _ in range(2))
    plainly, expected = one.evaluator(plain), other.evaluator(ExpectedTable(table, lambda: tables))
    assert expected.start(parents) == pytest.approx(plainly.start(parents))
    assert expected.step() == pytest.approx(plainly.step())
    candidates = list(neighbours(parents))
    np.testing.assert_allclose(expected.propose_many(candidates), plainly.propose_many(candidates))


def test_a_margin_chosen_by_folds_is_chosen_on_expected_rows():
    table, tables, _ = case(2, n_rows=60, missing=0.2)
    expected = ExpectedTable(table, lambda: tables)
    score = score_function("mm", lam="cv")
    chosen = score.evaluator(expected)
    fixed = score_function("mm", lam=score.lam_).evaluator(expected)
    assert chosen.start(table.naive_bayes()) == fixed.start(table.naive_bayes())
    assert "store" not in vars(expected)  # nothing was drawn


def test_a_family_of_millions_of_cells_is_not_looked_at(monkeypatch):
    from bnplug.scoring import _marginal

    table, tables, _ = case(3)
    evaluator = score_function("cll").evaluator(ExpectedTable(table, lambda: tables))
    evaluator.start([[] if v == 0 else [0] for v in range(5)])
    monkeypatch.setattr(_marginal, "_CELLS_AT_ONCE", 12)
    found = evaluator.propose_many([{1: [0, 4]}, {2: [0, 1]}, {1: [0, 2]}])
    assert np.isneginf(found).tolist() == [True, False, False]


@pytest.mark.parametrize("few", [1, 4096])
def test_what_is_kept_of_families_does_not_change_scores(monkeypatch, few):
    from bnplug.scoring import _marginal

    monkeypatch.setattr(sample, "_FEW", few)
    table, tables, parents = case(4)
    candidates = list(neighbours(parents))
    evaluator = score_function("cll").evaluator(ExpectedTable(table, lambda: tables))
    evaluator.start(parents)
    wanted = evaluator.propose_many(candidates)
    monkeypatch.setattr(_marginal, "_CELLS_KEPT", 50)
    monkeypatch.setattr(_marginal, "_CELLS_AT_ONCE", 100)
    np.testing.assert_allclose(evaluator.propose_many(candidates), wanted, rtol=1e-12)
    np.testing.assert_allclose([evaluator.propose_many([own])[0] for own in candidates], wanted, rtol=1e-12)
