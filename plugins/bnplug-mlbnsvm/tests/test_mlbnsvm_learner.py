"""ml-bn-svm: its objective, its optimum beside a conic solver, and what the paper proves about it."""

import numpy as np
import pandas as pd
import pytest
from bnplug_mlbnsvm.descent import descend, optimality
from bnplug_mlbnsvm.learners import MaximumLikelihoodSVM
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting
from bnplug_mlbnsvm.slack import hard_slack, slack_params, soft_slack
from scipy.optimize import check_grad
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit

import bnplug
from bnplug import Structure
from bnplug.errors import BnplugWarning
from bnplug.inference.complete import log_joint
from bnplug.table.table import Table


def make_table(rows=80, features=5, classes=2, states=3, seed=0, weights=None):
    """Features that follow the class and the feature before in a third of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    columns, before = {}, np.zeros(rows, dtype=int)
    for v in range(features):
        before = np.where(rng.random(rows) < 0.35, (y + before) % states, rng.integers(0, states, rows))
        columns[f"x{v}"] = before
    return Table.from_frame(pd.DataFrame(columns).assign(c=y), "c", weights)


def learn(table, structure):
    return bnplug.structure_learner(structure).learn(table)


def not_c1(table):
    """Three features, the third with two parents that are not adjacent."""
    c = table.target_index
    parents = [[] if v == c else [c] for v in range(len(table.names))]
    parents[2] = [0, 1, c]
    return Structure(table.names, parents)


def column_sums(problem, values):
    """The log-sum-exp and the count of every column."""
    sums, counts = [], []
    columns = problem.columns
    for start, outer, states, inner in zip(columns.starts, columns.outer, columns.states, columns.inner, strict=True):
        own = slice(start, start + outer * states * inner)
        sums.append(logsumexp(values[own].reshape(outer, states, inner), axis=1).ravel())
        counts.append(problem.counts[own].reshape(outer, states, inner).sum(axis=1).ravel())
    return np.concatenate(sums), np.concatenate(counts)


# The slack


def one_row(L, y=0):
    return np.array([L], dtype=float), np.array([y]), np.ones(1)


@pytest.mark.parametrize(
    ("zeta", "expected"),
    [
        (-1.0, 0.0),
        (1 - np.sqrt(2), 0.0),
        (1 - np.sqrt(2) + 0.6, 1 - 0.8),
        (1 - 1 / np.sqrt(2), 1 - 1 / np.sqrt(2)),
        (3.0, 3.0),
    ],
)
def test_the_soft_hinge_by_hand(zeta, expected):
    """R = 1: a circle around (1 - sqrt 2, 1), so that 0.6 to its right it is 0.8 below its centre."""
    L, y, weights = one_row([0.0, zeta - 1.0])
    dL = np.empty_like(L)
    assert soft_slack(L, y, weights, slack_params(1.0, 10.0, 1.0), dL) == pytest.approx(expected, abs=1e-12)
    slope = 0.6 / 0.8 if expected == 1 - 0.8 else float(zeta >= 1 - 1 / np.sqrt(2))
    np.testing.assert_allclose(dL, [[-slope, slope]], atol=1e-9)


def test_the_soft_maximum_over_rivals_by_hand():
    L, y, weights = one_row([0.0, 0.3, 0.1])
    dL = np.empty_like(L)
    zeta = 5.0 + np.log(np.exp(3.0) + np.exp(1.0)) / 10
    assert soft_slack(L, y, weights, slack_params(5.0, 10.0, 1.0), dL) == pytest.approx(zeta)
    np.testing.assert_allclose(dL[0], [-1.0, 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])


def test_the_hard_slack_by_hand():
    L = np.array([[0.0, -3.0, -1.5], [0.0, 1.0, -4.0], [0.0, -9.0, -8.0]])
    dL = np.empty_like(L)
    found = hard_slack(L, np.zeros(3, dtype=int), np.array([1.0, 2.0, 5.0]), np.array([2.0]), dL)
    assert found == pytest.approx(0.5 + 2 * 3.0)
    np.testing.assert_array_equal(dL, [[-1, 0, 1], [-2, 2, 0], [0, 0, 0]])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_the_gradient_of_problem_11(classes, gamma):
    table = make_table(classes=classes, weights=np.linspace(0.5, 2.0, 80))
    problem = LargeMarginProblem(table, learn(table, "tan"))
    params = slack_params(gamma, 10.0, min(1.0, gamma))
    point = problem.terms.values + np.random.default_rng(0).normal(0.0, 0.3, problem.terms.values.size)
    error = check_grad(
        lambda x: problem.soft(x, 3.0, params)[0], lambda x: problem.soft(x, 3.0, params)[1], point, epsilon=1e-6
    )
    assert error < 1e-3 * np.linalg.norm(problem.soft(point, 3.0, params)[1])


def test_counts_are_the_papers():
    table = make_table(rows=7, features=2)
    problem = LargeMarginProblem(table, learn(table, "nb"), alpha=1.0)
    # Of each of the three tables one virtual row, besides the seven.
    assert problem.counts.sum() == pytest.approx(3 * 8)
    assert problem.counts.min() >= 1 / 6
    lam_0 = problem.exact(problem.terms.values, Setting(0.0, 1.0))
    assert lam_0 == pytest.approx(-float(problem.counts @ problem.terms.values))


# The optimum


def test_without_slack_it_is_maximum_likelihood():
    table = make_table(classes=3)
    dag = learn(table, "tan")
    ml = bnplug.parameter_learner("ml").fit(table, dag)
    learner = MaximumLikelihoodSVM(lam=0.0)
    found = learner.fit(table, dag)
    for name in table.names:
        np.testing.assert_allclose(found.tables[name].values, ml.tables[name].values, rtol=0, atol=1e-8)
    assert learner.likelihood_ratio_ == 1.0
    assert learner.lam_ == 0.0


def test_a_descent_from_elsewhere_ends_at_maximum_likelihood():
    table = make_table(classes=3)
    problem = LargeMarginProblem(table, learn(table, "tan"))
    uniform = problem.columns.log_softmax(np.zeros(problem.counts.size))

    def objective(values):
        return -float(problem.counts @ values), -problem.counts

    found = descend(objective, uniform, problem.counts, problem.columns, 1e-12, 1000)
    np.testing.assert_allclose(found.point, problem.terms.values, atol=1e-3)
    assert optimality(problem.terms.values, -problem.counts, problem.columns) == pytest.approx(0.0, abs=1e-9)
    assert optimality(uniform, -problem.counts, problem.columns) > 1.0


CASES = [(structure, classes, gamma) for structure in ("nb", "tan") for classes in (2, 3) for gamma in (1.0, 5.0)]


@pytest.mark.parametrize(("structure", "classes", "gamma"), CASES)
def test_the_optimum_beside_a_conic_solver(structure, classes, gamma):
    pytest.importorskip("cvxpy", reason="the conic solver is an optional extra")
    table = make_table(rows=50, features=4, classes=classes, seed=classes)
    dag = learn(table, structure)
    for lam in (0.5, 8.0):
        optimum = by_cone(table, dag, lam, gamma)
        objectives = {}
        for name, params in (("soft", {}), ("refined", {"refine": True}), ("conic", {"solver": "conic"})):
            learner = MaximumLikelihoodSVM(lam=lam, gamma=gamma, **params)
            assert learner.fit(table, dag).normalized
            objectives[name] = learner.objective_ / optimum - 1
        assert -1e-5 < objectives["soft"] < 0.03
        assert -1e-5 < objectives["refined"] < 1e-3
        assert abs(objectives["conic"]) < 1e-5


def by_cone(table, dag, lam, gamma):
    """Problem (10), written once more: a variable for each table, a constraint for each row and rival."""
    import cvxpy as cp

    c, n_classes = table.target_index, int(table.cards[table.target_index])
    parents = dag.parents
    shapes = [[int(table.cards[u]) for u in (v, *own)] for v, own in enumerate(parents)]
    omega = [cp.Variable((shape[0], int(np.prod(shape[1:])))) for shape in shapes]

    def log_joint_of(row, label):
        total = 0
        for v, own in enumerate(parents):
            codes = [label if u == c else int(table.codes[u, row]) for u in (v, *own)]
            column = int(np.ravel_multi_index(codes[1:], shapes[v][1:])) if own else 0
            total = total + omega[v][codes[0], column]
        return total

    slack = cp.Variable(table.n_rows, nonneg=True)
    constraints = [cp.log_sum_exp(own, axis=0) <= 0 for own in omega]
    for row in range(table.n_rows):
        y = int(table.codes[c, row])
        own = log_joint_of(row, y)
        constraints += [own - log_joint_of(row, k) + slack[row] >= gamma for k in range(n_classes) if k != y]
    likelihood = 0
    for v, own in enumerate(parents):
        counts = bnplug.counts.counting.count(table, v, own)
        likelihood = likelihood + cp.sum(cp.multiply((counts + 1 / counts.size).reshape(shapes[v][0], -1), omega[v]))
    goal = cp.Problem(cp.Minimize((lam * cp.sum(slack) - likelihood) / table.n_rows), constraints)
    return goal.solve(solver=cp.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7) * table.n_rows


@pytest.mark.parametrize("structure", ["nb", "tan", "kdb"])
@pytest.mark.parametrize("gamma", [1.0, 5.0])
def test_the_solution_is_normalised_before_wettigs_algorithm(structure, gamma):
    """Theorem 2, in columns whose count is at least 1."""
    table = make_table(rows=200, classes=3)
    problem = LargeMarginProblem(table, learn(table, structure))
    assert problem.is_c1 or structure == "kdb"
    for lam in (0.5, 8.0, 64.0):
        point = problem.solve(Setting(lam, gamma, max_iter=3000)).point
        sums, counts = column_sums(problem, point)
        assert problem.unnormalized(point) == pytest.approx(np.abs(sums[counts >= 1]).max(), abs=1e-12)
        assert (counts >= 1).sum() > 10
        assert np.abs(sums[counts >= 1]).max() < 1e-3
        assert sums.max() < 1e-9


class OverNetworks(LargeMarginProblem):
    """Solved as where it is not convex."""

    convex = False


def test_softmax_reaches_the_same_optimum_on_c1():
    table = make_table(classes=3)
    problem = LargeMarginProblem(table, learn(table, "tan"))
    setting = Setting(4.0, 2.0, tol=1e-6, max_iter=5000)
    projected = problem.solve(setting)
    other = OverNetworks(table, learn(table, "tan")).solve(setting)
    assert problem.convex
    assert projected.path[-1] == pytest.approx(other.path[-1], rel=1e-5)


def test_the_objective_never_rises_and_optimality_is_reached():
    table = make_table(rows=200, classes=3)
    learner = MaximumLikelihoodSVM(lam=8.0, gamma=5.0, tol=1e-5, max_iter=5000)
    learner.fit(table, learn(table, "tan"))
    assert (np.diff(learner.objective_path_) <= 0).all()
    assert learner.optimality_ <= 1e-5
    assert learner.n_iter_ == len(learner.objective_path_) - 1


def test_too_few_steps_are_told():
    table = make_table(rows=200, classes=3)
    with pytest.warns(BnplugWarning, match=r"after 2 steps \(max_iter=2\)"):
        MaximumLikelihoodSVM(lam=8.0, gamma=5.0, max_iter=2).fit(table, learn(table, "tan"))


# What it leaves behind


def test_attributes_agree_with_the_result():
    table = make_table(classes=3)
    dag = learn(table, "tan")
    learner = MaximumLikelihoodSVM(lam=2.0, gamma=3.0)
    tables = learner.fit(table, dag)
    own = bnplug.inference.complete.terms(tables, "c")
    L, y = log_joint(own, table.codes), table.codes[table.target_index].astype(int)
    rows = np.arange(table.n_rows)
    rival = np.where(np.arange(3) == y[:, None], -np.inf, L).max(axis=1)
    assert learner.slack_ == pytest.approx(np.maximum(0.0, 3.0 - L[rows, y] + rival).sum())
    ml = bnplug.parameter_learner("ml").fit(table, dag)
    assert learner.likelihood_ratio_ == pytest.approx(ml.log_likelihood(table) / tables.log_likelihood(table))
    assert tables.normalized
    assert learner.is_c1_


def test_a_weight_of_two_is_the_row_twice():
    table = make_table(rows=40)
    twice = table.take(np.concatenate([np.arange(40), np.arange(20)]))
    weighted = Table(table.codes, table.names, table.states, "c", np.where(np.arange(40) < 20, 2.0, 1.0))
    dag = learn(table, "tan")
    first, second = (MaximumLikelihoodSVM(lam=2.0, tol=1e-8).fit(one, dag) for one in (twice, weighted))
    for name in table.names:
        np.testing.assert_allclose(first.tables[name].values, second.tables[name].values, atol=1e-3)


def test_missing_cells_are_left_out():
    table = make_table(rows=60)
    codes = table.codes.copy()
    codes[0, ::3] = table.missing
    codes[2, ::5] = table.missing
    holes = Table(codes, table.names, table.states, "c")
    learner = MaximumLikelihoodSVM(lam="cv", gamma=[1.0, 5.0], cv=2)
    assert learner.fit(holes, learn(table, "tan")).normalized
    assert learner.cv_accuracy_.shape == (2, 14)


@pytest.mark.parametrize(("gamma", "lam"), [(5.0, 64.0), (20.0, 64.0), (20.0, 1024.0)])
def test_it_is_normalised_where_the_objective_is_flat(gamma, lam):
    """After the steps it may take, which do not get there: the last one keeps the slack, and lowers the objective."""
    table = make_table(rows=150, classes=3)
    problem = LargeMarginProblem(table, learn(table, "tan"))
    found = problem.solve(Setting(lam, gamma, max_iter=300))
    assert problem.unnormalized(found.point) < 1e-3
    assert all(later <= former + 1e-9 * abs(former) for former, later in zip(found.path, found.path[1:], strict=False))


def test_with_missing_cells_the_result_is_a_minimum_among_networks():
    """Normalising a sub-normalised solution would change the margins of rows whose terms are left out."""
    table = make_table(rows=150, classes=3)
    codes = table.codes.copy()
    holes = np.random.default_rng(0).random(codes.shape) < 0.1
    holes[-1] = False
    codes[holes] = table.missing
    holed, dag = Table(codes, table.names, table.states, "c"), learn(table, "tan")
    learner = MaximumLikelihoodSVM(lam=64.0, gamma=5.0)
    tables = learner.fit(holed, dag)
    assert tables.normalized
    problem = LargeMarginProblem(holed, dag)
    assert problem.is_c1
    assert not problem.convex
    setting = Setting(64.0, 5.0)
    before = problem.values(tables)
    rng = np.random.default_rng(1)
    for size in (0.01, 0.1):
        moved = problem.columns.log_softmax(before + size * rng.normal(size=before.shape))
        assert problem.soft(moved, 64.0, next(setting.stages()))[0] > learner.objective_path_[-1]
    with pytest.raises(ValueError, match="needs complete rows"):
        MaximumLikelihoodSVM(lam=4.0, solver="conic").fit(holed, dag)


def test_a_number_in_quotes_is_no_grid_of_its_digits():
    table = make_table(rows=20)
    with pytest.raises(ValueError, match="lam='12' must be a number"):
        MaximumLikelihoodSVM(lam="12").fit(table, learn(table, "nb"))


@pytest.mark.parametrize("solver", ["gradient", "conic"])
def test_of_one_class_it_is_maximum_likelihood(solver):
    table = make_table(rows=20, classes=1)
    learner = MaximumLikelihoodSVM(lam=2.0, solver=solver)
    dag = learn(table, "nb")
    found, ml = learner.fit(table, dag), bnplug.parameter_learner("ml").fit(table, dag)
    for name in table.names:
        np.testing.assert_allclose(found.tables[name].values, ml.tables[name].values, atol=1e-12)
    assert learner.slack_ == 0.0


@pytest.mark.parametrize("refine", [False, True])
def test_other_structures_become_networks_too(refine):
    table = make_table(rows=100, features=3)
    learner = MaximumLikelihoodSVM(lam=4.0, gamma=2.0, refine=refine)
    tables = learner.fit(table, not_c1(table))
    assert not learner.is_c1_
    assert tables.normalized
    assert learner.objective_path_[-1] < learner.objective_path_[0]


# Choosing lam and gamma


def test_the_grid_is_the_papers_and_does_not_depend_on_threads():
    table = make_table(rows=60)
    dag = learn(table, "nb")
    found = []
    for n_jobs in (1, 2):
        learner = MaximumLikelihoodSVM(lam="cv", gamma="cv", cv=3, random_state=0, n_jobs=n_jobs)
        tables = learner.fit(table, dag)
        found.append((learner.lam_, learner.gamma_, learner.cv_accuracy_, [t.values for t in tables.tables.values()]))
    assert found[0][0] in (0.0, *(2.0**e for e in range(-2, 11)))
    assert learner.cv_gammas_.tolist() == [0.1, 1.0, 5.0, 10.0, 15.0, 20.0]
    assert found[0][:2] == found[1][:2]
    np.testing.assert_array_equal(found[0][2], found[1][2])
    for first, second in zip(found[0][3], found[1][3], strict=True):
        np.testing.assert_array_equal(first, second)
    assert (
        found[0][2].max()
        == found[0][2][list(learner.cv_gammas_).index(learner.gamma_), list(learner.cv_lams_).index(learner.lam_)]
    )


def test_held_out_accuracy_is_that_of_fits_on_the_other_rows():
    table = make_table(rows=90)
    dag = learn(table, "tan")
    splitter = StratifiedShuffleSplit(1, test_size=0.3, random_state=0)
    learner = MaximumLikelihoodSVM(lam=[0.0, 1.0], gamma=2.0, cv=splitter)
    learner.fit(table, dag)
    y = table.codes[table.target_index]
    ((train, test),) = splitter.split(np.zeros(90), y)
    for lam, accuracy in zip((0.0, 1.0), learner.cv_accuracy_[0], strict=True):
        tables = MaximumLikelihoodSVM(lam=lam, gamma=2.0, tol=1e-3).fit(table.take(train), dag)
        L = log_joint(bnplug.inference.complete.terms(tables, "c"), table.take(test).codes)
        assert accuracy == pytest.approx(np.mean(L.argmax(axis=1) == y[test]))


# The door


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": -1.0}, "lam=-1.0 must be a number"),
        ({"lam": "vc"}, "lam='vc' must be"),
        ({"gamma": 0.0}, "gamma=0.0 must be"),
        ({"gamma": [1.0, float("nan")]}, "gamma="),
        ({"gamma": []}, "gamma="),
        ({"eta": 0.0}, "eta=0.0 must be"),
        ({"alpha": 0.0}, "alpha=0.0 must be"),
        ({"solver": "newton"}, "solver='newton' must be"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"lam": "cv", "cv": None}, "cv=None"),
    ],
)
def test_what_is_wrong_is_said(params, message):
    table = make_table(rows=20)
    with pytest.raises(ValueError, match=message):
        MaximumLikelihoodSVM(**params).fit(table, learn(table, "nb"))


def test_the_conic_solver_wants_c1():
    pytest.importorskip("cvxpy", reason="the conic solver is an optional extra")
    table = make_table(rows=20, features=3)
    with pytest.raises(ValueError, match="needs a C1 structure"):
        MaximumLikelihoodSVM(solver="conic").fit(table, not_c1(table))


def test_without_cvxpy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    table = make_table(rows=20)
    with pytest.raises(ImportError, match=r"bnplug-mlbnsvm\[conic\]"):
        MaximumLikelihoodSVM(solver="conic").fit(table, learn(table, "nb"))


def test_it_says_how_it_goes(capsys):
    table = make_table(rows=40)
    clone(MaximumLikelihoodSVM(lam=[0.5, 1.0], cv=2, verbose=2)).fit(table, learn(table, "nb"))
    told = capsys.readouterr().err
    assert "held-out accuracy" in told
    assert "step 1, objective" in told
    assert "likelihood relative to ML" in told
