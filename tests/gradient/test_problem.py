"""What discriminative learners share: values to tables and back, and cross-validation that no thread changes."""

import numpy as np
import pandas as pd
import pytest
from gradient_problems import large_table, naive_bayes, random_problem
from hypothesis import given
from hypothesis import strategies as st
from incomplete_tables import STRUCTURES, incomplete_table, nll_of
from sklearn.model_selection import PredefinedSplit, ShuffleSplit, StratifiedKFold
from strategies import random_parents, tables

from bnplug import InnerFold, Structure, parameter_learner
from bnplug.gradient import Objective, Problem, classified, conditional_nll, folds, held_out, with_values
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.table.table import Table


@given(tables(), st.integers(0, 2**32 - 1))
def test_values_go_back_to_where_they_came_from(table, seed):
    own_tables, own = random_problem(table, seed)
    back = with_values(own_tables, "c", own, own.values)
    moved = with_values(own_tables, "c", own, own.values + 1.0)
    for v, name in enumerate(table.names):
        assert (back.tables[name].values == own_tables.tables[name].values).all()
        assert (moved.tables[name].values == own_tables.tables[name].values + (v in own.nodes)).all()


@given(tables(), st.integers(0, 2**32 - 1))
def test_a_problem_starts_at_the_generative_estimates(table, seed):
    dag = Structure(table.names, random_parents(np.random.default_rng(seed), len(table.names)))
    problem = Problem(table, dag, alpha=0.5, floor=0.01)
    ml = parameter_learner("ml", alpha=0.5, floor=0.01).fit(table, dag)
    for name in table.names:
        assert (problem.generative.tables[name].values == ml.tables[name].values).all()
        assert (problem.tables(problem.terms.values).tables[name].values == ml.tables[name].values).all()
    assert (problem.terms.values == terms(ml, "c").values).all()


@given(tables(), st.integers(0, 2**32 - 1))
def test_values_are_the_inverse_of_tables(table, seed):
    rng = np.random.default_rng(seed)
    problem = Problem(table, Structure(table.names, random_parents(rng, len(table.names))))
    values = rng.normal(size=problem.terms.values.size)
    assert (problem.values(problem.tables(values)) == values).all()


@given(tables(missing=False), st.integers(0, 2**32 - 1))
def test_on_c1_any_values_have_the_posterior_of_a_network(table, seed):
    rng = np.random.default_rng(seed)
    problem = Problem(table, Structure(table.names, random_parents(rng, len(table.names))))
    values = rng.normal(size=problem.terms.values.size)
    network = problem.network(values)
    assert network.normalized == problem.is_c1 or not problem.is_c1
    expected = posterior(log_joint(terms(problem.tables(values), "c"), table.codes))
    np.testing.assert_allclose(posterior(log_joint(terms(network, "c"), table.codes)), expected, atol=1e-9)


def test_two_parents_that_are_not_adjacent_are_not_c1():
    table = large_table(rows=50, features=3)
    assert not Problem(table, Structure(table.names, [[3], [3], [0, 1, 3], []])).is_c1
    assert Problem(table, Structure(table.names, [[3], [0, 3], [0, 1, 3], []])).is_c1


def parts_of(table, cv, random_state=None):
    return [InnerFold(train, naive_bayes(table), test) for train, test in folds(table, cv, random_state)]


def nll_and_rate(problem, rows):
    return [rows(problem.terms.values, loss)[0] for loss in (conditional_nll, classified)]


def slow_held_out(table, splits):
    """NLL and classified rows of each test set, by a fit on the training set."""
    total = np.zeros(2)
    for train, test in splits:
        layout = terms(parameter_learner("ml").fit(table.take(train), naive_bayes(table)), "c")
        total += [Objective(layout, table.take(test))(layout.values, loss)[0] for loss in (conditional_nll, classified)]
    return total


@pytest.mark.parametrize("seed", [None, 3])
def test_a_number_of_folds_is_of_stratified_ones(seed):
    table = large_table(rows=120, features=3)
    splitter = StratifiedKFold(4, shuffle=seed is not None, random_state=seed)
    labels = table.codes[table.target_index]
    parts = parts_of(table, 4, seed)
    expected = slow_held_out(table, splitter.split(labels, labels))
    np.testing.assert_allclose(held_out(parts, Problem, nll_and_rate), expected, rtol=1e-12)
    assert sum(part.held_out.total_weight for part in parts) == 120


def test_any_splitter_will_do_and_weights_count():
    table = large_table(rows=60, features=2)
    weighted = Table(table.codes, table.names, table.states, "c", np.arange(1.0, 61.0))
    splitter = PredefinedSplit(np.where(np.arange(60) < 20, np.arange(60) % 2, -1))
    parts = parts_of(weighted, splitter)
    expected = slow_held_out(weighted, splitter.split())
    np.testing.assert_allclose(held_out(parts, Problem, nll_and_rate), expected, rtol=1e-12)
    assert sum(part.held_out.total_weight for part in parts) == sum(range(1, 21))
    overlapping = ShuffleSplit(3, test_size=0.5, random_state=0)
    assert sum(part.held_out.n_rows for part in parts_of(table, overlapping)) == 90


def test_threads_change_no_bit():
    parts = parts_of(large_table(rows=150, features=4), 3, 0)
    one, other = (held_out(parts, Problem, nll_and_rate, n_jobs) for n_jobs in (1, 3))
    assert (one == other).all()


def test_a_class_with_fewer_rows_than_folds_is_no_cause_for_a_warning():
    frame = pd.DataFrame({"x": [0, 1] * 6, "c": [*"nnnnnnnnnnny"]})
    assert sum(test.n_rows for _, test in folds(Table.from_frame(frame, "c"), 3)) == 12


@pytest.mark.parametrize("cv", [None, "three", 2.5])
def test_what_is_no_fold_is_refused(cv):
    table = large_table(rows=30, features=2)
    with pytest.raises(ValueError, match=f"cv={cv!r} is not a number of folds or a splitter"):
        list(folds(table, cv))


def test_rows_without_a_class_are_in_every_training_part():
    table = incomplete_table(rows=60, unlabeled=0.4)
    unlabeled = int((table.codes[-1] == table.missing).sum())
    held = 0
    for train, test in folds(table, 3, random_state=0):
        assert (train.codes[-1] == table.missing).sum() == unlabeled
        assert (test.codes[-1] != table.missing).all()
        assert train.missing_policy == test.missing_policy == "em"
        held += test.n_rows
    assert held == table.n_rows - unlabeled


def test_incomplete_rows_are_taken_as_the_table_says():
    table = incomplete_table()
    dag = Structure(table.names, STRUCTURES["tree"])
    problem = Problem(table, dag)
    assert problem.marginal
    values = problem.terms.values
    assert problem.objective(values, conditional_nll)[0] == pytest.approx(nll_of(problem.network(values), table))
    ignoring = Problem(table.ignoring(), dag)
    assert not ignoring.marginal
    # The estimates differ, but the sums over the same rows by the same values do not.
    assert ignoring.objective(values, conditional_nll)[0] == problem.ignoring(values, conditional_nll)[0]
    assert not Problem(incomplete_table(missing=0.0), dag).marginal


def test_rows_without_a_class_are_refused_unless_a_problem_takes_them():
    table = incomplete_table(unlabeled=0.2)
    with pytest.raises(ValueError, match="the class 'c' is missing"):
        Problem(table, Structure(table.names, STRUCTURES["tree"]))
