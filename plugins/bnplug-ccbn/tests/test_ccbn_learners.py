"""The three parameterisations: their gradients, where they end, and what they leave."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from bnplug_ccbn.learners import L2_GRID
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

import bnplug
from bnplug import Structure
from bnplug.errors import BnplugWarning, NotRepresentableError
from bnplug.hooks import registry
from bnplug.inference.complete import log_joint, log_posterior, posterior, terms
from bnplug.table.table import Table

LETTERS = ("d", "e", "w")
C1 = {"nb": "nb", "tan": "tan", "kdb-1": ("kdb", {"k": 1})}


def noisy_table(rows=1500, seed=0, features=5, classes=3):
    """A class with two or three states seen through dependent features and much noise: the NLL has a minimum."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    frame = pd.DataFrame(index=range(rows))
    last = y
    for i in range(features):
        states = 2 + i % 2
        noise = rng.integers(0, states, rows)
        last = np.where(rng.random(rows) < 0.4, (y + last) % states, noise)
        frame[f"x{i}"] = last
    return Table.from_frame(frame.assign(c=y), "c")


def structure(table, name):
    spec = C1[name]
    name, params = spec if isinstance(spec, tuple) else (spec, {})
    return bnplug.structure_learner(name, **params).learn(table)


def class_with_parents(table):
    """x0 and x1 are parents of the class and of its child x2; x3 has the class and x4; not C1 through x2's x4."""
    c = table.target_index
    return Structure(table.names, [[], [], [0, 1, 4, c], [4, c], [], [0, 1]])


def learner(letter, **params):
    """The paper's: without a penalty, unless one is asked for."""
    return bnplug.parameter_learner(f"ccbn-{letter}", **{"l2": 0.0, **params})


def rows_posterior(tables, table):
    return posterior(log_joint(terms(tables, table.target), table.codes))


def log_probabilities(tables, table):
    """The log posterior of the class of each row."""
    joint = log_joint(terms(tables, table.target), table.codes)
    return log_posterior(joint)[np.arange(table.n_rows), table.codes[table.target_index]]


SETTINGS = [
    ("d", {}),
    ("e", {}),
    *(("w", {"level": level, "l2_center": center}) for level, center in product((1, 2, 3, 4), (0, 1))),
    *(("w", {"level": level, "backoff": True}) for level in (1, 2, 3, 4)),
]


@pytest.mark.parametrize("graph", ["nb", "tan", "class with parents"])
@pytest.mark.parametrize(("letter", "params"), SETTINGS)
def test_gradients_are_finite_differences(letter, params, graph):
    table = noisy_table(rows=40)
    dag = class_with_parents(table) if graph == "class with parents" else structure(table, graph)
    problem = learner(letter, **params).problem(table, dag)
    rng = np.random.default_rng(0)
    point = problem.parameterization.generative + 0.3 * rng.normal(size=problem.parameterization.generative.size)
    for l2 in (0.0, 0.7):
        _, exact = problem.penalized(point, l2)
        for _ in range(5):
            along = rng.normal(size=point.size)
            up, down = (problem.penalized(point + sign * 1e-5 * along, l2)[0] for sign in (1, -1))
            assert exact @ along == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("graph", C1)
@pytest.mark.parametrize("init", ["generative", "zeros"])
def test_all_three_end_at_one_minimum(graph, init):
    table = noisy_table()
    dag = structure(table, graph)
    ends = {}
    for letter in LETTERS:
        fitted = learner(letter, init=init, max_iter=2000)
        tables = fitted.fit(table, dag)
        assert fitted.is_c1_
        assert tables.normalized
        assert fitted.nll_path_[-1] == pytest.approx(-log_probabilities(tables, table).sum(), rel=1e-9)
        assert len(fitted.nll_path_) == fitted.n_iter_ + 1
        assert (np.diff(fitted.nll_path_) <= 0).all()
        ends[letter] = fitted.nll_path_[-1]
    assert max(ends.values()) == pytest.approx(min(ends.values()), rel=1e-5)


def test_on_naive_bayes_it_is_logistic_regression():
    table = noisy_table()
    X, y = table.codes[table.features].T, table.codes[table.target_index]
    one_hot = OneHotEncoder().fit_transform(X)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(one_hot, y).predict_proba(one_hot)
    for letter in LETTERS:
        tables = learner(letter, tol=1e-12, max_iter=2000).fit(table, structure(table, "nb"))
        np.testing.assert_allclose(rows_posterior(tables, table), reference, atol=1e-4)


