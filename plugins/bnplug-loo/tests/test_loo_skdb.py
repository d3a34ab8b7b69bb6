"""Selective KDB: its losses are those of learning again without each row."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from bnplug import Table, structure_learner
from bnplug.datasets import monks, tic_tac_toe


def table_of(rows=30, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    frame = {f"x{i}": np.where(rng.random(rows) < 0.5, y % 2, rng.integers(0, 3, rows)) for i in range(4)}
    return Table.from_frame(pd.DataFrame({**frame, "c": y}), "c")


def left_out(table, order, parents, m):
    """P(class | features) of row m by estimates from all other rows, (n + 1/states) / (N + 1)."""
    others = np.delete(table.codes, m, axis=1).astype(int)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights / table.weights.mean()
    weights = np.delete(weights, m)
    row, c = table.codes[:, m].astype(int), table.target_index
    joint = []
    for y in range(table.cards[c]):
        same = others[c] == y
        p = (weights[same].sum() + 1 / table.cards[c]) / (weights.sum() + 1)
        for v in order:
            given = same & np.logical_and.reduce([others[u] == row[u] for u in parents[v]] or [same])
            p *= (weights[given & (others[v] == row[v])].sum() + 1 / table.cards[v]) / (weights[given].sum() + 1)
        joint.append(p)
    return np.array(joint) / sum(joint)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["rmse", "log", "error"])
def test_losses_are_those_of_learning_without_the_row(loss, weighted):
    table = table_of()
    if weighted:
        weights = 3.7 * np.random.default_rng(1).integers(1, 9, table.n_rows)
        table = Table(table.codes, table.names, table.states, table.target, weights)
    learner = structure_learner("skdb", k=2, loss=loss)
    learner.learn(table)
    kdb = structure_learner("kdb", k=2)
    families = kdb.learn(table.with_relative_weights(by_class=True)).parents
    order = [table.index(name) for name in kdb.order_]
    y = table.codes[table.target_index].astype(int)
    for n in range(5):
        # With two parents their order does not matter, and with none there is none.
        for k in (0, 2):
            parents = {v: [p for p in families[v] if p != table.target_index and k] for v in order}
            shares = [left_out(table, order[:n], parents, m) for m in range(table.n_rows)]
            own = np.array([share[c] for share, c in zip(shares, y, strict=True)])
            wrong = [share.argmax() != c for share, c in zip(shares, y, strict=True)]
            expected = {"rmse": (1 - own) ** 2, "log": -np.log(own), "error": wrong}[loss]
            assert learner.losses_[k, n] == pytest.approx(np.average(expected, weights=table.weights), rel=1e-5)
    assert learner.losses_[learner.k_, len(learner.order_)] == learner.losses_.min()


def test_it_finds_what_tells_the_class():
    X, y = monks(1)
    table = Table.from_frame(X.assign(c=y), "c")
    learner = structure_learner("skdb")
    parents = learner.learn(table).parents
    assert sorted(learner.order_) == ["a1", "a2", "a5"]
    assert [parents[table.index(name)] for name in ("a3", "a4", "a6")] == [(), (), ()]


def test_all_features_may_be_kept():
    X, y = tic_tac_toe()
    table = Table.from_frame(X.assign(c=y), "c")
    learner = structure_learner("skdb", k=1, select=False)
    parents = learner.learn(table).parents
    assert len(learner.order_) == 9
    assert all(table.target_index in parents[v] for v in table.features)
    expected = structure_learner("kdb", k=learner.k_).learn(table)
    assert parents == expected.parents


def test_features_that_tell_nothing_leave_the_prior():
    frame = pd.DataFrame(product(range(4), range(3), range(2)), columns=list("aby"))
    learner = structure_learner("skdb", loss="log")
    assert list(learner.learn(Table.from_frame(frame, "y")).edges) == []


@pytest.mark.parametrize("params", [{"k": 6}, {"k": -1}, {"k": 1.5}, {"loss": "nll"}, {"select": "yes"}])
def test_parameters_are_checked(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        structure_learner("skdb", **params).learn(table_of())
