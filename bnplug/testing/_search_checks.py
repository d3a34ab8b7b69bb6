"""Checks of structure learners and of scores, which are asked as a whole and through their evaluators."""

from __future__ import annotations

from itertools import chain, permutations, product
from typing import Any

import numpy as np
from sklearn.base import clone

from bnplug.contracts import Changes, ScoreFunction, begin_step, propose_in_turn
from bnplug.hooks.descriptors import Kind, component_kinds
from bnplug.scoring import Bounds, DecomposableScore, PredictiveEvaluator, PredictiveScore
from bnplug.scoring._gains import evaluate
from bnplug.search import Constraints, Graph, Neighbourhood
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import FewEdges, FewParents, Taste, essential, only_if
from bnplug.testing._subjects import SCORE_NOISE, ScoreSubject, StructureSubject, require
from bnplug.typing import FloatArray, IntArray

Parents = list[list[int]]

# One row in so many is evaluated by itself.
_EACH = 7

_EDGE = ("x1", "x2")

#: What a learner with constraints keeps to: trees over three features can have or lack each of these.
_KNOWN: tuple[dict[str, Any], ...] = (
    {"required": [_EDGE]},
    {"required": [_EDGE[::-1]]},
    {"forbidden": [_EDGE, _EDGE[::-1]]},
    {"tiers": [["x3"], ["x1", "x2"]]},
    {"tiers": [["x2"], ["x1"]], "required": [("x3", "x1")], "forbidden": [("x3", "x2")]},
)
_CONTRADICTIONS: tuple[dict[str, Any], ...] = (
    {"required": [_EDGE], "forbidden": [_EDGE]},
    {"required": [_EDGE], "tiers": [["x2"], ["x1"]]},
    {"required": [_EDGE, _EDGE[::-1]]},
    {"required": [("x1", "nobody")]},
    {"tiers": [["nobody"], ["x1"]]},
)

# A learner that has no more than two graphs to choose from takes the same of them once in a hundred and twenty-eight.
_N_TASTES = 8


@essential
def check_returns_a_structure(subject: StructureSubject) -> None:
    """``learn`` returns a :class:`~bnplug.Structure` over the variables, or anything ``Structure.of`` accepts."""
    (table,) = subject.arguments(data.standard())
    require(subject.result.names == table.names, f"the structure is over {subject.result.names}")


def check_class_present(subject: StructureSubject) -> None:
    """The class has an edge if a feature determines it; without edges, all rows would get the same prediction."""
    table = data.told_by_a_feature()
    edges = list(subject.run(table).edges)
    require(any(table.target in edge for edge in edges), f"a feature tells the class, and yet the edges are {edges}")


def check_limits_respected(subject: StructureSubject) -> None:
    """The graph and the search respect ``max_parents``, ``k`` and ``max_iter``, if these are parameters."""
    (table,) = subject.arguments(data.standard())
    for limit in filter(subject.has, ("max_parents", "k", "max_iter")):
        learner = subject.make(**{limit: 1})
        structure = subject.call(learner, table)
        if limit == "max_iter":
            is_kept = len(getattr(learner, "trace_", ())) <= 2 and getattr(learner, "n_iter_", 0) <= 1
        else:
            # k does not count the class as a parent, and does not limit its own parents.
            ignored = {table.target} if limit == "k" else set()
            parents = [{*family} - ignored for name, family in structure.by_name.items() if name not in ignored]
            is_kept = max(map(len, parents)) <= 1
        require(is_kept, f"{limit}=1, but the edges are {list(structure.edges)}")


@only_if(lambda method: method.constraints)
def check_constraints_respected(subject: StructureSubject) -> None:
    """A learner that declares ``constraints`` satisfies ``required``, ``forbidden`` and ``tiers``."""
    lacking = [name for name in ("required", "forbidden", "tiers") if not subject.has(name)]
    require(not lacking, f"constraints=True is declared, but there is no parameter {', '.join(lacking)}")
    (table,) = subject.arguments(data.standard())
    for known in (each for each in _KNOWN if {*chain(*chain(*each.values()))} <= {*table.names}):
        structure = subject.run(table, **known)
        constraints = Constraints(table, **known)
        broken = [(u, v) for u, v in structure.edges if not constraints.allowed[table.index(u), table.index(v)]]
        require(not broken, f"{known} and yet there are the edges {broken}")
        absent = [edge for edge in known.get("required", ()) if edge not in structure.edges]
        require(not absent, f"{known}, but the edges are {list(structure.edges)}")


