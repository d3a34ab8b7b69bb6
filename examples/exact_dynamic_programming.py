"""
An exact structure learner
==========================

A greedy search stops at the first graph that no single change improves. With up to about 20 variables, dynamic
programming over sets of variables finds the best graph of all (Silander and Myllymäki, A simple approach for finding
the globally optimal Bayesian network structure, 2006). It needs the local score of every family, which
``local_scores`` counts in large batches.

Run: ``python examples/exact_dynamic_programming.py``
"""

# %%
# The best graph over a set of variables has a *sink*, a variable without children. Its parents are the best ones among
# the rest of the set, and the rest is the best graph over one variable less. The learner therefore needs two tables
# with one entry for each set: the best parents of each variable inside the set, and the best sink of the set. A set is
# a number whose bits are its variables.
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bnplug import Structure, StructureLearner, StructureLearnerMethod, Table, hookimpl, structure_learner
from bnplug.hooks.components import component
from bnplug.scoring import DecomposableScore
from bnplug.typing import FloatArray, IntArray

MAX_VARIABLES = 20


class ExactLearner(StructureLearner):
    """The graph with the best decomposable score.

    Parameters
    ----------
    score : str or DecomposableScore
        The score to maximize.
    max_parents : int, optional
        The largest number of parents of a variable.

    Attributes
    ----------
    score_ : float
        The score of the graph.
    """

    def __init__(self, score: Any = "bdeu", max_parents: int | None = None) -> None:
        self.score = score
        self.max_parents = max_parents

    def learn(self, table: Table) -> Structure:
        """Return the best graph over all variables of the table, the class included."""
        score, n = component("score function", self.score, self), len(table.names)
        if not isinstance(score, DecomposableScore):
            raise TypeError(f"{type(score).__name__} is not decomposable; choose a score such as 'bdeu' or 'mdl'")
        if n > MAX_VARIABLES:
            raise ValueError(f"the table has {n} variables; exact learning takes {MAX_VARIABLES} at most")
        members = [tuple(v for v in range(n) if mask >> v & 1) for mask in range(1 << n)]
        best, chosen = zip(*(self._best_parents(score, table, v, members) for v in range(n)), strict=True)
        values, sinks = _best_sinks(n, best)
        self.score_ = float(values[-1])
        parents: list[tuple[int, ...]] = [()] * n
        rest = (1 << n) - 1
        while rest:
            v = int(sinks[rest])
            rest ^= 1 << v
            parents[v] = members[chosen[v][rest]]
        return Structure(table.names, parents)

    def _best_parents(
        self, score: DecomposableScore, table: Table, v: int, members: Sequence[tuple[int, ...]]
    ) -> tuple[FloatArray, IntArray]:
        """Return, for each set without v, the best local score of v with parents in the set, and these parents."""
        n, sets = len(table.names), np.arange(len(members))
        most = n if self.max_parents is None else self.max_parents
        asked = sets[(sets >> v & 1 == 0) & (np.bitwise_count(sets) <= most)]
        best, chosen = np.full(len(sets), -np.inf), sets.copy()
        best[asked] = score.local_scores(table, [(v, *members[i]) for i in asked.tolist()])
        for u in range(n):
            # Axis 1: without and with u. In a tie, the smaller set wins.
            values, parents = best.reshape(-1, 2, 1 << u), chosen.reshape(-1, 2, 1 << u)
            smaller = (values[:, 0] >= values[:, 1]) & (u != v)
            values[:, 1] = np.where(smaller, values[:, 0], values[:, 1])
            parents[:, 1] = np.where(smaller, parents[:, 0], parents[:, 1])
        return best, chosen


def _best_sinks(n: int, best: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """Return, for each set of variables, the score of its best graph and the sink of that graph."""
    sets = np.arange(1 << n)
    values, sinks = np.where(sets == 0, 0.0, -np.inf), np.full(len(sets), -1)
    for size in range(1, n + 1):
        of_size = sets[np.bitwise_count(sets) == size]
        for v in range(n):
            inside = of_size[of_size >> v & 1 == 1]
            rest = inside ^ 1 << v
            total = values[rest] + best[v][rest]
            better = inside[total > values[inside]]
            values[better], sinks[better] = total[total > values[inside]], v
    return values, sinks


# %%
# The descriptor makes the file a plugin: a distribution only needs an entry point that names the module.
@hookimpl
def bnplug_structure_learners() -> Iterator[StructureLearnerMethod]:
    yield StructureLearnerMethod(
        name="exact",
        factory=ExactLearner,
        summary="The graph with the best score, by dynamic programming.",
        reference="Silander, Myllymäki: A simple approach for finding the globally optimal network structure (2006)",
        needs_score=True,
        needs_target=False,
        needs_decomposable=True,
        max_variables=MAX_VARIABLES,
    )


# %%
# On all final boards of tic-tac-toe, ten variables, hill climbing stops below the best graph.
if __name__ == "__main__":
    from bnplug import datasets

    X, y = datasets.tic_tac_toe()
    table = Table.from_frame(X.assign(outcome=y), "outcome")
    exact, greedy = ExactLearner("bdeu"), structure_learner("hill-climb", score="bdeu", start="empty")
    exact.learn(table)
    greedy.learn(table)
    print(f"exact:          {exact.score_:.1f}")
    print(f"hill climbing:  {greedy.trace_[-1]:.1f}")
