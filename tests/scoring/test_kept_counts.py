"""Counts that are kept: by features, not by candidates, and no more than there is room for."""

import numpy as np
import pytest

from bnplug import Table
from bnplug.builtin.scores import HitRate
from bnplug.counts._numbering import in_batches
from bnplug.scoring import _bundles
from bnplug.scoring._bundles import KeptCounts, Layout, Tables
from bnplug.scoring._evaluating import BlockEvaluator
from bnplug.scoring._layout import Candidates
from bnplug.table.block_table import BlockTable


def key(*features):
    return np.array(features, dtype=np.int64).tobytes()


@pytest.fixture
def blocks():
    random = np.random.RandomState(0)
    table = Table(random.randint(0, 2, (4, 60)).astype(np.uint8), [*"abdc"], {name: [0, 1] for name in "abdc"}, "c")
    return BlockTable.cut(table, [10, 30, 20])


class Noting(BlockEvaluator):
    """Notes how many tables are counted at a time."""

    def __init__(self, *args):
        self.noted = []
        super().__init__(*args)

    def _count(self, cells):
        self.noted.append(len(self._cache.lacking(cells)))
        super()._count(cells)


def test_a_table_is_counted_once_whatever_asks_for_it(blocks):
    evaluator = Noting(HitRate(cv=3), blocks)
    evaluator.start(blocks.naive_bayes())
    assert evaluator.noted == [4]  # the class, and each feature with it
    edges = [(u, v) for v in range(3) for u in range(3) if u != v]
    evaluator.propose_many([{v: [3, u]} for u, v in edges])
    assert evaluator.noted == [4, 3]  # an edge and its reverse have the same features
    evaluator.commit({0: [3, 1]})
    evaluator.propose_many([{v: [3, u]} for u, v in edges if v > 0] + [{0: [3, 1, 2]}, {0: [3]}])
    assert evaluator.noted == [4, 3, 0, 1]
    evaluator._draw()
    evaluator.start(blocks.naive_bayes())
    assert evaluator.noted == [4, 3, 0, 1, 4]  # other folds


def test_those_that_were_asked_for_last_are_kept(monkeypatch):
    monkeypatch.setattr(_bundles, "_MOST_KEPT", 5)
    kept = KeptCounts()
    for i in range(3):
        kept.add([key(i)], np.full(2, i), np.array([0, 2]))
    assert kept.given([key(0)]).counts.tolist() == [0, 0]
    assert kept.lacking([key(0), key(1), key(2)]) == [key(1)]
    kept.add([key(5)], np.arange(9), np.array([0, 9]))  # more than there is room for, and needed now
    given = kept.given([key(5), key(5)])
    assert given.counts.tolist() == [*range(9), *range(9)]
    assert given.places.tolist() == [0, 9, 18]
    assert kept.lacking([key(0), key(2)]) == [key(0), key(2)]


def test_counts_of_no_room_are_counted_again(blocks, monkeypatch):
    expected = BlockEvaluator(HitRate(cv=3), blocks)
    expected.start(blocks.naive_bayes())
    changes = [{v: [3, u]} for v in range(3) for u in range(3) if u != v]
    scores = expected.propose_many(changes).tolist()
    monkeypatch.setattr(_bundles, "_MOST_KEPT", 1)
    evaluator = BlockEvaluator(HitRate(cv=3), blocks)
    evaluator.start(blocks.naive_bayes())
    for _ in range(2):
        assert evaluator.propose_many(changes).tolist() == scores


def test_candidates_of_the_same_features_have_the_same_table(blocks):
    evaluator = BlockEvaluator(HitRate(cv=3), blocks)
    evaluator.start([[3], [3, 2], [3], []])
    candidates = Candidates.of([{0: [2, 3]}, {2: [0, 3]}, {1: [3, 0]}, {1: [2, 3]}, {0: [3], 1: []}])
    layout = Layout.of(evaluator._header, evaluator._graph, candidates[1:], evaluator._scratch)
    assert layout.sizes.tolist() == [4, 8, 0, 4]
    assert [layout.key(i) for i in range(4)] == [key(0, 2), key(0, 1, 2), key(), key(1, 2)]


def test_tables_follow_each_other():
    tables = Tables.of([key(1, 2), key(), key(0)], [12, 4, 6])
    assert [own.tolist() for own in tables] == [[1, 2, 0], [0, 2, 2, 3], [0, 12, 16, 22]]
    assert list(in_batches([], int, 3)) == []
    assert list(in_batches([3, 4, 9, 1, 2], int, 8)) == [[3, 4], [9], [1, 2]]
