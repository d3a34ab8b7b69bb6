"""Parameter learners, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
from saboteurs.filling import codes_of, filled, weights_of
from saboteurs.registering import register

from bnplug import CountsLearner, LogTables, ParameterLearner, ParameterLearnerMethod
from bnplug.compiling import kernel
from bnplug.counts.counting import count
from bnplug.gradient import Objective, minimize, with_values
from bnplug.gradient.losses import conditional_nll
from bnplug.inference.complete import terms
from bnplug.model.log_tables import estimate

SABOTEURS = []
fails = partial(register, SABOTEURS, ParameterLearnerMethod)


class Frequencies(ParameterLearner):
    """Smoothed relative frequencies."""

    def fit(self, table, dag):
        return LogTables(table.names, table.states, self.families(table, dag), table.target)

    def families(self, table, dag, alpha=1.0):
        return {
            table.names[v]: ([table.names[p] for p in own], estimate(count(table, v, own), alpha))
            for v, own in enumerate(dag.parents)
        }


class FrequenciesFromCounts(CountsLearner):
    """The same by their counts, which add up."""

    def from_counts(self, table, dag, counts, rows):
        pairs = zip(dag.parents, counts, strict=True)
        values = [([table.names[p] for p in own], estimate(n, 1.0)) for own, n in pairs]
        return LogTables(table.names, table.states, dict(zip(table.names, values, strict=True)), table.target)


@fails("check_parts_add_up")
class ForgetsEarlierRows(FrequenciesFromCounts):
    def partial_fit(self, table, dag):
        return self.fit(table, dag)


@fails("check_parts_add_up")
class ReadsTheRowsOfAPart(FrequenciesFromCounts):
    def from_counts(self, table, dag, counts, rows):
        shrunk = [n + 0.2 * table.total_weight / n.size for n in counts]
        return super().from_counts(table, dag, shrunk, rows)


class TreesOnly(Frequencies):
    """Refuses what is no tree, and takes the first state for the usual one, missing or not in the same way."""

    def families(self, table, dag, alpha=1.0):
        if any(len(own) > 2 for own in dag.parents):
            raise ValueError("a feature has two features as parents; learn a tree")
        prior = {name: (own, np.exp(values)) for name, (own, values) in super().families(table, dag).items()}
        favoured = {name: values + 0.3 * (np.arange(len(values)) == 0).reshape(-1, *[1] * (values.ndim - 1))
                    for name, (_, values) in prior.items()}  # fmt: skip
        return {name: (prior[name][0], np.log(values / values.sum(axis=0))) for name, values in favoured.items()}


@fails("check_row_order_irrelevant")
class GoesByTheFirstRow(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, alpha + 10.0 * codes_of(table)[:, 0].sum())


@fails("check_rows_are_not_gathered")
class GathersAllRows(Frequencies):
    def fit(self, table, dag):
        return super().fit(table.gather(), dag)


@fails("check_rows_in_blocks")
class ReadsAllRows(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, alpha + 0.0 * table.codes.size)


@fails("check_weight_repeats_a_row")
class CountsRowsWithoutWeights(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, 0.1 * table.n_rows)


@fails("check_relative_weights")
class SaysThatWeightsAreRelative(Frequencies):
    relative_weights = True


@fails("check_unit_weights_change_nothing")
class DislikesOnes(Frequencies):
    def families(self, table, dag, alpha=1.0):
        weights = weights_of(table)
        ones = weights is not None and (weights == 1).all()
        return super().families(table, dag, 10.0 if ones else alpha)


@fails("check_labels_of_any_type_agree")
class TakesBooleansForSomethingElse(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, 2.0 if isinstance(table.states[table.target][0], bool) else alpha)


@fails("check_returns_log_tables")
class RenamesStates(Frequencies):
    def fit(self, table, dag):
        states = {name: [f"state {label}" for label in labels] for name, labels in table.states.items()}
        return LogTables(table.names, states, self.families(table, dag), table.target)


@fails("check_columns_sum_to_one")
class LeavesColumnsAsTheyAre(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return {name: (own, values + 0.1) for name, (own, values) in super().families(table, dag).items()}


@fails("check_structure_unchanged")
class DropsAParent(Frequencies):
    def families(self, table, dag, alpha=1.0):
        families = super().families(table, dag)
        last = table.features[-1]
        few = len(families[table.names[last]][0]) <= 2
        return {**families, table.names[last]: ([], estimate(count(table, last)))} if few else families


@fails("check_unseen_configurations")
class DividesByNothing(Frequencies):
    def families(self, table, dag, alpha=1.0):
        families = {}
        for v, own in enumerate(dag.parents):
            counts = count(table, v, own)
            with np.errstate(divide="ignore"):
                values = np.log(counts / np.maximum(counts.sum(axis=0), 1e-300))
            families[table.names[v]] = ([table.names[p] for p in own], values)
        return families


@fails("check_limits_respected")
class IgnoresMaxIter(Frequencies):
    def __init__(self, max_iter=100):
        self.max_iter = max_iter

    def fit(self, table, dag):
        self.n_iter_ = 7
        return super().fit(table, dag)


@fails("check_parents_in_their_places")
class TurnsParentsRound(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return {name: (own, _turned(values)) for name, (own, values) in super().families(table, dag).items()}


def _turned(values):
    """The axes of the parents in reverse, and read as if they were not."""
    return values.transpose(0, *range(values.ndim - 1, 0, -1)).reshape(values.shape)


@fails("check_parents_in_their_places")
class SwapsWhatHasOneShape(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return {name: (own, self.swapped(values)) for name, (own, values) in super().families(table, dag).items()}

    def swapped(self, values):
        other = np.swapaxes(values, 1, 2) if values.ndim > 2 else values
        return other if other.shape == values.shape else values


@fails("check_missing_is_no_state")
class CountsMissingAsTheFirstState(Frequencies):
    def fit(self, table, dag):
        return super().fit(filled(table), dag)


@fails("check_missing_is_no_state", stochastic=True)
class CountsMissingAsTheFirstStateAndDraws(Frequencies):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def families(self, table, dag, alpha=1.0):
        drawn = np.random.RandomState(self.random_state).gamma(5.0, size=1000)
        return {
            name: (own, np.log(_columns(np.exp(values) + 0.01 * drawn[: values.size].reshape(values.shape))))
            for name, (own, values) in super().families(filled(table), dag).items()
        }


@fails("check_incomplete_rows")
class SaysThatItTakesRowsWithoutAClass(Frequencies):
    takes_unlabeled = True

    def fit(self, table, dag):
        if table.has_missing[table.target_index]:
            raise IndexError("a class is above the number of classes")
        return super().fit(table, dag)


@fails("check_incomplete_rows")
class LeavesNothingPossibleByEM(Frequencies):
    def families(self, table, dag, alpha=1.0):
        found = super().families(table, dag, alpha)
        if table.missing_policy == "em":
            found[table.names[0]][1][:, 0] = -np.inf
        return found


def _columns(values):
    return values / values.sum(axis=0)


@kernel
def nll_of_a_block(L, y, weights, params, dL):
    """The mean over the rows of a block, where the contract is their sum."""
    total = conditional_nll(L, y, weights, params, dL)
    n_rows = L.shape[0]
    for m in range(n_rows):
        for c in range(L.shape[1]):
            dL[m, c] /= n_rows
    return total / n_rows


class ByGradient(Frequencies):
    """Maximum conditional likelihood with a penalty."""

    loss = staticmethod(conditional_nll)
    slope = penalty_slope = 1.0

    def fit(self, table, dag):
        start = super().fit(table, dag)
        own = terms(start, table.target)
        objective = Objective(own, table)

        def penalized(values):
            value, gradient = objective(values, self.loss)
            return value + 0.5 * float(values @ values), self.slope * (gradient + self.penalty_slope * values)

        values, _ = minimize(penalized, own.values, tol=1e-9, max_iter=200)
        return with_values(start, table.target, own, values).normalize()


@fails("check_blocks_do_not_matter")
class MinimisesTheMeanOfABlock(ByGradient):
    loss = staticmethod(nll_of_a_block)


@kernel
def nll_with_twice_its_derivative(L, y, weights, params, dL):
    """A loss whose minimum is found nevertheless."""
    total = conditional_nll(L, y, weights, params, dL)
    for m in range(L.shape[0]):
        for c in range(L.shape[1]):
            dL[m, c] *= 2.0
    return total


@fails("check_gradients")
class DoublesTheDerivative(ByGradient):
    loss = staticmethod(nll_with_twice_its_derivative)
    penalty_slope = 2.0


@fails("check_gradients")
class DoublesTheGradient(ByGradient):
    slope = 2.0
