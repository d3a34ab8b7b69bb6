"""``ccbn-loo``: what it minimises, that no row meets its own count, and what comes out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_loo.learner import LAMBDAS
from bnplug_loo.problem import LeaveOneOutProblem, nll_with_shares
from scipy.special import logsumexp
from sklearn.metrics import log_loss

import bnplug
from bnplug import BayesianNetworkClassifier, Structure, Table, parameter_learner, structure_learner
from bnplug.inference.complete import log_joint, posterior, terms


def noisy_table(rows=160, seed=0, missing=0.0, weighted=False, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    last, frame = y, {}
    for i in range(4):
        states = 2 + i % 2
        last = np.where(rng.random(rows) < 0.5, (y + last) % states, rng.integers(0, states, rows))
        frame[f"x{i}"] = np.where(rng.random(rows) < missing, None, last.astype(object))
    weights = rng.integers(1, 4, rows).astype(float) if weighted else None
    return Table.from_frame(pd.DataFrame({**frame, "c": y}), "c", weights)


def structures(table):
    """Trees, two parents that are adjacent and two that are not, a class with parents, an isolated feature."""
    c = table.target_index
    return {
        "nb": [[c], [c], [c], [c], []],
        "tan": [[c], [0, c], [1, c], [1, c], []],
        "kdb": [[c], [0, c], [0, 1, c], [1, 2, c], []],
        "not-c1": [[c], [c], [0, 1, c], [c], []],
        "class-with-parents": [[], [0, c], [c], [], [0, 3]],
        "no-child": [[], [0], [], [], []],
    }


def slow_nll(problem, free, table):
    """The NLL row by row, from the levels of the back-off estimates and the free numbers alone."""
    layout, backoff = problem.layout, parameter_learner("backoff")
    names = dict(enumerate(table.names))
    backoff.fit(table, problem.generative.structure)
    offset, total = layout.first_correction, 0.0
    blocks = []
    for node in layout.nodes:
        own = []
        for length in range(len(node.log_p)):
            cards = node.cards[: node.own + length]
            size = int(np.prod(cards)) * layout.n_classes
            kept = bool(cards) and (length == 0 or size <= table.n_rows)
            own.append(free[offset : offset + size].reshape(*cards, -1) if kept else None)
            offset += size if kept else 0
        blocks.append(own)
    assert offset == len(free)
    for m in range(table.n_rows):
        row, y = table.codes[:, m], int(table.codes[table.target_index, m])
        joint = free[: layout.n_classes].copy()
        for j, node in enumerate(layout.nodes):
            values = [int(row[v]) for v in node.variables]
            known = next((i for i, code in enumerate(values) if code == table.missing), len(values))
            if known < node.own:
                continue
            levels = backoff.levels_[names[node.number]]
            level = levels[known] if node.number == table.target_index else levels[known - node.own + 1]
            for c in range(layout.n_classes):
                state = {table.target: c, **{names[v]: code for v, code in zip(node.variables, values, strict=True)}}
                cell = tuple(state[name] for name in (names[node.number], *level.parents))
                p = level.log_loo[cell] if c == y else level.log_p[cell]
                joint[c] += free[layout.n_classes + j] * p
                for length in range(known - node.own + 1):
                    if blocks[j][length] is not None:
                        joint[c] += blocks[j][length][(*values[: node.own + length], c)]
        weight = 1.0 if table.weights is None else table.weights[m]
        total += weight * (logsumexp(joint) - joint[y])
    return total


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", structures(noisy_table()))
def test_the_nll_is_that_of_a_slow_loop_and_its_gradient_of_finite_differences(name, missing):
    table = noisy_table(missing=missing, weighted=missing > 0)
    problem = LeaveOneOutProblem(table, Structure(table.names, structures(table)[name]))
    rng = np.random.default_rng(1)
    free = problem.layout.start + rng.normal(scale=0.3, size=len(problem.layout.start))
    value, gradient = problem.nll(free)
    assert value == pytest.approx(slow_nll(problem, free, table), rel=1e-10)
    direction = rng.normal(size=len(free))
    step = 1e-5 * direction
    numeric = (problem.nll(free + step)[0] - problem.nll(free - step)[0]) / 2e-5
    assert gradient @ direction == pytest.approx(numeric, rel=1e-6)
    penalized, own = problem.penalized(free, 3.0, 0.5)
    numeric = (problem.penalized(free + step, 3.0, 0.5)[0] - problem.penalized(free - step, 3.0, 0.5)[0]) / 2e-5
    assert own @ direction == pytest.approx(numeric, rel=1e-6)
    assert penalized >= value


def test_a_row_finds_its_class_as_if_it_were_not_there():
    """With given concentrations, leaving a row out is learning the estimates again without it."""
    table = noisy_table(rows=40)
    dag = Structure(table.names, structures(table)["tan"])
    backoff = parameter_learner("backoff", concentration=2.0)
    full = backoff.fit(table, dag)
    y = table.codes[table.target_index]
    for m in range(table.n_rows):
        others = table.take(np.arange(table.n_rows) != m)
        again = parameter_learner("backoff", concentration=2.0).fit(others, dag)
        for v, name in enumerate(table.names[:-1]):
            parents = full[name].parents
            cell = tuple(table.codes[[v, *(table.index(p) for p in parents)], m])
            assert backoff.loo_tables_[name].values[cell] == pytest.approx(again[name].values[cell], abs=1e-12)
            # In other classes the row is only in what no condition says, which it moves little.
            place = 1 + parents.index("c")
            for c in {0, 1, 2} - {int(y[m])}:
                other = (*cell[:place], c, *cell[place + 1 :])
                assert full[name].values[other] == pytest.approx(again[name].values[other], abs=0.1)


def test_the_penalty_is_that_of_the_definition():
    table = noisy_table()
    problem = LeaveOneOutProblem(table, Structure(table.names, structures(table)["kdb"]))
    layout = problem.layout
    free = np.random.default_rng(0).normal(size=len(layout.start))
    penalty = problem.penalized(free, 7.0, 0.25)[0] - problem.nll(free)[0]
    weights = free[layout.n_classes : layout.first_correction]
    cells = [[layout.n_classes * np.prod(node.cards[: 1 + level]) for node in layout.nodes] for level in range(3)]
    sizes = {0: sum(cells[0]), 1: sum(cells[1][1:]), 2: sum(cells[2][2:])}
    expected = 0.5 * ((weights - 0.25) ** 2).sum()
    corrections = free[layout.first_correction :]
    strength = layout.strength[layout.first_correction :]
    for level, size in sizes.items():
        chosen = strength == 4.0**level
        assert chosen.sum() == size
        expected += 0.5 * 7.0 * 4.0**level * (corrections[chosen] ** 2).sum()
    assert penalty == pytest.approx(expected)


def test_levels_with_more_cells_than_rows_are_left_out():
    few, many = noisy_table(rows=20), noisy_table(rows=160)
    layouts = [LeaveOneOutProblem(t, Structure(t.names, structures(t)["kdb"])).layout for t in (few, many)]
    assert layouts[0].strength.max() == 4.0
    assert layouts[1].strength.max() == 16.0
    assert (layouts[0].strength == 4.0).sum() == 2 * 2 * 3 * 3


@pytest.mark.parametrize("name", structures(noisy_table()))
def test_what_comes_out_is_what_was_learned(name):
    """Posteriors are those of the free numbers; on C1 they are a network's."""
    table = noisy_table()
    dag = Structure(table.names, structures(table)[name])
    learner = parameter_learner("ccbn-loo", lam=1.0, temperature=1.0)
    tables = learner.fit(table, dag)
    assert learner.is_c1_ == (name != "not-c1")
    assert tables.normalized == (name != "not-c1")
    raw = LeaveOneOutProblem(table, dag)
    free, center = raw.scaled(60, 1e-5)
    for lam in (*[own for own in LAMBDAS if own > 1.0], 1.0):
        free, _ = raw.minimize(free, lam, center, 60, 1e-5)
    found = posterior(log_joint(terms(tables, "c"), table.codes))
    expected = posterior(log_joint(terms(raw.network_tables(free), "c"), table.codes))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    if len(raw.layout.nodes):
        assert set(learner.weights_) == {table.names[node.number] for node in raw.layout.nodes}


