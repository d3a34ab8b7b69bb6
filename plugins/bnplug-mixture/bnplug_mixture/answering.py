"""Compiled members of a mixture: their posteriors and explanations, for the rows that they can afford.

A network refuses a row whose missing features take too large a table to sum out. In a mixture it can leave such a row
to members that need less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bnplug.inference.calibration import calibrated
from bnplug.inference.complete import posterior
from bnplug.inference.explain import contributions
from bnplug.inference.predicting import predictive_log_joint

if TYPE_CHECKING:
    from bnplug import BayesianNetworkClassifier
    from bnplug.contracts import CompiledNetwork
    from bnplug.typing import CodeArray, FloatArray


class Answering:
    """Members and their generative twins, compiled so that no table has more than so many cells.

    Parameters
    ----------
    members, twins : sequences of BayesianNetworkClassifier
        Fitted; there are as many twins as members, or none.
    max_clique_size : int
        The number of cells; an engine without such a parameter has its own limits.
    """

    def __init__(
        self,
        members: Sequence[BayesianNetworkClassifier],
        twins: Sequence[BayesianNetworkClassifier],
        max_clique_size: int,
    ) -> None:
        self._features = members[0].schema_.features
        self._target = members[0].schema_.target_index
        self._members = [_compiled(network, max_clique_size) for network in members]
        self._twins = [_compiled(network, max_clique_size) for network in twins]

    def posterior(self, number: int, codes: CodeArray) -> FloatArray | ValueError:
        """Return the posterior of one member, half its twin's where features are missing; NaN for rows it refuses."""

        def asked(compiled: CompiledNetwork) -> Callable[[CodeArray], FloatArray]:
            return lambda rows: posterior(predictive_log_joint(compiled, rows, 1))

        answer = where_possible(asked(self._members[number]), codes)
        return self._with_twins(answer, lambda rows: where_possible(asked(self._twins[number]), rows(codes)), codes)

    def contributions(self, codes: Sequence[CodeArray]) -> FloatArray | ValueError:
        """Return the mean of what features contribute in each member, and in the twins where some are missing.

        `codes` are the same rows by each member; what is returned has the shape (rows, 1 + features, classes).
        """

        def mean(networks: Sequence[CompiledNetwork], rows: Sequence[CodeArray]) -> FloatArray | ValueError:
            pairs = zip(networks, rows, strict=True)
            return mean_of_known([self._contributions(network, member_codes) for network, member_codes in pairs])

        answer = mean(self._members, codes)
        return self._with_twins(answer, lambda rows: mean(self._twins, [rows(one) for one in codes]), codes[0])

    def _contributions(self, compiled: CompiledNetwork, codes: CodeArray) -> FloatArray | ValueError:
        return where_possible(lambda rows: contributions(compiled, rows, self._target, 1), codes)

    def _with_twins(
        self, answer: FloatArray | ValueError, twins: Callable[[Any], FloatArray | ValueError], codes: CodeArray
    ) -> FloatArray | ValueError:
        """Return the mean of both in rows where features are missing, of whoever answers; else what the members say."""
        incomplete = self._incomplete(codes)
        if not self._twins or not incomplete.any():
            return answer
        half = twins(lambda rows: np.ascontiguousarray(rows[:, incomplete]))
        if isinstance(answer, ValueError):
            # Complete rows are refused by nobody.
            return half if incomplete.all() else answer
        both = mean_of_known([answer[incomplete], half])
        if not isinstance(both, ValueError):
            answer[incomplete] = both
        return answer

    def _incomplete(self, codes: CodeArray) -> npt.NDArray[np.bool_]:
        """Return which rows miss a feature."""
        holes: npt.NDArray[np.bool_] = (codes[self._features] == np.iinfo(codes.dtype).max).any(axis=0)
        return holes


def where_possible(answer: Callable[[CodeArray], FloatArray], codes: CodeArray) -> FloatArray | ValueError:
    """Return what `answer` says for each row, NaN where it refuses; its refusal, if it refuses all.

    Whether it does depends on which features are missing alone: rows that miss the same are tried together, and no
    row's answer depends on the others.
    """
    try:
        return answer(codes)
    except ValueError as refusal:
        refused: ValueError = refusal
    patterns, kinds = np.unique(codes == np.iinfo(codes.dtype).max, axis=1, return_inverse=True)
    answers: dict[int, FloatArray] = {}
    for kind in range(patterns.shape[1] if patterns.shape[1] > 1 else 0):
        with suppress(ValueError):
            answers[kind] = answer(np.ascontiguousarray(codes[:, kinds == kind]))
    if not answers:
        return refused
    joined: FloatArray = np.full((codes.shape[1], *next(iter(answers.values())).shape[1:]), np.nan)
    for kind, values in answers.items():
        joined[kinds == kind] = values
    return joined


def mean_of_known(answers: Sequence[FloatArray | ValueError]) -> FloatArray | ValueError:
    """Return the mean of those answers that there are, row by row, in their order; NaN where there is none.

    Examples
    --------
    >>> mean_of_known([np.array([[1.0], [2.0], [np.nan]]), ValueError(), np.array([[3.0], [np.nan], [np.nan]])])
    array([[ 2.],
           [ 2.],
           [nan]])
    """
    there = [answer for answer in answers if not isinstance(answer, ValueError)]
    if not there:
        return next(answer for answer in answers if isinstance(answer, ValueError))
    total: FloatArray = np.zeros_like(there[0])
    known: FloatArray = np.zeros((len(total), *[1] * (total.ndim - 1)))
    for answer in there:
        given = ~refused_rows(answer)
        total[given] += answer[given]
        known[given] += 1.0
    with np.errstate(invalid="ignore"):
        return total / known


def refused_rows(answer: FloatArray) -> npt.NDArray[np.bool_]:
    """Return the rows that nobody has answered."""
    refused: npt.NDArray[np.bool_] = np.isnan(answer.reshape(len(answer), -1)[:, 0])
    return refused


def _compiled(network: BayesianNetworkClassifier, max_clique_size: int) -> CompiledNetwork:
    engine = clone(network.engine_)
    if "max_clique_size" in engine.get_params(deep=False):
        engine.set_params(max_clique_size=max_clique_size)
    return calibrated(engine.compile(network.tables_, network.target_), network.tables_)
