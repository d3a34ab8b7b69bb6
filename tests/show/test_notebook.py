"""What a notebook shows of a fitted classifier."""

import numpy as np
import pandas as pd
import pytest
from awkward import NAMES
from html_page import Page
from sklearn import config_context

from bnplug import BayesianNetworkClassifier
from bnplug.show.summary import fitted_display


def fitted(names=("sky", "wind"), target="class", labels=("go", "stay")):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(40, len(names))).astype(str), columns=list(names))
    y = pd.Series(np.array(labels, dtype=object)[rng.integers(0, 2, size=40)], name=target)
    return BayesianNetworkClassifier("nb").fit(X, y)


def words(page):
    return "".join(page.texts)


def test_a_fitted_model_says_what_it_is_and_draws_itself():
    page = Page(fitted_display(fitted()))
    assert "2 features, 2 classes, 2 edges, 5 parameters" in page.text
    assert "classes: go, stay" in words(page)
    assert "structure nb, parameters backoff" in page.text
    assert len(page.all("svg")) == 1


def test_a_large_graph_is_not_drawn():
    page = Page(fitted_display(fitted([f"x{i}" for i in range(150)])))
    assert page.all("svg") == []
    assert "A graph of 151 nodes is not drawn here" in page.text


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_the_markov_blanket_is_named_where_it_is_not_everything():
    X = pd.DataFrame({"near": list("ab") * 20, "far": list("aabb") * 10})
    y = pd.Series(list("ab") * 20, name="class")
    model = BayesianNetworkClassifier([("class", "near")], "ml").fit(X, y)
    assert "Markov blanket of the class: near" in words(Page(fitted_display(model)))
    assert "Markov blanket" not in Page(fitted_display(fitted())).text


def test_awkward_names_and_labels_are_text():
    names = [name for name in NAMES if name.strip() and len(name) < 1000][:40]
    page = Page(fitted_display(fitted(names, "<script>", ("<img src=x>", "&amp;"))))
    assert "script" not in {tag for tag, _ in page.elements}
    assert page.all("img") == []
    assert "classes: &amp;, <img src=x>" in words(page)


def test_the_diagram_of_scikit_learn_is_kept_and_can_be_switched_off():
    model = fitted()
    shown = model._repr_mimebundle_()
    assert "sk-top-container" in shown["text/html"]
    assert "bnplug-shown" in shown["text/html"]
    with config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
    assert "bnplug-shown" not in BayesianNetworkClassifier()._repr_html_()
