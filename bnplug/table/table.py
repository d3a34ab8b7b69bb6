"""Table: encoded data for learners. Variables and states are numbers; names and labels are kept beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import index as as_number
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.errors import did_you_mean
from bnplug.table._checks import read_only
from bnplug.table.blocks import Blocks, EachBlock
from bnplug.table.coding import (
    MISSING,
    UNSEEN,
    Coded,
    Codes,
    State,
    _report_unseen,
    check_unseen,
    code_column,
    match_column,
    smallest_dtype,
)
from bnplug.table.frames import to_frame
from bnplug.table.kinds import floats_of, refuse_infinities
from bnplug.table.weights import _divided, _summarize_weights, present_rows, row_weights
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray, ShareArray

if TYPE_CHECKING:
    import pandas as pd


_T = TypeVar("_T")


class Table:
    """Coded discrete columns with their state names and the class column.

    A table in memory is one block of rows; larger data are a :class:`~bnplug.table.block_table.BlockTable`. Learners
    that use :meth:`counts`, :meth:`map` and :meth:`spawn` instead of ``codes`` work on both.

    Parameters
    ----------
    codes : unsigned array of shape (variables, rows)
        ``codes[v, m]`` is the state of variable ``v`` in row ``m``; the dtype's largest value is missing.
    names : sequence of str
        The variables.
    states : mapping of str to sequence
        The state labels of each variable, in the order of their codes.
    target : str
        The class variable.
    weights : array of shape (rows,), optional
        A weight of 2 is equivalent to repeating the row.
    left_out : iterable of str
        Useless columns of the data, which are not variables.
    missing_policy : {"ignore", "em"}
        How to learn from rows with missing cells. "ignore": each statistic uses the rows in which its variables are
        known. "em": all known cells are used; rows may have no class.
    shares : float32 array of shape (variables, rows), optional
        The position of each cell between its state and the next, at least 0 and below 1. Reserved for discretizers
        with knots, which are not supported yet: no encoder sets it, and no learner reads it.

    Attributes
    ----------
    codes, names, states, target, weights, left_out, missing_policy, shares
        As given; ``codes`` in C order, in the smallest unsigned dtype. Arrays are read-only.
    cards : int64 array
        The number of states of each variable.
    target_index : int
        The position of the class in ``names``.
    missing : int
        The code of a missing cell.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"sky": ["sun", "rain", None], "play": [True, False, True]}), "play")
    >>> table.states["sky"], table.codes.tolist()
    (('rain', 'sun'), [[1, 0, 255], [1, 0, 1]])
    """

    #: Whether counts are expected counts under a network, which cannot be computed from the rows alone.
    expects = False

    def __init__(
        self,
        codes: npt.NDArray[Any],
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        target: str,
        weights: npt.ArrayLike | None = None,
        left_out: Iterable[str] = (),
        missing_policy: str = "ignore",
        shares: npt.ArrayLike | None = None,
    ) -> None:
        self._describe(names, states, target, left_out, missing_policy)
        self.codes: CodeArray = read_only(np.ascontiguousarray(codes))
        self.weights = None if weights is None else read_only(np.asarray(weights, dtype=np.float64))
        self.shares = None if shares is None else read_only(np.ascontiguousarray(shares, dtype=np.float32))
        self._check_codes()

    def _describe(
        self,
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        target: str,
        left_out: Iterable[str],
        missing_policy: str = "ignore",
    ) -> None:
        """Set the attributes that are the same for every block of rows."""
        if missing_policy not in ("ignore", "em"):
            raise ValueError(f"missing_policy={missing_policy!r} is not 'ignore' or 'em'")
        self.missing_policy = missing_policy
        self.names = tuple(names)
        self.states = {name: tuple(states[name]) for name in self.names}
        self.target = target
        self.left_out = tuple(left_out)
        self._position = {name: v for v, name in enumerate(self.names)}
        # Tables derived from one without a class have none either.
        self.target_index = None if target is None else self.index(target)
        self.cards = np.array([len(self.states[name]) for name in self.names], dtype=np.int64)
        self.dtype = smallest_dtype(self.cards)
        self.missing = int(np.iinfo(self.dtype).max)

    def _check_codes(self) -> None:
        """Raise a ``ValueError`` for codes with which compiled kernels would write outside their arrays."""
        if self.codes.dtype != self.dtype:
            raise ValueError(f"codes have dtype {self.codes.dtype}; {self.dtype} is the smallest for these states")
        if self.codes.ndim != 2 or len(self.codes) != len(self.names):
            raise ValueError(f"codes have shape {self.codes.shape}; {len(self.names)} variables need one row each")
        if self.weights is not None and self.weights.shape != (self.n_rows,):
            raise ValueError(f"weights have shape {self.weights.shape}; there are {self.n_rows} rows")
        if self.shares is not None and self.shares.shape != self.codes.shape:
            raise ValueError(f"shares have shape {self.shares.shape}; codes have shape {self.codes.shape}")
        if self.shares is not None and not ((self.shares >= 0) & (self.shares < 1)).all():
            raise ValueError("shares must be at least 0 and below 1")
        for name, card, column in zip(self.names, self.cards, self.codes, strict=True):
            if column.max(initial=0) >= card and ((column >= card) & (column != self.missing)).any():
                raise ValueError(f"codes of {name!r} must be below {card}, its number of states, or {self.missing}")

    @classmethod
    def from_frame(cls, frame: Any, target: str, weights: npt.ArrayLike | None = None) -> Table:
        """Return the table of a pandas or polars frame of discrete values.

        Every distinct value is a state; categoricals keep their order and unused categories. Rows of weight 0 are left
        out. Infinite numbers, columns without values and an incomplete target are errors.
        """
        frame, target = to_frame(frame), str(target)
        kept = None if weights is None else row_weights(weights, len(frame), "weights")
        present = present_rows(kept)
        if kept is not None and present is not None:
            frame, kept = frame[present], kept[present]
        if target not in frame.columns:
            raise ValueError(f"target {target!r} is not a column; the columns are {list(frame.columns)}")
        if len(frame) == 0:
            raise ValueError("the data have no rows (or none with a positive weight)")
        if frame.shape[1] < 2:
            raise ValueError(f"there is no feature: {target!r}, the target, is the only column")
        refuse_infinities(floats_of(frame))
        return cls.from_coded({str(name): code_column(column) for name, column in frame.items()}, target, kept)

    @classmethod
    def from_coded(
        cls,
        columns: Mapping[str, Coded],
        target: str,
        weights: npt.ArrayLike | None = None,
        left_out: Iterable[str] = (),
        missing_policy: str = "ignore",
    ) -> Table:
        """Return the table of encoded columns; without ``missing_policy="em"``, every row needs a class."""
        states = {name: column.states for name, column in columns.items()}
        empty = [name for name, labels in states.items() if not labels]
        if empty:
            raise ValueError(f"columns {empty} have no value at all; drop them")
        absent = np.count_nonzero(columns[target].codes == MISSING)
        if absent and missing_policy == "ignore":
            raise ValueError(f"the target {target!r} is missing in {absent} row(s); drop these rows")
        dtype = smallest_dtype([len(labels) for labels in states.values()])
        codes = np.empty((len(columns), len(columns[target].codes)), dtype=dtype)
        for v, column in enumerate(columns.values()):
            # -1 wraps around to the largest value, the code of missing cells.
            codes[v] = np.maximum(column.codes, MISSING)
        return cls(codes, tuple(columns), states, target, weights, left_out, missing_policy)

    @classmethod
    def empty(cls, names: Sequence[str], states: Mapping[str, Sequence[State]], target: str) -> Table:
        """Return a table without rows: the variables and their states, to encode new rows by."""
        dtype = smallest_dtype([len(states[name]) for name in names])
        return cls(np.empty((len(names), 0), dtype=dtype), names, states, target)

    @property
    def n_rows(self) -> int:
        """The number of rows, of all blocks."""
        return sum(self.block_sizes)

    @property
    def features(self) -> list[int]:
        """The positions of all variables but the class."""
        return [v for v in range(len(self.names)) if v != self.target_index]

    @property
    def total_weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def mean_weight(self) -> float:
        """The mean weight of the rows with a positive weight; 1 without weights."""
        return float(self._mean_weights(False)[0][0]) if self.weighted else 1.0

    def with_relative_weights(self, by_class: bool = False) -> Table:
        """Return the same rows with weights divided by their mean, for methods that use only ratios of weights.

        With `by_class`, weights are divided by the mean of their class, which removes class weights. If all resulting
        weights are equal, the table has none.
        """
        if not self.weighted:
            return self
        means, equal = self._mean_weights(by_class)
        return self._with_weights_divided(None if equal else means)

    def _mean_weights(self, by_class: bool) -> tuple[FloatArray, bool]:
        """Return the mean weight of each class and of rows without one, or of all rows; and whether none deviates."""
        totals, rows, least, most = np.stack(self.map(_summarize_weights, by_class), axis=1)
        weights = np.asarray(sum(totals))
        means = np.divide(weights, sum(rows), out=np.ones_like(weights), where=weights > 0)
        return means, bool((least.min(axis=0) >= most.max(axis=0)).all())

    def _with_weights_divided(self, divisors: FloatArray | None) -> Table:
        """Return the same rows with weights divided by the divisor of their group, or without weights."""
        return self._with_rows(self.codes, None if divisors is None else _divided(self, divisors), self.shares)

    @property
    def n_blocks(self) -> int:
        """The number of blocks of rows; 1 for a table in memory."""
        return len(self.block_sizes)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The number of rows of each block."""
        return (int(self.codes.shape[1]),)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    @property
    def has_missing(self) -> BoolArray:
        """Whether each variable has missing cells."""
        return np.array([(column == self.missing).any() for column in self.codes], dtype=bool)

    @property
    def lacks_classes(self) -> bool:
        """Whether some row has no class."""
        return bool(self.has_missing[self.target_index])

    @property
    def learned_by_em(self) -> bool:
        """Whether cells are missing and ``missing_policy`` is "em"."""
        return self.missing_policy == "em" and bool(self.has_missing.any())

    def with_class(self) -> Table:
        """Return a table of the rows that have a class: this one if all have."""
        return self.take(self.column(self.target_index) != self.missing) if self.lacks_classes else self

    def ignoring(self) -> Table:
        """Return the rows that have a class, with the missing policy "ignore"; EM starts from that table."""
        return self.with_class()._learned("ignore")

    def _learned(self, missing_policy: str) -> Table:
        """Return the same rows with another missing policy."""
        other = copy(self)
        other.missing_policy = missing_policy
        return other

    def counts(self, families: Sequence[Sequence[int]], folds: npt.ArrayLike | None = None) -> list[FloatArray]:
        """Return the total weight of each joint state of many families, in one pass over the blocks.

        Rows in which a variable of the family is missing are not counted.

        Parameters
        ----------
        families : sequence of sequences of int
            Variables, such as a child and its parents; each has an axis in the counts.
        folds : int array of shape (rows,), optional
            The fold of each row, negative for rows in no fold. The first axis of the counts is then the fold; its last
            entry counts the rows in no fold.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
        >>> [counts.tolist() for counts in table.counts([[0, 1], [1]])]
        [[[1.0, 1.0], [0.0, 1.0]], [1.0, 2.0]]
        >>> table.counts([[1]], folds=[0, 0, -1])[0].tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        from bnplug.table._counting import count_families

        families = [tuple(map(as_number, family)) for family in families]
        if folds is None:
            return self.sum(count_families, families)
        folds = np.asarray(folds, dtype=np.int64)
        n_folds = int(folds.max(initial=-1)) + 1
        return self.sum(count_families, families, self.split(folds), n_folds)

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return ``function(block, *args)`` for every block, a table in memory, in the order of the blocks.

        The function must be importable, because it may run on another machine. An argument may differ between blocks:
        see :class:`~bnplug.table.blocks.EachBlock`.
        """
        return list(self.each(function, *args))

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield the results of :meth:`map` one block after the other, for results too large to be held together."""
        yield function(self, *EachBlock.of(args, 0))

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up the arrays or numbers that ``function(block, *args)`` returns, each over the blocks in their order."""
        return list(function(self, *EachBlock.of(args, 0)))

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return ``factory(block, *args)`` of every block, kept where the block is; see :meth:`map`."""
        return Blocks([factory(self, *EachBlock.of(args, 0))])

    def split(self, values: npt.NDArray[Any]) -> EachBlock:
        """Return an array over all rows as an argument of :meth:`map` that is split by block."""
        if values.shape[:1] != (self.n_rows,):
            raise ValueError(f"an array of shape {values.shape} cannot be split: the table has {self.n_rows} rows")
        return EachBlock(np.split(values, np.cumsum(self.block_sizes)[:-1]))

    def gather(self) -> Table:
        """Return a table in memory with all rows."""
        return self

    def column(self, v: int) -> CodeArray:
        """Return the codes of one variable in all rows."""
        return np.asarray(self.codes[v])

    def _with_rows(self, codes: CodeArray, weights: FloatArray | None, shares: ShareArray | None = None) -> Table:
        """Return a table of other rows, without checking them."""
        other = copy(self)
        other.codes, other.weights, other.shares = codes, weights, shares
        return other

    def index(self, name: str) -> int:
        """Return the position of variable `name`."""
        if name not in self._position:
            hint = did_you_mean(name, self.names) if isinstance(name, str) else ""
            raise ValueError(f"no variable {name!r} in the table; it has {list(self.names)}.{hint}")
        return self._position[name]

    def take(self, rows: npt.ArrayLike) -> Table:
        """Return a table of the given rows (numbers or a mask), with the same states."""
        rows = np.asarray(rows)
        rows = rows if rows.dtype == bool else rows.astype(np.int64)
        weights = None if self.weights is None else self.weights[rows]
        shares = None if self.shares is None else self.shares[:, rows]
        described = self.names, self.states, self.target
        return Table(self.codes[:, rows], *described, weights, self.left_out, self.missing_policy, shares)

    def expand(self, variables: Sequence[int]) -> Table:
        """Return the rows in which some variables are known; a table that `expects` completes all rows instead."""
        return self.take(np.concatenate(self.map(_knows, [int(v) for v in variables])))

    def padded(self) -> tuple[CodeArray, IntArray]:
        """Return the codes with ``cards[v]`` in missing cells, and the number of codes of each variable."""
        has_missing = self.has_missing
        if not has_missing.any():
            return self.codes, self.cards.copy()
        lowered = np.minimum(self.codes, self.cards.astype(self.codes.dtype)[:, None])
        return read_only(lowered), self.cards + has_missing

    def encode(self, frame: Any, unseen: str = "missing") -> CodeArray:
        """Return the codes of new rows, of shape (variables, rows), by this table's states.

        Columns are matched by name; an absent column, such as the class, is missing in every row. Values that are not
        states are treated as missing, with one warning per column, or raise a ``ValueError`` (``unseen="error"``).
        """
        frame = to_frame(frame)
        columns = {name: frame[name] for name in self.names if name in frame.columns}
        codes = {name: match_column(column, self.states[name], by_text=True) for name, column in columns.items()}
        return self.pack(codes, columns, len(frame), unseen)

    def pack(
        self,
        codes: Mapping[str, Codes],
        columns: Mapping[str, pd.Series[Any]],
        n_rows: int,
        unseen: str = "missing",
        missing_states: Mapping[str, State] | None = None,
    ) -> CodeArray:
        """Return signed codes of some columns (-1: missing, -2: unseen) as an array like ``codes``.

        Variables without codes are missing. `columns` are the values, for messages about unseen ones. `missing_states`
        are the states of missing cells, for columns that have one; a value with that label is unseen.
        """
        check_unseen(unseen)
        packed = np.full((len(self.names), n_rows), self.missing, dtype=self.dtype)
        for v, name in enumerate(self.names):
            if name in codes:
                column = codes[name]
                if missing_states and name in missing_states:
                    state = self.states[name].index(missing_states[name])
                    column = np.where(column == MISSING, state, np.where(column == state, UNSEEN, column))
                _report_unseen(name, columns[name], column, unseen, self.states[name])
                packed[v] = np.maximum(column, MISSING)
        return read_only(packed)

    def naive_bayes(self) -> list[list[int]]:
        """Return the parents of every variable in naive Bayes."""
        c = self.target_index
        return [[] if c is None or v == c else [c] for v in range(len(self.names))]

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {len(self.names) - 1} features, target {self.target!r})"


def _knows(block: Table, variables: list[int]) -> BoolArray:
    """Return the rows of a block in which some variables are known."""
    known: BoolArray = (block.codes[variables] != block.missing).all(axis=0)
    return known
