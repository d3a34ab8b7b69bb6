"""What the page says about given rows."""

import re

import numpy as np
import pytest
from html_page import Page

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris
from bnplug.show import report
from bnplug.show.evaluation import evaluate


@pytest.fixture(scope="module")
def iris_model():
    X, y = iris()
    return BayesianNetworkClassifier("tan").fit(X, y), X, y


def section(html, name):
    return re.search(f'<section id="{name}">.*?</section>', html, re.DOTALL)[0]


def test_explanations_add_up(iris_model):
    model, X, y = iris_model
    page = Page(report.to_html(model, X, y, rows=3))
    probabilities = model.predict_proba(X)
    row = int(probabilities.max(axis=1).argmin())
    p = probabilities[row].max()
    at = page.texts.index("posterior log odds")
    assert page.texts[at + 1] == f"{np.log(p / (1 - p)):+.2f}"
    first = page.texts.index("prior")
    shown = [float(text) for text in page.texts[first:at] if re.fullmatch(r"[+-]\d+\.\d\d", text)]
    assert len(shown) == 5
    assert sum(shown) == pytest.approx(np.log(p / (1 - p)), abs=0.03)
    assert str(row) in page.texts


def test_figures_and_confusion_are_those_of_the_evaluation(iris_model):
    found = evaluate(*iris_model)
    page = Page(section(report.to_html(*iris_model), "performance"))
    for value in found.figures.values():
        assert f"{value:.3f}" in page.texts
    cells = [int(text) for text in page.texts if re.fullmatch(r"\d+", text)]
    assert cells == [found.n_rows, *found.confusion.to_numpy().ravel().tolist()]


def test_the_three_least_certain_rows_that_look_different_are_explained(iris_model):
    model, X, y = iris_model
    probabilities = model.predict_proba(X)
    page = Page(section(report.to_html(model, X, y, rows=3), "examples"))
    assert len(page.all("article")) == 3
    best = np.sort(np.unique(probabilities.max(axis=1).round(9)))[:3]
    shown = [float(text.split()[1].strip(",")) for text in page.texts if text.startswith("probability ")]
    assert shown == pytest.approx(best.tolist(), abs=5e-4)


def test_without_classes_nothing_is_said_of_the_truth(iris_model):
    model, X, y = iris_model
    assert "truly" in report.to_html(model, X, y, rows=1)
    assert "truly" not in report.to_html(model, X, rows=1)
