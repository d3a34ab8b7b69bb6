"""Likelihood weighting: estimates with standard errors, for networks whose cliques are too large to be summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from bnplug.compiling import run_in_threads
from bnplug.contracts import CompiledNetwork, Engine
from bnplug.hooks.components import check_numbers
from bnplug.inference._flat_tables import VARIABLE, FlatTables, flat_tables, in_shape
from bnplug.inference._particles import PROGRESS, add_counts, estimate, tally
from bnplug.inference.class_free import compile_without_class
from bnplug.inference.complete import log_joint, log_rest, terms
from bnplug.inference.queries import check_variables, split_evidence
from bnplug.model.log_tables import LogTables
from bnplug.table._checks import read_only
from bnplug.typing import CodeArray, FloatArray, IntArray

# Rows per task of a thread.
_BLOCK = 16

# Number of nodes that a kernel visits before it returns to Python to handle Ctrl-C.
_VISITS = 2**23

# Upper bound on the number of draws, because kernels count in 64 bits.
_MOST_DRAWS = 2**62


class SamplingEngine(Engine):
    """Estimates by likelihood weighting: draws of the missing variables, weighted by the likelihood of the evidence.

    No clique is too large, but the error falls only with the square root of the number of draws, and is larger for
    unlikely evidence. Complete rows get exact answers.

    Parameters
    ----------
    n_samples : int
        Number of draws for each row and class, or query and class. A model folder may ask for at most 10 million.
    random_state : int, RandomState or None
        The seed; None takes the classifier's. Equal rows get equal answers.

    References
    ----------
    Fung, Chang: Weighing and integrating evidence for stochastic simulation in Bayesian networks (1990).
    Shachter, Peot: Simulation approaches to general probabilistic inference on belief networks (1990).
    """

    saved_limits: ClassVar[Mapping[str, float]] = {"n_samples": 10_000_000}

    def __init__(self, n_samples: int = 10_000, random_state: Any = None) -> None:
        self.n_samples = n_samples
        self.random_state = random_state

    def compile(self, tables: LogTables, target: str | None = None) -> CompiledNetwork:
        """Compile the network `tables`, with or without a class."""
        if target is None:
            return compile_without_class(self.compile, tables)
        check_numbers(self, "n_samples", positive=True)
        n_samples = int(self.n_samples)
        if n_samples != self.n_samples:
            raise ValueError(f"n_samples={self.n_samples!r} must be a whole number")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return SampledNetwork(tables, target, min(n_samples, _MOST_DRAWS), seed)


class SampledNetwork(CompiledNetwork):
    """A network whose answers are estimated from `n_samples` draws for each row and class."""

    def __init__(self, tables: LogTables, target: str, n_samples: int, seed: int) -> None:
        self.tables = tables
        self.target = target
        self.n_samples = n_samples
        self.seed = seed
        self._terms = terms(tables, target)
        self._flat = flat_tables(tables, target)
        self._network = (
            self._flat[:5],
            self._flat.axes,
            _own_strides(self._flat),
            _tables_to_draw_from(tables, self._flat),
        )

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return an estimate of log P(c, evidence of row m), of shape (rows, classes).

        Unless `complete`, it is up to a constant of each row. A class that is impossible in all draws is at ``-inf``.
        """
        self.refuse_shares(shares)
        return self._estimate(codes, n_jobs, complete)[0]

    def standard_errors(self, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
        """Return the standard errors of P(c | evidence of row m) of shape (rows, classes).

        They are 0 for exact answers, and 1 if no draw is possible.
        """
        joint, errors = self._estimate(codes, n_jobs)
        total = logsumexp(joint, axis=1, keepdims=True)
        possible = np.isfinite(total)
        top = np.where(possible, total, 0.0)
        share, variance = np.exp(joint - top), np.exp(2 * (errors - top))
        others = variance.sum(axis=1, keepdims=True) - variance
        deviations = np.sqrt((1 - share) ** 2 * variance + share**2 * others)
        exact = np.isneginf(errors.max(axis=1, keepdims=True))
        return np.where(possible, np.minimum(deviations, 1.0), np.where(exact, 0.0, 1.0))

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return an estimate of P(variables | evidence), one axis for each of `variables`."""
        return self._answer(variables, evidence)[0]

    def query_errors(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return the standard errors of the answers of :meth:`query`."""
        return self._answer(variables, evidence)[1]

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return an estimate of log P(evidence), relative to no evidence: the log of the mean weight of draws.

        It is ``-inf`` if no draw agrees with the evidence.
        """
        (largest, sums), (most, all_sums) = (self._weights([], given) for given in (evidence, {}))
        with np.errstate(divide="ignore"):
            return float(largest + np.log(sums[0]) - most - np.log(all_sums[0]))

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return estimates of the expected counts of every family, weighted; see :class:`bnplug.CompiledNetwork`."""
        counts = np.zeros(len(self._flat.values) // 2)
        given = np.ascontiguousarray(weights, dtype=np.float64)
        drawing = (*self._draws(), np.zeros(2, np.uint64), np.zeros(1, PROGRESS))
        while not add_counts(self._network, *_readable(codes), drawing, given, counts):
            pass
        return in_shape(self.tables, self._flat, counts)

    def _estimate(self, codes: CodeArray, n_jobs: int | None, complete: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return log joints, and the logarithms of the standard errors of the joints."""
        joint = log_joint(self._terms, codes)
        if complete:
            joint += log_rest(self.tables, self.target, codes)[:, None]
        errors = np.full(joint.shape, -np.inf)
        given, missing = _readable(codes)
        blocks = np.array_split(np.arange(len(joint)), range(_BLOCK, len(joint), _BLOCK))
        streams, progress = np.zeros((len(blocks), 2), np.uint64), np.zeros((len(blocks), 1), PROGRESS)

        def add(i: int) -> bool:
            drawing = (*self._draws(), streams[i], progress[i])
            return bool(estimate(self._network, given, missing, blocks[i], complete, drawing, joint, errors))

        unfinished = list(range(len(blocks)))
        while unfinished:
            done = run_in_threads(add, unfinished, n_jobs=n_jobs)
            unfinished = [i for i, finished in zip(unfinished, done, strict=True) if not finished]
        return joint, errors

    def _answer(
        self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(variables | evidence) and its standard errors: those of a ratio of sums of weights."""
        check_variables(self.tables, variables, split_evidence(self.tables, evidence)[0])
        largest, sums = self._weights(variables, evidence)
        if np.isneginf(largest):
            raise ValueError(
                f"no draw agrees with the evidence {dict(evidence)}: it is impossible, or too rare for "
                f"n_samples={self.n_samples:,}"
            )
        return _ratios(*sums)

    def _weights(
        self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]
    ) -> tuple[float, FloatArray]:
        """Return the log of the largest weight, and the sums of relative weights and of their squares.

        Relative weights are divided by the largest weight. The sums have an axis for each of `variables`.
        """
        tables, sizes = self.tables, [len(self.tables.states[name]) for name in self.tables.names]
        known, soft = split_evidence(tables, evidence)
        states, likelihoods = np.full(len(sizes), -1), np.zeros((len(sizes), max(sizes)))
        for name, logs in soft.items():
            likelihoods[tables.names.index(name), : len(logs)] = logs
        for name, state in known.items():
            states[tables.names.index(name)] = state
        if self.target in known:
            # The class is held at each state in turn; all but one are impossible.
            likelihoods[self._flat.target] = np.where(np.arange(max(sizes)) == known[self.target], 0.0, -np.inf)
        shape = [len(tables.states[name]) for name in variables]
        strides = np.zeros(len(sizes), dtype=np.int64)
        for i, name in enumerate(variables):
            strides[tables.names.index(name)] = prod(shape[i + 1 :])
        arguments = (self._network, states, likelihoods, strides)
        largest = self._tally(arguments, 0.0, np.zeros((2, 0)))
        sums = np.zeros((2, prod(shape)))
        if largest > -np.inf:
            self._tally(arguments, largest, sums)
        return largest, sums.reshape(2, *shape)

    def _tally(self, arguments: tuple[Any, ...], largest: float, sums: FloatArray) -> float:
        """Add the weights of all draws to `sums`; return the logarithm of the largest weight."""
        progress = np.zeros(1, PROGRESS)
        progress["largest"] = -np.inf
        drawing = (*self._draws(), np.zeros(2, np.uint64), progress)
        while not tally(*arguments, drawing, largest, sums):
            pass
        return float(progress["largest"][0])

    def _draws(self) -> tuple[np.uint64, int, int, npt.NDArray[Any]]:
        """Return the seed, the number of draws, the number of draws per slice, and a buffer for one draw."""
        n = len(self.tables.names)
        return np.uint64(self.seed), self.n_samples, max(1, _VISITS // n), np.zeros(n, VARIABLE)


def _ratios(sums: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shares of a total weight and their standard errors, with one more draw of the largest weight, 1."""
    total = sums.sum()
    shares = sums / total
    variance = ((1 - 2 * shares) * squares + shares**2 * squares.sum() + 1.0) / total**2
    return shares, np.minimum(np.sqrt(variance), 1.0)


def _readable(codes: CodeArray) -> tuple[CodeArray, int]:
    """Return codes as the type of array that kernels are compiled for, and the code of missing cells."""
    return read_only(np.ascontiguousarray(codes)), np.iinfo(codes.dtype).max


def _own_strides(flat: FlatTables) -> IntArray:
    """Return the stride of each node in its own table; 1 for the class."""
    strides = np.ones(len(flat.nodes), dtype=np.int64)
    for v, node in enumerate(flat.nodes):
        for axis in flat.axes[node["axes"] : node["axes_end"]]:
            if axis["variable"] == v:
                strides[v] = axis["stride"]
    return strides


def _tables_to_draw_from(tables: LogTables, flat: FlatTables) -> FloatArray:
    """Return cumulative probabilities, log parameters, and logarithms of column sums, cell by cell."""
    sums, totals = [], []
    for (_, values), layout in zip(tables.tables.values(), flat.layouts, strict=True):
        total = logsumexp(values, axis=0, keepdims=True)
        cumulative = np.cumsum(np.exp(values - np.where(np.isneginf(total), 0.0, total)), axis=0)
        # 1 from the last possible state on, despite rounding: no draw exceeds it.
        possible = np.flip(np.cumsum(np.flip(values > -np.inf, axis=0), axis=0), axis=0)
        cumulative[(possible == 0) | ((possible == 1) & (values > -np.inf))] = 1.0
        sums.append(cumulative.transpose(layout).ravel())
        totals.append(np.broadcast_to(total, values.shape).transpose(layout).ravel())
    logs = flat.values[len(flat.values) // 2 :]
    return np.stack([np.concatenate(sums), logs, np.concatenate(totals)])
