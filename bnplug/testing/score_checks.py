"""What holds for every score, asked as a whole and through its evaluator."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.contracts import Changes
from bnplug.search import Graph, Neighbourhood
from bnplug.table import Table
from bnplug.testing import common_checks, data
from bnplug.testing.common_checks import Check
from bnplug.testing.subjects import SCORE_NOISE, ScoreSubject, require

Parents = list[list[int]]


def check_finite_scores(subject: ScoreSubject) -> None:
    """The score of every graph is a finite number."""
    table = data.standard()
    for parents in data.graphs(table):
        value = _score(subject, table, parents)
        require(np.isfinite(value), f"the score of the parents {parents} is {value}")


def check_parent_order_irrelevant(subject: ScoreSubject) -> None:
    """The order in which parents are given does not matter, neither to ``score`` nor to the evaluator."""
    table = data.standard()
    for parents in data.graphs(table):
        ways = parents, [own[::-1] for own in parents]
        asked = {
            "score": [subject.make().score(table, dag) for dag in (table.dag(parents), data.backwards(table, parents))],
            "start": [subject.make().evaluator(table).start(way) for way in ways],
            "propose": [_started(subject, table).propose(dict(enumerate(way))) for way in ways],
        }
        for what, (one, other) in asked.items():
            require(_close([one], other), f"{what}: the parents {parents} have the score {one}, backwards {other}")


def check_decomposable_means_decomposable(subject: ScoreSubject) -> None:
    """A score that says so is a sum over families: a change gains the same whatever the other families are."""
    table = data.standard()
    claimed = subject.method.decomposable
    if bool(subject.make().evaluator(table).decomposable) and not claimed:
        raise AssertionError("its evaluator says decomposable, its descriptor does not")
    if not claimed:
        return
    n = len(table.names)
    for v, w in permutations(range(1, n), 2):
        change: Changes = {v: [0]}
        alone = _gain(subject, table, [[] for _ in range(n)], change)
        beside = _gain(subject, table, [list(range(w)) if u == w else [] for u in range(n)], change)
        require(
            _close([beside], alone),
            f"a parent of {table.names[v]!r} gains {alone}, and {beside} once {table.names[w]!r} has parents; "
            "declare decomposable=False",
        )


def check_propose_leaves_state(subject: ScoreSubject) -> None:
    """Proposals change nothing: neither the value, nor what the same proposal is worth the next time."""
    table = data.standard()
    evaluator = _started(subject, table)
    value, candidates = evaluator.value, subject.candidates(table)
    first = [evaluator.propose(changes) for changes in candidates]
    evaluator.propose_many(candidates)
    require(evaluator.value == value, f"value was {value}, and is {evaluator.value} after proposals")
    again = [evaluator.propose(changes) for changes in candidates]
    require(np.array_equal(first, again), "the same proposals, made again, are worth something else")
    require(_close([evaluator.commit({})], value), "after proposals, the current graph has another score")


def check_propose_agrees_with_score(subject: ScoreSubject) -> None:
    """``start``, ``propose`` and ``propose_many`` give what ``score`` gives for the whole graph."""
    table = data.standard()
    parents, candidates = data.tree(table), subject.candidates(table)
    require(_close([_started(subject, table).value], _score(subject, table, parents)), "start and score differ")
    at_once = _started(subject, table).propose_many(candidates)
    for changes, of_many in zip(candidates, at_once, strict=True):
        whole = _score(subject, table, [list(changes.get(v, own)) for v, own in enumerate(parents)])
        values = [_started(subject, table).propose(changes), float(of_many)]
        require(_close(values, whole), f"{changes}: propose and propose_many give {values}, score gives {whole}")


def check_commit_agrees_with_score(subject: ScoreSubject) -> None:
    """Along a walk of moves, ``commit`` gives what ``score`` gives for the whole graph."""
    table = data.standard()
    random, graph = np.random.RandomState(4), Graph(data.tree(table))
    evaluator = _started(subject, table)
    for _ in range(6):
        moves = Neighbourhood(graph).moves()
        changes = graph.changes(moves[random.randint(len(moves))])
        values = [evaluator.commit(changes), evaluator.value]
        graph.apply(changes)
        whole = _score(subject, table, graph.parents)
        require(_close(values, whole), f"parents {graph.parents}: commit and value give {values}, score gives {whole}")


def check_only_losers_are_dropped(subject: ScoreSubject) -> None:
    """With ``at_least``, only candidates strictly below it may get ``-inf``; the others get their score."""
    table = data.standard()
    candidates = subject.candidates(table)
    scores = _started(subject, table).propose_many(candidates)
    for at_least in np.unique(scores).tolist():
        given = _started(subject, table).propose_many(candidates, at_least=at_least)
        dropped = np.isneginf(given)
        require(not (dropped & (scores >= at_least)).any(), f"at_least={at_least} drops what is not below it")
        require(_close(given[~dropped], scores[~dropped]), f"at_least={at_least} changes the score of what it keeps")


def _started(subject: ScoreSubject, table: Table) -> Any:
    evaluator = subject.make().evaluator(table)
    evaluator.start(data.tree(table))
    return evaluator


def _score(subject: ScoreSubject, table: Table, parents: Parents) -> float:
    return float(subject.make().score(table, table.dag(parents)))


def _gain(subject: ScoreSubject, table: Table, parents: Parents, changes: Changes) -> float:
    changed = [list(changes.get(v, own)) for v, own in enumerate(parents)]
    return _score(subject, table, changed) - _score(subject, table, parents)


def _close(values: list[float] | FloatArray, expected: float | FloatArray) -> bool:
    # Differences of scores are compared too, so the noise is that of scores of some hundred rows.
    return np.allclose(values, expected, rtol=SCORE_NOISE, atol=100 * SCORE_NOISE)


#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    *common_checks.CHECKS,
    check_finite_scores,
    check_parent_order_irrelevant,
    check_decomposable_means_decomposable,
    check_propose_leaves_state,
    check_propose_agrees_with_score,
    check_commit_agrees_with_score,
    check_only_losers_are_dropped,
)
