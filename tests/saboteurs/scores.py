"""Scores, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
from saboteurs.filling import codes_of, filled
from saboteurs.registering import register

from bnplug import ScoreFunction, ScoreFunctionMethod
from bnplug.builtin.scores import K2, MDL, ConditionalLogLikelihood, HitRate
from bnplug.contracts import ScoringEvaluator
from bnplug.scoring import Bounds, PredictiveScore

SABOTEURS = []
fails = partial(register, SABOTEURS, ScoreFunctionMethod)


class Plain(ScoreFunction):
    """MDL, asked graph by graph."""

    own_evaluator = ScoringEvaluator

    def score(self, table, dag):
        return MDL().score(table, dag)

    def evaluator(self, table, n_jobs=1):
        return self.own_evaluator(self, table)


@fails("check_equivalent_graphs_score_alike", score_equivalent=True)
class FavoursADirection(Plain):
    def score(self, table, dag):
        return K2().score(table, dag)


@fails("check_works_without_class", needs_target=False)
class ReadsTheClassAndDeniesIt(Plain):
    def score(self, table, dag):
        return super().score(table, dag) + 0.0 * int(table.cards[table.target_index])


@fails("check_n_jobs_does_not_matter")
class DependsOnThreads(Plain):
    class Evaluator(ScoringEvaluator):
        threads = 1

        def start(self, parents):
            return super().start(parents) + self.threads

    def evaluator(self, table, n_jobs=1):
        evaluator = self.Evaluator(self, table)
        evaluator.threads = n_jobs - 1
        return evaluator


@fails("check_rows_are_not_gathered")
class GathersAllRows(Plain):
    def score(self, table, dag):
        return super().score(table.gather(), dag)


@fails("check_rows_in_blocks")
class ReadsAllRows(Plain):
    def score(self, table, dag):
        return super().score(table, dag) + 0.0 * table.codes.size


@fails("check_weight_repeats_a_row")
class CountsRowsWithoutWeights(Plain):
    def score(self, table, dag):
        return super().score(table, dag) - 0.01 * table.n_rows


@fails("check_row_order_irrelevant")
class GoesByTheFirstRow(Plain):
    def score(self, table, dag):
        return super().score(table, dag) + 0.01 * float(codes_of(table)[:, 0].sum())


@fails("check_constant_feature")
class DividesByStatesMinusOne(Plain):
    def score(self, table, dag):
        with np.errstate(divide="ignore"):
            return super().score(table, dag) - float((1.0 / (table.cards - 1.0)).max())


@fails("check_finite_scores")
class RefusesParentsOfTheClass(Plain):
    def score(self, table, dag):
        return -np.inf if len(dag.edges) == len(dag.parents[table.target_index]) == 3 else super().score(table, dag)


@fails("check_parent_order_irrelevant")
class ReadsProposalsInOrder(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def propose(self, changes):
            unsorted = any(list(own) != sorted(own) for own in changes.values())
            return super().propose(changes) + 0.1 * unsorted


@fails("check_decomposable_means_decomposable", also=["check_terms_of_a_batch"], decomposable=True)
class SquaresItsEdges(MDL):
    def score(self, table, dag):
        return super().score(table, dag) + 0.5 * len(dag.edges) ** 2

    def evaluator(self, table, n_jobs=1):
        return ScoringEvaluator(self, table)


@fails("check_decomposable_means_decomposable", decomposable=True)
class HasNoTerms(Plain):
    pass


@fails("check_decomposable_means_decomposable")
class SaysSoInItsEvaluatorOnly(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        decomposable = True


@fails("check_propose_leaves_state")
class TakesProposalsForMoves(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def propose(self, changes):
            self.value = super().propose(changes)
            return self.value


@fails("check_propose_agrees_with_score")
class PromisesTooMuch(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def propose(self, changes):
            return super().propose(changes) + 0.1 * len(changes)


@fails("check_commit_agrees_with_score")
class AddsUpWrongly(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def commit(self, changes):
            self.value = super().commit(changes) + 0.1 * len(changes)
            return self.value


@fails("check_only_losers_are_dropped")
class DropsWhatTies(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def propose_many(self, candidates, at_least=None):
            scores = super().propose_many(candidates)
            return scores if at_least is None else np.where(scores <= at_least, -np.inf, scores)


@fails("check_only_losers_are_dropped")
class CapsWhatIsKept(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def propose_many(self, candidates, at_least=None):
            scores = super().propose_many(candidates)
            return scores if at_least is None else np.minimum(scores, at_least)


@fails("check_candidates_in_turn")
class GoesOnAfterTheFirst(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def propose_in_turn(self, candidates, at_least):
            return super().propose_many(candidates)


@fails("check_chosen_parameters_agree")
class SettlesOnSomethingElse(Plain):
    def __init__(self, weight=1.0):
        self.weight = weight

    def score(self, table, dag):
        return self.weight * super().score(table, dag)

    def choose_parameters(self, table):
        return SettlesOnSomethingElse(weight=2.0)


@fails("check_chosen_parameters_agree")
class NeverSettles(Plain):
    def __init__(self, settled=0):
        self.settled = settled

    def choose_parameters(self, table):
        return NeverSettles(self.settled + 1)


@fails("check_chosen_parameters_agree")
class SettlesOnANumber(Plain):
    def choose_parameters(self, table):
        return 0.5


@fails("check_resamples_is_declared")
class RedrawsInSilence(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def step(self):
            self.value += 1.0
            return self.value


@fails("check_resamples_is_declared")
class SaysSoToNobodyElse(Plain):
    class own_evaluator(ScoringEvaluator):  # noqa: N801
        def __init__(self, function, table):
            super().__init__(function, table)
            self.resamples = True


@fails("check_bounds_are_true")
class FallsFasterThanItSays(ConditionalLogLikelihood):
    def gain_bounds(self, table):
        return Bounds(maximum=0.0, high_gap=0.0, slope=1.0)


@fails("check_bounds_are_true")
class TakesNarrowDefeatsForVictories(HitRate):
    def gain_bounds(self, table):
        return Bounds(maximum=1.0, high_gap=-0.5)


@fails("check_bounds_are_true")
class TakesTiesForVictories(HitRate):
    def gain_bounds(self, table):
        return Bounds(maximum=1.0, high_gap=0.0)


@fails("check_bounds_are_true")
class GivesHalfForDefeats(HitRate):
    def gain_bounds(self, table):
        return Bounds(maximum=1.0, low_gap=-1.0, low_value=0.5)


@fails("check_bounds_are_true")
class DeclaresTooLowAMaximum(ConditionalLogLikelihood):
    def gain_bounds(self, table):
        return Bounds(maximum=-0.001)


@fails("check_bounds_are_true")
class TakesLogarithmsForWholeNumbers(ConditionalLogLikelihood):
    def gain_bounds(self, table):
        return Bounds(maximum=0.0, whole=True)


@fails("check_missing_is_no_state")
class CountsMissingAsTheFirstState(Plain):
    def score(self, table, dag):
        return super().score(filled(table), dag)


def gain_among_others(L, y, params, out):
    """The log joint of the class, less the best of the block."""
    best = -np.inf
    for m in range(L.shape[0]):
        best = max(best, L[m, y[m]])
    for m in range(L.shape[0]):
        out[m] = L[m, y[m]] - best


@fails("check_rows_are_on_their_own", also=["check_rows_in_blocks"])
class LooksAtTheRestOfTheBlock(PredictiveScore):
    gain = gain_among_others
    aggregate = "mean"


@fails("check_terms_of_a_batch", decomposable=True)
class AddsToTermsThatAreComputedTogether(MDL):
    def local_batch(self, table, child, parent_sets, counts):
        return super().local_batch(table, child, parent_sets, counts) + 0.01 * np.array([*map(len, parent_sets)])