def test_the_temperature_sharpens_or_flattens():
    table = noisy_table()
    dag = Structure(table.names, structures(table)["tan"])
    plain, warm = (parameter_learner("ccbn-loo", lam=1.0, temperature=t).fit(table, dag) for t in (1.0, 0.5))
    logs = [log_joint(terms(own, "c"), table.codes) for own in (plain, warm)]
    np.testing.assert_allclose(posterior(0.5 * logs[0]), posterior(logs[1]), atol=1e-9)


def test_what_is_chosen_is_best_for_rows_held_out():
    table = noisy_table(rows=300)
    dag = Structure(table.names, structures(table)["tan"])
    learner = parameter_learner("ccbn-loo", random_state=0)
    learner.fit(table, dag)
    path = list(learner.cv_nll_)
    assert path == list(LAMBDAS[: len(path)])
    assert learner.lam_ == min(learner.cv_nll_, key=learner.cv_nll_.get)
    assert all(nll <= 1.02 * min(learner.cv_nll_.values()) for nll in list(learner.cv_nll_.values())[:-1])
    assert 1 / 32 <= learner.temperature_ <= 32
    again = parameter_learner("ccbn-loo", lam=learner.lam_, random_state=0)
    again.fit(table, dag)
    assert again.temperature_ == learner.temperature_