def test_starts_are_what_init_says():
    table = noisy_table()
    dag = structure(table, "tan")
    generative = -log_probabilities(bnplug.parameter_learner("ml").fit(table, dag), table).sum()
    for letter in LETTERS:
        for init, expected in (("generative", generative), ("zeros", table.n_rows * np.log(3))):
            fitted = learner(letter, init=init, max_iter=0)
            fitted.fit(table, dag)
            assert fitted.nll_path_ == [pytest.approx(expected)]
            assert fitted.n_iter_ == 0


def test_a_strong_pull_to_one_gives_the_generative_classifier():
    table = noisy_table(rows=300)
    dag = structure(table, "tan")
    generative = rows_posterior(bnplug.parameter_learner("ml").fit(table, dag), table)
    for init in ("generative", "zeros"):
        tables = learner("w", l2=1e8, l2_center=1, init=init).fit(table, dag)
        np.testing.assert_allclose(rows_posterior(tables, table), generative, atol=1e-4)
    uniform = learner("w", l2=1e8, l2_center=0).fit(table, dag)
    np.testing.assert_allclose(rows_posterior(uniform, table), 1 / 3, atol=1e-4)


@pytest.mark.parametrize("graph", C1)
def test_each_level_ends_no_higher_than_the_one_before(graph):
    table = noisy_table(rows=600, seed=3)
    dag = structure(table, graph)
    ends = []
    for level in (1, 2, 3, 4):
        fitted = learner("w", level=level, tol=1e-10)
        fitted.fit(table, dag)
        ends.append(fitted.nll_path_[-1])
    for lower, higher in pairwise(ends):
        assert higher <= lower * (1 + 1e-7)
    assert ends[3] < ends[0]


def test_weights_have_the_axes_of_their_level():
    table = noisy_table(rows=100)
    dag = Structure(table.names, [[], [0, 5], [5], [1, 2, 5], [], [0]])
    shapes = {
        4: {"c": (3, 2), "x1": (3, 2, 3), "x2": (2, 3), "x3": (3, 3, 2, 3)},
        3: {"c": (3,), "x1": (3, 3), "x2": (2, 3), "x3": (3, 3)},
        2: {"c": (), "x1": (3,), "x2": (2,), "x3": (3,)},
        1: {"c": (), "x1": (), "x2": (), "x3": ()},
    }
    for level, expected in shapes.items():
        fitted = learner("w", level=level)
        tables = fitted.fit(table, dag)
        assert {name: weights.shape for name, weights in fitted.weights_.items()} == expected
        if level == 4:
            generative = bnplug.parameter_learner("ml").fit(table, dag)
            assert not fitted.is_c1_
            for name, weights in fitted.weights_.items():
                np.testing.assert_allclose(tables.tables[name].values, weights * generative.tables[name].values)


def test_nodes_that_do_not_matter_keep_their_estimates():
    table = noisy_table(rows=200)
    dag = Structure(table.names, [[5], [0, 5], [0], [2], [1, 3], []])
    generative = bnplug.parameter_learner("ml").fit(table, dag)
    for letter in LETTERS:
        tables = learner(letter).fit(table, dag)
        for name in ("x2", "x3", "x4"):
            np.testing.assert_allclose(tables.tables[name].values, generative.tables[name].values, rtol=1e-12)
        assert not np.allclose(tables.tables["x0"].values, generative.tables["x0"].values)


def test_off_c1_the_extended_is_a_network_and_the_others_say_why_not():
    table = noisy_table(rows=300)
    dag = class_with_parents(table)
    ends = {}
    for letter in LETTERS:
        fitted = learner(letter, max_iter=3000)
        tables = fitted.fit(table, dag)
        assert not fitted.is_c1_
        ends[letter] = -log_probabilities(tables, table).sum()
        assert ends[letter] == pytest.approx(fitted.nll_path_[-1], rel=1e-9)
        if letter == "e":
            assert tables.normalized
        else:
            with pytest.raises(NotRepresentableError, match="do not sum to one"):
                tables.to_network()
            with pytest.raises(NotRepresentableError, match="not C1"):
                tables.normalize()
    assert ends["w"] == pytest.approx(ends["d"], rel=1e-4)
    assert ends["e"] >= min(ends["d"], ends["w"]) * (1 - 1e-4)


def test_a_classifier_off_c1_predicts_and_refuses_to_be_exported(tmp_path):
    table = noisy_table(rows=300)
    frame = pd.DataFrame(table.codes.T, columns=table.names)
    edges = list(class_with_parents(table).edges)
    model = bnplug.BayesianNetworkClassifier(edges, learner("w"), discretizer="none")
    model.fit(frame.drop(columns="c"), frame["c"])
    assert model.score(frame.drop(columns="c"), frame["c"]) > 0.4
    assert not model.parameters_.is_c1_
    with pytest.raises(NotRepresentableError):
        model.to_bif(tmp_path / "model.bif")


