"""Predictive scores: the sum of a gain over tested rows, minus a penalty.

The gain depends on the row's log joints, whose parameters come from training rows: all rows (resubstitution), or those
outside the row's fold. Missing cells: a family is counted in the training rows in which all its variables are known,
and its term is left out of the log joint of a row in which one of them is missing. Inside structural EM
(``missing="em"``) parameters come from expected counts, and missing cells are marginalized.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from bnplug.contracts import Evaluator, ScoreFunction
from bnplug.errors import ContractError
from bnplug.hooks.components import check_numbers
from bnplug.scoring._evaluating import BlockEvaluator, PredictiveEvaluator
from bnplug.scoring._gains import Bounds, Gain, compile_gain, try_gain
from bnplug.table.folds import Splitter, draw_folds
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.inference.expected_table import ExpectedTable
    from bnplug.structure import Structure


class PredictiveScore(ScoreFunction):
    """The sum or mean over tested rows of a gain of the row's log joints.

    A subclass names its gain, and is as fast as the built-in scores. Everything but ``gain`` has a default.

    Parameters
    ----------
    alpha : float
        The virtual sample size of the parameters (:func:`bnplug.model.log_tables.estimate`):
        ``(n + alpha / (q r)) / (N + alpha / q)`` for r states and q parent configurations.
    floor : float
        The smallest probability.
    cv : int, splitter or None
        None tests on the training rows. An int is the number of stratified folds, which are shuffled if `random_state`
        is given. A scikit-learn splitter must have test sets that do not overlap; rows that it never tests only train.
    random_state : int, RandomState or None
        Shuffles the folds.

    Attributes
    ----------
    gain : function
        ``gain(L, y, params, out)`` fills ``out[m]`` with the value of row m. ``L`` holds log joints (rows x classes),
        ``y`` the classes, ``params`` the numbers of :meth:`gain_params`. It is a plain function at the top of a module,
        compiled when it is first used, and calls only numpy, :mod:`math`, :func:`winner` and functions of the same file
        decorated with :data:`bnplug.compiling.kernel`.
    aggregate : {"sum", "mean"}
        How the values of the tested rows are combined.
    needs_finite : bool
        Whether zero probabilities are not allowed: `alpha` or `floor` must then be positive.
    resamples : bool
        Whether new folds are drawn at each step of a search.
    keeps : bool
        Whether a score that `resamples` keeps the current graph's score on the folds on which it was chosen, instead of
        scoring it on the new ones.

    Examples
    --------
    A third party's score: the cost of decisions by a matrix [true class, decision], with classes numbered as in
    ``table.states[table.target]``. A compiled gain does not check indices: check shapes in `gain_params`.

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

    decomposable = False
    gain: ClassVar[Gain]
    aggregate: ClassVar[Literal["sum", "mean"]] = "sum"
    needs_finite: ClassVar[bool] = False

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
        """Return the numbers that the gain gets as ``params``, flattened; check their shape here."""
        return np.empty(0)

    def gain_bounds(self, table: Table) -> Bounds | None:
        """Return bounds on the gain by a row's gap, or None."""
        return None

    @property
    def keeps(self) -> bool:
        """Whether the current graph keeps its score when folds are drawn anew."""
        return False

    def folds(self, table: Table, random: np.random.RandomState | None) -> IntArray | None:
        """Return each row's fold, negative for one that is never tested; None tests on the training rows.

        `random` is the same object at each call of one search, and None if ``random_state`` is None.
        """
        return draw_folds(table, self.cv, random)

    def penalty(self, table: Table, child: int, parents: tuple[int, ...]) -> float:
        """Return the penalty of the family of `child`; the sum over all families is subtracted from the gain."""
        return 0.0

    @property
    def penalized(self) -> bool:
        """Whether the score has a penalty."""
        return type(self).penalty is not PredictiveScore.penalty

    def score(self, table: Table, structure: Structure) -> float:
        """Return the score of `structure` on `table`."""
        return self.evaluator(table).start(structure.parents)

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return an evaluator that keeps the log joint of every row."""
        self._check()
        gain = type(self).gain
        try_gain(gain, int(table.cards[table.target_index]), self._numbers(table))
        compile_gain(gain)
        if table.expects:
            # Imported on demand: it imports the engine.
            from bnplug.scoring._marginal import MarginalEvaluator

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
            raise ValueError(f"{where} gave {given!r}, which is not an array: {error}") from error
        if numbers.dtype.kind not in "biuf":
            raise ValueError(f"{where} must give an array of numbers, not {given!r}")
        return numbers.astype(np.float64).ravel()
