"""Estimates that back off: by hand, by the definition, and left out in turn by learning again without the row."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_parents, tables

from bnplug import BayesianNetworkClassifier, Structure, Table, parameter_learner
from bnplug.builtin.parameters.backoff import CONCENTRATIONS
from bnplug.counts.information import conditional_information


@pytest.fixture
def table():
    frame = pd.DataFrame({"x": [0, 0, 1, 0], "a": [0, 0, 1, 1], "c": ["n", "n", "n", "y"]})
    return Table.from_frame(frame, "c")


def test_hand_computed(table):
    learner = parameter_learner("backoff", concentration=2.0)
    tables = learner.fit(table, Structure(table.names, [[1, 2], [2], []]))
    assert np.exp(tables["c"].values) == pytest.approx([3.5 / 5, 1.5 / 5])
    p0 = np.array([3 + 1, 1 + 1]) / 6
    of_n, of_y = (np.array([2, 1]) + 2 * p0) / 5, (np.array([1, 0]) + 2 * p0) / 3
    # Two rows of n have a = 0, one has a = 1; of y one has a = 1, and a = 0 with y never occurs.
    expected = {
        (0, 0): (np.array([2, 0]) + 2 * of_n) / 4, (1, 0): (np.array([0, 1]) + 2 * of_n) / 3,
        (0, 1): of_y, (1, 1): (np.array([1, 0]) + 2 * of_y) / 3,
    }  # fmt: skip
    for (a, c), column in expected.items():
        assert np.exp(tables["x"].values[:, a, c]) == pytest.approx(column)
    # x = 1 with a = 1 and n is one row; without it nothing is left of its own at any level.
    without_row = (0 + 2 * (0 + 2 * (0 + 1) / (3 + 2)) / (2 + 2)) / (0 + 2)
    assert np.exp(learner.loo_tables_["x"].values[1, 1, 0]) == pytest.approx(without_row)
    assert [level.parents for level in learner.levels_["x"]] == [(), ("c",), ("c", "a")]


@settings(max_examples=25, deadline=None)
@given(tables(max_features=3, max_rows=12, missing=True), st.integers(0, 2**16), st.sampled_from([0.3, 4.0]))
def test_a_row_left_out_is_what_learning_without_it_gives(table, seed, concentration):
    parents = random_parents(np.random.default_rng(seed), len(table.names))
    learner = parameter_learner("backoff", concentration=concentration)
    learner.fit(table, Structure(table.names, parents))
    for m, v in product(range(table.n_rows), range(len(table.names))):
        family = [v, *parents[v]]
        if (table.codes[family, m] == table.missing).any() or table.n_rows < 2:
            continue
        again = parameter_learner("backoff", concentration=concentration)
        without = again.fit(table.take(np.arange(table.n_rows) != m), Structure(table.names, parents))
        name = table.names[v]
        if [level.parents for level in again.levels_[name]] != [level.parents for level in learner.levels_[name]]:
            continue  # Without the row the parents come in another order.
        cell = tuple(table.codes[family, m])
        found = learner.loo_tables_[name].values[cell]
        assert found == pytest.approx(without[name].values[cell], abs=1e-10)


@settings(max_examples=20, deadline=None)
@given(tables(max_features=3, max_rows=20, missing=True), st.integers(0, 2**16))
def test_the_concentration_is_the_best_for_rows_left_out(table, seed):
    parents = random_parents(np.random.default_rng(seed), len(table.names))
    learner = parameter_learner("backoff")
    fitted = learner.fit(table, Structure(table.names, parents))
    assert fitted.normalized
    for v, name in enumerate(table.names):
        # Of the first level, which depends on no other.
        level = learner.levels_[name][0]
        counts = np.bincount(table.codes[v][table.codes[v] != table.missing], minlength=table.cards[v])
        seen, total, r = counts[counts > 0], counts.sum(), len(counts)
        fits = [(seen * np.log((seen - 1 + c / r) / (total - 1 + c))).sum() for c in CONCENTRATIONS]
        expected = 1.0 if v == table.target_index else CONCENTRATIONS[int(np.argmax(fits))]
        assert level.concentration == expected


@pytest.mark.parametrize(("n_rows", "largest"), [(100, 256.0), (511, 256.0), (512, 512.0), (3000, 2048.0)])
def test_a_parent_that_says_nothing_gets_the_largest_concentration(n_rows, largest):
    """It depends on the number of rows, so that codes that do not depend on the class have nearly equal columns."""
    codes = np.arange(n_rows) // 2 % (n_rows // 50)
    table = Table.from_frame(pd.DataFrame({"x": codes, "c": np.arange(n_rows) % 2}), "c")
    learner = parameter_learner("backoff")
    learner.fit(table, Structure(table.names, [[1], []]))
    assert [level.concentration for level in learner.levels_["x"]] == [largest, largest]
    levels = learner.levels_["x"]
    ratio = np.exp(levels[1].log_p - levels[0].log_p.reshape(-1, 1))
    assert np.abs(ratio - 1).max() < 0.05


def test_parents_come_by_falling_information():
    rng = np.random.default_rng(0)
    c, weak = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    strong = rng.integers(0, 3, 400)
    x = np.where(rng.random(400) < 0.8, strong % 2, np.where(rng.random(400) < 0.6, weak, c))
    table = Table.from_frame(pd.DataFrame({"weak": weak, "strong": strong, "x": x, "c": c}), "c")
    assert conditional_information(table, 2, 1, [3]) > conditional_information(table, 2, 0, [3])
    for given_class in (True, False):
        own = [0, 1, 3] if given_class else [0, 1]
        learner = parameter_learner("backoff")
        learner.fit(table, Structure(table.names, [[], [], own, []]))
        assert learner.levels_["x"][-1].parents == (*(["c"] if given_class else []), "strong", "weak")
    # A class with parents likewise, and its first level stays the prior.
    learner.fit(table, Structure(table.names, [[], [], [], [0, 1, 2]]))
    assert learner.levels_["c"][0].concentration == 1.0
    assert len(learner.levels_["c"]) == 4


def test_a_configuration_never_seen_answers_by_its_longest_seen_prefix(table):
    learner = parameter_learner("backoff")
    tables = learner.fit(table, Structure(table.names, [[1, 2], [2], []]))
    assert tables["x"].values[:, 0, 1] == pytest.approx(learner.levels_["x"][1].log_p[:, 1])


def weighted(table, weights, missing_policy="ignore"):
    return Table(table.codes, table.names, table.states, table.target, weights, missing_policy=missing_policy)


@pytest.mark.parametrize("weight", [0.25, 3.7, 1e4])
def test_equal_weights_are_no_weights(table, weight):
    learner, plain = parameter_learner("backoff"), parameter_learner("backoff")
    dag = Structure(table.names, [[1, 2], [2], []])
    found, expected = learner.fit(weighted(table, np.full(4, weight)), dag), plain.fit(table, dag)
    for name in table.names:
        assert (found[name].values == expected[name].values).all()
        assert (learner.loo_tables_[name].values == plain.loo_tables_[name].values).all()


def test_a_row_is_left_out_with_its_whole_weight(table):
    learner = parameter_learner("backoff", concentration=1.0)
    # x is 0, 0, 1, 0 and the class n, n, n, y. The mean weight is 2 over all rows, and 8/3 over class n.
    tables = learner.fit(weighted(table, [1.0, 3.0, 4.0, 0.25]), Structure(table.names, [[2], [2], []]))
    scale, of_n = 4 / 8.25, 3 / 8
    assert np.exp(tables["c"].values) == pytest.approx([(8 * scale + 0.5) / 5, (0.25 * scale + 0.5) / 5])
    p0 = np.array([4.25 * scale + 0.5, 4 * scale + 0.5]) / 5
    assert np.exp(learner.levels_["x"][0].log_p) == pytest.approx(p0)
    assert np.exp(tables["x"].values[:, 0]) == pytest.approx((np.array([4, 4]) * of_n + p0) / 4)
    # Class y has one row, whatever its weight.
    assert np.exp(tables["x"].values[:, 1]) == pytest.approx((np.array([1, 0]) + p0) / 2)
    # The mean weight of the three rows with x = 0 is 4.25 / 3; leaving out the row with x = 1 empties its cell.
    one = 4.25 * scale / 3
    loo0 = np.array([(4.25 * scale - one + 0.5) / (4 - one + 1), 0.5 / (4 - 4 * scale + 1)])
    assert np.exp(learner.levels_["x"][0].log_loo) == pytest.approx(loo0)
    loo_n = [(2 * of_n + loo0[0]) / (3 - 2 * of_n + 1), loo0[1] / (3 - 4 * of_n + 1)]
    assert np.exp(learner.loo_tables_["x"].values[:, 0]) == pytest.approx(loo_n)


@settings(max_examples=15, deadline=None)
@given(tables(max_features=3, max_rows=20, missing=True), st.integers(0, 2**16), st.booleans())
def test_the_scale_of_weights_does_not_matter(table, seed, em):
    rng = np.random.default_rng(seed)
    dag = Structure(table.names, random_parents(rng, len(table.names)))
    weights, policy = rng.exponential(size=table.n_rows) + 0.01, "em" if em else "ignore"
    found = [
        parameter_learner("backoff").fit(weighted(table, factor * weights, policy), dag) for factor in (1.0, 3.7, 0.01)
    ]
    for other, name in product(found[1:], table.names):
        assert np.exp(other[name].values) == pytest.approx(np.exp(found[0][name].values), abs=1e-9)


def test_a_class_weight_moves_the_prior_and_nothing_that_is_known_about_the_class(table):
    learner, plain = (parameter_learner("backoff", concentration=1e-9) for _ in range(2))
    dag = Structure(table.names, [[2], [2], []])
    found, expected = learner.fit(weighted(table, [1.0, 1.0, 1.0, 9.0]), dag), plain.fit(table, dag)
    assert np.exp(found["c"].values) == pytest.approx([1.5 / 5, 3.5 / 5])
    assert np.exp(found["x"].values) == pytest.approx(np.exp(expected["x"].values), abs=1e-8)


@settings(max_examples=15, deadline=None)
@given(tables(max_features=3, max_rows=20, missing=True), st.integers(0, 2**16), st.booleans())
def test_parts_are_the_whole(table, seed, weighted):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, table.n_rows).astype(float) if weighted else None
    table = Table(table.codes, table.names, table.states, table.target, weights)
    # At most one parent beside the class, so that the first rows have no order to settle.
    dag = Structure(table.names, [own[:1] for own in random_parents(rng, len(table.names))])
    first = rng.random(table.n_rows) < 0.5
    learner, whole = parameter_learner("backoff"), parameter_learner("backoff")
    learner.fit(table.take(first), dag)
    found, expected = learner.partial_fit(table.take(~first), dag), whole.fit(table, dag)
    for name in table.names:
        assert (found[name].values == expected[name].values).all()
        assert (learner.loo_tables_[name].values == whole.loo_tables_[name].values).all()


@settings(max_examples=15, deadline=None)
@given(tables(max_features=3, max_rows=20, missing=True), st.integers(0, 2**16))
def test_em_climbs_and_expects_every_row_in_every_family(table, seed):
    rng = np.random.default_rng(seed)
    codes = table.codes.copy()
    codes[table.target_index, rng.random(table.n_rows) < 0.3] = table.missing
    rows = Table(codes, table.names, table.states, table.target, missing_policy="em")
    learner = parameter_learner("backoff")
    found = learner.fit(rows, Structure(rows.names, random_parents(rng, len(table.names))))
    assert found.normalized
    if not rows.learned_by_em:
        return
    assert (np.diff(learner.log_likelihood_path_) >= 0).all()
    if learner.n_iter_:
        assert [own.sum() for own in learner.counts_] == pytest.approx([table.n_rows] * len(table.names))


def test_em_of_complete_rows_is_what_they_give(table):
    complete = Table(table.codes, table.names, table.states, "c", missing_policy="em")
    dag = Structure(table.names, [[1, 2], [2], []])
    found, expected = (parameter_learner("backoff").fit(rows, dag) for rows in (complete, table))
    assert all((found[name].values == expected[name].values).all() for name in table.names)


def test_the_first_rows_settle_the_order_of_parents():
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(0, 2, (3, 300))
    x = np.where(np.arange(300) < 50, a, b)
    table = Table.from_frame(pd.DataFrame({"a": a, "b": b, "x": x, "c": c}), "c")
    dag = Structure(table.names, [[], [], [0, 1, 3], []])
    learner, whole = parameter_learner("backoff"), parameter_learner("backoff")
    learner.fit(table.take(np.arange(300) < 50), dag)
    learner.partial_fit(table.take(np.arange(300) >= 50), dag)
    whole.fit(table, dag)
    assert learner.levels_["x"][-1].parents == ("c", "a", "b")
    assert whole.levels_["x"][-1].parents == ("c", "b", "a")
    for own, all_rows in zip(learner.levels_["x"][:2], whole.levels_["x"][:2], strict=True):
        assert (own.log_p == all_rows.log_p).all()


@pytest.mark.parametrize("concentration", [0.0, -1.0, "cv", np.nan])
def test_the_concentration_is_checked(table, concentration):
    with pytest.raises(ValueError, match="concentration"):
        parameter_learner("backoff", concentration=concentration).fit(table, Structure(table.names, [[2], [2], []]))


def test_it_is_a_network_like_any_other(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] * X["c"] > 0).to_numpy()
    model = BayesianNetworkClassifier("kdb", "backoff", "log2-quantile").fit(X, y)
    model.to_bif(tmp_path / "model.bif")
    assert model.network_.check_model()