def c1_with_class_parents(table):
    """x0 is a parent of the class; x1 and x2 share parents that are adjacent."""
    c = table.target_index
    return Structure(table.names, [[], [0, c], [0, 1, c], [c], [3], [0]])


@pytest.mark.parametrize("graph", [*C1, "class with parents"])
@pytest.mark.parametrize("letter", LETTERS)
def test_exported_networks_have_the_same_posterior(letter, graph, tmp_path):
    gum = pytest.importorskip("pyagrum")
    table = noisy_table(rows=300)
    frame = pd.DataFrame(table.codes.T, columns=table.names).astype(str)
    X, y = frame.drop(columns="c"), frame["c"]
    dag = c1_with_class_parents(table) if graph == "class with parents" else structure(table, graph)
    model = bnplug.BayesianNetworkClassifier(list(dag.edges), learner(letter), discretizer="none").fit(X, y)
    assert model.parameters_.is_c1_
    model.to_bif(tmp_path / "model.bif")
    again = bnplug.read_bif(tmp_path / "model.bif", "c")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-6)
    inference = gum.LazyPropagation(gum.loadBN(str(tmp_path / "model.bif")))
    for row, expected in zip(table.codes[table.features].T[:20], model.predict_proba(X)[:20], strict=True):
        inference.setEvidence({f"x{i}": int(code) for i, code in enumerate(row)})
        np.testing.assert_allclose(inference.posterior("c").toarray(), expected, atol=1e-6)


@pytest.mark.parametrize("letter", LETTERS)
def test_weights_are_repeated_rows_and_threads_change_nothing(letter):
    table = noisy_table(rows=200)
    times = np.random.default_rng(0).integers(1, 4, table.n_rows)
    by_weight = Table(table.codes, table.names, table.states, "c", times.astype(float))
    repeated = table.take(np.repeat(np.arange(table.n_rows), times))
    dag = structure(table, "tan")
    first = learner(letter, l2=0.1).fit(by_weight, dag)
    second = learner(letter, l2=0.1).fit(repeated, dag)
    threads = learner(letter, l2=0.1, n_jobs=2).fit(by_weight, dag)
    np.testing.assert_allclose(rows_posterior(first, table), rows_posterior(second, table), atol=1e-5)
    for name in table.names:
        assert (first.tables[name].values == threads.tables[name].values).all()


def test_cross_validation_chooses_between_generative_and_discriminative():
    table = noisy_table(rows=150)
    dag = structure(table, "tan")
    chosen = learner("w", l2="cv", random_state=0, tol=1e-6)
    chosen.fit(table, dag)
    assert chosen.l2_ == 10.0 ** (4 - int(chosen.cv_nll_.argmin()))
    assert chosen.cv_nll_.min() < min(chosen.cv_nll_[0], chosen.cv_nll_[-1])
    again = learner("w", l2="cv", random_state=0, tol=1e-6, n_jobs=2)
    again.fit(table, dag)
    assert (again.cv_nll_ == chosen.cv_nll_).all()
    given = learner("w", l2=chosen.l2_, tol=1e-6)
    given.fit(table, dag)
    assert given.nll_path_ == chosen.nll_path_


