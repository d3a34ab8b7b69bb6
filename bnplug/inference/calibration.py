"""Calibrated evidence: posteriors of the class in which evidence is tempered, because features are rarely independent.

A generative network counts dependent evidence as if it were independent, and is over-confident. Calibrated evidence
keeps the class prior and tempers the evidence. With L(e) the log joint of the classes and evidence e,

    log Q(c | e) = L_c(nothing) + T(e) [L_c(e) - L_c(nothing)] + constant,    T(e) = t_1 k + t_0 (1 - k),

where k is the observed share of the features in the Markov blanket of the class. Without evidence, Q is the prior. A
class that the evidence rules out stays impossible. The factors t_1 and t_0 minimize the log loss of held-out rows,
complete and with half of their features hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from bnplug.contracts import CompiledNetwork
from bnplug.inference.complete import log_posterior
from bnplug.inference.queries import check_variables, impossible, split_evidence
from bnplug.model.log_tables import HIGHEST, LOWEST, Calibration, LogTables
from bnplug.model.wettig import blanket_of
from bnplug.table.coding import smallest_dtype
from bnplug.typing import CodeArray, FloatArray, IntArray

# Newton's method ends if a step changes no factor by more than this, and after so many steps. The ridge keeps a factor
# that does not matter where it is.
_PRECISION, _STEPS, _RIDGE = 1e-6, 100, 1e-12

# The logarithm of a probability that a float may have rounded.
_TINY = -690.0


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

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence); with the class among the variables, Q(c | e) P(other variables | c, e)."""
        if self.target not in variables:
            return self.compiled.query(variables, evidence)
        check_variables(self.tables, variables, split_evidence(self.tables, evidence)[0])
        posterior = self.posterior(evidence)
        others = [name for name in variables if name != self.target]
        if not others:
            return posterior
        answer = np.zeros([len(posterior), *(len(self.tables.states[name]) for name in others)])
        for c in np.flatnonzero(posterior).tolist():
            answer[c] = posterior[c] * self.compiled.query(others, {**evidence, self.target: c})
        return np.moveaxis(answer, 0, list(variables).index(self.target))

    def posterior(self, evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return Q(class | evidence). Soft evidence on the class itself is not tempered."""
        of_class = split_evidence(self.tables, evidence)[1].get(self.target, 0.0)
        features = {name: finding for name, finding in evidence.items() if name != self.target}
        with np.errstate(divide="ignore"):
            joint = np.log(self.compiled.query([self.target], features))
        # A probability may be too small for a float.
        for c in np.flatnonzero(joint < _TINY).tolist():
            together = self.compiled.log_probability({self.target: c, **features})
            joint[c] = together - self.compiled.log_probability(features)
        if np.isneginf(joint + of_class).all():
            raise impossible(evidence)
        logits = tempered(joint[None], self.nothing, np.array([self.factor(features)]))[0] + of_class
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


def calibrated(compiled: CompiledNetwork, tables: LogTables) -> CompiledNetwork:
    """Return a compiled network that uses the factors of its tables, if they have any, in posteriors of the class."""
    return compiled if tables.calibration == Calibration() else CalibratedNetwork(compiled, tables)


def nothing_known(compiled: CompiledNetwork, tables: LogTables) -> FloatArray:
    """Return the log joint of the classes without evidence, up to a constant."""
    assert tables.target is not None
    prior = tables[tables.target]
    if not prior.parents and tables.normalized:
        return prior.values
    dtype = smallest_dtype([len(states) for states in tables.states.values()])
    joint = compiled.log_joint(np.full((len(tables.names), 1), np.iinfo(dtype).max, dtype=dtype))
    return np.asarray(joint[0])


def known_share(codes: CodeArray, blanket: IntArray) -> FloatArray:
    """Return k for every row: the observed share of the blanket; 0 if it is empty."""
    if len(blanket) == 0:
        return np.zeros(codes.shape[1])
    missing = codes[blanket] == np.iinfo(codes.dtype).max
    return 1.0 - missing.mean(axis=0) if missing.any() else np.ones(codes.shape[1])


def tempered(joint: FloatArray, nothing: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the log joints of rows and classes with tempered evidence; ``-inf`` stays.

    `nothing` is the log joint without evidence, and `factors` has one number for each row.
    """
    prior = np.where(np.isfinite(nothing), nothing, 0.0)
    result = joint - prior
    result *= factors[:, None]
    result += prior
    return result


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
    """Held-out rows: their log joints with evidence and without, their classes, weights and k."""

    joint: FloatArray
    nothing: FloatArray
    classes: IntArray
    weights: FloatArray
    known: FloatArray


def calibrated_log_posterior(rows: HeldOut, calibration: Calibration) -> FloatArray:
    """Return log Q(class | evidence) of held-out rows; impossible rows have the class prior."""
    logits = tempered(rows.joint, rows.nothing, _factors(calibration, rows.known))
    possible = np.isfinite(logits).any(axis=1, keepdims=True)
    return log_posterior(np.where(possible, logits, rows.nothing))


def fit_calibration(parts: Sequence[HeldOut]) -> Calibration:
    """Return the factors with the least weighted log loss on held-out rows.

    The loss is convex in both factors. Rows whose class is impossible are not used: no factor makes it possible.
    """
    if not parts:
        return Calibration()
    held_out = HeldOut(*map(np.concatenate, zip(*parts, strict=True)))
    possible = np.isfinite(held_out.joint) & np.isfinite(held_out.nothing)
    used = possible[np.arange(len(possible)), held_out.classes] & (held_out.weights > 0)
    if not used.any():
        return Calibration()
    # Classes come first, because sums over the first axis are fast.
    joint, nothing = (array[used].T.copy() for array in (held_out.joint, held_out.nothing))
    possible = possible[used].T.copy()
    classes, weights, known = held_out.classes[used], held_out.weights[used], held_out.known[used]
    start = np.where(possible, nothing, -np.inf)
    evidence = np.where(possible, joint - np.where(possible, nothing, 0.0), 0.0)
    true_class = classes, np.arange(len(classes))
    shares, weights = np.stack([known, 1.0 - known]), weights / weights.sum()

    def loss(t: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        posterior = start + (t @ shares) * evidence
        largest = posterior.max(axis=0)
        true_logits = posterior[true_class]
        # scipy's logsumexp takes three times as long.
        np.exp(np.subtract(posterior, largest, out=posterior), out=posterior)
        total = posterior.sum(axis=0)
        value = largest + np.log(total) - true_logits
        posterior *= evidence
        mean = posterior.sum(axis=0) / total
        posterior *= evidence
        variance = np.maximum(posterior.sum(axis=0) / total - mean**2, 0.0)
        slope = shares @ (weights * (mean - evidence[true_class]))
        return float(weights @ value), slope, (shares * (weights * variance)) @ shares.T

    return Calibration(*map(float, _least(loss)))


def _least(loss: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]) -> FloatArray:
    """Minimize a convex function of both factors within their bounds by Newton's method, starting at 1.

    `loss` returns the value, the gradient and the matrix of second derivatives. The optimizers of scipy take longer to
    import than a small network takes to fit.
    """
    t = np.ones(2)
    value, gradient, curvature = loss(t)
    for _ in range(_STEPS):
        # A factor at a bound stays there if the loss falls beyond it.
        free = ~((t <= LOWEST) & (gradient > 0) | (t >= HIGHEST) & (gradient < 0))
        step = np.zeros(2)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)] + _RIDGE * np.eye(free.sum()), gradient[free])
        while True:
            following = np.clip(t + step, LOWEST, HIGHEST)
            change = following - t
            at_following = loss(following)
            # Near the minimum, the loss no longer changes by more than it is rounded.
            if at_following[0] <= value + 1e-4 * float(gradient @ change) or np.abs(change).max() <= _PRECISION:
                break
            step /= 2
        t, (value, gradient, curvature) = following, at_following
        if np.abs(change).max() <= _PRECISION:
            break
    return t
