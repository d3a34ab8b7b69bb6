"""What holds for every score, asked as a whole and through its evaluator."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
from sklearn.base import clone

from bnplug.arrays import FloatArray, IntArray
from bnplug.contracts import Changes, ScoreFunction
from bnplug.data.table import Table
from bnplug.scoring import Bounds, PredictiveScore
from bnplug.scoring._compiled_gains import evaluate
from bnplug.scoring._state import declared_bounds
from bnplug.scoring.evaluating import PredictiveEvaluator
from bnplug.search import Graph, Neighbourhood
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import Check, essential
from bnplug.testing._subjects import SCORE_NOISE, ScoreSubject, require

Parents = list[list[int]]

# One row in so many is evaluated by itself.
_EACH = 7


@essential
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
    """Asking about candidates changes nothing: neither the value, nor what the same one is worth the next time."""
    table = data.standard()
    evaluator = _started(subject, table)
    value, candidates = evaluator.value, subject.candidates(table)
    first = [evaluator.propose(changes) for changes in candidates]
    evaluator.propose_many(candidates)
    require(evaluator.value == value, f"value was {value}, and is {evaluator.value} after candidates were proposed")
    again = [evaluator.propose(changes) for changes in candidates]
    require(np.array_equal(first, again), "the same candidates, proposed again, are worth something else")
    require(_close([evaluator.commit({})], value), "after proposing candidates, the current graph has another score")


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


def check_candidates_in_turn(subject: ScoreSubject) -> None:
    """``propose_in_turn`` ends with the first candidate that is not below ``at_least``, which gets its score."""
    table = data.standard()
    candidates = subject.candidates(table)
    scores = _started(subject, table).propose_many(candidates)
    for place, score in enumerate(scores.tolist()):
        # A little more than their scores for those before it, for it a little less.
        at_least = scores + np.where(np.arange(len(scores)) < place, 1.0, -1.0) * (1e-6 + 1e-6 * np.abs(scores))
        given = _started(subject, table).propose_in_turn(candidates, at_least)
        require(len(given) == place + 1, f"candidate {place} reaches at_least first, and {len(given)} scores are given")
        require(_close(given[-1:], score), f"candidate {place} reaches at_least with {score}, and gets {given[-1]}")


def check_settled_score_agrees(subject: ScoreSubject) -> None:
    """``settle`` returns a score with nothing left to choose, which scores as the one that it comes from."""
    table = data.standard()
    score = subject.make()
    settled = score.settle(table)
    require(isinstance(settled, ScoreFunction), f"settle returned a {type(settled).__name__}, not a ScoreFunction")
    again = settled.settle(table)
    require(repr(again) == repr(settled), f"settled once it is {settled!r}, and settled again {again!r}")
    values = [each.evaluator(table).start(data.tree(table)) for each in (score, settled)]
    require(_close(values[:1], values[1]), f"a graph has the score {values[0]}, and {values[1]} once it is settled")


def check_redraws_is_said(subject: ScoreSubject) -> None:
    """Where ``step`` changes the score of the current graph, ``redraws`` says so, of the score and its evaluator."""
    evaluator, score = _started(subject, data.standard()), subject.make()
    values = [evaluator.value, *(evaluator.step() for _ in range(3))]
    require(evaluator.redraws or _close(values, values[0]), f"steps give one graph the scores {values}; say redraws")
    require(
        bool(evaluator.redraws) == bool(score.redraws),
        f"the score has redraws={score.redraws}, its evaluator redraws={evaluator.redraws}",
    )


def check_bounds_are_true(subject: ScoreSubject) -> None:
    """What ``gain_bounds`` declares is so, on rows of every gap, and the scores are those without it."""
    for table in (data.standard(), data.binary(str)):
        # The score that the evaluator holds: one may choose parameters before it makes its evaluator.
        evaluator = subject.make().evaluator(table)
        bounds = declared_bounds(evaluator.score, table) if isinstance(evaluator, PredictiveEvaluator) else None
        if bounds is not None:
            _require_true_of_rows(bounds, evaluator.score, table)
            _require_same_without(evaluator.score, table, subject.candidates(table))


def check_rows_are_on_their_own(subject: ScoreSubject) -> None:
    """The gain of a row is the same whichever rows share its block."""
    table = data.standard()
    evaluator = subject.make().evaluator(table)
    if isinstance(evaluator, PredictiveEvaluator):
        score = evaluator.score
        gain, params = type(score).gain, np.array(score.gain_params(table), dtype=np.float64).ravel()
        L, y = _rows_around(Bounds(maximum=0.0), int(table.cards[table.target_index]))
        alone = np.concatenate([evaluate(gain, L[m : m + 1], y[m : m + 1], params) for m in range(0, len(y), _EACH)])
        shared = evaluate(gain, L, y, params)[::_EACH]
        require(
            np.allclose(alone, shared, rtol=SCORE_NOISE, atol=SCORE_NOISE, equal_nan=True),
            f"rows of a block get the gains {shared[:3]}..., and {alone[:3]}... one by one; out[m] must follow from "
            "L[m], y[m] and params alone, since blocks are cut anywhere",
        )


def _require_true_of_rows(bounds: Bounds, score: PredictiveScore, table: Table) -> None:
    L, y = _rows_around(bounds, int(table.cards[table.target_index]))
    own, others = L[np.arange(len(y)), y], np.where(np.arange(L.shape[1]) == y[:, None], -np.inf, L)
    gaps = own - others.max(axis=1)
    values = evaluate(type(score).gain, L, y, np.array(score.gain_params(table), dtype=np.float64).ravel())
    maximum, noise = bounds.maximum, SCORE_NOISE * (1.0 + np.abs(values))
    false = {
        f"no value is above maximum={maximum}": values > maximum + noise,
        f"from high_gap={bounds.high_gap} on the value is maximum={maximum}": (gaps >= bounds.high_gap)
        & ~(np.abs(values - maximum) <= noise),
        f"up to low_gap={bounds.low_gap} the value is low_value={bounds.low_value}": (gaps <= bounds.low_gap)
        & ~(np.abs(values - bounds.low_value) <= noise),
        f"below high_gap={bounds.high_gap} the value falls by slope={bounds.slope}": (gaps < bounds.high_gap)
        & (np.abs(values - maximum + bounds.slope * (bounds.high_gap - gaps)) > noise),
        "every value is a whole number": bounds.whole & (values != np.rint(values)),
    }
    require(np.isfinite(maximum), f"gain_bounds: maximum={maximum} is not a finite number")
    for declared, rows in false.items():
        for m in np.flatnonzero(rows)[:1]:
            raise AssertionError(
                f"gain_bounds declares that {declared}; the gain of a row with L={L[m].tolist()} and class {y[m]}, "
                f"so with a gap of {gaps[m]}, is {values[m]}"
            )


def _rows_around(bounds: Bounds, n_classes: int) -> tuple[FloatArray, IntArray]:
    """Return log joints of rows and their classes: with gaps near 0 and near the bounds, for every class and rival."""
    near = [0.0, *np.logspace(-12, 2, 29), *np.linspace(0.1, 5.0, 50)]
    centres = [gap for gap in (0.0, bounds.high_gap, bounds.low_gap) if np.isfinite(gap)]
    gaps = np.unique([centre + sign * by for centre in centres for sign in (-1.0, 1.0) for by in near])
    rows, classes = [], []
    for (y, rival), level, below in product(permutations(range(n_classes), 2), (0.0, -7.3), (0.0, 2.0)):
        # The larger of the two is at the level: at 0, where nothing rounds, gaps are exact.
        L = np.repeat(level + np.minimum(0.0, -gaps)[:, None] - below, n_classes, axis=1)
        L[:, rival] += below
        L[:, y] = level + np.minimum(0.0, gaps)
        rows.append(L)
        classes.append(np.full(len(gaps), y))
    return np.vstack(rows), np.concatenate(classes)


def _require_same_without(score: PredictiveScore, table: Table, candidates: list[dict[int, list[int]]]) -> None:
    free = clone(score)
    free.gain_bounds = lambda: None
    asked = []
    for each in (score, free):
        evaluator = PredictiveEvaluator(each, table)
        asked.append(np.array([evaluator.start(data.tree(table)), *evaluator.propose_many(candidates)]))
    bounded, unbounded = asked
    require(_close(bounded, unbounded), f"the scores are {bounded} with gain_bounds, and {unbounded} without")


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
    *_common_checks.CHECKS,
    check_finite_scores,
    check_parent_order_irrelevant,
    check_decomposable_means_decomposable,
    check_propose_leaves_state,
    check_propose_agrees_with_score,
    check_commit_agrees_with_score,
    check_only_losers_are_dropped,
    check_candidates_in_turn,
    check_settled_score_agrees,
    check_redraws_is_said,
    check_bounds_are_true,
    check_rows_are_on_their_own,
)
