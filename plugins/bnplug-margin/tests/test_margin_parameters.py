"""Maximum-margin parameters: the objective and its gradient, what rises, what stays a network, how to choose."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from bnplug_margin.parameters import KAPPA_GRID, MaximumMarginParameters, negative_margin
from bnplug_margin.score import LAM_GRID
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

import bnplug
from bnplug import QuantileDiscretizer, Structure, datasets
from bnplug.gradient import classified
from bnplug.inference.complete import log_joint, terms
from bnplug.table.table import Table


def coded(X, y, n_bins=4):
    binned = QuantileDiscretizer(n_bins=n_bins).set_output(transform="pandas").fit_transform(X)
    return Table.from_frame(binned.assign(c=np.asarray(y)), "c")


@pytest.fixture(scope="module")
def iris():
    return coded(*load_iris(return_X_y=True, as_frame=True))


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return coded(X.iloc[:, :10], y)


def structure(table, name):
    return bnplug.structure_learner(name).learn(table)


def smoothed(joint, y, lam, kappa, eta):
    """H(s) of one row, from its definition."""
    rivals = [value for c, value in enumerate(joint) if c != y]
    s = lam * (joint[y] - log(sum(exp(eta * (value - max(rivals))) for value in rivals)) / eta - max(rivals))
    if s <= 1 - kappa:
        return s
    return 1.0 if s >= 1 + kappa else 1 - (1 + kappa - s) ** 2 / (4 * kappa)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_loss_is_its_definition_and_its_derivative_that_of_the_loss(data):
    classes = data.draw(st.integers(2, 4))
    L = np.array(data.draw(st.lists(st.floats(-8, 2), min_size=classes, max_size=classes)))[None]
    y = np.array([data.draw(st.integers(0, classes - 1))])
    params = np.array([data.draw(st.floats(0.05, 2)), data.draw(st.floats(0.05, 1)), data.draw(st.floats(0.5, 20))])
    weights, dL = np.array([2.5]), np.empty_like(L)
    value = negative_margin(L, y, weights, params, dL)
    assert value == pytest.approx(-2.5 * smoothed(L[0], y[0], *params), abs=1e-9)
    step = 1e-6
    for c in range(classes):
        moved = L + step * (np.arange(classes) == c)
        low = L - step * (np.arange(classes) == c)
        slope = -2.5 * (smoothed(moved[0], y[0], *params) - smoothed(low[0], y[0], *params)) / (2 * step)
        # At a kink of the curvature the two sides differ by its size times the step.
        assert dL[0, c] == pytest.approx(slope, abs=1e-3)


@pytest.mark.parametrize("name", ["nb", "tan", "kdb"])
def test_the_gradient_is_that_of_the_objective(iris, name):
    problem = MaximumMarginParameters().problem(iris, structure(iris, name), 1)
    rng = np.random.default_rng(0)
    params = np.array([0.3, 0.4, 10.0])
    for _ in range(3):
        beta = problem.terms.values + rng.normal(0, 0.5, problem.terms.values.size)
        error = check_grad(
            lambda b: problem.negative(b, params)[0], lambda b: problem.negative(b, params)[1], beta, epsilon=1e-6
        )
        assert error < 1e-3


def margins(table, tables, lam):
    joint = log_joint(terms(tables, table.target), table.codes)
    rows, y = np.arange(table.n_rows), table.codes[table.target_index]
    own = joint[rows, y]
    joint[rows, y] = -np.inf
    return np.minimum(1.0, lam * (own - joint.max(axis=1)))


@pytest.mark.parametrize("name", ["nb", "tan", "kdb"])
@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_the_objective_never_falls_and_ends_with_larger_margins_than_ml(cancer, name, lam):
    dag = structure(cancer, name)
    learner = MaximumMarginParameters(lam=lam)
    tables = learner.fit(cancer, dag)
    path = learner.objective_path_
    assert len(path) == learner.n_iter_ + 1
    assert (np.diff(path) >= 0).all()
    likelihood = bnplug.parameter_learner("ml").fit(cancer, dag)
    assert margins(cancer, tables, lam).sum() > margins(cancer, likelihood, lam).sum() + 1
    assert path[0] == pytest.approx(margins(cancer, likelihood, lam).sum(), abs=0.125 * cancer.n_rows)
    for table in tables.tables.values():
        assert np.exp(table.values).sum(axis=0) == pytest.approx(1.0, abs=1e-12)


def test_the_optimum_does_not_depend_on_lam_where_any_posterior_is_a_network(cancer):
    # With two classes the softened maximum is exact, and a network on a C1 structure can scale its log odds at will.
    ends = []
    for lam in (0.1, 0.4):
        learner = MaximumMarginParameters(lam=lam, max_iter=2000, tol=1e-10)
        learner.fit(cancer, structure(cancer, "nb"))
        ends.append(learner.objective_path_[-1])
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)


def test_results_do_not_depend_on_threads(cancer):
    results = []
    for n_jobs in (1, 2):
        learner = MaximumMarginParameters(lam="cv", early_stopping=True, max_iter=15, cv=3, n_jobs=n_jobs)
        tables = learner.fit(cancer, structure(cancer, "tan"))
        results.append(np.concatenate([table.values.ravel() for table in tables.tables.values()]))
    assert (results[0] == results[1]).all()


def test_cross_validation_chooses_the_best_rate(iris):
    learner = MaximumMarginParameters(lam="cv", kappa="cv", max_iter=3, cv=2, random_state=0)
    learner.fit(iris, structure(iris, "nb"))
    assert learner.cv_rates_.shape == (len(LAM_GRID), len(KAPPA_GRID))
    i, j = np.unravel_index(learner.cv_rates_.argmax(), learner.cv_rates_.shape)
    assert (learner.lam_, learner.kappa_) == (LAM_GRID[i], KAPPA_GRID[j])


def test_a_grid_of_ones_own_is_tried_in_rising_order(iris):
    learner = MaximumMarginParameters(lam=(0.3, 0.1), kappa=[0.2], max_iter=0, cv=2)
    learner.fit(iris, structure(iris, "nb"))
    # Without a step all settings are the same: of tied ones the smallest.
    assert (learner.lam_, learner.kappa_, learner.cv_rates_.shape) == (0.1, 0.2, (2, 1))
    learner.set_params(lam=np.linspace(0.1, 0.3, 3)).fit(iris, structure(iris, "nb"))
    assert learner.cv_rates_.shape == (3, 1)


def test_nested_folds_have_cuts_and_a_structure_of_their_own():
    """The rates are those of classifiers that are cut, given a tree and fitted without the rows held out."""
    X, y = datasets.iris()
    lams, options = (0.05, 0.5), {"max_iter": 5, "cv": 3}
    learner = MaximumMarginParameters(lams, **options, nested=True)
    model = bnplug.BayesianNetworkClassifier("tan", learner, "mdl").fit(X, y)
    right = np.zeros((len(lams), 1))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        for i, lam in enumerate(lams):
            own = bnplug.BayesianNetworkClassifier("tan", MaximumMarginParameters(lam, max_iter=5), "mdl")
            own.fit(X.iloc[train], y.iloc[train])
            right[i] += (own.predict(X.iloc[test]) == y.iloc[test]).sum()
    np.testing.assert_allclose(model.parameters_.cv_rates_, right / len(y))
    usual = bnplug.BayesianNetworkClassifier("tan", MaximumMarginParameters(lams, **options), "mdl").fit(X, y)
    assert (usual.parameters_.cv_rates_ != model.parameters_.cv_rates_).any()


def test_folds_are_asked_for_where_there_is_a_choice():
    cases = [({"lam": "cv"}, 5), ({"lam": 1.0}, 0), ({"early_stopping": True}, 5), ({"kappa": (0.1, 0.2), "cv": 3}, 3)]
    for params, n in cases:
        assert MaximumMarginParameters(**params, nested=True).n_inner_folds == n
        assert MaximumMarginParameters(**params).n_inner_folds == 0
    splitter = MaximumMarginParameters("cv", cv=StratifiedShuffleSplit(1), nested=True)
    with pytest.raises(ValueError, match="nested=True needs a number of folds"):
        bnplug.BayesianNetworkClassifier("nb", splitter).fit(*datasets.iris())


def test_the_rate_of_a_fold_is_that_of_a_classifier_fitted_without_it(cancer):
    splitter = StratifiedShuffleSplit(1, test_size=0.3, random_state=0)
    learner = MaximumMarginParameters(lam=0.2, early_stopping=True, cv=splitter)
    dag = structure(cancer, "tan")
    learner.fit(cancer, dag)
    train, test = next(splitter.split(np.zeros(cancer.n_rows), cancer.codes[cancer.target_index]))
    tables = MaximumMarginParameters(lam=0.2, max_iter=learner.n_iter_).fit(cancer.take(train), dag)
    joint = log_joint(terms(tables, "c"), cancer.take(test).codes)
    assert learner.cv_rates_ == pytest.approx((joint.argmax(axis=1) == cancer.codes[-1][test]).mean())


def test_early_stopping_keeps_noise_out():
    # A tree that can fit noise: of 300 training rows, a fifth have a wrong label.
    rng = np.random.default_rng(0)
    n_rows = 900
    truth = rng.integers(0, 2, n_rows)
    codes = np.array([np.where(rng.random(n_rows) < 0.35, truth, rng.integers(0, 4, n_rows)) for _ in range(12)])
    labels = np.where(rng.random(n_rows) < 0.2, 1 - truth, truth)
    names = [*(f"x{v}" for v in range(12)), "c"]
    states = {name: range(4) for name in names[:-1]} | {"c": range(2)}
    table = Table(np.vstack([codes, labels]).astype(np.uint8), names, states, "c")
    train, test = table.take(np.arange(300)), table.take(np.arange(300, n_rows))
    dag = structure(train, "tan")
    rates = {}
    for early in (False, True):
        learner = MaximumMarginParameters(lam=0.2, early_stopping=early)
        joint = log_joint(terms(learner.fit(train, dag), "c"), test.codes)
        rates[early] = (joint.argmax(axis=1) == test.codes[-1]).mean()
    assert learner.n_iter_ < 50
    assert rates[True] > rates[False] + 0.02


def test_right_rows_are_counted_by_weight_and_ties_go_to_the_first_class():
    L = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1e-12], [2.0, 1.0]])
    y, weights = np.array([1, 0, 0, 1]), np.array([1.0, 10.0, 100.0, 1000.0])
    assert classified(L, y, weights, np.empty(0), np.empty_like(L)) == 111.0


def test_missing_cells_and_weights(cancer):
    rng = np.random.default_rng(0)
    codes = cancer.codes.copy()
    codes[:-1][rng.random(codes[:-1].shape) < 0.1] = cancer.missing
    weights = rng.choice([1.0, 2.0], cancer.n_rows)
    table = Table(codes, cancer.names, cancer.states, "c", weights)
    twice = table.take(np.repeat(np.arange(table.n_rows), weights.astype(int)))
    twice = Table(twice.codes, twice.names, twice.states, "c")
    dag = structure(cancer, "tan")
    ends = []
    for rows in (table, twice):
        learner = MaximumMarginParameters(lam=0.3, max_iter=10)
        learner.fit(rows, dag)
        ends.append(learner.objective_path_[-1])
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@pytest.mark.parametrize(
    "params",
    [
        {"lam": 0},
        {"lam": "auto"},
        {"lam": None},
        {"lam": ()},
        {"lam": (0.1, -1.0)},
        {"kappa": (0.1, 1.5)},
        {"kappa": 1.5},
        {"kappa": -1.0},
        {"eta": 0.0},
        {"alpha": 0.0},
        {"max_iter": -1},
        {"tol": -1.0},
    ],
)
def test_what_it_cannot_do_with(params, iris):
    (name,) = params
    with pytest.raises(ValueError, match=name):
        MaximumMarginParameters(**params).fit(iris, structure(iris, "nb"))


def test_it_tells_about_its_steps(iris, capsys):
    MaximumMarginParameters(verbose=2, max_iter=2).fit(iris, structure(iris, "nb"))
    assert "mm: step 2" in capsys.readouterr().err


def test_conjugate_gradients_reach_the_maximum_of_lbfgs():
    data = datasets.load("tic-tac-toe")
    table = bnplug.encode_training(data.X, data.y)[0]
    dag = Structure(table.names, table.naive_bayes())
    found = {}
    for optimizer in ("lbfgs", "cg"):
        learner = bnplug.parameter_learner("mm", optimizer=optimizer, tol=1e-10, max_iter=3000)
        learner.fit(table, dag)
        assert learner.objective_path_ == sorted(learner.objective_path_)
        found[optimizer] = learner
    assert found["cg"].objective_path_[-1] == pytest.approx(found["lbfgs"].objective_path_[-1], rel=1e-5)
    assert found["cg"].n_iter_ > found["lbfgs"].n_iter_
    early = bnplug.parameter_learner("mm", optimizer="cg", early_stopping=True, random_state=0)
    early.fit(table, dag)
    assert early.n_iter_ <= found["cg"].n_iter_
    with pytest.raises(ValueError, match="optimizer='newton' is not 'lbfgs' or 'cg'"):
        bnplug.parameter_learner("mm", optimizer="newton").fit(table, dag)
