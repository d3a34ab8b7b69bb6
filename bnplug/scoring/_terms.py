"""The terms of a decomposable score as kernels look them up, and a random walk over them.

A family of a walk is a feature with the class and up to k features as parents. It has one whole number, by which its
term is found in an open table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.scoring._walks import FIRST, MOVING, PHASE, STOP, VALUE, go_on

_EMPTY = -1

# Whole numbers are spread by the upper bits of their product with this one, 2 ** 64 over the golden ratio.
_SPREAD = 0x9E3779B97F4A7C15
_BITS = 64

_LARGEST_CODE = 2**62


class Terms:
    """The terms of families that a walk over n variables can meet.

    Parameters
    ----------
    n : int
    target : int
        The class, which is every family's parent and left out of its number.
    k : int
        The largest number of other parents.

    Attributes
    ----------
    codes : int64 array
        The number of the family in each place, -1 in one that is empty; there are a power of two.
    values : float64 array of the same shape

    Examples
    --------
    >>> terms = Terms(4, 3, 2)
    >>> terms.add(0, (1, 2, 3), -2.5)
    >>> terms.codes[terms.codes >= 0], terms.values[terms.codes >= 0]
    (array([13]), array([-2.5]))
    """

    def __init__(self, n: int, target: int, k: int) -> None:
        self.n = n
        self.target = target
        self.k = k
        self._n_terms = 0
        self._make(10)

    @staticmethod
    def fit(n: int, k: int) -> bool:
        """Say whether every family has a number."""
        return bool(n * (n + 1) ** k < _LARGEST_CODE)

    def add(self, child: int, parents: Iterable[int], term: float) -> None:
        """Keep a term, unless it is kept already."""
        code, left = child, self.k
        for p in parents:
            if p != self.target:
                code, left = code * (self.n + 1) + p + 1, left - 1
        self._put(code * (self.n + 1) ** left, term)
        if 2 * self._n_terms > len(self.codes):
            kept = self.codes >= 0
            codes, values = self.codes[kept].tolist(), self.values[kept].tolist()
            self._make(_BITS - self.shift + 1)
            for other, value in zip(codes, values, strict=True):
                self._put(other, value)

    def _make(self, bits: int) -> None:
        self.shift = _BITS - bits
        self.codes: IntArray = np.full(1 << bits, _EMPTY)
        self.values: FloatArray = np.zeros(1 << bits)
        self._n_terms = 0

    def _put(self, code: int, term: float) -> None:
        at = (code * _SPREAD) % 2**_BITS >> self.shift
        while self.codes[at] not in (_EMPTY, code):
            at = (at + 1) % len(self.codes)
        self._n_terms += int(self.codes[at] == _EMPTY)
        self.codes[at], self.values[at] = code, term


class Walked(NamedTuple):
    """What a walk over terms writes to.

    Attributes
    ----------
    current : float64 array of shape (variables,)
        The terms of the current graph.
    found : float64 array of shape (batch,)
        Those of the candidates.
    parts : float64 array of shape (variables + 1,)
    last : int64 array of shape (3,)
        For `go_on`; and whether a term is not known.
    """

    current: FloatArray
    found: FloatArray
    parts: FloatArray
    last: IntArray


@kernel(allocates=False)
def walk_terms(codes, values, shift, base, target, k, walked, steps, graph, batch):  # type: ignore[no-untyped-def]
    """Go on with a walk over terms until it ends (see `go_on`), or a candidate's term is not known.

    codes, values, shift: those of Terms; base: the number of variables and one.
    """
    numbers, current, found, last = steps.numbers, walked.current, walked.found, walked.last
    nodes, bounds, given, scores = batch.nodes, batch.bounds, batch.parents, batch.scores
    going = True
    while going:
        first, stop = numbers[FIRST], numbers[STOP]
        last[0], last[2] = stop - 1, 0
        if numbers[PHASE] == MOVING:
            current[nodes[first]] = found[first]
            scores[first] = exact_sum(current, walked.parts)
        else:
            # All of a batch are looked up first: terms are taken together, by the graph that they were drawn from.
            for i in range(first, stop):
                code, left = nodes[i], k
                for p in range(bounds[i], bounds[i + 1]):
                    if given[p] != target:
                        code = code * base + given[p] + 1
                        left -= 1
                for _ in range(left):
                    code *= base
                at = find(codes, shift, code)
                if at < 0:
                    last[2] = 1
                    return False
                found[i] = values[at]
            for i in range(first, stop):
                scores[i] = steps.reals[VALUE] + (found[i] - current[nodes[i]])
                if scores[i] >= batch.at_least[i]:
                    last[0] = i
                    break
        last[1] = last[0]
        going = go_on(
            numbers, steps.reals, steps.features, steps.pairs, steps.required, steps.paths, steps.accepted,
            steps.values, steps.layers, graph.n_parents, graph.parents, nodes, bounds, given, batch.at_least, scores,
            batch.status, last,
        )  # fmt: skip
    return True


@inner_kernel(allocates=False)
def find(codes, shift, code):  # type: ignore[no-untyped-def]
    """Return where a family's term is, -1 if it is not known."""
    at = np.int64(np.uint64(code) * np.uint64(_SPREAD) >> np.uint64(shift))
    while codes[at] != code and codes[at] != _EMPTY:
        at = (at + 1) % codes.shape[0]
    return at if codes[at] == code else -1


@inner_kernel(allocates=False)
def exact_sum(values, parts):  # type: ignore[no-untyped-def]
    """The sum of numbers, rounded once, as `math.fsum` has it.

    parts: what is lost to rounding, in numbers that do not overlap (Shewchuk 1997).
    """
    n = 0
    plain = 0.0
    for v in range(values.shape[0]):
        x = values[v]
        plain += x
        kept = 0
        for j in range(n):
            y = parts[j]
            large, small = (x, y) if abs(x) >= abs(y) else (y, x)
            x = large + small
            lost = small - (x - large)
            if lost != 0.0:
                parts[kept] = lost
                kept += 1
        parts[kept] = x
        n = kept + 1
    if not np.isfinite(plain):
        return plain
    n -= 1
    total, lost = parts[n], 0.0
    while n > 0 and lost == 0.0:
        n -= 1
        large = total
        total = large + parts[n]
        lost = parts[n] - (total - large)
    # Half way between two numbers, what is left of the parts decides.
    if n > 0 and ((lost < 0.0 and parts[n - 1] < 0.0) or (lost > 0.0 and parts[n - 1] > 0.0)):
        further = total + 2.0 * lost
        total = further if further - total == 2.0 * lost else total
    return total
