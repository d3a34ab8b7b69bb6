"""Predictive scores: a loss times a resampling, minus a penalty.

A score of this kind sums over rows a loss of the row's log joints, whose parameters come from a training
part: all rows (resubstitution), or those outside the row's fold. Missing cells: a family is counted in the
training rows where all its variables are known, and its term is left out of the log joint of a row in
which one of them is missing.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.contracts import ScoreFunction
from bnplug.data.table import Table
from bnplug.errors import ContractError
from bnplug.hooks.components import check_numbers
from bnplug.scoring.decomposable import dimension
from bnplug.scoring.evaluating import PredictiveEvaluator
from bnplug.scoring.losses import (
    CORRECT_BOUNDS,
    LOG_POSTERIOR_BOUNDS,
    Bounds,
    Loss,
    check_indices,
    compile_loss,
    correct,
    log_posterior,
)
from bnplug.scoring.resampling import Splitter, draw_folds

if TYPE_CHECKING:
    from bnplug.typing import DAG


class PredictiveScore(ScoreFunction):
    """A loss of each row's log joints, over a resampling.

    A subclass names its loss, and is as fast as the scores of the core. Everything but ``loss`` has a default.

    Parameters
    ----------
    alpha : float
        The virtual sample size of the parameters (:func:`bnplug.model.log_tables.estimate`):
        ``(n + alpha / (q r)) / (N + alpha / q)`` for r states and q parent configurations.
    floor : float
        The smallest probability.
    cv : int, splitter or None
        None tests on the training rows. A number is that of stratified folds, which are shuffled if
        `random_state` is given. Any splitter of scikit-learn goes whose test sets do not overlap; rows it
        never tests only train.
    random_state : int, RandomState or None

    Attributes
    ----------
    loss : function
        ``loss(L, y, params, out)``, as :mod:`bnplug.scoring.losses` describes it.
    aggregate : {"sum", "mean"}
        What is made of the values of the tested rows.
    needs_finite : bool
        Whether the loss cannot do with zero probabilities, so that `alpha` or `floor` must be positive.
    redraws : bool
        Whether the folds are drawn anew at each step of a search.

    Examples
    --------
    A third party's score: what the decisions cost, by a matrix [true class, decision], classes being numbered as in
    ``table.states[table.target]``. A compiled loss does not check indices: see that shapes are right in `loss_params`.

    >>> import pandas as pd
    >>> from bnplug.scoring import PredictiveScore, winner
    >>> def negative_cost(L, y, params, out):
    ...     n_classes = L.shape[1]
    ...     for m in range(L.shape[0]):
    ...         out[m] = -params[y[m] * n_classes + winner(L, m)]
    >>> class NegativeCost(PredictiveScore):
    ...     loss = negative_cost
    ...     aggregate = "mean"
    ...     def __init__(self, costs=None, alpha=1.0, floor=0.0, cv=None, random_state=None):
    ...         super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
    ...         self.costs = costs
    ...     def loss_params(self, table):
    ...         n = table.cards[table.target_index]
    ...         costs = 1.0 - np.eye(n) if self.costs is None else np.asarray(self.costs)
    ...         if costs.shape != (n, n):
    ...             raise ValueError(f"costs must have the shape {(n, n)}, not {costs.shape}")
    ...         return costs
    >>> frame = pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": ["n", "n", "y", "y", "y", "n"]})
    >>> table = Table.from_frame(frame, "c")
    >>> evaluator = NegativeCost(costs=[[0, 1], [10, 0]]).evaluator(table)
    >>> evaluator.start([[1], []])  # c -> x: one n is taken for y, one y for n
    -1.83...
    """

    loss: ClassVar[Loss]
    aggregate: ClassVar[Literal["sum", "mean"]] = "sum"
    needs_finite: ClassVar[bool] = False
    redraws: ClassVar[bool] = False

    def __init__(
        self,
        alpha: float = 1.0,
        floor: float = 0.0,
        cv: int | Splitter | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.floor = floor
        self.cv = cv
        self.random_state = random_state

    def loss_params(self, table: Table) -> npt.ArrayLike:
        """Return the numbers that the loss gets as ``params``, flat; their shape is to be checked here."""
        return np.empty(0)

    def loss_bounds(self) -> Bounds | None:
        """Return what is known of the loss from a row's gap alone, or None."""
        return None

    def folds(self, table: Table, random: np.random.RandomState | None) -> IntArray | None:
        """Return each row's fold, negative for one that is never tested; None tests on the training rows.

        `random` is the same object at each call of one search, and None where ``random_state`` is.
        """
        return draw_folds(table, self.cv, random)

    def penalty(self, table: Table, child: int, parents: tuple[int, ...]) -> float:
        """Return what the family of `child` costs; the sum over all families is subtracted from the loss."""
        return 0.0

    @property
    def penalized(self) -> bool:
        """Whether the score has a penalty of its own."""
        return type(self).penalty is not PredictiveScore.penalty

    def score(self, table: Table, dag: DAG) -> float:
        """Return the score of `dag` on `table`."""
        return self.evaluator(table).start(table.parents(dag))

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> PredictiveEvaluator:
        """Return an evaluator that keeps the log joint of every row."""
        self._check()
        compile_loss(type(self).loss)
        check_indices(type(self).loss, int(table.cards[table.target_index]), self._numbers(table))
        return PredictiveEvaluator(self, table, n_jobs)

    def _check(self) -> None:
        loss = getattr(type(self), "loss", None)
        if not isinstance(loss, FunctionType):
            raise ContractError(
                f"{type(self).__name__} must name its loss, a function at the top of a module without a decorator "
                f"(`loss = my_loss` in the class), and its loss is {loss!r}"
            )
        if self.aggregate not in ("sum", "mean"):
            raise ContractError(f'aggregate={self.aggregate!r} of {type(self).__name__} must be "sum" or "mean"')
        check_numbers(self, "alpha", "floor")
        if self.needs_finite and self.alpha == 0 and self.floor == 0:
            raise ValueError(
                f"{type(self).__name__} needs alpha > 0 or floor > 0: with plain maximum likelihood a "
                "probability can be zero, and its logarithm infinite"
            )

    def _numbers(self, table: Table) -> FloatArray:
        where = f"loss_params of {type(self).__name__}"
        try:
            given = self.loss_params(table)
        except Exception as error:
            error.add_note(f"raised in {where}")
            raise
        try:
            numbers = np.asarray(given)
        except ValueError as error:
            raise ValueError(f"{where} gave {given!r}, which is no array: {error}") from error
        if numbers.dtype.kind not in "biuf":
            raise ValueError(f"{where} must give an array of numbers, not {given!r}")
        return numbers.astype(np.float64).ravel()


