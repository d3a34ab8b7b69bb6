"""Parameter learners, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
from saboteurs.registering import register

from bnplug import LogTables, ParameterLearner, ParameterLearnerMethod
from bnplug.counts.counting import count
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
            for v, own in enumerate(table.parents(dag))
        }


@fails("check_row_order_irrelevant")
class GoesByTheFirstRow(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, alpha + 10.0 * table.codes[:, 0].sum())


@fails("check_weight_repeats_a_row")
class CountsRowsWithoutWeights(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, 0.1 * table.n_rows)


@fails("check_unit_weights_change_nothing")
class DislikesOnes(Frequencies):
    def families(self, table, dag, alpha=1.0):
        ones = table.weights is not None and (table.weights == 1).all()
        return super().families(table, dag, 10.0 if ones else alpha)


@fails("check_labels_of_any_type_agree")
class TakesBooleansForSomethingElse(Frequencies):
    def families(self, table, dag, alpha=1.0):
        return super().families(table, dag, 2.0 if isinstance(table.states[table.target][0], bool) else alpha)


@fails("check_input_not_mutated")
class TakesTheGraphApart(Frequencies):
    def fit(self, table, dag):
        tables = super().fit(table, dag)
        if table.weights is not None:
            dag.remove_edges_from(list(dag.edges))
        return tables


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
        return {**families, table.names[last]: ([], estimate(count(table, last)))}


@fails("check_parent_order_irrelevant")
class PrefersTheFirstParent(Frequencies):
    def families(self, table, dag, alpha=1.0):
        last = table.names[table.features[-1]]
        first = next(iter(dag.predecessors(last)))
        return super().families(table, dag, 1.0 + table.index(first))


@fails("check_unseen_configurations")
class DividesByNothing(Frequencies):
    def families(self, table, dag, alpha=1.0):
        families = {}
        for v, own in enumerate(table.parents(dag)):
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
