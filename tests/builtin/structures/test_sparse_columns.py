"""A noise column with few known rows or many states does not become a hub of TAN or KDB."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, Table, structure_learner
from bnplug.datasets import tic_tac_toe
from bnplug.table.block_table import BlockTable


def dependent(rng):
    """A chain of ten features with three states that starts at the class."""
    y = rng.integers(0, 2, 2000)
    columns, before = {}, y
    for i in range(10):
        before = columns[f"x{i}"] = np.where(rng.random(2000) < 0.5, rng.integers(0, 3, 2000), before)
    return pd.DataFrame(columns), y


def independent(rng):
    """Ten binary features that depend weakly on the class, and not on each other."""
    y = rng.integers(0, 2, 2000)
    return pd.DataFrame({f"x{i}": (rng.random(2000) < 0.45 + 0.1 * y).astype(int) for i in range(10)}), y


def boards(_):
    X, y = tic_tac_toe()
    return X, y.to_numpy()


def with_noise(data, states, seed, missing=0.95):
    """The features with a column of noise, first or last, most of whose cells are missing."""
    rng = np.random.default_rng(seed)
    X, y = data(rng)
    noise = pd.Series(rng.integers(0, states, len(X)).astype(float)).mask(rng.random(len(X)) < missing)
    X.insert(seed % 2 * X.shape[1], "noise", noise)
    return Table.from_frame(X.assign(y=y), "y")


def children(table, name, **parameters):
    edges = structure_learner(name, **parameters).learn(table).edges
    return sum(parent == "noise" for parent, _ in edges)


@pytest.mark.parametrize("name", ["tan", "kdb"])
@pytest.mark.parametrize("data", [dependent, independent, boards])
@pytest.mark.parametrize("states", [2, 10, 60])
def test_a_column_with_95_percent_missing_cells_is_not_a_hub(name, data, states):
    found = [children(with_noise(data, states, seed), name) for seed in range(10)]
    assert max(found) <= 1
    assert np.mean(found) <= 0.3


@pytest.mark.parametrize("calibrate", [None, "evidence"])
def test_sixty_codes_cost_the_default_next_to_nothing(calibrate):
    """60 codes with 50 rows each. Without the factor for sparse tables, they are the parent of 14 features."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000)
    X = pd.DataFrame({f"x{i}": y * rng.uniform(0, 0.8) + rng.normal(size=5000) for i in range(16)})
    X["x16"] = X["x0"] + rng.normal(size=5000)
    codes = np.concatenate([rng.permutation(np.repeat(np.arange(60), 50)), rng.integers(0, 60, 2000)])
    losses, parents = [], []
    for features in (X, X.assign(noise=[f"code{code}" for code in codes])):
        model = BayesianNetworkClassifier(calibrate=calibrate).fit(features[:3000], y[:3000])
        shares = model.predict_proba(features[3000:])
        losses.append(-np.log(shares[np.arange(2000), y[3000:]]).mean())
        parents.append([parent for parent, _ in model.tables_.edges])
    assert parents[1].count("noise") <= 1
    assert {"x0", "x16"} & set(parents[1])
    assert losses[1] <= 1.01 * losses[0]


@pytest.mark.parametrize("name", ["tan", "kdb"])
def test_by_the_plain_measures_it_is_a_hub(name):
    found = [children(with_noise(boards, 10, seed), name, correction=None) for seed in range(4)]
    assert min(found) >= 6


@pytest.mark.parametrize("name", ["tan", "kdb"])
def test_nor_is_it_with_expected_counts_or_in_blocks(name):
    table = with_noise(boards, 10, 0)
    blocks = BlockTable.cut(table, [300, table.n_rows - 300])
    assert set(structure_learner(name).learn(blocks).edges) == set(structure_learner(name).learn(table).edges)
    X, y = tic_tac_toe()
    noise = pd.Series(table.codes[table.index("noise")]).astype(float)
    X = X.assign(noise=noise.mask(noise == table.missing))
    model = BayesianNetworkClassifier(name, "ml", missing="em").fit(X, y)
    assert sum(parent == "noise" for parent, _ in model.dag_.edges) <= 1


def test_a_parent_that_half_of_the_rows_know_is_found():
    """A correction keeps edges that are significant in the known rows."""
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 2000))
    b = np.where(rng.random(2000) < 0.7, a, rng.integers(0, 2, 2000))
    X = pd.DataFrame({"a": pd.Series(a).mask(rng.random(2000) < 0.5), "b": b, "d": rng.integers(0, 3, 2000), "y": y})
    table = Table.from_frame(X, "y")
    for name in ("tan", "kdb"):
        tree = {frozenset(edge) for edge in structure_learner(name).learn(table).edges if "y" not in edge}
        assert tree == {frozenset("ab")}
