"""EM: what is maximised never falls, its end is stationary, and it is what enumeration says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, full_joint, random_rows, random_tables
from scipy.special import logsumexp
from strategies import LONG

from bnplug import BnplugWarning, CountsLearner, LogTables, Structure, Table, parameter_learner
from bnplug.inference.em import expectation_maximization, expected_family_counts
from bnplug.table.block_table import BlockTable

CARDS = [2, 3, 2, 2, 2, 3]


def incomplete_table(rng, n_rows=60, missing=0.3, parents=TREE, weighted=False):
    tables = random_tables(rng, parents, CARDS, spread=1.5)
    codes = random_rows(rng, tables, n_rows, missing)
    weights = rng.integers(1, 4, n_rows) / 2 if weighted else None
    return Table(codes, tables.names, tables.states, tables.target, weights, missing_policy="em"), tables


def by_enumeration(table, tables):
    """Expected counts and log-likelihood by summing over all completions of every row."""
    joint = full_joint(tables)
    total, value = np.zeros_like(joint), 0.0
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    for row, weight in zip(table.codes.T, weights, strict=True):
        place = tuple(slice(None) if state == table.missing else int(state) for state in row)
        log_p = logsumexp(joint[place])
        total[place] += weight * np.exp(joint[place] - log_p)
        value += weight * log_p
    counts = []
    for name, (own, _) in tables.tables.items():
        axes = [tables.names.index(u) for u in (name, *own)]
        kept = total.sum(axis=tuple(v for v in range(total.ndim) if v not in axes))
        counts.append(kept.transpose(np.argsort(np.argsort(axes))))
    return counts, value


@pytest.mark.parametrize("parents", [TREE, TWO_TREE, CLASS_WITH_PARENTS])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_expectation_step_is_what_enumeration_says(parents, weighted):
    table, tables = incomplete_table(np.random.default_rng(0), parents=parents, weighted=weighted)
    counts, value = expected_family_counts(table, tables)
    wanted, wanted_value = by_enumeration(table, tables)
    assert value == pytest.approx(wanted_value, rel=1e-12)
    for own, other in zip(counts, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-12)


@settings(max_examples=100 if LONG else 20)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0, 5.0]), st.sampled_from([TREE, CLASS_WITH_PARENTS]))
def test_the_likelihood_never_falls(seed, alpha, parents):
    table, _ = incomplete_table(np.random.default_rng(seed), n_rows=25, missing=0.4, parents=parents)
    learner = parameter_learner("ml", alpha=alpha, tol=0.0, max_iter=30)
    dag = Structure(table.names, parents)
    path = expectation_maximization(learner, table, dag).path
    assert (np.diff(path) > 0).all()
    # The value is that of the likelihood and the prior, and so is every step's, rejected ones too.
    steps, tables = [], expectation_maximization(learner, table, dag, max_iter=1).tables
    for _ in range(5):
        counts, value = expected_family_counts(table, tables)
        steps.append(value + learner.log_prior(table, tables))
        tables = learner.from_counts(table, dag, counts)
    assert (np.diff(steps) > -1e-9 * abs(steps[0])).all()


@pytest.mark.parametrize("alpha", [1.0, 5.0])
def test_the_fixed_point_is_stationary(alpha):
    """There, the derivative of the objective along each column of each table is that of its sum, which is one."""
    table, _ = incomplete_table(np.random.default_rng(3))
    learner = parameter_learner("ml", alpha=alpha, tol=0.0, max_iter=100_000)
    dag = Structure(table.names, TREE)
    tables = learner.fit(table, dag)
    again = learner.from_counts(table, dag, by_enumeration(table, tables)[0])
    for name in table.names:
        np.testing.assert_allclose(np.exp(tables[name].values), np.exp(again[name].values), rtol=0, atol=1e-8)
    # d/d log theta of the objective, less the column's share of it: 0 at a maximum under the constraint.
    counts, _ = by_enumeration(table, tables)
    for own, (_, values) in zip(counts, tables.tables.values(), strict=True):
        slope = own + alpha / own.size
        assert np.abs(slope - np.exp(values) * slope.sum(axis=0)).max() < 1e-6 * table.n_rows


def test_complete_rows_give_exactly_ml():
    rng = np.random.default_rng(1)
    table, _ = incomplete_table(rng, missing=0.0)
    plain = Table(table.codes, table.names, table.states, table.target)
    learner = parameter_learner("ml")
    tables, wanted = (
        learner.fit(table, Structure(table.names, TREE)),
        parameter_learner("ml").fit(plain, Structure(plain.names, TREE)),
    )
    assert all(np.array_equal(tables[name].values, wanted[name].values) for name in table.names)
    assert learner.n_iter_ == 1


def test_the_maximum_of_one_hidden_cell_by_hand():
    """Two rows know x and one does not: that one changes nothing of P(x), and counts for the class."""
    codes = np.array([[0, 1, 255, 255], [0, 0, 0, 1]], dtype=np.uint8)
    table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c", missing_policy="em")
    tables = parameter_learner("ml", alpha=0.0, tol=1e-14).fit(table, Structure(table.names, [[1], []]))
    np.testing.assert_allclose(np.exp(tables["x"].values)[:, 0], [0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(np.exp(tables["c"].values), [0.75, 0.25])


def test_a_row_without_a_class_counts_with_the_probability_of_each():
    codes = np.array([[0] * 9 + [1] * 9 + [0] * 6, [0] * 9 + [1] * 9 + [255] * 6], dtype=np.uint8)
    table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c", missing_policy="em")
    learner = parameter_learner("ml", tol=1e-12)
    tables = learner.fit(table, Structure(table.names, [[1], []]))
    assert np.exp(tables["c"].values)[0] > 0.6
    assert learner.counts_[1].sum() == pytest.approx(24)


def test_blocks_of_rows_and_threads_change_nothing_but_the_rounding():
    table, _ = incomplete_table(np.random.default_rng(5), weighted=True)
    whole = parameter_learner("ml", max_iter=20).fit(table, Structure(table.names, TREE))
    blocks = BlockTable.cut(table, [20, 0, 25, 15])
    assert blocks.missing_policy == "em"
    parts = parameter_learner("ml", max_iter=20, n_jobs=2).fit(blocks, Structure(table.names, TREE))
    for name in table.names:
        np.testing.assert_allclose(whole[name].values, parts[name].values, atol=1e-9)


def test_the_best_of_several_starts_is_taken_and_drawn_by_the_seed():
    table, _ = incomplete_table(np.random.default_rng(8), n_rows=30, missing=0.6)
    dag = Structure(table.names, TREE)
    once = parameter_learner("ml", alpha=0.1, max_iter=50)
    once.fit(table, dag)
    more = [parameter_learner("ml", alpha=0.1, restarts=3, max_iter=50, random_state=0) for _ in range(2)]
    found = [learner.fit(table, dag) for learner in more]
    assert more[0].log_likelihood_path_[-1] >= once.log_likelihood_path_[-1]
    assert all(np.array_equal(found[0][name].values, found[1][name].values) for name in table.names)


def test_what_is_fixed_stays_and_a_prior_counts():
    table, tables = incomplete_table(np.random.default_rng(9))
    fixed = LogTables(["v0"], {"v0": tables.states["v0"]}, {"v0": ((), np.log([0.9, 0.1]))})
    learner = parameter_learner("ml", fixed={"v0": fixed}, prior=tables, alpha=50.0)
    found = learner.fit(table, Structure(table.names, TREE))
    np.testing.assert_allclose(np.exp(found["v0"].values), [0.9, 0.1])
    assert (np.diff(learner.log_likelihood_path_) > 0).all()
    plain = parameter_learner("ml", fixed={"v0": fixed}, alpha=50.0).fit(table, Structure(table.names, TREE))
    apart = [np.abs(np.exp(own["v1"].values) - np.exp(tables["v1"].values)).max() for own in (found, plain)]
    assert apart[0] < apart[1]


def test_rows_that_fixed_tables_rule_out_are_told_of_and_left_out():
    codes = np.array([[0, 1, 255], [0, 1, 1]], dtype=np.uint8)
    table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c", missing_policy="em")
    learner = parameter_learner("ml", fixed={"c": {0: 1.0, 1: 0.0}})
    with pytest.warns(BnplugWarning, match="1 row"):
        tables = learner.fit(table, Structure(table.names, [[1], []]))
    assert np.isfinite(learner.log_likelihood_path_).all()
    assert np.isfinite(tables["x"].values).all()


def test_progress_goes_to_the_error_stream(capsys):
    table, _ = incomplete_table(np.random.default_rng(2))
    parameter_learner("ml", verbose=2).fit(table, Structure(table.names, TREE))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("em: step 1, log-likelihood -")
    assert "steps, log-likelihood" in lines[-1]


@pytest.mark.parametrize("params", [{"tol": -1.0}, {"max_iter": 0}, {"restarts": -1}, {"restarts": 1.5}])
def test_limits_that_mean_nothing_are_refused(params):
    table, _ = incomplete_table(np.random.default_rng(2))
    with pytest.raises(ValueError, match=next(iter(params))):
        parameter_learner("ml", **params).fit(table, Structure(table.names, TREE))


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_learner_gets_the_number_of_rows_beside_their_weight(in_blocks):
    given = []

    class Noting(CountsLearner):
        max_iter = 2

        def from_counts(self, table, dag, counts, rows):
            given.append((counts, list(rows)))
            return parameter_learner("ml").from_counts(table, dag, counts, rows)

    def learned(table):
        Noting().fit(
            BlockTable.cut(table, [10, table.n_rows - 10]) if in_blocks else table, Structure(table.names, TREE)
        )
        found, given[:] = given[:], []
        return found

    table, _ = incomplete_table(np.random.default_rng(4), missing=0.3)
    same = [table.codes, table.names, table.states, table.target]
    random = np.random.default_rng(0)
    plain = learned(Table(*same, missing_policy="em"))
    assert all(np.array_equal(a, b) for counts, rows in plain for a, b in zip(counts, rows, strict=True))
    # Only steps of equal weights have the same path: that of the first start, then the expected counts.
    weighted = learned(Table(*same, weights=np.full(table.n_rows, 2.5), missing_policy="em"))
    for counts, rows in weighted[1:]:
        assert [own.sum() for own in rows] == pytest.approx([table.n_rows] * len(rows))
        for weight, number in zip(counts, rows, strict=True):
            assert weight == pytest.approx(2.5 * number)
    # The rows of the tables that were estimated before, by enumeration.
    weights = random.exponential(size=table.n_rows)
    weighted = learned(Table(*same, weights=weights, missing_policy="em"))
    tables = parameter_learner("ml").from_counts(table, Structure(table.names, TREE), weighted[0][0])
    unweighted = Table(*same, missing_policy="em")
    for number, wanted in zip(weighted[1][1], by_enumeration(unweighted, tables)[0], strict=True):
        np.testing.assert_allclose(number, wanted, rtol=1e-10, atol=1e-12)


def test_rows_of_complete_data_are_counted_without_weights():
    table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": [*"nny"]}), "c", weights=[0.5, 0.2, 4.0])
    given = []

    class Noting(CountsLearner):
        def from_counts(self, table, dag, counts, rows):
            given.extend([[own.tolist() for own in counts], [own.tolist() for own in rows]])
            return parameter_learner("ml").from_counts(table, dag, counts, rows)

    Noting().fit(table, Structure(table.names, [[1], []]))
    assert given == [[[[0.7, 0.0], [0.0, 4.0]], [0.7, 4.0]], [[[2.0, 0.0], [0.0, 1.0]], [2.0, 1.0]]]


def test_a_third_party_that_estimates_from_counts_has_em():
    class Halved(CountsLearner):
        def from_counts(self, table, dag, counts, rows):
            return parameter_learner("ml", alpha=0.5).from_counts(table, dag, counts, rows)

    table, _ = incomplete_table(np.random.default_rng(4))
    learner = Halved()
    tables = learner.fit(table, Structure(table.names, TREE))
    assert learner.takes_unlabeled
    assert learner.n_iter_ >= 1
    assert tables.normalized


def test_files_are_learned_from_in_blocks_as_from_rows_in_memory(tmp_path):
    import pandas as pd

    from bnplug import BayesianNetworkClassifier

    table, _ = incomplete_table(np.random.default_rng(6), n_rows=200, missing=0.2)
    known = table.with_class()
    cells = {
        name: np.where(own == 255, None, own.astype(object)) for name, own in zip(known.names, known.codes, strict=True)
    }
    frame = pd.DataFrame(cells).rename(columns={"v0": "y"}).astype("Int64")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    params = {"structure": "tan", "parameters": "ml", "missing": "em"}
    whole = BayesianNetworkClassifier(**params).fit(frame.drop(columns="y"), frame["y"])
    parts = BayesianNetworkClassifier(**params).fit_files(tmp_path / "rows.csv", "y")
    assert parts.log_likelihood_path_[-1] == pytest.approx(whole.log_likelihood_path_[-1])
    assert set(parts.tables_.edges) == set(whole.tables_.edges)
