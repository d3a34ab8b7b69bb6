"""A lower bound of the parameters is one: no learned structure has fewer."""

from __future__ import annotations

from math import prod

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, Table, structure_learner

_PLAIN = {"correction": None}
_TESTED = [
    *(("tan", own) for own in ({}, _PLAIN)),
    *(("kdb", {"k": k, **own}) for k in (0, 2, 9) for own in ({}, _PLAIN)),
]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("name", "parameters"), _TESTED)
def test_no_structure_has_fewer(name, parameters, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": rng.integers(0, rng.integers(2, 9), 50) for i in range(5)})
    table = Table.from_frame(frame.assign(c=rng.integers(0, 3, 50)), "c")
    learner = structure_learner(name, **parameters)
    parents = learner.learn(table).parents
    sizes = [prod(int(table.cards[v]) for v in (node, *own)) for node, own in enumerate(parents)]
    assert 0 < learner.fewest_parameters(table) <= sum(sizes)


def test_the_classifier_asks_before_it_counts(monkeypatch):
    def counted(*arguments):
        raise AssertionError("counted")

    monkeypatch.setattr("bnplug.builtin.structures.augmented.pairwise_information", counted)
    X = pd.DataFrame({f"x{i}": pd.Categorical(np.arange(60) % 30) for i in range(20)})
    with pytest.raises(ValueError, match=r"at least 34,200 parameters, more than max_parameters=34,000"):
        BayesianNetworkClassifier(("tan", _PLAIN), max_parameters=34_000).fit(X, np.arange(60) % 2)
    # Corrected measures may leave naive Bayes.
    with pytest.raises(ValueError, match=r"at least 1,200 parameters, more than max_parameters=1,100"):
        BayesianNetworkClassifier("tan", max_parameters=1_100).fit(X, np.arange(60) % 2)
