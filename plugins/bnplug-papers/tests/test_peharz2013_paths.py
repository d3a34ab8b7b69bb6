"""Figure 1 of Peharz et al. (2013): likelihood and slack along lam."""

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.peharz2013.paths import path

import bnplug
from bnplug.table.table import Table


def make_table(rows=80, features=5, classes=2, states=3, seed=0, weights=None):
    """Features that follow the class and the feature before in a third of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    columns, before = {}, np.zeros(rows, dtype=int)
    for v in range(features):
        before = np.where(rng.random(rows) < 0.35, (y + before) % states, rng.integers(0, states, rows))
        columns[f"x{v}"] = before
    return Table.from_frame(pd.DataFrame(columns).assign(c=y), "c", weights)


def learn_structure(table, structure):
    return bnplug.structure_learner(structure).learn(table)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"lams": [-1.0]}, "lam="), ({"lams": [np.nan]}, "lam="), ({"gamma": 0.0}, "gamma="),
     ({"gamma": "cv"}, "one gamma"), ({"alpha": 0.0}, "alpha="), ({"eta": 0.0}, "eta="),
     ({"max_iter": -1}, "max_iter="), ({"lams": "12"}, "lam=")],
)  # fmt: skip
def test_a_path_names_bad_parameters(params, message):
    table = make_table(rows=20)
    with pytest.raises(ValueError, match=message):
        path(table, learn_structure(table, "nb"), **params)


def test_likelihood_and_slack_fall_along_lam():
    table = make_table(rows=200, classes=3)
    dag = learn_structure(table, "tan")
    for gamma in (1.0, 5.0):
        found = path(table, dag, [0, 0.25, 1, 4, 16, 64], gamma, refine=True, tol=1e-5, max_iter=5000)
        assert (np.diff(found["negative_log_likelihood"]) > 0).all()
        assert (np.diff(found["slack"]) < 0).all()
        assert found["likelihood_ratio"].iloc[0] == pytest.approx(1.0)
        assert found["accuracy"].iloc[-1] > found["accuracy"].iloc[0]


def test_the_path_agrees_with_single_fits():
    table = make_table(rows=150)
    dag = learn_structure(table, "nb")
    found = path(table, dag, [8, 1], gamma=2.0, tol=1e-7, max_iter=5000).set_index("lam")
    assert list(found.index) == [1.0, 8.0]
    for lam in (1.0, 8.0):
        learner = bnplug.parameter_learner("ml-bn-svm", lam=lam, gamma=2.0, tol=1e-7, max_iter=5000)
        learner.fit(table, dag)
        assert found.loc[lam, "likelihood_ratio"] == pytest.approx(learner.likelihood_ratio_, rel=1e-4)
        assert found.loc[lam, "slack"] == pytest.approx(learner.slack_ / table.n_rows, rel=1e-3)
