"""The orders of the features: the first is the one that tells most about the class.

After Pernkopf and Bilmes (2008), section 4.1; equations are numbered as there.

Values within 1e-9 nats are tied, and the feature that comes first in the table goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bnplug.contracts import Evaluator, begin_step
from bnplug.counts.information import first_largest
from bnplug.table.table import Table
from bnplug_cmi_order.block_patterns import BlockPatterns
from bnplug_cmi_order.expected_patterns import ExpectedPatterns, patterns_of
from bnplug_cmi_order.patterns import Patterns

#: Rows that are in memory, in many blocks, or as a network expects them.
AnyPatterns = Patterns | BlockPatterns | ExpectedPatterns

#: Says which of the features that are left may come next.
Ready = Callable[[Sequence[int]], Sequence[int]]


def order_by_all(
    table: Table, max_condition: int | None = None, n_jobs: int | None = None, ready: Ready = list
) -> list[int]:
    """Return the features, each the argmax of I(C; X | those before it) (eq. 5).

    Parameters
    ----------
    table : Table
    max_condition : int, optional
        Condition on this many of the features chosen last; by default on all.
    n_jobs : int, optional
        Threads.
    ready : function
        Says which of the features that are left may come next; by default all.
    """
    left, order = list(table.features), []
    patterns = _patterns(table)
    while left:
        next_ones = ready(left)
        order.append(next_ones[0] if patterns.determine_class else _most_informative(patterns, next_ones, n_jobs))
        left.remove(order[-1])
        if max_condition is None:
            patterns.split(order[-1])
        else:
            patterns = _patterns(table, order[max(0, len(order) - max_condition) :])
    return order


def order_by_single(table: Table, n_jobs: int | None = None, ready: Ready = list) -> list[int]:
    """Return the features, each the argmax of I(C; X | X') over X and one X' before it (eq. 6)."""
    largest = np.full(len(table.names), -np.inf)
    order = [_most_informative(_patterns(table), ready(table.features), n_jobs)]
    left = [v for v in table.features if v != order[0]]
    while left:
        given_last = _patterns(table, order[-1:]).information(left, n_jobs)
        largest[left] = np.maximum(largest[left], given_last)
        order.append(first_largest(largest, ready(left)))
        left.remove(order[-1])
    return order


def order_by_score(table: Table, evaluator: Evaluator, ready: Ready = list) -> list[int]:
    """Return the features, each that with which naive Bayes over it and those before it scores best.

    The paper's conclusion names such an order, by the classification rate, and says no more of it.

    Parameters
    ----------
    table : Table
    evaluator : Evaluator
        Of the score, on the table.
    ready : function
        Says which of the features that are left may come next; by default all.
    """
    left, order = list(table.features), []
    evaluator.start([[] for _ in table.names])
    while left:
        begin_step(evaluator)
        scores = np.full(len(table.names), -np.inf)
        next_ones = ready(left)
        scores[next_ones] = evaluator.propose_many([{v: [table.target_index]} for v in next_ones])
        order.append(first_largest(scores, next_ones))
        evaluator.commit({order[-1]: [table.target_index]})
        left.remove(order[-1])
    return order


def _patterns(table: Table, variables: Sequence[int] = ()) -> AnyPatterns:
    return ExpectedPatterns(table, variables) if table.expects else patterns_of(table, variables)


def _most_informative(patterns: AnyPatterns, candidates: Sequence[int], n_jobs: int | None) -> int:
    information = np.zeros(len(patterns.table.names))
    information[candidates] = patterns.information(candidates, n_jobs)
    return first_largest(information, candidates)
