"""Compiled members of a mixture: posteriors, contributions and joint distributions.

A network refuses a row if marginalizing its missing features needs a table that is too large. A mixture leaves such
rows to the members that need smaller tables.
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
from bnplug.inference.predicting import conditional, predictive_log_joint, with_states

if TYPE_CHECKING:
    from bnplug import BayesianNetworkClassifier
    from bnplug.contracts import CompiledNetwork, Engine
    from bnplug.typing import CodeArray, FloatArray

#: Replace the states of a network along the last axis of an array by those that all networks share.
Spread = Callable[["FloatArray", "BayesianNetworkClassifier"], "FloatArray"]


class Answering:
    """Members and their generative twins, compiled with a limit on the size of tables.

    Parameters
    ----------
    members, twins : sequences of BayesianNetworkClassifier
        Fitted; there are as many twins as members, or none.
    max_clique_size : int
        The limit in cells; engines without such a parameter have their own limits.
    """

    def __init__(
        self,
        members: Sequence[BayesianNetworkClassifier],
        twins: Sequence[BayesianNetworkClassifier],
        max_clique_size: int,
    ) -> None:
        self._features = members[0].schema_.features
        self._target = members[0].schema_.target_index
        self._limit = max_clique_size
        self._networks = list(members), list(twins)
        self._members, self._twins = ([self._compiled(network) for network in group] for group in self._networks)

    def posterior(self, number: int, codes: CodeArray) -> FloatArray | ValueError:
        """Return the posterior of one member, averaged with its twin's in incomplete rows; NaN in refused rows."""

        def asked(compiled: CompiledNetwork) -> Callable[[CodeArray], FloatArray]:
            return lambda rows: posterior(predictive_log_joint(compiled, rows, 1))

        answer = where_possible(asked(self._members[number]), codes)
        return self._with_twins(answer, lambda rows: where_possible(asked(self._twins[number]), rows(codes)), codes)

    def contributions(self, codes: Sequence[CodeArray]) -> FloatArray | ValueError:
        """Return the mean contributions of the features in all members, and in the twins for incomplete rows.

        `codes` are the same rows as each member encodes them; the result has shape (rows, 1 + features, classes).
        """

        def mean(networks: Sequence[CompiledNetwork], rows: Sequence[CodeArray]) -> FloatArray | ValueError:
            pairs = zip(networks, rows, strict=True)
            return mean_of_known([self._contributions(network, member_codes) for network, member_codes in pairs])

        answer = mean(self._members, codes)
        return self._with_twins(answer, lambda rows: mean(self._twins, [rows(one) for one in codes]), codes[0])

    def joint(self, number: int, codes: CodeArray, name: str, spread: Spread) -> FloatArray | ValueError:
        """Return P(class, feature | row) by one member, averaged with its twin's; NaN in refused rows.

        The shape is (rows, classes, states after `spread`). The feature is missing in all rows.
        """
        pairs = [(self._networks[0][number], self._members[number])]
        pairs += [(self._networks[1][number], self._twins[number])] if self._twins else []
        answers = [where_possible(self._joint(*pair, name), codes) for pair in pairs]
        return mean_of_known([
            answer if isinstance(answer, ValueError) else spread(answer, network)
            for answer, (network, _) in zip(answers, pairs, strict=True)
        ])  # fmt: skip

    def _joint(
        self, network: BayesianNetworkClassifier, compiled: CompiledNetwork, name: str
    ) -> Callable[[CodeArray], FloatArray]:
        feature = self._compiled(network, name)

        def answer(codes: CodeArray) -> FloatArray:
            classes = posterior(predictive_log_joint(compiled, codes, 1))
            given = conditional(feature, with_states(codes, self._target, classes.shape[1]), 1)
            given = given.reshape(*classes.shape, -1)
            # Classes that the row rules out contribute nothing.
            return np.where((classes[..., None] > 0) & ~np.isnan(given), classes[..., None] * given, 0.0)

        return answer

    def _compiled(self, network: BayesianNetworkClassifier, target: str | None = None) -> CompiledNetwork:
        """Compile a network with the class, or another variable, as the target."""
        engine: Engine = clone(network.engine_)
        if "max_clique_size" in engine.get_params(deep=False):
            engine.set_params(max_clique_size=self._limit)
        if target is not None:
            return engine.compile(network.tables_, target)
        return calibrated(engine.compile(network.tables_, network.target_), network.tables_)

    def _contributions(self, compiled: CompiledNetwork, codes: CodeArray) -> FloatArray | ValueError:
        return where_possible(lambda rows: contributions(compiled, rows, self._target, 1), codes)

    def _with_twins(
        self, answer: FloatArray | ValueError, twins: Callable[[Any], FloatArray | ValueError], codes: CodeArray
    ) -> FloatArray | ValueError:
        """Average the answers for incomplete rows with those of the twins, as far as both answer."""
        incomplete = self._incomplete(codes)
        if not self._twins or not incomplete.any():
            return answer
        half = twins(lambda rows: np.ascontiguousarray(rows[:, incomplete]))
        if isinstance(answer, ValueError):
            # No network refuses complete rows.
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
    """Return the answer for each row, NaN for rows that are refused; the error if all rows are refused.

    Refusal depends only on which features are missing. Rows with the same missing features are tried together, and the
    answer for a row does not depend on other rows.
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
    """Return the mean of the answers to each row, in their order; NaN for rows without an answer.

    Examples
    --------
    >>> mean_of_known([np.array([[1.0], [2.0], [np.nan]]), ValueError(), np.array([[3.0], [np.nan], [np.nan]])])
    array([[ 2.],
           [ 2.],
           [nan]])
    """
    arrays = [answer for answer in answers if not isinstance(answer, ValueError)]
    if not arrays:
        return next(answer for answer in answers if isinstance(answer, ValueError))
    total: FloatArray = np.zeros_like(arrays[0])
    known: FloatArray = np.zeros((len(total), *[1] * (total.ndim - 1)))
    for answer in arrays:
        given = ~refused_rows(answer)
        total[given] += answer[given]
        known[given] += 1.0
    with np.errstate(invalid="ignore"):
        return total / known


def refused_rows(answer: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which rows have no answer."""
    refused: npt.NDArray[np.bool_] = np.isnan(answer.reshape(len(answer), -1)[:, 0])
    return refused