def test_folds_are_asked_for_where_something_is_chosen():
    assert parameter_learner("ccbn-loo").n_inner_folds == 3
    assert parameter_learner("ccbn-loo", lam=1.0, cv=4).n_inner_folds == 4
    assert parameter_learner("ccbn-loo", lam=1.0, temperature=1.0).n_inner_folds == 0


def test_cuts_and_structure_have_not_seen_the_rows_that_choose():
    """A feature with as many bins as rows tells nothing, unless the folds have seen which row has which class."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 6)), columns=list("abcdef"))
    y = rng.integers(0, 2, 120)
    model = BayesianNetworkClassifier("tan", "ccbn-loo", "log2-quantile", random_state=0).fit(X, y)
    learner = model.parameters_
    # Nothing can be learned here: rows held out say that the answer is the prior, or near it.
    assert min(learner.cv_nll_.values()) > 0.98 * np.log(2)
    assert abs(model.predict_proba(X) - y.mean()).mean() < 0.2


@pytest.mark.parametrize(
    "params", [{"lam": 0}, {"lam": "loo"}, {"temperature": -1.0}, {"cv": 1}, {"max_iter": -1}, {"tol": "x"}]
)
def test_parameters_are_checked(params):
    table = noisy_table(rows=20)
    with pytest.raises(ValueError, match=next(iter(params))):
        parameter_learner("ccbn-loo", **params).fit(table, Structure(table.names, structures(table)["nb"]))


def test_classes_of_a_single_row_and_tiny_tables():
    table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "p"]}), "c")
    learner = parameter_learner("ccbn-loo")
    assert learner.fit(table, Structure(table.names, [[1], []])).normalized
    assert (learner.lam_, learner.temperature_, learner.cv_nll_) == (np.inf, 1.0, {})
    X = pd.DataFrame({"a": np.arange(12) % 3 + 0.5, "b": list("xyz") * 4})
    y = ["once", "rare", "rare", *["often"] * 9]
    model = BayesianNetworkClassifier("tan", "ccbn-loo", "log2-quantile").fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_the_recipes_answer_and_leave_as_files(tmp_path):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    for name in ("TAN-LOO", "KDB-2-LOO"):
        model = bnplug.recipe(name).fit(X, y)
        assert model.score(X, y) > 0.94
        model.save(tmp_path / name)
        loaded = bnplug.load(tmp_path / name)
        assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    model = bnplug.recipe("TAN-LOO").fit(X, y)
    model.to_bif(tmp_path / "model.bif")
    found = bnplug.read_bif(tmp_path / "model.bif").predict_proba(X)
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-9)


def test_the_generative_network_is_there_too():
    table = noisy_table()
    dag = structure_learner("tan").learn(table)
    learner = parameter_learner("ccbn-loo", lam=1.0, temperature=1.0)
    learner.fit(table, dag)
    expected = parameter_learner("backoff").fit(table, dag)
    assert all((learner.generative_[name].values == expected[name].values).all() for name in table.names)


def one_row_of(n_rows, seed, classes=("a", "b")):
    """Return rows of several classes and a single row of class v, with two features that separate the classes."""
    random = np.random.default_rng(seed)
    y = np.array([*np.resize(classes, n_rows - 1), "v"])
    told = np.where(random.random((2, n_rows)) < 0.7, np.where(y == "v", "n", y), random.choice([*"abn"], (2, n_rows)))
    X = pd.DataFrame({"t0": told[0], "t1": told[1], **{f"x{j}": random.choice([*"pqrs"], n_rows) for j in range(3)}})
    return X.assign(number=random.normal(size=n_rows)), y


@pytest.mark.parametrize("classes", [("a",), ("a", "b")], ids=len)
@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_a_class_of_one_row_stays_near_its_prior(classes, structure):
    for seed in range(12):
        X, y = one_row_of(20, seed, classes)
        model = BayesianNetworkClassifier(structure, "ccbn-loo", random_state=0).fit(X, y)
        of_v = model.predict_proba(X)[:, -1]
        assert 0.004 < of_v.min() <= of_v.max() < 0.5
        assert 0.02 < of_v.mean() < 0.12
        assert 0.01 < model.query(model.target_, {})["probability"].to_numpy()[-1] < 0.2


def test_a_class_of_one_row_hardly_changes_what_is_learned_about_the_others():
    random = np.random.default_rng(3)
    y = random.choice(["a", "b"], 400)
    X = pd.DataFrame({f"x{j}": np.where(random.random(400) < 0.4, y, random.choice([*"abn"], 400)) for j in range(5)})
    model = BayesianNetworkClassifier("nb", ("ccbn-loo", {"lam": 1.0, "temperature": 1.0}))
    expected = model.fit(X[1:], y[1:]).predict_proba(X)
    y[0] = "v"
    found = model.fit(X, y).predict_proba(X)[:, :2]
    assert found / found.sum(axis=1, keepdims=True) == pytest.approx(expected, abs=0.01)


def test_the_loss_with_shares_is_that_of_rows_which_may_be_of_another_class():
    random = np.random.default_rng(0)
    joint, y = random.normal(size=(6, 3)), np.array([0, 1, 0, 1, 2, 0])
    weights, shares = random.random(6) + 0.5, np.array([0.0, 0.0, 0.1])
    derivative = np.empty_like(joint)
    total = nll_with_shares(joint, y, weights, shares, derivative)
    log_p = joint - logsumexp(joint, axis=1, keepdims=True)
    belongs = np.eye(3)[y] * 0.9 + shares
    belongs[y == 2] = 0.0
    assert total == pytest.approx(-(weights[:, None] * belongs * log_p).sum())
    expected = weights[:, None] * (belongs.sum(axis=1, keepdims=True) * np.exp(log_p) - belongs)
    assert derivative == pytest.approx(expected)


@pytest.mark.parametrize("seed", [132, 266, 108])
def test_features_that_say_nothing_leave_the_prior(seed):
    """The common weight used to run away to thousands below zero, and fresh rows had a log loss of up to 6."""
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_states = int(rng.integers(30, 300)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    labels = np.where(rng.random(n_rows) < 0.5, "u", "w")
    names = [f"x{i}" for i in range(n_features)]
    rows = pd.DataFrame(rng.integers(0, n_states, (n_rows, n_features)).astype(str), columns=names)
    fresh = pd.DataFrame(rng.integers(0, n_states, (1000, n_features)).astype(str), columns=names)
    model = BayesianNetworkClassifier("tan", "ccbn-loo", random_state=0).fit(rows, labels)
    truth = rng.choice(["u", "w"], 1000)
    assert log_loss(truth, model.predict_proba(fresh)) < 0.8
