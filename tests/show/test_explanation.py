import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import wine
from bnplug.show.drawing import plot_explanation


def test_bars_are_the_contributions_to_one_class_the_largest_on_top():
    explanation = pd.DataFrame(
        {
            "row": 0,
            "feature": ["(prior)", "(prior)", "a", "a", "b", "b", "c", "c"],
            "class": ["n", "y"] * 4,
            "contribution": [0.0, 0.0, 1.0, -1.0, -3.0, 3.0, 0.0, 0.0],
        }
    )
    axes = plot_explanation(explanation, "y", "a title")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["(prior)", "a", "b"]
    assert [bar.get_width() for bar in axes.patches] == [0.0, -1.0, 3.0]
    assert axes.patches[1].get_facecolor() != axes.patches[2].get_facecolor()
    assert axes.get_title() == "a title"


@pytest.fixture(scope="module")
def holes():
    import numpy as np

    X, y = wine()
    rng = np.random.default_rng(0)
    model = BayesianNetworkClassifier("tan", random_state=0).fit(X, y)
    return model, X.mask(rng.random(X.shape) < 0.3).iloc[::20]


def test_the_picture_shows_every_known_feature(holes):
    model, X = holes
    row = X.head(1)
    axes = model.plot_explanation(row)
    labels = {text.get_text() for text in axes.get_yticklabels()}
    known = {name for name in X.columns if row[name].notna().all() and name in model.markov_blanket()}
    assert "(prior)" in labels
    assert labels - {"(prior)"} <= known
    assert model.predict(row)[0] in axes.get_title()
    with pytest.raises(ValueError, match="one"):
        model.plot_explanation(X.head(2))
    with pytest.raises(ValueError, match="not one of the classes"):
        model.plot_explanation(row, label="claret")
