"""Scores over many blocks of rows: those of the evaluator in memory, whatever the way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_parents, tables

import bnplug
from bnplug import Table
from bnplug.builtin.scores import HitRate
from bnplug.builtin.scores.cll import ConditionalLogLikelihood
from bnplug.errors import ContractError
from bnplug.scoring import PredictiveScore, _blocks, _evaluating
from bnplug.scoring._evaluating import BlockEvaluator
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Blocks

SCORES = [HitRate(), HitRate(alpha=0.0, cv=2), ConditionalLogLikelihood(cv=3), HitRate(alpha=0.0, floor=0.01)]


class Costly(HitRate):
    """A hit rate that each parent lowers."""

    def penalty(self, table, child, parents):
        return 0.01 * len(parents)


def two_classes(table):
    return len(set(table.codes[table.target_index].tolist())) == table.cards[table.target_index] >= 2


@st.composite
def cut_tables(draw):
    table = draw(tables(missing=True, weighted=True, min_features=2).filter(two_classes))
    table = table.take(np.tile(np.arange(table.n_rows), 4))  # enough of each class for folds
    bounds = sorted(draw(st.lists(st.integers(0, table.n_rows), min_size=1, max_size=3)))
    return table, BlockTable.cut(table, np.diff([0, *bounds, table.n_rows]).tolist())


@given(cut_tables(), st.sampled_from([*SCORES, Costly()]), st.integers(0, 1000), st.sampled_from([1, 1 << 16]))
def test_every_graph_and_change_scores_as_in_memory(pair, score, seed, cells):
    table, blocks = pair
    random = np.random.default_rng(seed)
    graphs = [random_parents(random, len(table.names)) for _ in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_FEWEST_CELLS", cells)
        patch.setattr(_blocks, "_MOST_CELLS", cells)
        one, other = score.evaluator(table), score.evaluator(blocks, n_jobs=1)
        assert isinstance(other, BlockEvaluator)
        assert other.start(graphs[0]) == pytest.approx(one.start(graphs[0]), rel=1e-12)
        changes = [dict(enumerate(graph)) for graph in graphs[1:]] + [{v: graphs[1][v]} for v in range(2)]
        np.testing.assert_allclose(other.propose_many(changes), one.propose_many(changes), rtol=1e-12, atol=1e-12)
        assert other.n_evaluations == one.n_evaluations
        for own in changes[:3]:
            assert other.propose_many([own])[0] == pytest.approx(one.propose_many([own])[0], rel=1e-12)
            assert other.commit(own) == pytest.approx(one.commit(own), rel=1e-12)
            assert other.parents == one.parents


@pytest.fixture
def pair():
    random = np.random.RandomState(0)
    codes = random.randint(0, 2, (4, 60)).astype(np.uint8)
    table = Table(codes, [*"abdc"], {name: [0, 1] for name in "abdc"}, "c")
    return table, BlockTable.cut(table, [10, 30, 20])


def test_candidates_in_turn_end_with_the_first_that_is_good_enough(pair, monkeypatch):
    monkeypatch.setattr(_evaluating, "_IN_TURN", 2)
    _, blocks = pair
    evaluator = HitRate().evaluator(blocks)
    evaluator.start(blocks.naive_bayes())
    changes = [{v: [3, u]} for v in range(3) for u in range(3) if u != v]
    scores = evaluator.propose_many(changes)
    for least in (scores.min(), np.sort(scores)[-1], 2.0):
        expected = np.flatnonzero(scores >= least)
        found = evaluator.propose_in_turn(changes, np.full(len(changes), least))
        assert found.tolist() == scores[: expected[0] + 1 if len(expected) else None].tolist()


def test_the_neighbours_of_a_graph_are_scored_in_one_call(monkeypatch):
    codes, names = np.random.RandomState(0).randint(0, 2, (21, 90)).astype(np.uint8), [f"x{i}" for i in range(21)]
    blocks = BlockTable.cut(Table(codes, names, {name: [0, 1] for name in names}, "x20"), [20, 40, 30])
    called, own = [], Blocks.sum
    monkeypatch.setattr(Blocks, "sum", lambda self, method, *args: called.append(method) or own(self, method, *args))
    learner = bnplug.structure_learner("hill-climb", score="cr", max_iter=3)
    learner.learn(blocks)
    assert np.diff(learner.evaluations_).min() > 256
    assert called.count("scores") == len(learner.evaluations_) - 1 == 3


def test_sums_are_made_anew_after_many_moves(pair, monkeypatch):
    table, blocks = pair
    one, other = HitRate(cv=3).evaluator(table), HitRate(cv=3).evaluator(blocks)
    one.start(table.naive_bayes())
    other.start(table.naive_bayes())
    rebuild, n_made = BlockEvaluator._rebuild, []
    monkeypatch.setattr(BlockEvaluator, "_rebuild", lambda self: n_made.append(1) or rebuild(self))
    monkeypatch.setattr(_evaluating, "REFRESH", 2)
    for v in (0, 1, 2, 1):
        own = {v: [3] if v == 1 else [3, 1]}
        assert other.commit(own) == one.commit(own)
    assert len(n_made) == 2


def test_folds_that_are_drawn_anew_are_those_of_rows_in_memory(pair):
    class Redrawn(HitRate):
        resamples = True

    table, blocks = pair
    one, other = (Redrawn(cv=3, random_state=5).evaluator(own) for own in (table, blocks))
    assert one.start(table.naive_bayes()) == other.start(table.naive_bayes())
    values = [(one.step(), other.step()) for _ in range(4)]
    assert all(a == b for a, b in values)
    assert len(set(values)) > 1


def nothing(L, y, params, out):
    """Fill no row."""


class Nothing(PredictiveScore):
    """A score whose gain leaves rows unfilled."""

    gain = nothing


def test_a_gain_that_is_no_number_is_told(pair):
    evaluator = BlockEvaluator(Nothing(), pair[1])
    with pytest.raises(ContractError, match="gave nan"):
        evaluator.start(pair[1].naive_bayes())


def test_bad_folds_are_refused_as_in_memory(pair):
    table, blocks = pair
    held_back = np.where(table.codes[3] == 0, 0, -1)

    class OneClass(HitRate):
        def folds(self, table, random):
            return held_back

    for own in (table, blocks):
        with pytest.raises(ValueError, match="outside fold 0 have the same class"):
            OneClass().evaluator(own)
