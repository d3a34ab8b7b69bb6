"""Nodes on the page: links, tables, features by what they tell of the class."""

import numpy as np
import pandas as pd
import pytest
from html_page import Page, sections

from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.datasets import iris
from bnplug.show import report
from bnplug.show.summary import class_joints, mutual_information


@pytest.fixture(scope="module")
def iris_model():
    X, y = iris()
    return BayesianNetworkClassifier("tan", "ml").fit(X, y), X, y


def test_features_come_by_what_they_tell_of_the_class(iris_model):
    page = Page(report.to_html(iris_model[0]))
    start = page.texts.index("feature")
    order = [text for text in page.texts[start:] if text.endswith("(cm)")][:4]
    assert order == ["petal width (cm)", "petal length (cm)", "sepal length (cm)", "sepal width (cm)"]


def test_large_tables_are_cut_and_that_is_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 50, (3000, 3)), columns=list("abc")).astype(str)
    edges = [("class", "a"), ("b", "a"), ("class", "c")]
    html = report.to_html(BayesianNetworkClassifier(edges).fit(frame, rng.integers(0, 26, 3000)))
    assert "the first 30 of 1,300 configurations and the first 40 of 50 states" in html
    assert len(html) < 400_000


def test_parameters_that_do_not_sum_to_one_are_shown_as_logarithms():
    values = np.log([[2.0, 0.1], [1.0, 3.0]])
    tables = LogTables(["c", "x"], {"c": [0, 1], "x": [0, 1]}, {"c": ((), [0.0, 0.0]), "x": (("c",), values)}, "c")
    page = Page(report.to_html(BayesianNetworkClassifier.from_tables(tables)))
    assert "0.6931" in page.texts
    assert "Log parameters of P(" in page.texts
    assert "discriminative" in page.text
    assert "drawn" not in sections(page)


def test_the_information_shown_is_that_of_the_network(iris_model):
    model = iris_model[0]
    text = Page(report.to_html(model)).text
    for joint in class_joints(model).values():
        assert f"{mutual_information(joint):.3f}" in text


def test_links_go_by_the_position_of_a_node(iris_model):
    assert '<a href="#node-4"><bdi>species</bdi></a>' in report.to_html(iris_model[0])