@only_if(lambda method: method.constraints)
def check_contradictions_refused(subject: StructureSubject) -> None:
    """Constraints that contradict each other, or contain unknown names, raise a ``ValueError``."""
    for known in (each for each in _CONTRADICTIONS if all(map(subject.has, each))):
        try:
            structure = subject.run(data.standard(), **known)
        except ValueError:
            continue
        message = f"{known} is contradictory; learn returned {list(structure.edges)}; use Constraints.of(self, table)"
        raise AssertionError(message)


def check_score_parameter_declared(subject: StructureSubject) -> None:
    """``needs_score`` agrees with the constructor; ``needs_decomposable`` needs a parameter that holds a score."""
    declared, has_score = subject.method.needs_score, subject.has("score")
    require(declared == has_score, f"needs_score={declared}, but has a parameter `score`: {has_score}")
    if subject.method.needs_decomposable:
        kinds = [kind for name, kind in component_kinds(subject.factory).items() if subject.has(name)]
        message = "needs_decomposable=True is declared, but none of its parameters is a score; declare components"
        require(Kind.SCORE_FUNCTION in kinds, message)


@only_if(lambda method: method.needs_score)
def check_any_score_goes(subject: StructureSubject) -> None:
    """A learner with a score accepts any score, even if it only has ``score`` (``local`` if decomposable)."""
    table = data.standard()
    score = FewParents() if subject.method.needs_decomposable else FewEdges()
    subject.require_usable(subject.run(table, score=score), table)


@only_if(lambda method: method.needs_score)
def check_score_decides(subject: StructureSubject) -> None:
    """Scores that prefer different graphs do not all lead to the same graph."""
    table = data.standard()
    tastes = (Taste.for_learner(subject.method, taste) for taste in range(_N_TASTES))
    first, *others = (set(subject.run(table, score=taste).edges) for taste in tastes)
    require(
        any(edges != first for edges in others),
        f"{_N_TASTES} scores that like different graphs all lead to {sorted(first)}; let the candidates be compared by "
        "component('score function', self.score, self), or declare needs_score=False",
    )


@only_if(lambda method: method.needs_score)
def check_random_state_is_handed_down(subject: StructureSubject) -> None:
    """A score without its own ``random_state`` gets the learner's, or a seed drawn from it."""
    if subject.has("random_state"):
        with Taste.asked() as seeds:
            subject.run(data.standard(), score=Taste.for_learner(subject.method, random_state=None))
        require(
            None not in seeds,
            "random_state is set, and yet the score is asked with random_state=None, so that folds that it draws are "
            "others each time; make it with component('score function', self.score, self)",
        )


@essential
def check_finite_scores(subject: ScoreSubject) -> None:
    """The score of every graph is a finite number."""
    table = data.standard()
    for parents in data.graphs(table):
        value = _score(subject, table, parents)
        require(np.isfinite(value), f"the score of the parents {parents} is {value}")


def check_parent_order_irrelevant(subject: ScoreSubject) -> None:
    """The order in which parents are given to an evaluator does not matter."""
    table = data.standard()
    for parents in data.graphs(table):
        ways = parents, [each[::-1] for each in parents]
        asked = {
            "start": [subject.make().evaluator(table).start(way) for way in ways],
            "propose": [_started(subject, table).propose_many([dict(enumerate(way))])[0] for way in ways],
        }
        for what, (one, other) in asked.items():
            require(_close([one], other), f"{what}: the parents {parents} have the score {one}, backwards {other}")


def check_decomposable_means_decomposable(subject: ScoreSubject) -> None:
    """If declared decomposable, it has ``local_scores``, and the gain of a change depends on its family alone."""
    table = data.standard()
    if not subject.method.decomposable:
        says = subject.make().evaluator(table).decomposable
        require(not says, "its evaluator declares decomposable, but its descriptor does not")
        return
    require(
        callable(getattr(subject.make(), "local_scores", None)),
        "it is declared decomposable, but has no local_scores; derive it from bnplug.scoring.DecomposableScore",
    )
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


