from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_parents

from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.datasets import iris, tic_tac_toe
from bnplug.show.summary import class_joints, mutual_information, to_text


@st.composite
def networks(draw, normalized=True):
    """A classifier with a random DAG, the class anywhere in it, and random tables."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 6))
    cards = rng.integers(1, 4, n)
    cards[0] = draw(st.integers(2, 3))
    names = ["c", *(f"x{i}" for i in range(1, n))]
    tables = {}
    for v, parents in enumerate(random_parents(rng, n)):
        values = rng.gamma(0.7, size=(cards[v], *cards[parents])) + 1e-3
        values = values / values.sum(axis=0) if normalized else values
        tables[names[v]] = ([names[p] for p in parents], np.log(values))
    states = {name: list(range(card)) for name, card in zip(names, cards, strict=True)}
    return BayesianNetworkClassifier.from_tables(LogTables(names, states, tables, target="c"))


def joint_by_enumeration(model, name):
    tables = model.tables_
    result = np.zeros([len(tables.states[v]) for v in ("c", name)])
    for row in product(*(range(len(tables.states[v])) for v in tables.names)):
        at = dict(zip(tables.names, row, strict=True))
        measure = sum(t.values[at[v], *(at[p] for p in t.parents)] for v, t in tables.tables.items())
        result[at["c"], at[name]] += np.exp(measure)
    return result / result.sum()


@given(networks())
def test_joints_with_the_class_equal_enumeration(model):
    joints = class_joints(model)
    assert list(joints) == [name for name in model.tables_.names if name != "c"]
    for name, joint in joints.items():
        assert joint == pytest.approx(joint_by_enumeration(model, name), abs=1e-9)


@given(networks(normalized=False))
def test_joints_of_tables_that_do_not_sum_to_one(model):
    for name, joint in class_joints(model).items():
        assert joint == pytest.approx(joint_by_enumeration(model, name), abs=1e-9)


def test_mutual_information_by_hand():
    assert mutual_information(np.outer([0.3, 0.7], [0.2, 0.5, 0.3])) == pytest.approx(0, abs=1e-12)
    assert mutual_information(np.diag([0.25, 0.75])) == pytest.approx(-0.25 * np.log(0.25) - 0.75 * np.log(0.75))
    assert mutual_information(np.array([[0.5, 0.25], [0.0, 0.25]])) == pytest.approx(
        0.5 * np.log(0.5 / 0.375) + 0.25 * np.log(0.25 / 0.375) + 0.25 * np.log(0.25 / 0.125)
    )


def test_the_text_has_a_line_for_every_node():
    X, y = tic_tac_toe()
    edges = [("class", "top-left"), ("class", "top-right"), ("top-left", "top-right"), ("middle-left", "class")]
    lines = to_text(BayesianNetworkClassifier(edges).fit(X, y.rename("class"))).splitlines()
    assert lines[0] == "'class': 9 features, 2 classes, 4 edges, 33 parameters"
    assert lines[1] == "structure given, parameters backoff, discretizer log2-quantile"
    assert "top-right <- top-left, class" in lines
    assert "class <- middle-left" in lines
    assert "bottom-left" in lines
    assert "Markov blanket of 'class': top-left, top-right, middle-left" in lines
    assert "P(class | middle-left)" in lines


def test_small_tables_are_shown_and_large_ones_when_asked_for():
    frame = pd.DataFrame(np.arange(800).reshape(200, 4) * 7919 % 11, columns=list("abcd")).astype(str)
    edges = [("class", "a"), ("b", "a"), ("class", "d")]
    model = BayesianNetworkClassifier(edges).fit(frame, [*"pq"] * 100)
    text = to_text(model)
    assert "P(d | class)" in text
    assert "P(a | b, class)" not in text
    assert "P(a | ...): 11 states x 22 configurations; --node 'a' shows it" in text
    asked = to_text(model, ["a"])
    assert "P(a | b, class)" in asked
    assert "P(d | class)" not in asked
    assert all(f"{value:.4f}" in asked for value in model.cpt("a").to_numpy().ravel()[:50])


def test_an_unknown_node_is_an_error():
    model = BayesianNetworkClassifier("nb").fit(pd.DataFrame({"height": [0, 1]}), [0, 1])
    with pytest.raises(ValueError, match=r"no node 'hieght'\. Did you mean 'height'"):
        to_text(model, ["hieght"])


def test_names_do_not_break_lines_or_steer_the_terminal():
    X = pd.DataFrame({"a\nb": ["\x1b[31m", "x", "x", "y"], "温度": [0, 1, 0, 1]})
    text = to_text(BayesianNetworkClassifier("nb").fit(X, [0, 1, 1, 0]))
    assert "\x1b" not in text
    assert "a\\nb <- class" in text.splitlines()
    assert "温度 <- class" in text.splitlines()


def test_discriminative_parameters_are_said_to_be_so():
    values = np.log([[2.0, 0.1], [1.0, 3.0]])
    tables = LogTables(["c", "x"], {"c": [0, 1], "x": [0, 1]}, {"c": ((), [0.0, 0.0]), "x": (("c",), values)}, "c")
    assert "need not sum to one" in to_text(BayesianNetworkClassifier.from_tables(tables))


def test_cut_points_by_name():
    X, y = iris()
    model = BayesianNetworkClassifier("nb", "ml").fit(X.assign(colour=["red", "blue"] * 75), y)
    cuts = model.encoder_.cut_points
    assert list(cuts) == list(X.columns)
    assert cuts["petal width (cm)"].tolist() == pytest.approx([0.8, 1.75])
    assert BayesianNetworkClassifier("nb", discretizer="none").fit(X.round(), y).encoder_.cut_points == {}