class ClassificationRate(PredictiveScore):
    """`cr`: the share of tested rows whose winner is their class.

    Ties go to the class with the lowest index. Parameters are those of :class:`PredictiveScore`.

    References
    ----------
    Pernkopf, Bilmes: Order-based discriminative structure learning for Bayesian network classifiers (2008).

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": ["n", "n", "y", "y", "y", "y"]})
    >>> table = Table.from_frame(frame, "c")
    >>> ClassificationRate().score(table, table.dag([[1], []]))
    0.8333333333333334
    """

    loss = correct
    aggregate = "mean"

    def loss_bounds(self) -> Bounds:
        """Return the bounds of the 0/1 loss."""
        return CORRECT_BOUNDS


class ConditionalLogLikelihood(PredictiveScore):
    """`cll`: the sum over tested rows of log P(class | features).

    Needs ``alpha > 0`` or ``floor > 0``. Parameters are those of :class:`PredictiveScore`.

    References
    ----------
    Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997).

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> ConditionalLogLikelihood().score(table, table.dag([[], []]))
    -1.386...
    """

    loss = log_posterior
    needs_finite = True

    def loss_bounds(self) -> Bounds:
        """Return that no row is above 0."""
        return LOG_POSTERIOR_BOUNDS


class ConditionalMDL(ConditionalLogLikelihood):
    """`cmdl`: `cll` minus 1/2 Dim(G) log M, for M rows (their total weight).

    Dim(G) is the number of free parameters of all nodes. Parameters are those of :class:`PredictiveScore`.

    References
    ----------
    Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997).

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> ConditionalMDL().score(table, table.dag([[], []]))  # log 2 less: two parameters
    -2.079...
    """

    def penalty(self, table: Table, child: int, parents: tuple[int, ...]) -> float:
        """Return 1/2 log M for each free parameter of the family."""
        return 0.5 * float(np.log(table.total_weight)) * dimension(table, child, parents)
