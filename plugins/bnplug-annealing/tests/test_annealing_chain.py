"""A chain is the same whether the evaluator walks by itself or each candidate is proposed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_annealing import chain
from bnplug_annealing.learner import SimulatedAnnealing

from bnplug import Table
from bnplug.contracts import Evaluator


def table():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (150, 6))
    codes[:, 1] = np.where(rng.random(150) < 0.7, (codes[:, 0] + codes[:, 5]) % 3, codes[:, 1])
    return Table.from_frame(pd.DataFrame(codes, columns=[*"abcdf", "y"]), "y")


def result(learner):
    edges = sorted(learner.learn(table()).edges())
    return edges, learner.trace_, learner.evaluations_, learner.temperatures_, learner.n_evaluations_, learner.r_


@pytest.mark.parametrize(
    "parameters",
    [
        {"score": "cr"},
        {"score": ("cr", {"cv": 4}), "k": 2, "restarts": 2},
        {"score": "mdl", "k": 2},
        {"score": "cll", "required": [("a", "b")], "forbidden": [("c", "d")], "k": 2},
        {"score": "cr", "max_evaluations": 77},
        {"score": "cmdl"},
    ],
    ids=str,
)
def test_the_walk_of_an_evaluator_is_that_of_its_proposals(parameters, monkeypatch):
    learner = SimulatedAnnealing(random_state=1, **parameters)
    walked = result(learner)
    proposed = []

    def try_some(self):
        proposed.append(self)
        return original(self)

    original = chain._Walk._try_some
    monkeypatch.setattr(chain._Walk, "_walk", lambda self: False)
    monkeypatch.setattr(chain._Walk, "_try_some", try_some)
    assert result(learner) == walked
    assert proposed


@pytest.mark.parametrize(("score", "walks"), [("cr", True), ("mdl", True), ("cmdl", False)])
def test_scores_walk_unless_they_have_a_penalty_of_their_own(score, walks, monkeypatch):
    counts = {"walked": 0, "proposed": 0}

    def counted(name, original):
        def call(self):
            done = original(self)
            counts[name] += done is not False
            return done

        return call

    monkeypatch.setattr(chain._Walk, "_walk", counted("walked", chain._Walk._walk))
    monkeypatch.setattr(chain._Walk, "_try_some", counted("proposed", chain._Walk._try_some))
    SimulatedAnnealing(score=score, random_state=1).learn(table())
    assert (counts["walked"] > 0, counts["proposed"] > 0) == (walks, not walks)


def test_an_evaluator_that_knows_nothing_of_walks_is_asked_for_proposals():
    class Plain(Evaluator):
        value = 0.0

        def start(self, parents):
            return 0.0

        def propose(self, changes):
            return float(sum(map(len, changes.values())))

        def commit(self, changes):
            return self.propose(changes)

    state = chain.State.at([[3], [3], [3], []], np.random.SeedSequence(0))
    walk = chain.Chain(
        state, chain.Schedule(D=0.5, r=1.0, max_try=5, max_success=2, max_rejections=9, max_temperatures=2), 3
    )
    assert [state.n_evaluations for state in walk.run(Plain)]
