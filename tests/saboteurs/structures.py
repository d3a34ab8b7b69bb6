"""Structure learners, each with one fault; a healthy one comes first."""

from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import ClassVar

import numpy as np
from saboteurs.filling import codes_of, filled, weights_of
from saboteurs.registering import register

from bnplug import Structure, StructureLearner, StructureLearnerMethod, structure_learner
from bnplug.hooks import registry
from bnplug.hooks.components import component
from bnplug.search import Constraints
from bnplug.table.block_table import missing_as_state

SABOTEURS = []
fails = partial(register, SABOTEURS, StructureLearnerMethod)


class Chain(StructureLearner):
    """The class is a parent of all features, and each feature of the next."""

    def learn(self, table):
        return Structure(table.names, self.parents(table))

    def parents(self, table, chained=True):
        parents = [[] for _ in table.names]
        for position, v in enumerate(table.features):
            before = table.features[max(0, position - 1) : position] if chained else []
            parents[v] = [table.target_index, *before]
        return parents


class Dense(Chain):
    """Every edge there can be, the class first."""

    def parents(self, table, chained=True):
        c, features = table.target_index, table.features
        return [[] if v == c else [c, *features[: features.index(v)]] for v in range(len(table.names))]


class Careful(Dense):
    """Every edge there can be, the class first, that keeps to what is known."""

    def __init__(self, required=None, forbidden=None, tiers=None):
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers

    def known(self, table):
        return Constraints.of(self, table)

    def parents(self, table, chained=True):
        constraints, left, order = self.known(table), list(table.features), []
        parents = constraints.augmented("careful")
        while left:
            v = constraints.ready(left)[0]
            parents[v] = sorted({*parents[v], *constraints.allowed_parents(v, order)})
            order.append(v)
            left.remove(v)
        return parents


class Search(Chain):
    """Naive Bayes, or the feature that the score likes best as a parent of all others."""

    def __init__(self, score="mdl", random_state=None):
        self.score = score
        self.random_state = random_state

    def parents(self, table, chained=True):
        naive_bayes, c = table.naive_bayes(), table.target_index
        stars = [{v: sorted([c, u]) for v in table.features if v != u} for u in table.features]
        evaluator = self.own_score().evaluator(table)
        evaluator.start(naive_bayes)
        best = self.best([evaluator.value, *evaluator.propose_many(stars)])
        changes = {} if best == 0 else stars[best - 1]
        return [changes.get(v, own) for v, own in enumerate(naive_bayes)]

    def best(self, scores):
        return int(np.argmax(scores))

    def own_score(self):
        return component("score function", self.score, self)


class OneOfTwo(Search):
    """Has two graphs to choose from: naive Bayes and a chain."""

    def parents(self, table, chained=True):
        ways = table.naive_bayes(), Chain.parents(self, table)
        return max(ways, key=self.own_score().evaluator(table).start)


class Exact(StructureLearner):
    """The best of all graphs, by dynamic programming over the sets of variables that come first in an order."""

    def __init__(self, score="mdl", random_state=None):
        self.score = score
        self.random_state = random_state

    def learn(self, table):
        n = len(table.names)
        if n > 3:
            raise ValueError(f"{n} variables are too many")
        evaluator = component("score", self.score, self).evaluator(table)
        if not evaluator.decomposable:
            raise ValueError("sums of terms are expected")
        nothing = evaluator.start([[] for _ in range(n)])
        best = {(): (0.0, [[] for _ in range(n)])}
        for first in (set_ for size in range(1, n + 1) for set_ in combinations(range(n), size)):
            ways = [self._last(evaluator, nothing, best, first, v) for v in first]
            best[first] = max(ways, key=lambda way: round(way[0], 6))
        return Structure(table.names, best[tuple(range(n))][1])

    def _last(self, evaluator, nothing, best, first, v):
        """Return the value of the best graph over a set of variables in which v is last, and its parents."""
        others = tuple(u for u in first if u != v)
        families = [family for size in range(len(first)) for family in combinations(others, size)]
        gains = [value - nothing for value in evaluator.propose_many([{v: family} for family in families])]
        i = int(np.argmax(np.round(gains, 6)))
        value, parents = best[others]
        return value + gains[i], [list(families[i]) if u == v else own for u, own in enumerate(parents)]


class GapsAreAState(Chain):
    """Takes a missing cell for one more state, as some do on purpose."""

    def learn(self, table):
        return structure_learner("tan").learn(missing_as_state(table))


