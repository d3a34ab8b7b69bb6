"""The objective: the conditional NLL of rows, each left out of the estimates of its own class.

In training the log joint of a row with the class that it has takes the estimates p- of the parameter learner
``backoff``, which leave the row out, and with the others p. All of it is linear in the free numbers, so that the NLL is
convex.

If a class has a single row, leaving that row out removes all information about the class, and no held-out row has it.
The features of the class then get the distribution they have over all rows. Its row is skipped, and every other row
belongs to the class with a small probability: the share of the class in the data. Its posterior stays near its prior.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bnplug import parameter_learner
from bnplug.compiling import kernel
from bnplug.gradient import Objective, conditional_nll, minimize
from bnplug.inference.complete import Terms
from bnplug.inference.em import row_counts
from bnplug.model.log_tables import LogTables
from bnplug.table.block_table import missing_as_state
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray
from bnplug_loo.layout import Layout, Node

if TYPE_CHECKING:
    from bnplug import Structure


class LeaveOneOutProblem:
    """Weights and corrections of back-off estimates, to be learned on the rows of a table.

    Parameters
    ----------
    table : Table
        The training rows.
    structure : Structure
        The structure.
    held_out : Table, optional
        Other rows, whose NLL will be asked for.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    generative : LogTables
        The back-off estimates.
    layout : Layout
        What the free numbers are.
    """

    def __init__(
        self, table: Table, structure: Structure, held_out: Table | None = None, n_jobs: int | None = None
    ) -> None:
        self.table = table
        learner = parameter_learner("backoff")
        self.generative: LogTables = learner.fit(table, structure)
        children = [v for v, parents in enumerate(structure.parents) if table.target_index in parents]
        prior = self.generative[table.target].values
        if prior.ndim > 1:
            # A class with parents has its own table, and b starts at 0.
            children.append(table.target_index)
            prior = np.zeros(len(prior))
        self._shares = _shares_of_single_rows(table)
        nodes = [Node.of(table, v, learner.levels_[table.names[v]], self._shares > 0) for v in children]
        lacking = table.has_missing if held_out is None else table.has_missing | held_out.has_missing
        self.layout = Layout(nodes, table.cards + lacking, prior, table.n_rows)
        self._loss = nll_with_shares if self._shares.any() else conditional_nll
        # The part of the free parameters that a temperature does not scale: b, at the log prior.
        self._fixed = np.zeros_like(self.layout.start)
        if self._shares.any() and prior.any():
            others = np.where(self._shares > 0, 0.0, np.exp(prior))
            others *= (1.0 - self._shares.sum()) / max(others.sum(), np.finfo(np.float64).tiny)
            self._fixed[: len(prior)] = np.log(self._shares + others)
        rows = missing_as_state(table, lacking)
        self._objective = Objective(self.layout.terms, rows, n_jobs)
        self._occurring = self._configurations(rows)
        self._held_out = (
            None if held_out is None else Objective(self.layout.terms, missing_as_state(held_out, lacking), n_jobs)
        )

    def _configurations(self, rows: Table) -> IntArray:
        """Return the configurations that occur in the training rows: no other has a derivative."""
        by_term = zip(*rows.each(_cells_that_occur, self.layout.terms), strict=True)
        return np.concatenate([np.unique(np.concatenate(cells)) for cells in by_term]) // self.layout.n_classes

    def nll(self, free: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of -log P(class | features) over rows left out of their own class, and its gradient."""
        layout, chosen = self.layout, self._occurring
        values = layout.fold(free, layout.base, True, chosen)
        shift = layout.fold(free, layout.shift, False, chosen)
        nll, gradient, of_shift = self._objective.with_own(values, shift, self._loss, self._shares)
        return nll, layout.chain(gradient, of_shift, chosen)

    def penalized(self, free: FloatArray, lam: float, center: float) -> tuple[float, FloatArray]:
        """Return the NLL and the penalty: 1/2 sum (w - center)^2 + lam/2 sum over levels of 4^l ||delta_l||^2."""
        nll, gradient = self.nll(free)
        first, n_classes = self.layout.first_correction, self.layout.n_classes
        away = free.copy()
        away[n_classes:first] -= center
        pull = self.layout.strength * away
        pull[first:] *= lam
        return nll + 0.5 * float(pull @ away), gradient + pull

    def scaled(self, max_iter: int, tol: float) -> tuple[FloatArray, float]:
        """Return the free numbers with one weight for all nodes, the best b and the best w, and that weight.

        The weight is not negative. If features say nothing about the class, a left-out row sees its own values as
        slightly rarer in its class, and an ever more negative weight would turn that into certainty.
        """
        layout = self.layout
        n_classes, first = layout.n_classes, layout.first_correction

        def common(head: FloatArray) -> tuple[float, FloatArray]:
            nll, gradient = self.nll(self._with_common_weight(head))
            return nll, np.append(gradient[:n_classes], gradient[n_classes:first].sum())

        start = np.append(layout.start[:n_classes], 1.0)
        head, _ = minimize(common, start, tol, max_iter)
        if head[-1] < 0.0:
            alone, _ = minimize(partial(_at_weight_zero, common), start[:-1], tol, max_iter)
            head = np.append(alone, 0.0)
        return self._with_common_weight(head), float(head[-1])

    def _with_common_weight(self, head: FloatArray) -> FloatArray:
        free = self.layout.start.copy()
        free[: self.layout.n_classes] = head[:-1]
        free[self.layout.n_classes : self.layout.first_correction] = head[-1]
        return free

    def minimize(
        self, free: FloatArray, lam: float, center: float, max_iter: int, tol: float
    ) -> tuple[FloatArray, int]:
        """Return the free numbers of the least penalized NLL, and the number of steps.

        With an infinite `lam` there are no corrections.
        """
        if np.isfinite(lam):
            return minimize(partial(self.penalized, lam=lam, center=center), free, tol, max_iter)
        first = self.layout.first_correction
        rest = np.zeros(len(free) - first)

        def without_corrections(head: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.penalized(np.concatenate([head, rest]), 0.0, center)
            return value, gradient[:first]

        head, n_iter = minimize(without_corrections, free[:first], tol, max_iter)
        return np.concatenate([head, rest]), n_iter

    def tempered(self, free: FloatArray, temperature: float) -> FloatArray:
        """Scale the free parameters by a temperature, except the prior if a class has a single row."""
        return temperature * free + (1.0 - temperature) * self._fixed

    def held_out_nll(self, free: FloatArray, temperature: float = 1.0) -> tuple[float, float]:
        """Return the NLL of the held-out rows, and a number with the sign of its derivative by the temperature."""
        assert self._held_out is not None
        every = np.arange(len(self.layout.base))
        values = self.layout.fold(self.tempered(free, temperature), self.layout.base, True, every)
        nll, gradient = self._held_out(values, self._loss, self._shares)
        return nll, float(gradient @ (values - self.layout.fold(self._fixed, self.layout.base, True, every)))

    def network_tables(self, free: FloatArray) -> LogTables:
        """Return log parameters of all nodes; those of the class and its children are the learned ones."""
        table, target = self.table, self.table.target
        changed = {name: (cpt.parents, cpt.values) for name, cpt in self.generative.tables.items()}
        b, learned = self.layout.tables(free)
        if not changed[target][0]:
            changed[target] = ((), b)
        for node, values in zip(self.layout.nodes, learned, strict=True):
            name = table.names[node.number]
            axes = [*(table.names[v] for v in node.variables), target]
            parents = self.generative.tables[name].parents
            logs = values + b if name == target else values
            changed[name] = (parents, logs.transpose([axes.index(axis) for axis in (name, *parents)]))
        return LogTables(self.generative.names, self.generative.states, changed, target)


def _at_weight_zero(
    common: Callable[[FloatArray], tuple[float, FloatArray]], b: FloatArray
) -> tuple[float, FloatArray]:
    """Return the NLL of the class parameters alone, and its gradient."""
    nll, gradient = common(np.append(b, 0.0))
    return nll, gradient[:-1]


def _shares_of_single_rows(table: Table) -> FloatArray:
    """Return the share of each class in the number of rows if the class has a single row, otherwise 0.

    A large weight does not make the row more representative of its class.
    """
    counts = table.counts([(table.target_index,)])
    rows = row_counts(table, [(table.target_index,)], counts)[0]
    return np.asarray((rows == 1.0) / rows.sum())


@kernel
def nll_with_shares(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """`conditional_nll` of rows that also belong, with probability ``params[c]``, to each class with a single row.

    L, dL : float64 (rows, classes), the log joint and the derivative by it. y : int64 (rows,). weights : float64
    (rows,). params : float64 (classes,), 0 for classes with more than one row. The rows of other classes are skipped.
    """
    known = 1.0 - params.sum()
    total = 0.0
    for m in range(L.shape[0]):
        if params[y[m]] > 0.0:
            dL[m] = 0.0
            continue
        largest = L[m].max()
        normalizer = 0.0
        for c in range(L.shape[1]):
            normalizer += np.exp(L[m, c] - largest)
        log_normalizer = largest + np.log(normalizer)
        for c in range(L.shape[1]):
            share = known if c == y[m] else params[c]
            dL[m, c] = weights[m] * (np.exp(L[m, c] - log_normalizer) - share)
            total += weights[m] * share * (log_normalizer - L[m, c])
    return total


def _cells_that_occur(block: Table, terms: Terms) -> list[IntArray]:
    """Return the cells of every term's table that rows of a block fall into."""
    return [np.unique(terms.cells(block.codes, [t])) for t in range(len(terms.starts))]