def sparse_table(rows, seed):
    """A value and parent value seldom occur together, and each feature says something about the class by itself."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    frame = pd.DataFrame({name: (3 * y + rng.integers(0, 12, rows)) % 15 for name in ("a", "b", "d")})
    for name in frame:
        frame[name] = pd.Categorical(frame[name], categories=range(15))
    return Table.from_frame(frame.assign(c=y), "c")


def test_backing_off_helps_where_pairs_were_not_seen():
    test = sparse_table(4000, seed=99)
    gains = []
    for seed in range(3):
        train = sparse_table(120, seed)
        c = train.target_index
        dag = Structure(train.names, [[c], [0, c], [1, c], []])
        seen = {(pair, *codes) for pair in ((0, 1), (1, 2)) for codes in zip(*train.codes[list(pair)], strict=True)}
        unseen = np.array([((0, 1), a, b) not in seen or ((1, 2), b, d) not in seen for a, b, d, _ in test.codes.T])
        assert unseen.mean() > 0.5
        nll = {}
        for backoff in (False, True):
            fitted = learner("w", l2=0.1, backoff=backoff)
            tables = fitted.fit(train, dag)
            assert tables.normalized
            nll[backoff] = -log_probabilities(tables, test)[unseen].mean()
        gains.append(nll[False] - nll[True])
    assert min(gains) > 0.05


def test_backing_off_starts_at_the_generative_estimates_of_what_was_seen():
    train = sparse_table(120, seed=0)
    c = train.target_index
    dag = Structure(train.names, [[c], [0, c], [1, c], []])
    generative = log_probabilities(bnplug.parameter_learner("ml").fit(train, dag), train)
    for level in (3, 4):
        fitted = learner("w", level=level, backoff=True, max_iter=0)
        np.testing.assert_allclose(log_probabilities(fitted.fit(train, dag), train), generative, atol=1e-9)
    assert fitted.backoff_weights_["b"].shape == (15, 2)


def test_missing_cells_leave_out_their_terms():
    table = noisy_table(rows=400)
    codes = table.codes.copy()
    codes[0, ::3] = codes[2, ::4] = table.missing
    holed = Table(codes, table.names, table.states, "c")
    for letter in LETTERS:
        fitted = learner(letter)
        tables = fitted.fit(holed, structure(table, "tan"))
        assert tables.normalized
        assert fitted.nll_path_[-1] < fitted.nll_path_[0]


def test_what_other_programs_could_not_hold_is_warned_of():
    """x tells the class; a virtual row of 1e-310 leaves log parameters below -700 where nothing was counted."""
    table = Table.from_frame(pd.DataFrame({"x": [0, 1] * 20, "c": [0, 1] * 20}), "c")
    dag = structure(table, "nb")
    with pytest.warns(BnplugWarning, match="ccbn-d: log parameters of 'x' go down to -7.*a small l2"):
        learner("d", alpha=1e-310, max_iter=0).fit(table, dag)
    learner("d", alpha=1e-310, l2=0.01).fit(table, dag)


@pytest.mark.parametrize(
    ("letter", "params", "message"),
    [
        ("d", {"init": "random"}, "init='random' must be"),
        ("d", {"l2": -1}, "l2=-1 must be"),
        ("e", {"l2": "auto"}, "l2='auto' must be"),
        ("e", {"alpha": 0.0}, "one must be positive"),
        ("w", {"level": 5}, "level=5 must be"),
        ("w", {"l2_center": 0.5}, "l2_center=0.5 must be"),
        ("w", {"max_iter": -1}, "max_iter=-1 must"),
        ("w", {"tol": -1.0}, r"tol=-1\.0 must"),
    ],
)
def test_bad_parameters_are_named(letter, params, message):
    table = noisy_table(rows=50)
    with pytest.raises(ValueError, match=message):
        learner(letter, **params).fit(table, structure(table, "nb"))


def test_progress_goes_to_the_error_stream(capsys):
    table = noisy_table(rows=50)
    learner("w", verbose=2, max_iter=3).fit(table, structure(table, "nb"))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("ccbn-w: ") for line in lines)


def test_constructors_only_store():
    for letter in LETTERS:
        made = learner(letter, l2="cv", max_iter=7)
        assert clone(made).get_params() == made.get_params()


def test_a_penalty_is_chosen_unless_it_is_given():
    table = noisy_table(rows=200)
    dag = structure(table, "tan")
    for letter in LETTERS:
        plain = bnplug.parameter_learner(f"ccbn-{letter}", max_iter=5)
        plain.fit(table, dag)
        assert plain.l2_ == L2_GRID[int(plain.cv_nll_.argmin())]
    # No class has two rows.
    tiny = table.take([int(np.flatnonzero(table.codes[table.target_index] == c)[0]) for c in range(2)])
    few = bnplug.parameter_learner("ccbn-w")
    few.fit(tiny, dag)
    assert few.l2_ == 1.0


def test_recipes_have_the_papers_penalty():
    plugin = next(info for info in bnplug.plugins() if info.name == "ccbn")
    for name in plugin.names["recipe"]:
        _, params = registry.find("recipe", name).parameters
        assert params["l2"] == 0.0


def test_steps_that_are_not_remembered_change_the_descent():
    table = noisy_table()
    dag = bnplug.structure_learner("tan").learn(table)
    paths = {}
    for memory in (1, 5, 20):
        learner = bnplug.parameter_learner("ccbn-d", init="zeros", l2=0.0, memory=memory)
        learner.fit(table, dag)
        paths[memory] = learner.nll_path_
    assert paths[1][:3] == paths[20][:3]
    assert paths[1][5] != paths[5][5]
    assert paths[5][6] == paths[20][6]
    assert paths[1][-1] == pytest.approx(paths[20][-1], rel=1e-4)


@pytest.mark.parametrize("memory", [0, 2.5, "all"])
def test_the_memory_is_a_whole_number(memory):
    table = noisy_table(50)
    with pytest.raises(ValueError, match=r"memory=.* must be a whole number from 1 on"):
        bnplug.parameter_learner("ccbn-w", memory=memory).fit(table, bnplug.structure_learner("nb").learn(table))
