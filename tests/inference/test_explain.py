import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from bnplug import BayesianNetworkClassifier, parameter_learner
from bnplug.datasets import tic_tac_toe, wine


@pytest.fixture(scope="module")
def holes():
    X, y = wine()
    rng = np.random.default_rng(0)
    model = BayesianNetworkClassifier("tan", random_state=0).fit(X, y)
    return model, X.mask(rng.random(X.shape) < 0.3).iloc[::20]


def test_contributions_add_up_to_the_posterior_log_odds(holes):
    model, X = holes
    explanation = model.explain(X)
    assert list(explanation.columns) == ["row", "feature", "class", "contribution"]
    assert set(explanation["feature"]) == {"(prior)", *X.columns}
    total = explanation.groupby(["row", "class"])["contribution"].sum().unstack().loc[X.index, model.classes_]
    logs = model.predict_log_proba(X)
    others = np.log([[np.delete(np.exp(row), c).sum() for c in range(3)] for row in logs])
    assert total.to_numpy() == pytest.approx(logs - others, rel=1e-6, abs=1e-6)


def test_a_missing_feature_contributes_nothing(holes):
    model, X = holes
    explanation = model.explain(X).set_index(["row", "feature"])["contribution"]
    for row, column in zip(*np.nonzero(X.isna().to_numpy()), strict=True):
        assert (explanation.loc[(X.index[row], X.columns[column])] == 0).all()


def test_on_naive_bayes_with_two_classes_it_is_the_log_ratio():
    X, y = tic_tac_toe()
    model = BayesianNetworkClassifier("nb", calibrate=None).fit(X, y)
    explanation = model.explain(X.head(1)).set_index(["feature", "class"])["contribution"]
    for feature, value in X.iloc[0].items():
        cpt = model.cpt(feature).loc[value]
        ratio = np.log(cpt["positive"] / cpt["negative"])
        assert explanation[feature, "positive"] == pytest.approx(ratio)
        assert explanation[feature, "negative"] == pytest.approx(-ratio)
    assert explanation["(prior)", "positive"] == pytest.approx(logit(model.cpt("class").loc["positive", "probability"]))


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # the features determine the class
def test_certain_classes_have_finite_contributions():
    X, y = pd.DataFrame({"x": [0, 1] * 5, "z": [0, 1] * 5}), [0, 1] * 5
    model = BayesianNetworkClassifier("nb", parameter_learner("ml", alpha=0)).fit(X, y)
    assert np.isfinite(model.explain(X)["contribution"]).all()
    assert np.isfinite(model.explain(pd.DataFrame({"x": [0], "z": [1]}))["contribution"]).all()
