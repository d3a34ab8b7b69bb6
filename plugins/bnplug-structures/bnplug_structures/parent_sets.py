"""All parent sets of every variable with their scores, and the edge reversal that samples from them.

Grzegorczyk and Husmeier: Improving the structure MCMC sampler for Bayesian networks by introducing a new edge reversal
move (2008), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Self

import numpy as np
import numpy.typing as npt

from bnplug.compiling import inner_kernel, kernel
from bnplug.scoring import DecomposableEvaluator
from bnplug.search import Constraints
from bnplug.typing import BoolArray, FloatArray, IntArray

# Parent sets of one variable, and of all together: their scores are kept in memory.
_MOST_SETS, _MOST_IN_ALL = 1 << 13, 1 << 19

# Parent sets whose scores are lower than the best by more than this are not added up: e^-40 is below rounding.
_NEGLIGIBLE = 40.0


@dataclass(frozen=True)
class ParentSets:
    """The parent sets that a sampler may visit.

    Attributes
    ----------
    candidates : int64 array of shape (variables, candidates)
        The possible parents of each variable.
    masks : uint64 array of shape (variables, sets)
        The sets, by falling score: bit i stands for the i-th candidate.
    terms : float64 array of the same shape
        Their scores; ``-inf`` for sets that are not allowed.
    places : int64 array of shape (variables, variables)
        The position of u among the candidates of v, or -1.
    most : int
        The largest number of parents.
    """

    candidates: IntArray
    masks: npt.NDArray[np.uint64]
    terms: FloatArray
    places: IntArray
    most: int

    @classmethod
    def of(
        cls, evaluator: DecomposableEvaluator, constraints: Constraints, most: int, n_candidates: int | None
    ) -> Self:
        """Score all sets of up to `most` of the best single parents of each variable."""
        n = len(constraints.table.names)
        most = max([most, *constraints.required.sum(axis=0).tolist()])
        width = _n_candidates(n, most) if n_candidates is None else min(n_candidates, n - 1, 63)
        width = max([width, *constraints.required.sum(axis=0).tolist()])
        candidates = _rank(evaluator, constraints)[:, :width]
        positions = [set_ for size in range(most + 1) for set_ in combinations(range(width), size)]
        masks = np.array([sum(1 << i for i in set_) for set_ in positions], dtype=np.uint64)
        families, where = [], []
        for v in range(n):
            of_v = candidates[v].tolist()
            required = sum(1 << i for i, u in enumerate(of_v) if u >= 0 and constraints.required[u, v])
            for s, set_ in enumerate(positions):
                if all(of_v[i] >= 0 for i in set_) and not required & ~int(masks[s]):
                    families.append((v, *(of_v[i] for i in set_)))
                    where.append((v, s))
        terms = np.full((n, len(masks)), -np.inf)
        terms[tuple(np.array(where).T)] = evaluator.local_scores(families)
        order = np.argsort(-terms, axis=1, kind="stable")
        places = np.full((n, n), -1, dtype=np.int64)
        for v, of_v in enumerate(candidates):
            places[of_v[of_v >= 0], v] = np.flatnonzero(of_v >= 0)
        return cls(candidates, masks[order], np.take_along_axis(terms, order, axis=1), places, most)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each variable with each of its candidates."""
        return [(v, u) for v, of_v in enumerate(self.candidates.tolist()) for u in of_v if u >= 0]

    def reverse(self, edges: BoolArray, uniform: FloatArray) -> dict[int, list[int]] | None:
        """Propose to reverse a random edge; return the new parents of both ends, or None if that is rejected.

        Parameters
        ----------
        edges : bool array of shape (variables, variables)
            The current graph, ``edges[parent, child]``.
        uniform : array of 4 numbers between 0 and 1
        """
        drawn = np.zeros(4, dtype=np.int64)
        if not _reverse(edges, self.masks, self.terms, self.candidates, self.places, uniform, drawn):
            return None
        ends = drawn[:2].tolist()
        sets = [int(self.masks[v, s]) for v, s in zip(ends, drawn[2:].tolist(), strict=True)]
        return {
            v: sorted(u for i, u in enumerate(self.candidates[v].tolist()) if mask >> i & 1)
            for v, mask in zip(ends, sets, strict=True)
        }


