"""What a fitted network tells and shows of itself; explanations, queries and samples are tested in their own rooms."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bnplug import BayesianNetworkClassifier

# The table of `mixed` declares a category that no row has.
pytestmark = pytest.mark.filterwarnings("ignore:Column 'grade' has categories:bnplug.UnseenValueWarning")


def test_probabilities_of_a_node_as_a_frame(mixed):
    model = BayesianNetworkClassifier("nb").fit(*mixed)
    cpt = model.cpt("city")
    assert list(cpt.index) == ["lima", "oslo", "rome"]
    assert cpt.sum().tolist() == pytest.approx([1, 1])
    assert model.cpt("risk")["probability"].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="no variable 'town'"):
        model.cpt("town")


def test_html_shows_the_graph_once_fitted(mixed):
    model = BayesianNetworkClassifier()
    assert "<svg" not in model._repr_html_().split("</style>")[-1] or "city" not in model._repr_html_()
    html = model.fit(*mixed)._repr_mimebundle_()["text/html"]
    assert "<svg" in html
    assert "children" in html


def test_a_display_and_a_completion_make_no_network_of_pgmpy(mixed, monkeypatch):
    model = BayesianNetworkClassifier().fit(*mixed)

    def made(*_):
        raise AssertionError("pgmpy was asked")

    monkeypatch.setattr(type(model.tables_), "to_dag", made)
    monkeypatch.setattr(type(model.tables_), "to_network", made)
    assert {"dag_", "network_", "cpt", "classes_"} <= set(dir(model))
    html = model._repr_html_()
    assert "classes_" in html
    assert "network_" not in html
    assert "network_" in dir(model)


def test_what_an_answer_is_about_must_be_fitted_first(mixed):
    model = BayesianNetworkClassifier()
    for ask in (lambda: model.dag_, lambda: model.query("risk"), lambda: model.explain(mixed[0]), model.markov_blanket):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()


def test_a_picture_is_drawn_or_written_to_a_file(mixed, tmp_path):
    model = BayesianNetworkClassifier().fit(*mixed)
    axes = model.plot()
    assert model.plot(axes) is model.plot(ax=axes) is axes
    for name, first in {"x.png": b"\x89PNG", "x.pdf": b"%PDF", "x.svg": b"<svg", "x.dot": b"digraph"}.items():
        assert model.plot(tmp_path / name) is None
        assert (tmp_path / name).read_bytes().startswith(first)
    model.plot(str(tmp_path / "y.svg"))
    assert (tmp_path / "y.svg").read_bytes() == (tmp_path / "x.svg").read_bytes()


def test_a_feature_of_one_state_is_not_in_the_markov_blanket():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("uv"), 60), "same": "k", "b": rng.choice(list("uv"), 60)})
    y = pd.Series(rng.choice(["p", "q"], 60), name="y")
    edges = [("y", "a"), ("y", "same"), ("b", "same")]
    model = BayesianNetworkClassifier(edges).fit(X, y)
    assert model.markov_blanket() == ["a"]
    assert BayesianNetworkClassifier("tan").fit(X, y).markov_blanket() == ["a", "b"]
    assert BayesianNetworkClassifier([("same", "y")]).fit(X, y).markov_blanket() == []
