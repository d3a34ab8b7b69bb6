"""Predictive scores: a gain times a resampling, minus a penalty.

A score of this kind sums over rows a gain of the row's log joints, whose parameters come from a training
part: all rows (resubstitution), or those outside the row's fold. Missing cells: a family is counted in the
training rows where all its variables are known, and its term is left out of the log joint of a row in
which one of them is missing. Inside structural EM (``missing="em"``) parameters come from expected counts, and
the log joints are marginal: what a row lacks is summed out.
"""

from __future__ import annotations

from itertools import takewhile
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.contracts import Evaluator, ScoreFunction
from bnplug.data.table import Table
from bnplug.errors import ContractError
from bnplug.hooks.components import check_numbers
from bnplug.scoring._block_evaluating import BlockEvaluator
from bnplug.scoring._compiled_gains import compile_gain, try_gain
from bnplug.scoring.evaluating import PredictiveEvaluator
from bnplug.scoring.gains import Bounds, Gain
from bnplug.scoring.resampling import Splitter, draw_folds

if TYPE_CHECKING:
    from bnplug.inference.expected_table import ExpectedTable
    from bnplug.typing import DAG


_OLDER_NAMES = {"gain": "loss", "gain_params": "loss_params", "gain_bounds": "loss_bounds"}


class PredictiveScore(ScoreFunction):
    """A gain of each row's log joints, over a resampling.

    A subclass names its gain, and is as fast as the scores of the core. Everything but ``gain`` has a default.

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
        What the folds are drawn from, where they are shuffled.

    Attributes
    ----------
    gain : function
        ``gain(L, y, params, out)``, as :mod:`bnplug.scoring.gains` describes it.
    aggregate : {"sum", "mean"}
        What is made of the values of the tested rows.
    needs_finite : bool
        Whether the gain cannot do with zero probabilities, so that `alpha` or `floor` must be positive.
    redraws : bool
        Whether the folds are drawn anew at each step of a search.
    keeps : bool
        Whether a score that draws anew leaves the current graph the score of the folds on which it was chosen, rather
        than scoring it on the new ones, too.

    Notes
    -----
    In the first version a gain was called a loss. The older names ``loss``, ``loss_params`` and ``loss_bounds`` of a
    subclass mean the same as ``gain``, ``gain_params`` and ``gain_bounds``.

    Examples
    --------
    A third party's score: what the decisions cost, by a matrix [true class, decision], classes being numbered as in
    ``table.states[table.target]``. A compiled gain does not check indices: see that shapes are right in `gain_params`.

    >>> import pandas as pd
    >>> from bnplug.scoring import PredictiveScore, winner
    >>> def negative_cost(L, y, params, out):
    ...     n_classes = L.shape[1]
    ...     for m in range(L.shape[0]):
    ...         out[m] = -params[y[m] * n_classes + winner(L, m)]
    >>> class NegativeCost(PredictiveScore):
    ...     gain = negative_cost
    ...     aggregate = "mean"
    ...     def __init__(self, costs=None, alpha=1.0, floor=0.0, cv=None, random_state=None):
    ...         super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
    ...         self.costs = costs
    ...     def gain_params(self, table):
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

    gain: ClassVar[Gain]
    aggregate: ClassVar[Literal["sum", "mean"]] = "sum"
    needs_finite: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Every class between this one and the base has both names already.
        new = takewhile(lambda base: base is cls or not issubclass(base, PredictiveScore), cls.__mro__)
        for base in reversed(list(new)):
            for name, older in _OLDER_NAMES.items():
                if name in vars(base) or older in vars(base):
                    given = vars(base)[name if name in vars(base) else older]
                    setattr(cls, name, given)
                    setattr(cls, older, given)

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

    def gain_params(self, table: Table) -> npt.ArrayLike:
        """Return the numbers that the gain gets as ``params``, flat; their shape is to be checked here."""
        return np.empty(0)

    def gain_bounds(self, table: Table) -> Bounds | None:
        """Return what is known of the gain from a row's gap alone, or None.

        A subclass whose bounds do not depend on the table may leave it out: ``def gain_bounds(self)``.
        """
        return None

    loss_params, loss_bounds = gain_params, gain_bounds

    @property
    def keeps(self) -> bool:
        """Whether the current graph keeps its score where folds are drawn anew."""
        return False

    def folds(self, table: Table, random: np.random.RandomState | None) -> IntArray | None:
        """Return each row's fold, negative for one that is never tested; None tests on the training rows.

        `random` is the same object at each call of one search, and None where ``random_state`` is.
        """
        return draw_folds(table, self.cv, random)

    def penalty(self, table: Table, child: int, parents: tuple[int, ...]) -> float:
        """Return what the family of `child` costs; the sum over all families is subtracted from the gain."""
        return 0.0

    @property
    def penalized(self) -> bool:
        """Whether the score has a penalty of its own."""
        return type(self).penalty is not PredictiveScore.penalty

    def score(self, table: Table, dag: DAG) -> float:
        """Return the score of `dag` on `table`."""
        return self.evaluator(table).start(table.parents(dag))

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return an evaluator that keeps the log joint of every row, where the row is."""
        self._check()
        gain = type(self).gain
        try_gain(gain, int(table.cards[table.target_index]), self._numbers(table))
        compile_gain(gain)
        if table.expects:
            # Loaded where it is needed: the engine comes with it.
            from bnplug.scoring._marginal_evaluating import MarginalEvaluator

            return MarginalEvaluator(self, cast("ExpectedTable", table), n_jobs)
        if table.n_blocks > 1:
            return BlockEvaluator(self, table, n_jobs)
        return PredictiveEvaluator(self, table, n_jobs)

    def _check(self) -> None:
        gain = getattr(type(self), "gain", None)
        if not isinstance(gain, FunctionType):
            raise ContractError(
                f"{type(self).__name__} must name its gain, a function at the top of a module without a decorator "
                f"(`gain = my_gain` in the class), and its gain is {gain!r}"
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
        where = f"gain_params of {type(self).__name__}"
        try:
            given = self.gain_params(table)
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
