"""The state of a search: its best choice, its ties, and what an interrupt leaves."""

from __future__ import annotations

import numpy as np
import pytest
from search.toys import DecomposableEvaluator, Edges, PlainMdl, make_table

from bnplug.contracts import PrefersLargeBatches
from bnplug.errors import SearchWarning
from bnplug.search import GreedySearch, first_best, score_tie


def test_an_interrupt_in_the_middle_of_a_move_leaves_none_of_it():
    """A reversal changes two families; with one of them alone, both directions of the edge could be in the graph."""

    class Interrupted(dict):
        def items(self):
            yield 1, [0, 2]
            raise KeyboardInterrupt

    table = make_table()
    search = GreedySearch(PlainMdl().evaluator(table), [[1], [], [], []], "test")
    with pytest.warns(SearchWarning, match="interrupted"), search.running():
        search.commit(Interrupted({0: [], 1: [0, 2]}), "reverse")
    assert search.parents == [[1], [], [], []]
    assert (len(search.trace), search.moves) == (1, [])


def test_the_first_of_tied_scores_is_the_best_and_must_be_better_than_a_tie():
    scores = np.array([1.0, 2.0, 2.0 + 1e-13, 0.0])
    assert first_best(scores) == 1
    assert first_best(scores, 2.0) is None
    assert first_best(scores, 1.5) == 1
    assert first_best(np.array([])) is None
    assert first_best(np.array([-np.inf, -np.inf])) == 0
    assert first_best(np.array([-np.inf, 0.0]), -np.inf) == 1


@pytest.mark.parametrize(("value", "tie"), [(0.0, 1e-12), (0.5, 1e-12), (-2000.0, 2e-9), (np.inf, 0.0), (-np.inf, 0.0)])
def test_a_tie_is_relative_to_the_score(value, tie):
    assert score_tie(value) == pytest.approx(tie, rel=1e-9)


@pytest.mark.parametrize(("last_of_ties", "chosen"), [(False, 1), (True, 2)])
def test_which_of_tied_candidates_is_taken_can_be_told(last_of_ties, chosen):
    search = GreedySearch(Edges().evaluator(make_table()), [[], [], [], []], "test")
    search.last_of_ties = last_of_ties
    candidates = [{1: []}, {1: [0]}, {2: [0]}, {3: []}]
    assert search.best(candidates, search.begin()) == chosen
    assert search.best(candidates[:1], search.begin()) is None
    assert search.best(candidates[:1], search.begin(), improve=False) == 0


@pytest.mark.parametrize(
    ("prefers_large_batches", "max_time", "sizes"),
    [(False, None, (256, 256, 88)), (True, None, (600,)), (True, 1e6, (256, 256, 88))],
)
def test_many_candidates_are_scored_in_batches_in_their_order(prefers_large_batches, max_time, sizes):
    class Counting(DecomposableEvaluator, *[PrefersLargeBatches][:prefers_large_batches]):
        sizes = ()

        def propose_many(self, candidates, at_least=None):
            self.sizes = (*self.sizes, len(candidates))
            return np.array([float(changes[0][0]) for changes in candidates])

    search = GreedySearch(Counting(make_table()), [[], [], [], []], "test", max_time)
    scores = search.propose([{0: [i]} for i in range(600)])
    assert scores.tolist() == list(range(600))
    assert search.evaluator.sizes == sizes
    search.evaluator.sizes = ()
    assert search.best([{0: [i]} for i in range(600)], 0.0) == 599
    assert search.evaluator.sizes == sizes
    assert search.propose([]).tolist() == []


@pytest.mark.parametrize("again", [False, True])
def test_a_trial_is_taken_over_only_where_it_ends_higher(again):
    search = GreedySearch(Edges().evaluator(make_table()), [[], [], [], []], "test")
    search.commit({1: [0]}, "first")
    with search.trial(again=again) as other:
        pass
    assert (search.moves, search.trace) == (["first"], [0.0, 1.0])
    with search.trial(again=again) as other:
        for v in (2, 3):
            other.commit({v: [0]}, f"give {v}")
    assert search.trace == ([0.0, 1.0, 2.0] if again else [0.0, 1.0, 3.0])
    assert search.moves == (["give 2", "give 3"] if again else ["first", "give 2, give 3"])
    assert search.evaluator.value == search.trace[-1]