@only_if(lambda method: method.score_equivalent)
def check_equivalent_graphs_score_alike(subject: ScoreSubject) -> None:
    """With ``score_equivalent=True``, reversing a covered edge does not change the score."""
    table = data.standard()
    for parents in data.graphs(table):
        for v, u in ((v, u) for v, of_child in enumerate(parents) for u in of_child):
            others = set(parents[v]) - {u}
            if others != set(parents[u]):
                continue
            turned = _changed(parents, {v: sorted(others), u: sorted({*parents[u], v})})
            scores = [_score(subject, table, each) for each in (parents, turned)]
            require(
                _close(scores[1:], scores[0]),
                f"the parents {parents} and {turned} are Markov equivalent, and their scores are {scores}; declare "
                "score_equivalent=False",
            )


def check_propose_leaves_state(subject: ScoreSubject) -> None:
    """Proposing candidates changes neither the value nor the score of the same candidates proposed again."""
    table = data.standard()
    evaluator = _started(subject, table)
    value, candidates = evaluator.value, subject.candidates(table)
    first = [evaluator.propose_many([changes])[0] for changes in candidates]
    evaluator.propose_many(candidates)
    require(evaluator.value == value, f"value was {value}, and is {evaluator.value} after candidates were proposed")
    again = [evaluator.propose_many([changes])[0] for changes in candidates]
    require(np.array_equal(first, again), "the same candidates, proposed again, are worth something else")
    require(_close([evaluator.commit({})], value), "after proposing candidates, the current graph has another score")


def check_propose_agrees_with_score(subject: ScoreSubject) -> None:
    """``start`` and ``propose_many`` return the same as ``score`` for the whole graph."""
    table = data.standard()
    parents, candidates = data.tree(table), subject.candidates(table)
    require(_close([_started(subject, table).value], _score(subject, table, parents)), "start and score differ")
    at_once = _started(subject, table).propose_many(candidates)
    for changes, of_many in zip(candidates, at_once, strict=True):
        whole = _score(subject, table, _changed(parents, changes))
        values = [_started(subject, table).propose_many([changes])[0], float(of_many)]
        require(_close(values, whole), f"{changes}: propose and propose_many give {values}, score gives {whole}")


def check_commit_agrees_with_score(subject: ScoreSubject) -> None:
    """After a sequence of moves, ``commit`` returns the same as ``score`` for the whole graph."""
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
    """With ``at_least``, only candidates strictly below it may get ``-inf``."""
    table = data.standard()
    candidates = subject.candidates(table)
    scores = _started(subject, table).propose_many(candidates)
    for at_least in np.unique(scores).tolist():
        given = _started(subject, table).propose_many(candidates, at_least=at_least)
        dropped = np.isneginf(given)
        require(not (dropped & (scores >= at_least)).any(), f"at_least={at_least} drops what is not below it")
        require(_close(given[~dropped], scores[~dropped]), f"at_least={at_least} changes the score of what it keeps")


def check_candidates_in_turn(subject: ScoreSubject) -> None:
    """``propose_in_turn`` ends with the first candidate that reaches ``at_least``, and returns its score."""
    table = data.standard()
    candidates = subject.candidates(table)
    scores = _started(subject, table).propose_many(candidates)
    for place, score in enumerate(scores.tolist()):
        # A little more than their scores for those before it, for it a little less.
        at_least = scores + np.where(np.arange(len(scores)) < place, 1.0, -1.0) * (1e-6 + 1e-6 * np.abs(scores))
        given = propose_in_turn(_started(subject, table), candidates, at_least)
        require(len(given) == place + 1, f"candidate {place} reaches at_least first, and {len(given)} scores are given")
        require(_close(given[-1:], score), f"candidate {place} reaches at_least with {score}, and gets {given[-1]}")


def check_chosen_parameters_agree(subject: ScoreSubject) -> None:
    """``choose_parameters`` returns a score with all parameters chosen, which gives the same scores."""
    table = data.standard()
    score = subject.make()
    chosen = score.choose_parameters(table)
    message = f"choose_parameters returned a {type(chosen).__name__}, not a ScoreFunction"
    require(isinstance(chosen, ScoreFunction), message)
    again = chosen.choose_parameters(table)
    require(repr(again) == repr(chosen), f"choose_parameters returns {chosen!r}, but {again!r} if that is asked again")
    before, after = (each.evaluator(table).start(data.tree(table)) for each in (score, chosen))
    require(_close([before], after), f"a graph has the score {before}, but {after} after choose_parameters")


