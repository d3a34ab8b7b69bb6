"""A chain is the same whether the evaluator walks by itself or each candidate is proposed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_annealing import chain
from bnplug_annealing.learner import SimulatedAnnealing

from bnplug import Table
from bnplug.contracts import Evaluator
from bnplug.scoring import DecomposableEvaluator, PredictiveEvaluator, Walk
from bnplug.search import Constraints


def table():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (150, 6))
    codes[:, 1] = np.where(rng.random(150) < 0.7, (codes[:, 0] + codes[:, 5]) % 3, codes[:, 1])
    return Table.from_frame(pd.DataFrame(codes, columns=[*"abcdf", "y"]), "y")


def result(learner):
    edges = sorted(learner.learn(table()).edges)
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
    for evaluator in (PredictiveEvaluator, DecomposableEvaluator):
        monkeypatch.setattr(evaluator, "walk", lambda self, walk: False)
    assert result(learner) == walked


@pytest.mark.parametrize(("score", "walks"), [("cr", True), ("mdl", True), ("cmdl", False)])
def test_scores_walk_unless_they_have_a_penalty_of_their_own(score, walks, monkeypatch):
    results = set()
    for evaluator in (PredictiveEvaluator, DecomposableEvaluator):

        def counted(self, walk, original=evaluator.walk):
            done = original(self, walk)
            results.add(done)
            return done

        monkeypatch.setattr(evaluator, "walk", counted)
    SimulatedAnnealing(score=score, random_state=1).learn(table())
    assert results == {walks}


def test_rules_say_what_is_drawn_and_what_stays():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (20, 4)), columns=["a", "b", "d", "c"])
    table = Table.from_frame(frame, "c")
    constraints = Constraints(table, required=[("a", "b")], forbidden=[("a", "d")], tiers=[["a"], ["b", "d"]])
    assert chain.Rules.of(Constraints(table), 1) is None
    # b must keep a, which is all that k=1 leaves room for; a may get no parent.
    assert chain.Rules.of(constraints, 1).pairs == [(2, 1)]
    rules = chain.Rules.of(constraints, 2)
    assert set(rules.pairs) == {(1, 0), (1, 2), (2, 1)}

    def walk(parents, k, rules, seed=0):
        limits = {"scale": 1.0, "max_try": 9, "max_success": 9}
        return Walk(parents, 3, np.random.default_rng(seed), k=k, **rules._asdict(), **limits)

    start = constraints.augmented("sa", 2)
    drawn = {str(walk(start, 2, rules, seed).draw(1)) for seed in range(20)}
    assert drawn == {"[{1: [0, 2, 3]}]", "[{2: [1, 3]}]"}
    assert walk([*start[:2], [1, 3], []], 2, rules).draw(1) == []
    assert walk([[3], [0, 3], [1, 3], []], 1, chain.Rules.of(constraints, 1)).draw(1) == []


def test_an_evaluator_that_knows_nothing_of_walks_is_asked_for_proposals():
    class Plain(Evaluator):
        value = 0.0

        def start(self, parents):
            return 0.0

        def propose_many(self, candidates, at_least=None):
            return np.array([sum(map(len, changes.values())) for changes in candidates], dtype=float)

        def commit(self, changes):
            return self.propose_many([changes])[0]

    state = chain.State.at([[3], [3], [3], []], np.random.SeedSequence(0))
    walk = chain.Chain(
        state, chain.Schedule(D=0.5, r=1.0, max_try=5, max_success=2, max_rejections=9, max_temperatures=2), 3
    )
    assert [state.n_evaluations for state in walk.run(Plain)]
