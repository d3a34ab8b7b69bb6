"""Decomposable scores equal their definitions, whole and by small changes."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow
from strategies import random_parents, seeds

from bnplug import Structure
from bnplug.builtin.scores import K2, MDL, BDeu, LogLikelihood
from bnplug.counts import count_with_each
from bnplug.counts.counting import lay_out_with_each
from bnplug.scoring import decomposable
from bnplug.scoring._layout import Candidates, Toggles


def mdl(table, parents):
    fit = slow.decomposable(table, parents, slow.log_likelihood_term)
    return fit - 0.5 * slow.dimension_with_unknown(table, parents) * np.log(table.total_weight)


DEFINITIONS = {
    "ll": (LogLikelihood(), lambda t, p: slow.decomposable(t, p, slow.log_likelihood_term)),
    "mdl": (MDL(), mdl),
    "k2": (K2(), lambda t, p: slow.decomposable(t, p, slow.k2_term)),
    "bdeu": (BDeu(), lambda t, p: slow.decomposable(t, p, slow.bdeu_term)),
    "bdeu-1": (BDeu(equivalent_sample_size=1), lambda t, p: slow.decomposable(t, p, lambda c: slow.bdeu_term(c, 1.0))),
}


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("seed", seeds(4))
def test_equals_its_definition_on_a_random_walk(name, seed):
    score, definition = DEFINITIONS[name]
    rng = np.random.default_rng(seed)
    table = slow.random_table(rng, 40, (3, 2, 1, 4), 1, weighted=seed % 2 == 1, missing=0.1 * (seed // 2))
    parents = random_parents(rng, 4)
    evaluator = score.evaluator(table)
    assert evaluator.start(parents) == pytest.approx(definition(table, parents), abs=1e-9)
    assert score.score(table, Structure(table.names, parents)) == evaluator.value
    for _ in range(4):
        moves = [slow.random_change(rng, parents) for _ in range(3)]
        scores = evaluator.propose_many([changes for changes, _ in moves])
        assert evaluator.value == pytest.approx(definition(table, parents), abs=1e-9)
        for (changes, changed), value in zip(moves, scores, strict=True):
            assert value == pytest.approx(definition(table, changed), abs=1e-9)
            assert evaluator.propose_many([changes])[0] == value
        changes, parents = moves[0]
        assert evaluator.commit(changes) == pytest.approx(definition(table, parents), abs=1e-9)


@pytest.mark.parametrize("score", [LogLikelihood(), MDL(), K2(), BDeu()])
def test_more_parent_configurations_than_fit_in_memory(score):
    rng = np.random.default_rng(0)
    table = slow.random_table(rng, 50, (4,) * 40, 0)
    parents = [[], list(range(2, 40)), *([] for _ in range(38))]
    value = score.evaluator(table).start(parents)
    assert np.isfinite(value)
    # 50 rows in 4 ** 38 configurations: each is alone in its own, so the child follows from its parents.
    alone = score.evaluator(table).start([[] for _ in range(40)])
    if isinstance(score, LogLikelihood) and not isinstance(score, MDL):
        counts = np.bincount(table.codes[1])
        assert value - alone == pytest.approx(-(counts * np.log(counts / 50)).sum())


def test_a_weight_of_two_is_the_row_twice():
    rng = np.random.default_rng(2)
    table = slow.random_table(rng, 20, (3, 2, 2), 1)
    twice = rng.integers(0, 2, 20).astype(bool)
    repeated = table.take(np.repeat(np.arange(20), 1 + twice))
    weighted = type(table)(table.codes, table.names, table.states, table.target, 1.0 + twice)
    for score in (LogLikelihood(), MDL(), K2(), BDeu()):
        value = score.evaluator(weighted).start([[1], [], [0, 1]])
        assert value == pytest.approx(score.evaluator(repeated).start([[1], [], [0, 1]]), rel=1e-12)


def test_results_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(decomposable, "_WORTH_THREADS", 0)
    table = slow.random_table(np.random.default_rng(3), 200, (3, 2, 4, 3, 2), 1, weighted=True)
    candidates = [{v: [u]} for v in range(5) for u in range(5) if u != v]
    results = []
    for n_jobs in (1, 3):
        evaluator = BDeu().evaluator(table, n_jobs)
        evaluator.start([[] for _ in range(5)])
        results.append(evaluator.propose_many(candidates))
    assert np.array_equal(*results)


@pytest.mark.parametrize("score", [MDL(), K2()])
def test_edges_that_come_and_go_score_as_the_families_that_they_lead_to(score):
    rng = np.random.default_rng(5)
    table = slow.random_table(rng, 60, (3, 2, 4, 2, 3), 4)
    evaluator = score.evaluator(table)
    pairs = np.array([(v, u) for v in range(5) for u in range(5) if u != v])
    for parents in ([[], [], [], [], []], [[4], [0, 4], [4], [1, 4], []], [[], [], [], [], []]):
        evaluator.start(parents)
        edges = np.zeros((5, 5), dtype=bool)
        for v, own in enumerate(parents):
            edges[own, v] = True
        toggles = Toggles(edges, *np.ascontiguousarray(pairs.T))
        other = score.evaluator(table)
        other.start(parents)
        # Twice: not known yet, and known.
        for _ in range(2):
            assert evaluator.propose_many(toggles) == pytest.approx(
                other.propose_many(Candidates.of(toggles)), rel=1e-12
            )
        assert evaluator.propose_many(toggles[:0]).shape == (0,)
    assert evaluator.n_evaluations == 6 * len(pairs)


@pytest.mark.parametrize("score", [LogLikelihood(), MDL()])
@pytest.mark.parametrize(("weighted", "missing"), [(False, 0.0), (True, 0.2)])
def test_terms_taken_together_are_those_taken_alone_to_the_bit(score, weighted, missing):
    table = slow.random_table(np.random.default_rng(6), 90, (3, 2, 4, 2, 1), 1, weighted=weighted, missing=missing)
    counts = lay_out_with_each(table, 2, (0,), [1, 3, 4])
    alone = [
        score.local(table, 2, (0, u), own)
        for u, own in zip([1, 3, 4], count_with_each(table, 2, [0], [1, 3, 4]), strict=True)
    ]
    assert score.local_batch(table, 2, [(0, 1), (0, 3), (0, 4)], counts).tolist() == alone


def test_a_subclass_that_overrides_local_is_asked_for_every_family():
    class Twice(MDL):
        def local(self, table, child, parents, counts):
            return 2 * super().local(table, child, parents, counts)

    table = slow.random_table(np.random.default_rng(7), 50, (3, 2, 4), 2)
    candidates = [{0: [2]}, {0: [1]}, {1: [0]}]
    scores = []
    for score in (MDL(), Twice()):
        evaluator = score.evaluator(table)
        evaluator.start([[], [], []])
        scores.append(evaluator.propose_many(candidates))
    assert scores[1] == pytest.approx(2 * scores[0], rel=1e-12)