def check_resamples_is_declared(subject: ScoreSubject) -> None:
    """If ``step`` changes the score of the current graph, the score and its evaluator declare ``resamples``."""
    evaluator, score = _started(subject, data.standard()), subject.make()
    values = [evaluator.value, *(begin_step(evaluator) for _ in range(3))]
    resamples = bool(getattr(evaluator, "resamples", False))
    require(resamples or _close(values, values[0]), f"steps give one graph the scores {values}; set resamples")
    require(resamples == bool(score.resamples), f"resamples={score.resamples}, but {resamples} in its evaluator")


def check_bounds_are_true(subject: ScoreSubject) -> None:
    """``gain_bounds`` holds for rows of every gap, and does not change scores."""
    for table in (data.standard(), data.binary(str)):
        # The score that the evaluator holds: one may choose parameters before it makes its evaluator.
        evaluator = subject.make().evaluator(table)
        bounds = evaluator.score.gain_bounds(table) if isinstance(evaluator, PredictiveEvaluator) else None
        if bounds is not None:
            _require_true_of_rows(bounds, evaluator.score, table)
            _require_same_without(evaluator.score, table, subject.candidates(table))


def check_rows_are_on_their_own(subject: ScoreSubject) -> None:
    """The gain of a row does not depend on the other rows of its block."""
    table = data.standard()
    evaluator = subject.make().evaluator(table)
    if isinstance(evaluator, PredictiveEvaluator):
        L, y = _rows_around(Bounds(maximum=0.0), int(table.cards[table.target_index]))
        rows = range(0, len(y), _EACH)
        alone = np.concatenate([_gains(evaluator.score, table, L[m : m + 1], y[m : m + 1]) for m in rows])
        shared = _gains(evaluator.score, table, L, y)[::_EACH]
        require(
            np.allclose(alone, shared, rtol=SCORE_NOISE, atol=SCORE_NOISE, equal_nan=True),
            f"rows of a block get the gains {shared[:3]}..., and {alone[:3]}... one by one; out[m] must follow from "
            "L[m], y[m] and params alone, since blocks are cut anywhere",
        )


def check_terms_of_a_batch(subject: ScoreSubject) -> None:
    """Terms computed in batches agree with `local`, and the terms of a graph add up to its score."""
    score, alone = subject.make(), subject.make()
    if not isinstance(score, DecomposableScore):
        return
    kind = type(score)
    alone.__class__ = type(kind.__name__, (kind,), {"local": kind.local})
    for table in (data.standard(), data.with_missing_cells()):
        for parents in data.graphs(table):
            families = [(v, *family) for v, family in enumerate(parents)]
            together, single = score.local_scores(table, families), alone.local_scores(table, families)
            require(_close(together, single), f"{families}: local_batch computes {together}, local {single}")
            total = score.score(table, Structure(table.names, parents))
            require(_close([total], together.sum()), f"{families}: terms {together} do not add up to the score {total}")


def _require_true_of_rows(bounds: Bounds, score: PredictiveScore, table: Table) -> None:
    L, y = _rows_around(bounds, int(table.cards[table.target_index]))
    rivals = np.where(np.arange(L.shape[1]) == y[:, None], -np.inf, L)
    gaps = L[np.arange(len(y)), y] - rivals.max(axis=1)
    values = _gains(score, table, L, y)
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


def _gains(score: PredictiveScore, table: Table, L: FloatArray, y: IntArray) -> FloatArray:
    return evaluate(type(score).gain, L, y, np.array(score.gain_params(table), dtype=np.float64).ravel())


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
    free.gain_bounds = lambda table: None
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
    return float(subject.make().score(table, Structure(table.names, parents)))


def _gain(subject: ScoreSubject, table: Table, parents: Parents, changes: Changes) -> float:
    return _score(subject, table, _changed(parents, changes)) - _score(subject, table, parents)


def _changed(parents: Parents, changes: Changes) -> Parents:
    return [list(changes.get(v, before)) for v, before in enumerate(parents)]


def _close(values: list[float] | FloatArray, expected: float | FloatArray) -> bool:
    # Differences of scores are compared too, so the noise is that of scores of some hundred rows.
    return np.allclose(values, expected, rtol=SCORE_NOISE, atol=100 * SCORE_NOISE)


#: In the order in which they are made.
STRUCTURE_CHECKS = (*_common_checks.CHECKS, *_common_checks.checks_in(globals(), "StructureSubject"))
SCORE_CHECKS = (*_common_checks.CHECKS, *_common_checks.checks_in(globals(), "ScoreSubject"))
