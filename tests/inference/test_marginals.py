"""Compiled networks against enumeration, pgmpy and pyAgrum, and on numbers outside the range of floats."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyagrum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.inference import VariableElimination
from random_networks import (
    CLASS_WITH_PARENTS,
    MISSING,
    TREE,
    TWO_TREE,
    enumerated,
    full_joint,
    random_rows,
    random_tables,
)
from scipy.special import log_softmax, logsumexp
from strategies import LONG, random_parents

from bnplug import LogTables, Table, parameter_learner, structure_learner
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.inference.marginals import Marginalizer


def assert_same_posterior(result, expected, tolerance=1e-10):
    """Equal up to what is the same for all classes, in the rows that are possible at all."""
    possible = np.isfinite(expected).any(axis=1)
    result, expected = log_softmax(result[possible], axis=1), log_softmax(expected[possible], axis=1)
    np.testing.assert_array_equal(np.isneginf(result), np.isneginf(expected))
    scale = np.maximum(1.0, np.abs(np.where(np.isneginf(expected), 0.0, expected)))
    with np.errstate(invalid="ignore"):
        differences = np.where(np.isneginf(expected), 0.0, (result - expected) / scale)
    assert np.abs(differences).max(initial=0.0) < tolerance
    np.testing.assert_allclose(np.exp(result), np.exp(expected), rtol=0, atol=tolerance)


def test_a_sweep_of_random_networks():
    """Up to eight variables: zeros, isolated nodes, a class with parents, tables that are not normalised."""
    for seed in range(2000 if LONG else 200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        cards = rng.integers(1, 4, n)
        tables = random_tables(
            rng,
            random_parents(rng, n, int(rng.integers(1, 5))),
            cards.tolist(),
            int(rng.integers(n)),
            bool(rng.integers(2)),
            float(rng.choice([0.0, 0.3])),
        )
        codes = random_rows(rng, tables, 6, float(rng.random()))
        assert_same_posterior(Marginalizer(tables, tables.target).log_joint(codes), enumerated(tables, codes))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_variables=st.integers(2, 7),
    max_parents=st.integers(1, 4),
    normalized=st.booleans(),
    zeros=st.sampled_from([0.0, 0.3]),
    spread=st.sampled_from([1.0, 300.0]),
    missing=st.floats(0.0, 1.0),
)
def test_any_dag_and_pattern_equal_enumeration(seed, n_variables, max_parents, normalized, zeros, spread, missing):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, n_variables).tolist()
    target = int(rng.integers(n_variables))
    parents = random_parents(rng, n_variables, max_parents)
    tables = random_tables(rng, parents, cards, target, normalized, zeros, spread)
    codes = random_rows(rng, tables, 10, missing)
    assert_same_posterior(Marginalizer(tables, tables.target).log_joint(codes), enumerated(tables, codes))


@pytest.mark.parametrize("parents", [TREE, TWO_TREE])
def test_log_joint_is_that_of_class_and_observed_features(rng, parents):
    tables = random_tables(rng, parents, [3, 2, 4, 3, 2, 4])
    codes = random_rows(rng, tables, 200, 0.5)
    result = Marginalizer(tables, "v0").log_joint(codes)
    np.testing.assert_allclose(result, enumerated(tables, codes), rtol=0, atol=1e-12)


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS])
@pytest.mark.parametrize("normalized", [True, False])
def test_all_features_missing_gives_the_class_prior(rng, parents, normalized):
    tables = random_tables(rng, parents, [3, 2, 4, 3, 2, 4], normalized=normalized)
    codes = np.full((6, 1), MISSING, dtype=np.uint8)
    prior = logsumexp(full_joint(tables), axis=(1, 2, 3, 4, 5))
    assert_same_posterior(Marginalizer(tables, "v0").log_joint(codes), prior[None, :])


def test_naive_bayes_skips_a_missing_feature_only_where_its_columns_sum_to_one(rng):
    parents = [[], [0], [0], [0]]
    codes = np.array([[MISSING], [MISSING], [1], [MISSING]], dtype=np.uint8)
    proper = random_tables(rng, parents, [3, 2, 4, 3])
    skipped = proper.tables["v0"].values + proper.tables["v2"].values[1]
    np.testing.assert_array_equal(Marginalizer(proper, "v0").log_joint(codes)[0], skipped)
    free = random_tables(rng, parents, [3, 2, 4, 3], normalized=False)
    sums = [logsumexp(free.tables[name].values, axis=0) for name in ("v1", "v3")]
    expected = free.tables["v0"].values + free.tables["v2"].values[1] + sums[0] + sums[1]
    np.testing.assert_allclose(Marginalizer(free, "v0").log_joint(codes)[0], expected, rtol=0, atol=1e-12)


def test_complete_rows_are_the_posterior_modules_own(rng):
    tables = random_tables(rng, CLASS_WITH_PARENTS, [3, 2, 4, 3, 2, 4])
    codes = random_rows(rng, tables, 50, 0.0)
    expected = log_joint(terms(tables, "v0"), codes)
    np.testing.assert_array_equal(Marginalizer(tables, "v0").log_joint(codes), expected)


def test_what_is_said_about_the_class_is_not_read(rng):
    tables = random_tables(rng, TWO_TREE, [3, 2, 4, 3, 2, 4])
    codes = random_rows(rng, tables, 50, 0.4)
    unknown = codes.copy()
    unknown[0] = MISSING
    marginalizer = Marginalizer(tables, "v0")
    np.testing.assert_array_equal(marginalizer.log_joint(codes), marginalizer.log_joint(unknown))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_alone_in_a_batch_and_in_threads(rng, dtype):
    tables = random_tables(rng, CLASS_WITH_PARENTS, [3, 2, 4, 3, 2, 4])
    codes = random_rows(rng, tables, 10_000, 0.4).astype(dtype)
    codes[codes == MISSING] = np.iinfo(dtype).max
    marginalizer = Marginalizer(tables, "v0")
    batch = marginalizer.log_joint(codes)
    for row in (0, 17, 5_000, 9_999):
        alone = marginalizer.log_joint(codes[:, [row]])
        np.testing.assert_allclose(alone[0], batch[row], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(marginalizer.log_joint(codes, n_jobs=2), batch)


def test_no_rows(rng):
    tables = random_tables(rng, TREE, [2] * 6)
    assert Marginalizer(tables, "v0").log_joint(np.empty((6, 0), dtype=np.uint8)).shape == (0, 2)


def test_a_row_impossible_under_every_class_is_all_minus_infinity():
    never = np.log([[1.0, 1.0], [1e-300, 1e-300]])
    never[1] = -np.inf
    tables = LogTables(
        ["c", "x", "y"],
        {"c": "np", "x": range(2), "y": range(2)},
        {
            "c": ((), np.log([0.5, 0.5])),
            "x": (("c",), np.log(np.full((2, 2), 0.5))),
            "y": (("c", "x"), np.stack([never, never], axis=2)),
        },
    )
    codes = np.array([[MISSING], [MISSING], [1]], dtype=np.uint8)
    assert np.isneginf(Marginalizer(tables, "c").log_joint(codes)).all()


def chain(rng, length, n_classes=3, card=3, spread=8.0):
    """A TAN whose features form a chain, with numbers that are small in all columns."""
    parents = [[], [0], *([0, v - 1] for v in range(2, length + 1))]
    return random_tables(rng, parents, [n_classes] + [card] * length, spread=spread)


def chain_log_joint(tables, row):
    """The forward recursion, all in logarithms."""
    forward = tables.tables["v0"].values[None, :]
    for v, state in enumerate(row[1:], start=1):
        values = tables.tables[f"v{v}"].values
        # Axes (own state, class, previous state); the first feature has no previous one.
        step = values.reshape(*values.shape[:2], -1)
        forward = logsumexp(step + forward.T[None, :, :], axis=2)
        if state != MISSING:
            forward = np.where((np.arange(len(forward)) == state)[:, None], forward, -np.inf)
    return logsumexp(forward, axis=0)


@pytest.mark.parametrize("missing", [0.3, 0.95])
def test_hundreds_of_features_in_a_chain(rng, missing):
    tables = chain(rng, 400)
    codes = random_rows(rng, tables, 5, missing)
    codes[-1] = 0
    expected = np.array([chain_log_joint(tables, row) for row in codes.T])
    assert expected.max() < -800 or missing > 0.5
    result = Marginalizer(tables, "v0").log_joint(codes)
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_state_that_wins_after_it_all_but_vanished():
    """A missing feature with 400 observed children: half of them nearly rule its first state out, half its second.

    Products taken one by one would lose the second state before the children that favour it are seen.
    """
    names = ["c", "x", *(f"y{i}" for i in range(400))]
    against = np.log([[[1e-5, 1.0 - 1e-5], [2e-5, 1.0 - 2e-5]], [[1.0 - 1e-5, 1e-5], [1.0 - 2e-5, 2e-5]]])
    tables = {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.3, 0.6], [0.7, 0.4]]))}
    for i, name in enumerate(names[2:]):
        tables[name] = (("c", "x"), against if i < 200 else against[:, :, ::-1])
    log_tables = LogTables(names, {name: range(2) for name in names}, tables)
    codes = np.zeros((402, 1), dtype=np.uint8)
    codes[:2] = MISSING
    by_state = tables["c"][1] + tables["x"][1] + sum(tables[name][1][0] for name in names[2:]).T
    expected = logsumexp(by_state, axis=0)
    assert expected.max() < -1000
    np.testing.assert_allclose(Marginalizer(log_tables, "c").log_joint(codes)[0], expected, rtol=1e-12)


def test_too_large_a_clique_is_an_error_that_names_it(rng):
    cards = [5, 6, 7, 8, 9, 2]
    tables = random_tables(rng, [[], [0], [0], [0], [0, 1, 2, 3], [0, 4]], cards)
    codes = np.zeros((6, 3), dtype=np.uint8)
    codes[[1, 2, 3], 1] = MISSING
    marginalizer = Marginalizer(tables, "v0", max_clique_size=1679)
    with pytest.raises(ValueError, match=r"row 1: .*1,680 cells, more than max_clique_size=1,679") as caught:
        marginalizer.log_joint(codes)
    assert all(f"'v{v}'" in str(caught.value) for v in (0, 1, 2, 3))
    marginalizer.log_joint(codes[:, [0, 2]])
    Marginalizer(tables, "v0", max_clique_size=1680).log_joint(codes)


def test_a_row_costs_what_its_missing_part_costs(rng):
    """Every feature missing needs no table at all where nothing below is observed."""
    cards = [2] + [30] * 8
    tables = random_tables(rng, [[], [0], [0], *([0, v - 2, v - 1] for v in range(3, 9))], cards)
    nothing = np.full((9, 1), MISSING, dtype=np.uint8)
    marginalizer = Marginalizer(tables, "v0", max_clique_size=1)
    prior, likelihood = tables.tables["v0"].values, tables.tables["v1"].values
    assert marginalizer.log_joint(nothing)[0] == pytest.approx(prior)
    first = nothing.copy()
    first[1] = 0
    assert marginalizer.log_joint(first)[0] == pytest.approx(prior + likelihood[0])


def real_or_generated(name):
    """A data set of the folder BNPLUG_DATA, its numbers cut in five where they have many values, or a generated one."""
    path = Path(os.environ.get("BNPLUG_DATA", ""), f"{name}.csv.gz")
    if path.is_file():
        frame = pd.read_csv(path)
        for column in frame.columns[:-1]:
            if frame[column].nunique() > 16:
                frame[column] = pd.qcut(frame[column], 5, labels=False, duplicates="drop")
        return Table.from_frame(frame, "class")
    rng = np.random.default_rng(len(name))
    label = rng.integers(0, 5, 3000)
    columns = [(label + rng.integers(0, 4, 3000)) % 6]
    for i in range(9):
        columns.append((columns[rng.integers(0, i + 1)] + label * i + rng.integers(0, 4, 3000)) % 6)
    return Table.from_frame(pd.DataFrame({f"x{i}": x for i, x in enumerate(columns)} | {"class": label}), "class")


def pyagrum_network(tables):
    network = pyagrum.BayesNet()
    for name in tables.names:
        network.add(pyagrum.LabelizedVariable(name, name, len(tables.states[name])))
    for name, (parents, values) in tables.tables.items():
        for parent in parents:
            network.addArc(parent, name)
        network.cpt(name)[:] = np.ascontiguousarray(np.exp(values).T)
    return network


@pytest.mark.parametrize("data", ["vehicle", "letter"])
@pytest.mark.parametrize("structure", [("tan", {}), ("kdb", {"k": 2})], ids=["tan", "kdb-2"])
def test_posteriors_of_pgmpy_and_pyagrum(data, structure):
    table = real_or_generated(data)
    learner, parameters = structure
    tables = parameter_learner("ml").fit(table, structure_learner(learner, **parameters).learn(table))
    rng = np.random.default_rng(0)
    codes = table.codes[:, rng.permutation(table.n_rows)[:6]]
    codes[rng.random(codes.shape) < 0.35] = table.missing
    result = posterior(Marginalizer(tables, "class").log_joint(codes))
    by_pgmpy = VariableElimination(tables.to_network())
    by_pyagrum = pyagrum.LazyPropagation(pyagrum_network(tables))
    by_pyagrum.setTargets({"class"})
    for row, ours in zip(codes.T, result, strict=True):
        known = {table.names[v]: int(row[v]) for v in table.features if row[v] != table.missing}
        by_pyagrum.setEvidence(known)
        by_pyagrum.makeInference()
        np.testing.assert_allclose(ours, by_pyagrum.posterior("class").toarray(), rtol=0, atol=1e-9)
        labels = {name: tables.states[name][state] for name, state in known.items()}
        theirs = by_pgmpy.query(["class"], labels, show_progress=False)
        np.testing.assert_allclose(ours, theirs.values, rtol=0, atol=1e-9)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.mark.parametrize("limit", [10**30, 2**63, 2**63 - 1, 1e30])
def test_a_limit_that_no_integer_of_a_machine_holds_is_no_limit(rng, limit):
    tables = random_tables(rng, TWO_TREE, [3, 2, 4, 3, 2, 4])
    codes, weights = random_rows(rng, tables, 20, 0.5), np.ones((20, 3))
    plain, free = Marginalizer(tables, "v0"), Marginalizer(tables, "v0", limit)
    np.testing.assert_array_equal(free.log_joint(codes), plain.log_joint(codes))
    for one, other in zip(free.expected_counts(codes, weights), plain.expected_counts(codes, weights), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(free.query(["v3"], {"v5": 1}), plain.query(["v3"], {"v5": 1}))