def _n_candidates(n: int, most: int) -> int:
    """Return as many candidates as memory allows, at most 63."""
    limit, width = min(_MOST_SETS, _MOST_IN_ALL // n), 0
    while width < min(n - 1, 63) and sum(comb(width + 1, size) for size in range(most + 1)) <= limit:
        width += 1
    return width


def _rank(evaluator: DecomposableEvaluator, constraints: Constraints) -> IntArray:
    """Return the possible parents of each variable, -1 behind the last: required ones, then by score."""
    n = len(constraints.table.names)
    pairs = [(v, u) for v in range(n) for u in range(n) if constraints.allowed[u, v]]
    scores: FloatArray = np.full((n, n), -np.inf)
    if pairs:
        scores[tuple(np.array(pairs).T)] = evaluator.local_scores(pairs)
    scores[constraints.required.T] = np.inf
    # Among tied parents, the first column comes first, whatever the last digits.
    rounded = np.array([[float(f"{score:.9g}") for score in row] for row in scores.tolist()])
    order = np.argsort(-rounded, axis=1, kind="stable")
    return np.where(np.take_along_axis(scores, order, axis=1) == -np.inf, -1, order)


@kernel
def _reverse(edges, masks, terms, candidates, places, uniform, drawn):  # type: ignore[no-untyped-def]
    """Draw an edge i -> j, new parents of i with j among them, and new parents of j; return whether it is accepted.

    drawn: i, j, and the positions of their sets in `masks`.
    """
    n = edges.shape[0]
    n_edges = edges.sum()
    if n_edges == 0:
        return False
    left = np.int64(uniform[0] * n_edges)
    i = j = -1
    for u in range(n):
        for v in range(n):
            if edges[u, v]:
                if left == 0:
                    i, j = u, v
                left -= 1
    if places[j, i] < 0 or places[i, j] < 0:
        return False
    graph = edges.copy()
    graph[:, i] = False
    graph[:, j] = False
    one = np.uint64(1)
    # Without edges into i and j: new parents of i among which is j, and the old ones of j among which was i.
    above_i, above_j = _descendants(graph, candidates, i), _descendants(graph, candidates, j)
    with_j, with_i = one << np.uint64(places[j, i]), one << np.uint64(places[i, j])
    new_i = _log_sum(masks[i], terms[i], above_i, with_j)
    old_j = _log_sum(masks[j], terms[j], above_j, with_i)
    if new_i == -np.inf or old_j == -np.inf:
        return False
    set_i = _draw(masks[i], terms[i], above_i, with_j, new_i, uniform[1])
    # The other end, given the parents that were just drawn; in the opposite direction, given the old ones.
    for u in range(n):
        graph[u, j] = edges[u, j]
    old_i = _log_sum(masks[i], terms[i], _descendants(graph, candidates, i), np.uint64(0))
    graph[:, j] = False
    n_new = n_edges - edges[:, i].sum() - edges[:, j].sum()
    for c in range(candidates.shape[1]):
        if masks[i, set_i] >> np.uint64(c) & one:
            graph[candidates[i, c], i] = True
            n_new += 1
    above_j = _descendants(graph, candidates, j)
    new_j = _log_sum(masks[j], terms[j], above_j, np.uint64(0))
    if new_j == -np.inf:
        return False
    set_j = _draw(masks[j], terms[j], above_j, np.uint64(0), new_j, uniform[2])
    for c in range(candidates.shape[1]):
        n_new += np.int64(masks[j, set_j] >> np.uint64(c) & one)
    drawn[0], drawn[1], drawn[2], drawn[3] = i, j, set_i, set_j
    ratio = np.log(n_edges) - np.log(n_new) + new_i - old_j + new_j - old_i
    return uniform[3] < np.exp(min(ratio, 0.0))


@inner_kernel
def _descendants(graph, candidates, v):  # type: ignore[no-untyped-def]
    """Return the candidates of v that it reaches, as bits."""
    n = graph.shape[0]
    reached, waiting = np.zeros(n, np.bool_), np.empty(n, np.int64)
    waiting[0], size = v, 1
    reached[v] = True
    while size > 0:
        size -= 1
        u = waiting[size]
        for w in range(n):
            if graph[u, w] and not reached[w]:
                reached[w] = True
                waiting[size] = w
                size += 1
    bits = np.uint64(0)
    for c in range(candidates.shape[1]):
        if candidates[v, c] >= 0 and reached[candidates[v, c]]:
            bits |= np.uint64(1) << np.uint64(c)
    return bits


@inner_kernel(allocates=False)
def _log_sum(masks, terms, excluded, included):  # type: ignore[no-untyped-def]
    """Return the logarithm of the sum of exp(term) over the sets without `excluded` bits and with `included` ones."""
    largest, total = -np.inf, 0.0
    for s in range(masks.shape[0]):
        if terms[s] == -np.inf or terms[s] < largest - _NEGLIGIBLE:
            break
        if masks[s] & excluded == 0 and masks[s] & included == included:
            if largest == -np.inf:
                largest = terms[s]
            total += np.exp(terms[s] - largest)
    return largest + np.log(total) if total > 0 else -np.inf


@inner_kernel(allocates=False)
def _draw(masks, terms, excluded, included, log_sum, uniform):  # type: ignore[no-untyped-def]
    """Draw one of these sets with a probability proportional to exp(term)."""
    left, last = uniform, -1
    for s in range(masks.shape[0]):
        if terms[s] == -np.inf:
            break
        if masks[s] & excluded == 0 and masks[s] & included == included:
            left -= np.exp(terms[s] - log_sum)
            last = s
            if left < 0:
                break
    return last
