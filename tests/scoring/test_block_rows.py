"""The rows of one block: counts of candidates, and the log joint that they change, against loops."""

import numpy as np
import pytest

from bnplug.builtin.scores import HitRate
from bnplug.data.table import Table
from bnplug.scoring._block_rows import BlockRows, Layout, Terms
from bnplug.scoring._rows import describe


@pytest.fixture
def table():
    random = np.random.RandomState(0)
    codes = np.array([random.randint(0, card, 40) for card in (2, 3, 2)], dtype=np.uint8)
    codes[0, ::7] = 255
    return Table(codes, [*"abc"], {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}, "c", random.randint(1, 4, 40))


def block_rows(table, folds=None):
    fold, header = describe(table, folds, 1.0, 0.0)
    return BlockRows(table, fold, header, HitRate.gain, np.empty(0), 1.0, 1), fold, header


def layouts(rows, features):
    """Return the same table twice: all configurations numbered, and those that occur."""
    chosen = np.array(features, dtype=np.int64)
    states = rows.occurring(chosen)
    return Layout(chosen, int(rows.rows.sizes[chosen].prod()), None), Layout(chosen, states.shape[1], states)


def test_tables_are_counted_by_fold_and_class(table):
    folds = np.arange(40) % 3 - 1
    rows, fold, header = block_rows(table, folds)
    every, occurring = layouts(rows, [0, 1])
    dense, sparse = rows.count([every, occurring])
    shape = header.n_folds + 1, -1, 2
    expected = np.zeros((3, 3, 3, 2))
    for m, weight in enumerate(table.weights):
        a, b, c = (int(code) for code in table.codes[:, m])
        expected[fold[m], 2 if a == 255 else a, b, c] += weight
    assert (dense.reshape(shape) * header.unit == expected.reshape(shape)).all()
    chosen = np.ravel_multi_index(tuple(occurring.states), (3, 3))
    assert (sparse.reshape(shape) == dense.reshape(shape)[:, chosen]).all()
    assert rows.tested_weight() * header.unit == table.weights[folds >= 0].sum()


def test_a_candidate_is_measured_and_added(table):
    rows, _, _ = block_rows(table)
    random = np.random.RandomState(1)
    for features in ([0], [1], [0, 1]):
        every, occurring = layouts(rows, features)
        values = random.normal(size=(every.size, 2))
        terms = [Terms(values.ravel(), np.empty(0, np.int16))]
        chosen = np.ravel_multi_index(tuple(occurring.states), tuple(rows.rows.sizes[features]))
        terms.append(Terms(values[chosen].ravel(), np.empty(0, np.int16)))
        before = rows._values.copy()
        short = rows.shortfalls([every, occurring], terms)
        rows.add([occurring], terms[1:])
        numbers = np.zeros(40, dtype=int)
        for v in features:
            numbers = numbers * int(rows.rows.sizes[v]) + rows.rows.codes[v]
        np.testing.assert_allclose(rows._values, before + values[numbers], atol=1e-12)
        wrong = rows._values.argmax(axis=1) != rows.rows.codes[2]
        assert short.tolist() == [(wrong * rows.rows.weights).sum()] * 2
    rows.clear()
    assert not rows._values.any()
