"""Parent sets that the best graph of a decomposable score may have, the best sets first.

A set of parents is a number whose bits are its variables. A set is omitted if one of its subsets scores as high: the
subset then replaces it in every graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from bnplug.compiling import kernel
from bnplug.search import score_tie

if TYPE_CHECKING:
    from bnplug.search import Constraints
    from bnplug.typing import FloatArray, IntArray
    from bnplug_structures.local_scores import LocalScores

# More sets than this take minutes to score.
_MOST_SETS = 1 << 22


@dataclass(frozen=True)
class UsefulSets:
    """The useful parent sets of all variables.

    Attributes
    ----------
    starts : int64 array of shape (variables + 1,)
        Those of variable v are ``starts[v]:starts[v + 1]``, by falling score.
    masks, scores : int64 and float64 arrays
        The sets and their local terms.
    """

    starts: IntArray
    masks: IntArray
    scores: FloatArray

    @classmethod
    def of(cls, local_scores: LocalScores, constraints: Constraints, most: int | None) -> UsefulSets:
        """Score all sets of at most `most` parents that the constraints allow, and return the useful ones."""
        n = len(constraints.table.names)
        choices = [_choices(constraints, v, most) for v in range(n)]
        n_sets = sum(comb(len(optional), k) for _, optional, largest in choices for k in range(largest + 1))
        if n_sets > _MOST_SETS:
            raise ValueError(
                f"exact: {n} variables with up to {n - 1 if most is None else most} parents have {n_sets} parent sets, "
                f"more than {_MOST_SETS}; reduce max_parents"
            )
        parts = [_useful_sets(local_scores, v, *choice) for v, choice in enumerate(choices)]
        masks, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(np.cumsum([0, *(len(part[0]) for part in parts)]), masks, scores)


def _choices(constraints: Constraints, v: int, most: int | None) -> tuple[list[int], list[int], int]:
    """Return the required and the optional parents of a variable, and how many optional ones it may have."""
    names, n = constraints.table.names, len(constraints.table.names)
    required = constraints.required_parents(v)
    if most is not None and len(required) > most:
        raise ValueError(f"the parents {[names[u] for u in required]} of {names[v]!r} are required; max_parents={most}")
    optional = constraints.allowed_parents(v, [u for u in range(n) if u != v and u not in required])
    return required, optional, len(optional) if most is None else min(len(optional), most - len(required))


def _useful_sets(
    local_scores: LocalScores, v: int, required: list[int], optional: list[int], largest: int
) -> tuple[IntArray, FloatArray]:
    """Return the useful parent sets of a variable and their scores, by falling score."""
    sizes = [list(_colex(len(optional), k)) for k in range(largest + 1)]
    members = np.full((sum(map(len, sizes)), max(largest, 1)), -1, dtype=np.int64)
    first = 0
    for k, sets in enumerate(sizes):
        members[first : first + len(sets), :k] = np.array(sets, dtype=np.int64).reshape(len(sets), k)
        first += len(sets)
    families = ((v, *required, *[optional[i] for i in chosen]) for chosen in chain.from_iterable(sizes))
    scores = np.asarray(local_scores(families))
    useful = np.zeros(len(scores), dtype=bool)
    tie = score_tie(float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0)))
    _mark_useful(members, scores, _binomials(len(optional), largest), tie, scores.copy(), useful)
    bits = np.array([*(1 << u for u in optional), 0], dtype=np.int64)
    masks = bits[members[useful]].sum(axis=1) + sum(1 << u for u in required)
    # Sets are in the order of their sizes, and of tied ones the first comes first.
    order = np.argsort(-scores[useful], kind="stable")
    return masks[order], scores[useful][order]


def _colex(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Return the ascending combinations of k of n numbers, ordered by the largest, then by the second largest, ..."""
    return (tuple(n - 1 - i for i in reversed(chosen)) for chosen in reversed(list(combinations(range(n), k))))


def _binomials(n: int, k: int) -> IntArray:
    """Return the binomial coefficients (n + 1, k + 2)."""
    return np.array([[comb(i, j) for j in range(k + 2)] for i in range(n + 1)], dtype=np.int64)


@kernel(allocates=False)
def _mark_useful(members, scores, binomials, tie, best, useful):  # type: ignore[no-untyped-def]
    """Mark the sets that score higher than all their subsets.

    members: (sets, largest), the numbers in each set, ascending, then -1; sets by size, then in colexicographic order.
    best: the scores, replaced by the highest score of each set and its subsets.
    """
    n = binomials.shape[0] - 1
    for i in range(members.shape[0]):
        size = 0
        while size < members.shape[1] and members[i, size] >= 0:
            size += 1
        offset = 0
        for k in range(size - 1):
            offset += binomials[n, k]
        below = -np.inf
        for left_out in range(size):
            rank = offset
            for j in range(size):
                if j != left_out:
                    rank += binomials[members[i, j], j + 1 if j < left_out else j]
            below = max(below, best[rank])
        useful[i] = size == 0 or scores[i] > below + tie
        best[i] = max(below, scores[i])
