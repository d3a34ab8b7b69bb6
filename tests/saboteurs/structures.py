"""Structure learners, each with one fault; a healthy one comes first."""

from functools import partial

import networkx as nx
import numpy as np
from saboteurs.registering import register

from bnplug import StructureLearner, StructureLearnerMethod
from bnplug.hooks.components import component

SABOTEURS = []
fails = partial(register, SABOTEURS, StructureLearnerMethod)


class Chain(StructureLearner):
    """The class is a parent of all features, and each feature of the next."""

    def learn(self, table):
        return table.dag(self.parents(table))

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


@fails("check_parameters_untouched")
class ChangesItsParameter(Chain):
    def __init__(self, depth=1):
        self.depth = depth

    def learn(self, table):
        self.depth += 1
        return super().learn(table)


@fails("check_parameters_untouched", needs_score=True)
class ChangesItsComponent(Chain):
    def __init__(self, score="mdl"):
        self.score = score

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
        if table.weights is not None:
            writable = table.weights.base
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
        return super().parents(table, table.codes[:, 0].sum() == 0)


@fails("check_labels_of_any_type_agree")
class TakesBooleansForSomethingElse(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, not isinstance(table.states[table.target][0], bool))


@fails("check_pickles")
class KeepsALambda(Chain):
    def learn(self, table):
        self.function_ = lambda: table
        return super().learn(table)


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
class TakesMissingForAState(Chain):
    def learn(self, table):
        counts = [np.zeros(int(card)) for card in table.cards]
        for column, own in zip(table.codes, counts, strict=True):
            np.add.at(own, column, 1)
        return super().learn(table)


@fails("check_unit_weights_change_nothing")
class DislikesOnes(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, table.weights is None or (table.weights != 1).any())


@fails("check_weight_repeats_a_row")
class CountsRowsWithoutWeights(Chain):
    def parents(self, table, chained=True):
        return super().parents(table, table.n_rows < 200)


@fails("check_returns_a_dag")
class ReturnsANetworkxGraph(Chain):
    def learn(self, table):
        dag, graph = super().learn(table), nx.DiGraph()
        graph.add_nodes_from(dag.nodes)
        graph.add_edges_from(dag.edges)
        return graph


@fails("check_nodes_are_the_columns")
class LosesANode(Chain):
    def learn(self, table):
        dag = super().learn(table)
        if len(table.features) > 1:
            dag.remove_node(table.names[table.features[-1]])
        return dag


@fails("check_nodes_are_the_columns")
class AddsANode(Chain):
    def learn(self, table):
        dag = super().learn(table)
        dag.add_node("hidden")
        return dag


@fails("check_acyclic")
class GoesRound(Chain):
    def learn(self, table):
        dag = super().learn(table)
        nx.DiGraph.add_edges_from(dag, [(child, parent) for parent, child in list(dag.edges)])
        return dag


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


@fails("check_limits_respected")
class IgnoresItsWhitelist(Chain):
    def __init__(self, whitelist=None):
        self.whitelist = whitelist

    def parents(self, table, chained=True):
        return super().parents(table, False)


@fails("check_limits_respected")
class IgnoresItsBlacklist(Dense):
    def __init__(self, blacklist=None):
        self.blacklist = blacklist


@fails("check_any_score_goes", needs_score=True)
class KnowsTheInsideOfScores(Chain):
    def __init__(self, score="mdl"):
        self.score = score

    def learn(self, table):
        evaluator = component("score function", self.score, self).evaluator(table)
        evaluator.start(self.parents(table))
        self.terms_ = dict(evaluator._terms)
        return super().learn(table)