@fails("check_described", summary="Two\nlines.")
class HasTwoLines(Chain):
    pass


@fails("check_described", reference=" ")
class HasNoReference(Chain):
    pass


@fails("check_cloneable")
class CopiesItsParameter(Chain):
    def __init__(self, options=()):
        self.options = list(options)


@fails("check_cloneable")
class MakesAnArrayOfItsParameter(Chain):
    def __init__(self, costs=None):
        self.costs = np.asarray(costs)


@fails("check_cloneable")
class ReplacesItsDefault(Chain):
    def __init__(self, order=None):
        self.order = [] if order is None else order


@fails("check_cloneable")
class ConvertsWhatIsNotItsDefault(Chain):
    def __init__(self, depth=1):
        self.depth = depth if isinstance(depth, int) else str(depth)


@fails("check_components_declared")
class DeclaresAComponentThatIsNoParameter(Chain):
    components: ClassVar = {"first": "score"}


@fails("check_components_declared")
class DeclaresAKindThatDoesNotExist(Chain):
    components: ClassVar = {"first": "scores"}

    def __init__(self, first=None):
        self.first = first


@fails("check_works_without_class", needs_target=False)
class NeedsAClassAndDeniesIt(Chain):
    pass


@fails("check_score_parameter_declared")
class TakesAScoreInSecret(Search):
    pass


@fails("check_score_parameter_declared", needs_decomposable=True)
class NeedsADecomposableScoreAndTakesNone(Chain):
    pass


@fails("check_parameters_untouched")
class ChangesItsParameter(Chain):
    def __init__(self, depth=1):
        self.depth = depth

    def learn(self, table):
        self.depth += 1
        return super().learn(table)


@fails("check_parameters_untouched", needs_score=True)
class ChangesItsComponent(Search):
    def learn(self, table):
        if not isinstance(self.score, str):
            self.score.used_ = True
        return super().learn(table)


@fails("check_input_not_mutated")
class ReordersStates(Chain):
    def learn(self, table):
        table.states["x2"] = table.states["x2"][::-1]
        return super().learn(table)


@fails("check_input_not_mutated")
class WritesToWeights(Chain):
    def learn(self, table):
        weights = table.map(attrgetter("weights"))[0]
        if weights is not None:
            writable = weights.base if weights.base is not None else weights
            writable[0] = 5.0
        return super().learn(table)


@fails("check_same_seed_same_result", stochastic=True)
class DrawsFromTheGlobalGenerator(Chain):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def parents(self, table, chained=True):
        return super().parents(table, np.random.random() < 0.5)  # noqa: NPY002


@fails("check_same_seed_same_result")
class RemembersItsLastRun(Chain):
    def learn(self, table):
        self.runs_ = getattr(self, "runs_", 0) + 1
        return super().learn(table)

    def parents(self, table, chained=True):
        return super().parents(table, self.runs_ == 1)


@fails("check_n_jobs_does_not_matter")
class DependsOnThreads(Chain):
    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def parents(self, table, chained=True):
        return super().parents(table, self.n_jobs != 2)


@fails("check_row_order_irrelevant")
class GoesByTheFirstRow(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, codes_of(table)[:, 0].sum() == 0)


@fails("check_labels_of_any_type_agree")
class TakesBooleansForSomethingElse(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, not isinstance(table.states[table.target][0], bool))


@fails("check_pickles")
class KeepsALambda(Chain):
    def learn(self, table):
        self.function_ = lambda: table
        return super().learn(table)


@fails("check_rows_in_blocks")
class ReadsAllRows(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, table.codes.shape[1] > 0)


@fails("check_rows_are_not_gathered")
class GathersAllRows(Chain):
    def learn(self, table):
        self.sample_ = table.take(np.arange(0, table.n_rows, 2)).gather()
        self.rows_ = table.with_relative_weights().gather()
        return super().learn(table)


@fails("check_rows_in_blocks")
class TakesTheFirstBlockForAll(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, table.map(lambda block: block.n_rows)[0] == table.n_rows)


@fails("check_constant_feature")
class DividesByStatesMinusOne(Chain):
    def learn(self, table):
        self.shares_ = [1 / (int(card) - 1) for card in table.cards]
        return super().learn(table)


@fails("check_single_feature")
class NeedsASecondFeature(Chain):
    def learn(self, table):
        self.pair_ = table.features[0], table.features[1]
        return super().learn(table)


