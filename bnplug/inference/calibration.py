"""Calibrated evidence: posteriors of the class in which evidence is tempered, because features are rarely independent.

A generative network counts dependent evidence as if it were independent, and is over-confident. Calibrated evidence
keeps the class prior and tempers the evidence. With L(e) the log joint of the classes and evidence e,

    log Q(c | e) = L_c(nothing) + T(e) [L_c(e) - L_c(nothing)] + constant,    T(e) = t_1 k + t_0 (1 - k),

where k is the observed share of the features in the Markov blanket of the class. Without evidence, Q is the prior. A
class that the evidence rules out stays impossible. The factors t_1 and t_0 minimize the log loss of rows that are left
out of the estimates, complete and with half of their features hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from bnplug.contracts import CompiledNetwork
from bnplug.inference.queries import split_evidence
from bnplug.model.log_tables import HIGHEST, LOWEST, Calibration, LogTables
from bnplug.model.wettig import blanket_of
from bnplug.table.coding import smallest_dtype
from bnplug.typing import CodeArray, FloatArray, IntArray

# Newton's method: the most steps, the change of a factor at which it ends, the shortest part of a step that is tried,
# and the curvature added in flat directions, for each unit of weight.
_STEPS, _STILL, _SHORTEST, _FLAT = 50, 1e-9, 1e-6, 1e-12


class CalibratedNetwork(CompiledNetwork):
    """A compiled network whose posteriors of the class use calibrated evidence.

    All other answers are those of the network: the full log joint, queries of features, probabilities of evidence.

    Parameters
    ----------
    compiled : CompiledNetwork
    tables : LogTables
        The tables that were compiled, with their target and calibration.
    """

    def __init__(self, compiled: CompiledNetwork, tables: LogTables) -> None:
        assert tables.target is not None
        self.compiled, self.tables, self.target = compiled, tables, tables.target
        self.blanket = np.array([tables.names.index(name) for name in blanket_of(tables)], dtype=np.int64)

    @cached_property
    def nothing(self) -> FloatArray:
        """The log joint of the classes without evidence."""
        return nothing_known(self.compiled, self.tables)

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return log Q(c, known cells of row m) up to a constant for each row; if `complete`, that of the network."""
        joint = self.compiled.log_joint(codes, shares, complete, n_jobs=n_jobs)
        return joint if complete else tempered(joint, self.nothing, self.factors(codes))

    def factors(self, codes: CodeArray) -> FloatArray:
        """Return T(e) for every row."""
        return _factors(self.tables.calibration, known_share(codes, self.blanket))

    def with_factors(self, factors: FloatArray) -> CompiledNetwork:
        """Return the network with given factors, one for each row, whatever is known of the row."""
        return _FixedFactors(self, factors)

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence); with the class among the variables, Q(c | e) P(other variables | c, e)."""
        answer = self.compiled.query(variables, evidence)
        if self.target not in variables:
            return answer
        axis = list(variables).index(self.target)
        others = tuple(i for i in range(len(variables)) if i != axis)
        shape = [-1 if i == axis else 1 for i in range(len(variables))]
        of_class = answer.sum(axis=others)
        ratio = np.divide(self.posterior(evidence), of_class, out=np.zeros_like(of_class), where=of_class > 0)
        return np.asarray(answer * ratio.reshape(shape))

    def posterior(self, evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return Q(class | evidence)."""
        with np.errstate(divide="ignore"):
            joint = np.log(self.compiled.query([self.target], evidence))
            nothing = np.log(self.compiled.query([self.target], {}))
        logits = tempered(joint[None], nothing, np.array([self.factor(evidence)]))[0]
        shares = np.exp(logits - logits.max())
        return np.asarray(shares / shares.sum())

    def factor(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return T(e); soft evidence is known to the degree that its likelihood differs from a constant one."""
        known, soft = split_evidence(self.tables, evidence)
        degrees = [_degree(name, known, soft) for name in np.take(self.tables.names, self.blanket)]
        return float(_factors(self.tables.calibration, np.array(degrees or [0.0]).mean(keepdims=True))[0])

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence) of the network."""
        return self.compiled.log_probability(evidence)


class _FixedFactors(CompiledNetwork):
    """A calibrated network in which the factor of each row does not depend on its known cells."""

    def __init__(self, network: CalibratedNetwork, factors: FloatArray) -> None:
        self._network, self._given = network, factors

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        joint = self._network.compiled.log_joint(codes, shares, complete, n_jobs=n_jobs)
        factors = self._given if len(joint) == len(self._given) else np.ones(len(joint))
        return tempered(joint, self._network.nothing, factors)

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        return self._network.query(variables, evidence)


def nothing_known(compiled: CompiledNetwork, tables: LogTables) -> FloatArray:
    """Return the log joint of the classes without evidence."""
    dtype = smallest_dtype([len(states) for states in tables.states.values()])
    joint = compiled.log_joint(np.full((len(tables.names), 1), np.iinfo(dtype).max, dtype=dtype))
    return np.asarray(joint[0])


def known_share(codes: CodeArray, blanket: IntArray) -> FloatArray:
    """Return k for every row: the observed share of the blanket; 0 if it is empty."""
    if len(blanket) == 0:
        return np.zeros(codes.shape[1])
    return np.asarray((codes[blanket] != np.iinfo(codes.dtype).max).mean(axis=0))


def tempered(joint: FloatArray, nothing: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the log joints of rows and classes with tempered evidence; ``-inf`` stays.

    `nothing` is the log joint without evidence, and `factors` has one number for each row.
    """
    possible = np.isfinite(joint)
    prior = np.where(np.isfinite(nothing), nothing, 0.0)
    evidence = np.where(possible, joint - prior, 0.0)
    return np.where(possible, prior + factors[:, None] * evidence, -np.inf)


def _factors(calibration: Calibration, known: FloatArray) -> FloatArray:
    return np.asarray(calibration.observed * known + calibration.missing * (1.0 - known))


def _degree(name: str, known: Mapping[str, int], soft: Mapping[str, FloatArray]) -> float:
    """Return how much is known of a feature: 1 for a state, less for soft evidence by its entropy, 0 for nothing."""
    if name in known:
        return 1.0
    if name not in soft:
        return 0.0
    likelihood = np.exp(soft[name] - soft[name].max())
    return float(1.0 - entr(likelihood / likelihood.sum()).sum() / np.log(len(likelihood)))


class HeldOut(NamedTuple):
    """Rows that were left out: their log joints with their evidence and without, classes, weights, and k."""

    joint: FloatArray
    nothing: FloatArray
    classes: IntArray
    weights: FloatArray
    known: FloatArray


def fit_calibration(parts: Sequence[HeldOut]) -> Calibration:
    """Return the factors with the least weighted log loss on held-out rows.

    The loss is convex in both factors. Rows whose class is impossible are not used: no factor makes it possible.
    """
    if not parts:
        return Calibration()
    held_out = HeldOut(*map(np.concatenate, zip(*parts, strict=True)))
    rows = np.arange(len(held_out.classes))
    possible = np.isfinite(held_out.joint) & np.isfinite(held_out.nothing)
    used = possible[rows, held_out.classes] & (held_out.weights > 0)
    if not used.any():
        return Calibration()
    arrays: list[Any] = [array[used] for array in held_out]
    joint, nothing, classes, weights, known = arrays
    start = np.where(possible[used], nothing, -np.inf)
    evidence = np.where(possible[used], joint - np.where(possible[used], nothing, 0.0), 0.0)
    loss = _Loss(start, evidence, classes, weights / weights.sum(), np.stack([known, 1.0 - known]))
    t = np.ones(2)
    value, step = loss.value(t), np.zeros(2)
    for _ in range(_STEPS):
        gradient, curvature = loss.slopes(t)
        # A factor at the end of its range stays there if the loss falls beyond it.
        free = ~(((t <= LOWEST) & (gradient > 0)) | ((t >= HIGHEST) & (gradient < 0)))
        step = np.zeros(2)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        before, length = t, 1.0
        while length > _SHORTEST:
            candidate = np.clip(t + length * step, LOWEST, HIGHEST)
            lower = loss.value(candidate)
            if lower < value:
                t, value = candidate, lower
                break
            length /= 2
        if np.abs(t - before).max() <= _STILL:
            break
    return Calibration(float(t[0]), float(t[1]))


class _Loss:
    """The mean log loss of rows with prior logits `start` and `evidence` times a factor for each row."""

    def __init__(
        self, start: FloatArray, evidence: FloatArray, classes: IntArray, weights: FloatArray, shares: FloatArray
    ) -> None:
        self.start, self.evidence, self.weights, self.shares = start, evidence, weights, shares
        rows = np.arange(len(classes))
        self.own_start, self.own_evidence = start[rows, classes], evidence[rows, classes]

    def value(self, t: FloatArray) -> float:
        factors = t @ self.shares
        return float(self.weights @ (self._logits(factors)[1] - self.own_start - factors * self.own_evidence))

    def slopes(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient, and the matrix of second derivatives."""
        logits, totals = self._logits(t @ self.shares)
        posterior = np.exp(logits - totals[:, None])
        mean = (posterior * self.evidence).sum(axis=1)
        variance = np.maximum((posterior * self.evidence**2).sum(axis=1) - mean**2, 0.0)
        curvature = (self.shares * (self.weights * variance)) @ self.shares.T + _FLAT * np.eye(2)
        return self.shares @ (self.weights * (mean - self.own_evidence)), curvature

    def _logits(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        logits = self.start + factors[:, None] * self.evidence
        largest = logits.max(axis=1)
        return logits, largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
