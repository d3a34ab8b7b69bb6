"""The rows of one block: counts of candidates against loops, and scores by the counts of all blocks."""

import numpy as np
import pytest

from bnplug.builtin.scores import HitRate
from bnplug.scoring._blocks import BlockRows
from bnplug.scoring._bundles import Given, Tables
from bnplug.scoring._evaluating import criterion_of
from bnplug.scoring._layout import Candidates, describe_rows
from bnplug.table.table import Table


@pytest.fixture
def table():
    random = np.random.RandomState(0)
    codes = np.array([random.randint(0, card, 40) for card in (2, 3, 2)], dtype=np.uint8)
    codes[0, ::7] = 255
    return Table(codes, [*"abc"], {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}, "c", random.randint(1, 4, 40))


def block_rows(table, folds=None, widest=1000, n_jobs=1):
    fold, header = describe_rows(table, folds, 1.0, 0.0)
    criterion = criterion_of(HitRate(), table)
    return BlockRows(table, fold, header, HitRate.gain, criterion, widest, n_jobs), fold, header


FAMILY = Candidates.of([{1: [0, 2]}])


def started(table, **options):
    """Return the rows of a block with the graph that has no edge."""
    rows, _, _ = block_rows(table, **options)
    rows.add([{2: ()}], class_alone(rows), last=True)
    rows.begin([(), (), ()])
    return rows


def given(rows, folds=1, states=None):
    """Return the counts of the family in these rows as those of all."""
    if states is not None:
        (counts,) = rows.count_wide(FAMILY[0], states)
        return Given(counts, np.array([0, len(counts)]), states)
    return counted(rows, [0, 1], (folds + 1) * 9 * 2)


def class_alone(rows):
    return counted(rows, [], 4)


def counted(rows, features, n_cells):
    tables = Tables.of([np.array(features, dtype=np.int64).tobytes()], [n_cells])
    return Given(rows.count(tables)[0], tables.places)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tables_are_counted_by_fold_and_class(table, n_jobs, monkeypatch):
    monkeypatch.setattr("bnplug.scoring._blocks._WORTH_THREADS", 0)
    folds = np.arange(40) % 3 - 1
    rows, fold, header = block_rows(table, folds, n_jobs=n_jobs)
    dense = given(rows, 2).counts
    expected = np.zeros((3, 3, 3, 2))
    for m, weight in enumerate(table.weights):
        a, b, c = (int(code) for code in table.codes[:, m])
        expected[fold[m], 2 if a == 255 else a, b, c] += weight
    assert (dense.reshape(expected.shape) * header.unit == expected).all()
    (states, _) = rows.occurring(np.array([0, 1]))
    sparse = given(rows, 2, states).counts
    chosen = np.ravel_multi_index(tuple(states), (3, 3))
    assert (sparse.reshape(3, -1, 2) == dense.reshape(3, -1, 2)[:, chosen]).all()
    assert rows.tested_weight()[0] * header.unit == table.weights[folds >= 0].sum()


@pytest.mark.parametrize("wide", [False, True])
def test_a_change_is_scored_as_it_is_made(table, wide):
    rows = started(table, widest=1 if wide else 1000)
    before = rows.joint.values.copy()
    states = rows.occurring(np.array([0, 1]))[0] if wide else None
    counted = given(rows, 1, states)
    counted.counts.flags.writeable = False  # as what comes from another process may be
    (score,) = rows.scores(FAMILY, counted, np.full(1, np.inf))
    assert (rows.joint.values == before).all()
    rows.move({1: (0, 2)}, counted)
    assert rows.graph.parents_of(1) == (0, 2)
    (found,) = rows.gain()
    right = rows.joint.values.argmax(axis=1) == rows.rows.codes[2]
    assert score[0] == found == (right * rows.rows.weights).sum()
    assert rows.rows.codes[0].max() == 2  # missing is a state here
    rows.move({0: (1,)}, None)
    assert rows.gain() == [found]
    rows.clear()
    assert not rows.joint.values.any()
    assert rows.graph.n_parents.tolist() == [-1, -1, -1]


def test_a_candidate_is_dropped_once_all_blocks_together_would_fall_short(table):
    rows = started(table)
    counted = given(rows)
    (score,) = rows.scores(FAMILY, counted, np.full(1, np.inf))
    short = rows.rows.tested_weight - score[0]
    assert rows.scores(FAMILY, counted, np.array([short]))[0][0] == score[0]
    assert rows.scores(FAMILY, counted, np.array([-1.0]))[0][0] == -np.inf


def test_families_make_a_graph(table):
    one, other = block_rows(table)[0], started(table)
    counted = given(one)
    one.add([{1: (0, 2)}], counted, last=False)
    one.add([{2: ()}], class_alone(one), last=True)
    one.begin([(), (0, 2), ()])
    other.move({1: (0, 2)}, counted)
    assert one.gain() == other.gain()
    assert np.sort(one.joint.gap).tolist() == np.sort(other.joint.gap).tolist()
    assert one.graph.parents_of(1) == (0, 2)
    before = other.joint.gap.copy()
    other.tidy()
    assert not (np.diff(before[: one.rows.bounds[1]]) >= 0).all()
    assert (np.diff(other.joint.gap[: one.rows.bounds[1]]) >= 0).all()  # within a segment
