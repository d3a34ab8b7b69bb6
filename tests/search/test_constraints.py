"""What is known of the edges is one vocabulary: every learner that takes it keeps to it, or says that it cannot."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search.toys import make_table
from sklearn.base import clone

import bnplug
from bnplug import BayesianNetworkClassifier, Structure, Table, datasets, make_classifier, structure_learner
from bnplug.hooks import registry
from bnplug.search import Constraints

#: Every learner that declares that it keeps to constraints, quick enough for many tables.
QUICK = {
    "sa": {"score": "mdl", "max_try": 20, "random_state": 0},
    "rmho": {"max_iter": 3, "cv": 2, "random_state": 0},
    **{name: {"cv": 2, "random_state": 0} for name in ("rmcv", "rmho-f", "rmho-ar")},
    **{name: {"score": "mdl"} for name in ("omi", "omisp")},
    "ro": {"score": "mdl", "random_state": 0},
    "mcmc": {"n_steps": 500, "tolerance": 1.0, "random_state": 0},
}
NAMES = sorted(method.name for method in registry.methods("structure learner") if method.constraints)


@pytest.fixture
def table():
    return make_table(features=3)


def constrained(name, **known):
    return structure_learner(name, **QUICK.get(name, {}), **known)


def learned_edges(name, table, **known):
    return set(Structure.of(constrained(name, **known).learn(table), table).edges)


def test_which_learners_keep_to_constraints():
    wanted = {"tan", "kdb", "hill-climb", "omi", "omisp", "ro", "rmcv", "rmho", "rmho-f", "rmho-ar", "sa"}
    assert set(NAMES) == wanted | {"chow-liu", "tabu", "ges", "exact", "pc", "mcmc", "blanket"}


def test_edges_and_tiers_become_matrices(table):
    constraints = Constraints(table, [("x1", "x3")], [("class", "x2")], [["x3"], ["class"]])
    assert np.argwhere(constraints.required).tolist() == [[0, 2]]
    # x1, x2, x3, class: no edge to itself, not class -> x2, nor class -> x3 by the tiers.
    assert constraints.allowed.astype(int).tolist() == [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 0, 0, 0]]
    assert constraints.required_parents(2) == [0]
    assert constraints.allowed_parents(1, [0, 3]) == [0]
    assert not constraints.free
    for nothing in ({}, {"required": []}, {"tiers": [["x1", "x2"]]}, {"required": nx.DiGraph()}):
        free = Constraints(table, **nothing)
        assert free.free
        assert free.allowed_parents(0, [1, 3]) == [1, 3]
        assert (free.allowed == ~np.eye(4, dtype=bool)).all()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"required": ["x1"]}, "^required: an edge is a pair"),
        ({"required": "x1"}, "^required='x1' is not a list of edges"),
        ({"forbidden": [("x1", "x2", "x3")]}, "^forbidden: an edge is a pair"),
        ({"required": [("x1", "x1")]}, r"^required: \('x1', 'x1'\) is not an edge between two"),
        ({"required": [("x1", "y")]}, "^required names 'y', which is not a variable; variables"),
        ({"forbidden": [("x1", "clas")]}, "^forbidden names 'clas'.*Did you mean 'class'"),
        ({"tiers": [["x1"], ["z"]]}, "^tiers names 'z'"),
        ({"tiers": ["x1", "x2"]}, "^tiers: a tier is a list of names, not 'x1'"),
        ({"tiers": [["x1"], ["x2", "x1"]]}, "^tiers: 'x1' is in two of them"),
        ({"tiers": 3}, "^tiers=3 is not a list"),
        (
            {"required": [("x1", "x2")], "forbidden": [("x1", "x2")]},
            "'x1' -> 'x2' is required, and is forbidden too",
        ),
        ({"required": [("x1", "x2")], "tiers": [["x2"], ["x1"]]}, "'x1' -> 'x2' is required, and the tiers forbid it"),
        ({"required": [("x1", "x2"), ("x2", "x1")]}, "^required: the edges make a cycle: x1 -> x2 -> x1"),
    ],
)
@pytest.mark.parametrize("name", [*NAMES, None])
def test_what_contradicts_itself_is_said_before_anything_is_counted(name, known, message, monkeypatch):
    if name is None:
        with pytest.raises(ValueError, match=message):
            Constraints(make_table(features=3), **known)
        return
    for where in ("table.table.Table.counts", "table.table.Table.map"):
        monkeypatch.setattr(f"bnplug.{where}", None)
    with pytest.raises(ValueError, match=message):
        constrained(name, **known).learn(make_table(features=3))


def test_what_names_a_column_that_was_left_out_is_passed_over(table):
    less = Table(table.codes, table.names, table.states, table.target, left_out=["id"])
    constraints = Constraints(less, [("id", "x1"), ("x1", "x2")], [("x3", "id")], [["id", "x1"], ["x3"]])
    assert np.argwhere(constraints.required).tolist() == [[0, 1]]
    assert not constraints.allowed[2, 0]


def test_an_order_has_required_parents_and_earlier_tiers_first(table):
    constraints = Constraints(table, [("x3", "x1")], tiers=[["x2"], ["x3"]])
    assert constraints.ready([0, 1, 2]) == [1]
    assert constraints.ready([0, 2]) == [2]
    assert constraints.ready([0]) == [0]
    # Required edges lead from a later tier to an earlier one by a feature that is in none: they come first.
    around = Constraints(table, [("x3", "x1"), ("x1", "x2")], tiers=[["x2"], ["x3"]])
    assert around.ready([0, 1, 2]) == [2]


@pytest.mark.parametrize(
    ("start", "required", "forbidden", "expected"),
    [
        ("nb", [], [], [[3], [3], [3], []]),
        ("empty", [("x1", "x2")], [], [[], [0], [], []]),
        # A named start gives way: to an edge that points to the class, and to one that is forbidden.
        ("nb", [("x1", "class")], [("class", "x3")], [[], [3], [], [0]]),
        # And to a path that leads to the class.
        ("nb", [("x1", "x2"), ("x2", "class")], [], [[], [0], [3], [1]]),
        ([("x1", "x2")], [("x2", "x3")], [], [[], [0], [1], []]),
        (nx.DiGraph([("x1", "class")]), [], [], [[], [], [], [0]]),
    ],
)
def test_starts(table, start, required, forbidden, expected):
    assert Constraints(table, required, forbidden).start(start) == expected


def test_a_start_that_cannot_be_is_said(table):
    with pytest.raises(ValueError, match="'tan' is not"):
        Constraints(table).start("tan")
    with pytest.raises(ValueError, match="'x1' -> 'x2' of the start is forbidden"):
        Constraints(table, forbidden=[("x1", "x2")]).start([("x1", "x2")])
    with pytest.raises(ValueError, match="'x1' -> 'x2' of the start is forbidden, or violates the tiers"):
        Constraints(table, tiers=[["x2"], ["x1"]]).start([("x1", "x2")])
    with pytest.raises(ValueError, match="cycle"):
        Constraints(table, required=[("x2", "x1")]).start([("x1", "x2")])


@pytest.mark.parametrize("name", ["tan", "kdb", "omi", "omisp", "ro", "sa"])
@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"required": [("x1", "class")]}, "gives the class no parents, and the edge 'x1' -> 'class' is required"),
        ({"forbidden": [("class", "x2")]}, "parent of every feature, and the edge 'class' -> 'x2' is forbidden"),
        ({"tiers": [["x3"], ["class"]]}, "parent of every feature, and the edge 'class' -> 'x3'"),
        (
            {"required": [("x1", "x3"), ("x2", "x3")]},
            r"at most 1 feature parent\(s\), and \['x1', 'x2'\] are required of 'x3'",
        ),
    ],
)
def test_what_a_learner_cannot_honour_is_said(name, known, message, table):
    with pytest.raises(ValueError, match=f"^{name} .*{message}"):
        constrained(name, **({"k": 1} if name == "kdb" else {}), **known).learn(table)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_learner_keeps_to_what_is_known(name, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (30, 5)), columns=["d", "a", "c", "e", "b"])
    table = Table.from_frame(frame.assign(d=frame["a"] ^ (rng.random(30) < 0.2)), "c")
    early, late, *others = rng.permutation([n for n in table.names if n != "c"]).tolist()
    known = {
        "required": [(early, others[0])],
        "forbidden": [(others[1], others[0]), (others[1], early)],
        "tiers": [[early], [late]],
    }
    edges = learned_edges(name, table, **known)
    assert set(known["required"]) <= edges
    assert not set(known["forbidden"]) & edges
    assert (late, early) not in edges


@pytest.mark.parametrize("name", NAMES)
def test_without_constraints_nothing_changes(name, table):
    plain = learned_edges(name, table)
    for nothing in ({"required": []}, {"forbidden": [], "tiers": [list(table.names)]}):
        assert learned_edges(name, table, **nothing) == plain


def test_a_classifier_takes_them_by_name_and_keeps_them_in_its_folder(tmp_path):
    X, y = datasets.corral()
    known = "required=[('A0', 'B1')], forbidden=[('B0', 'A0')], tiers=[['A0', 'B0'], ['B1']]"
    model = make_classifier(f"tan({known})+ml").fit(X, y)
    assert ("A0", "B1") in model.tables_.edges
    assert not {("B1", "A0"), ("B1", "B0"), ("B0", "A0")} & set(model.tables_.edges)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.get_params()["structure"] == model.get_params()["structure"]
    again = clone(loaded).fit(X, y)
    assert again.tables_.edges == model.tables_.edges
    fitted = bnplug.recipe("TAN").set_params(structure__required=[("A0", "B1")]).fit(X, y)
    assert ("A0", "B1") in fitted.tables_.edges


def test_a_column_that_fit_leaves_out_needs_no_second_warning(recwarn):
    X, y = datasets.corral()
    known = {"required": [("empty", "A0"), ("A0", "B1")], "tiers": [["empty"], ["A0"]]}
    model = BayesianNetworkClassifier(structure_learner("tan", **known)).fit(X.assign(empty=None), y)
    assert ("A0", "B1") in model.tables_.edges
    assert ["empty" in str(warning.message) for warning in recwarn] == [True]


def test_a_search_has_required_edges_and_no_forbidden_ones(table):
    edges = set(structure_learner("hill-climb", required=[("x1", "x2")], forbidden=[("x1", "x3")]).learn(table).edges)
    assert ("x1", "x2") in edges
    assert ("x1", "x3") not in edges
