"""A search in words and as a picture."""

from __future__ import annotations

import pytest
from bnplug_rmcv.reporting import describe_search, plot_search

import bnplug
from bnplug import datasets


@pytest.fixture(scope="module")
def model():
    data = datasets.load("tic-tac-toe")
    return bnplug.recipe("RMCV", random_state=0).fit(data.X, data.y)


def test_words_name_every_move_and_what_matters(model):
    learner, text = model.structure_, describe_search(model)
    for number, (move, value) in enumerate(zip(learner.moves_, learner.trace_[1:], strict=True), start=1):
        line = text.splitlines()[number]
        assert line.startswith(f"{number:4}. {move} ")
        assert line.endswith(f"{value:.4f}")
    blanket = model.markov_blanket()
    assert f"depends on {len(blanket)} of 9 features" in text
    assert all(name in text for name in blanket)


def test_features_that_change_nothing_are_named():
    data = datasets.load("corral")
    model = bnplug.recipe("RMCV-empty", random_state=0).fit(data.X, data.y)
    left_out = set(data.X.columns) - set(model.markov_blanket())
    assert left_out
    last = describe_search(model).splitlines()[-1]
    assert last.startswith("Where these are known, the others change nothing")
    assert all(name in last for name in left_out)


def test_a_search_that_made_no_move():
    data = datasets.load("iris")
    model = bnplug.BayesianNetworkClassifier(structure=bnplug.structure_learner("rmcv", max_iter=0)).fit(data.X, data.y)
    assert describe_search(model).startswith("0 moves from score")
    assert len(plot_search(model).figure.axes) == 2


def test_the_picture_has_the_score_and_the_network_with_the_blanket_marked(model):
    ax = plot_search(model)
    assert ax.lines[0].get_ydata().tolist() == model.structure_.trace_
    network = ax.figure.axes[1]
    assert {text.get_text() for text in network.texts} == {*model.tables_.names}
    marked = [patch for patch in network.patches if patch.get_facecolor()[:2] == (1.0, pytest.approx(240 / 255))]
    assert len(marked) == len(model.markov_blanket())


def test_any_search_that_kept_its_moves_is_described():
    data = datasets.load("iris")
    model = bnplug.recipe("MDL").fit(data.X, data.y)
    assert describe_search(model).count("\n") >= len(model.structure_.moves_)


def test_a_structure_that_was_not_searched_for():
    data = datasets.load("iris")
    model = bnplug.BayesianNetworkClassifier(structure="nb").fit(data.X, data.y)
    with pytest.raises(ValueError, match="not found by a search"):
        describe_search(model)