@fails("check_missing_cells")
class NeedsManyCompleteRows(Chain):
    def learn(self, table):
        complete = (codes_of(table) != table.missing).all(axis=0)
        if complete.sum() < 100:
            raise ValueError("too few rows are complete")
        return super().learn(table)


@fails("check_unit_weights_change_nothing")
class DislikesOnes(Chain):
    def parents(self, table, chained=True):
        weights = weights_of(table)
        return super().parents(table, weights is None or (weights != 1).any())


@fails("check_weight_repeats_a_row")
class CountsRowsWithoutWeights(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, table.n_rows < 200)


@fails("check_relative_weights")
class SaysThatWeightsAreRelative(Chain):
    relative_weights = True

    def parents(self, table, chained=True):
        return super().parents(table, table.total_weight < 500)


@fails("check_returns_a_structure")
class ReturnsSeveralGraphs(Chain):
    def learn(self, table):
        return [super().learn(table).to_dag()] * 2


@fails("check_returns_a_structure")
class LosesANode(Chain):
    def learn(self, table):
        return Structure(table.names[1:], [[] for _ in table.names[1:]])


@fails("check_returns_a_structure")
class AddsANode(Chain):
    def learn(self, table):
        dag = super().learn(table).to_dag()
        dag.add_node("hidden")
        return dag


@fails("check_returns_a_structure")
class GoesRound(Chain):
    def learn(self, table):
        edges = super().learn(table).edges
        return [*edges, *((child, parent) for parent, child in edges)]


@fails("check_class_present")
class ForgetsTheClass(Chain):
    def parents(self, table, chained=True):
        c = table.target_index
        return [[p for p in own if p != c] for own in super().parents(table)]


@fails("check_limits_respected")
class IgnoresMaxParents(Dense):
    def __init__(self, max_parents=None):
        self.max_parents = max_parents


@fails("check_limits_respected")
class IgnoresK(Dense):
    def __init__(self, k=3):
        self.k = k


@fails("check_limits_respected")
class IgnoresMaxIter(Dense):
    def __init__(self, max_iter=None):
        self.max_iter = max_iter

    def learn(self, table):
        self.trace_ = [0.0, 1.0, 2.0]
        return super().learn(table)


@fails("check_constraints_respected", constraints=True)
class HasNoTiers(Careful):
    def __init__(self, required=None, forbidden=None):
        super().__init__(required, forbidden)


@fails("check_constraints_respected", constraints=True)
class IgnoresWhatIsRequired(Careful):
    def known(self, table):
        super().known(table)
        return Constraints(table, None, self.forbidden, self.tiers)


@fails("check_constraints_respected", constraints=True)
class IgnoresWhatIsForbidden(Careful):
    def known(self, table):
        super().known(table)
        return Constraints(table, self.required, None, self.tiers)


@fails("check_constraints_respected", constraints=True)
class IgnoresTiers(Careful):
    def known(self, table):
        super().known(table)
        return Constraints(table, self.required, self.forbidden)


@fails("check_contradictions_refused", constraints=True)
class TakesWhatCannotBe(Careful):
    def known(self, table):
        try:
            return super().known(table)
        except ValueError:
            return Constraints(table)


@fails("check_any_score_goes", needs_score=True)
class TakesScoresForLogLikelihoods(Search):
    def best(self, scores):
        if max(scores) >= 0:
            raise ValueError("a log-likelihood is negative")
        return super().best(scores)


@fails("check_parameters_untouched", needs_score=True)
class GivesItsSeedToTheUsersScore(Search):
    def own_score(self):
        if getattr(self.score, "random_state", 0) is None:
            self.score.random_state = self.random_state
        return super().own_score()


@fails("check_score_decides", needs_score=True)
class HasAScoreOfItsOwn(Search):
    def own_score(self):
        return component("score function", "mdl", self)


@fails("check_score_decides", needs_score=True)
class AsksInVain(Search):
    def parents(self, table, chained=True):
        super().parents(table)
        return Chain.parents(self, table)


@fails("check_random_state_is_handed_down", needs_score=True)
class KeepsItsSeedToItself(Search):
    def own_score(self):
        return registry.build("score function", self.score)


@fails("check_missing_is_no_state")
class CountsMissingAsTheFirstState(Chain):
    name = "tan"

    def learn(self, table):
        return structure_learner(self.name, correction=None).learn(filled(table))


@fails("check_missing_is_no_state")
class CountsMissingAsTheFirstStateForItsOrder(CountsMissingAsTheFirstState):
    name = "kdb"
