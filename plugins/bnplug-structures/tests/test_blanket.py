"""`blanket` and `MarkovBlanketSelector`: exact blankets from an oracle, and selection of raw columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from bnplug_structures.blanket import MarkovBlanket
from bnplug_structures.independence import Separation
from bnplug_structures.selector import MarkovBlanketSelector
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from bnplug import BayesianNetworkClassifier, Structure, Table
from bnplug.structure import markov_blanket
from bnplug.table.block_table import BlockTable

NAMES = "abcdefgh"


@st.composite
def graphs(draw, most=8):
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    parents = [[] for _ in range(n)]
    for i, v in enumerate(order):
        if i:
            parents[v] = draw(st.lists(st.sampled_from(order[:i]), max_size=3, unique=True))
    return Structure(NAMES[:n], parents)


def table_of(truth):
    return Table.from_frame(pd.DataFrame({name: [0, 1] for name in truth.names}), truth.names[0])


def frame_of(n_rows=2000, seed=0):
    """Return rows of cause -> class -> effect <- spouse, and columns outside the blanket."""
    random = np.random.RandomState(seed)

    def noisy(values, share=0.85):
        return np.where(random.rand(n_rows) < share, values, random.randint(2, size=n_rows))

    cause, spouse, noise = random.randint(2, size=(3, n_rows))
    target = noisy(cause)
    effect = noisy(target | spouse, 0.9)
    frame = pd.DataFrame(
        {"far": noisy(cause), "cause": cause, "effect": effect, "spouse": spouse, "after": noisy(effect)}
    )
    return frame.assign(noise=noise), pd.Series(target, name="class")


@given(graphs())
@settings(max_examples=150)
def test_an_oracle_finds_the_blanket(truth):
    learner = MarkovBlanket("mdl", test=Separation(truth), max_conditions=None)
    learner.learn(table_of(truth))
    target = truth.names[0]
    assert learner.blanket_ == markov_blanket(truth.by_name, target)
    adjacent = {*truth.by_name[target], *(v for v, family in truth.by_name.items() if target in family)}
    assert {*learner.neighbors_} == adjacent


@given(graphs(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_constraints_hold_whatever_the_answers(truth, seed):
    random, known = np.random.RandomState(seed), {}
    edges = [(truth.names[p], truth.names[v]) for v, family in enumerate(truth.parents) for p in family]
    required = edges[: random.randint(3)]
    forbidden = [(u, v) for u in truth.names for v in truth.names if (u, v) not in required and random.rand() < 0.2]
    forbidden = [(u, v) for u, v in forbidden if u != v]
    learner = MarkovBlanket(
        "mdl",
        test=lambda *asked: known.setdefault(asked, float(random.rand() < 0.5)),
        required=required,
        forbidden=forbidden,
    )
    structure = learner.learn(table_of(truth)).structure
    assert {*required} <= {*structure.edges}
    assert not {*forbidden} & {*structure.edges}
    target = truth.names[0]
    assert {u for edge in required if target in edge for u in edge} - {target} <= {*learner.blanket_}


def test_the_structure_connects_the_class_and_its_blanket_alone():
    X, y = frame_of()
    learner = MarkovBlanket(score="bdeu")
    learned = learner.learn(Table.from_frame(X.assign(**{"class": y}), "class"))
    assert learner.blanket_ == ["cause", "effect", "spouse"]
    assert learner.neighbors_ == ["cause", "effect"]
    assert {name for edge in learned.structure.edges for name in edge} == {"class", "cause", "effect", "spouse"}
    assert learned.details["blanket"] == learner.blanket_


def test_blocks_threads_and_weights_change_nothing():
    X, y = frame_of(300)
    frame = X.assign(**{"class": y})
    expected = MarkovBlanket().learn(Table.from_frame(pd.concat([frame, frame]), "class"))
    assert MarkovBlanket(n_jobs=2).learn(Table.from_frame(frame, "class", np.full(300, 2.0))) == expected
    twice = Table.from_frame(pd.concat([frame, frame]), "class")
    assert MarkovBlanket().learn(BlockTable.cut(twice, [50, 549, 1])) == expected


def test_scikit_learns_own_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(MarkovBlanketSelector(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []
    assert sum(r["status"] == "passed" for r in results) >= 40


def test_raw_columns_are_selected_as_they_are():
    X, y = frame_of()
    random = np.random.RandomState(1)
    X["cause"] = X["cause"].map({0: "no", 1: "yes"}).astype("category")
    X["effect"] = X["effect"] * 9 + random.normal(size=len(X))
    X.loc[::50, "effect"] = np.nan
    selector = MarkovBlanketSelector().fit(X, y)
    assert list(selector.get_feature_names_out()) == ["cause", "effect", "spouse"]
    assert selector.transform(X).equals(X[["cause", "effect", "spouse"]])
    assert selector.support_[selector.neighbors_].all()
    assert selector.get_support(indices=True).tolist() == [1, 2, 3]
    model = make_pipeline(clone(selector), BayesianNetworkClassifier()).fit(X, y)
    assert model[-1].feature_names_in_.tolist() == ["cause", "effect", "spouse"]
    assert model.score(X, y) > 0.8


def test_arrays_pipelines_and_grid_searches():
    X, y = frame_of(1000)
    array = X.to_numpy(dtype=float)
    selector = MarkovBlanketSelector(n_jobs=2).fit(array, y)
    assert selector.transform(array).tolist() == array[:, [1, 2, 3]].tolist()
    search = GridSearchCV(
        make_pipeline(MarkovBlanketSelector(), LogisticRegression()),
        {"markovblanketselector__alpha": [0.01, 0.05]},
        cv=3,
    )
    assert search.fit(array, y).best_score_ > 0.8


def test_an_empty_selection_is_reported():
    X = pd.DataFrame({"a": ["p", "q"] * 20})
    with pytest.warns(UserWarning, match="No features were selected"):
        assert MarkovBlanketSelector().fit(X, ["u", "u", "v", "v"] * 10).transform(X).shape == (40, 0)


def test_a_class_is_needed():
    with pytest.raises(ValueError, match="requires y to be passed"):
        MarkovBlanketSelector().fit(frame_of(50)[0], None)
