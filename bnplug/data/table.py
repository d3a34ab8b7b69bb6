"""Table: the one form in which data reaches a learner.

Columns are coded as numbers, one contiguous row of ``codes`` per variable. Names and state labels
live here, at the door; inside, variables and states are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from operator import index as as_number
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.arrays import BoolArray, CodeArray, FloatArray, IntArray
from bnplug.data._dags import lazy_dag, parents_by_number
from bnplug.data._relative_weights import divided, weight_ranges, weights_and_rows
from bnplug.data._table_checks import check_frame, check_states, report_unseen
from bnplug.data._views import read_only
from bnplug.data.blocks import Blocks, EachBlock
from bnplug.data.coding import MISSING, UNSEEN, Coded, Codes, State, code_column, match_column
from bnplug.data.frames import to_frame
from bnplug.data.weights import present_rows, row_weights

if TYPE_CHECKING:
    import pandas as pd

    from bnplug.typing import DAG


_T = TypeVar("_T")


class Table:
    """Coded discrete columns with their state names and the class column.

    Most users call :meth:`from_frame`. The constructor takes what is coded already.

    A table in memory is one block of rows; one of many blocks, which outgrow memory or are elsewhere, is a
    :class:`~bnplug.data.block_table.BlockTable`. Whoever takes sums from :meth:`counts`, :meth:`map` and :meth:`spawn`,
    and does not read ``codes``, learns on both.

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
        A weight of 2 is the row twice.
    left_out : iterable of str
        Columns of the data that are no variables, because they tell nothing; what names one is no mistake.
    incomplete : {"ignore", "em"}
        How to learn from rows with missing cells: "ignore", each statistic by the rows that know its variables; "em",
        by all that is known of every row, which may have no class.

    Attributes
    ----------
    codes, names, states, target, weights, left_out, incomplete
        As given; ``codes`` in C order, in the smallest unsigned dtype. Arrays are read-only.
    cards : int64 array
        The number of states of each variable.
    target_index : int
        The position of the class variable in ``names``.
    missing : int
        The code of a missing cell.
    dtype : dtype
        That of the codes.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sky": ["sun", "rain", None], "play": [True, False, True]})
    >>> table = Table.from_frame(frame, target="play")
    >>> table.states["sky"], table.codes.tolist()
    (('rain', 'sun'), [[1, 0, 255], [1, 0, 1]])
    """

    #: Whether counts are those that a network expects, which are not to be taken from rows in another way.
    expects = False

    def __init__(
        self,
        codes: npt.NDArray[Any],
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        target: str,
        weights: npt.ArrayLike | None = None,
        left_out: Iterable[str] = (),
        incomplete: str = "ignore",
    ) -> None:
        self._describe(names, states, target, left_out, incomplete)
        self.codes: CodeArray = read_only(np.ascontiguousarray(codes))
        self.weights = None if weights is None else read_only(np.asarray(weights, dtype=np.float64))
        self._check_codes()

    def _describe(
        self,
        names: Sequence[str],
        states: Mapping[str, Sequence[State]],
        target: str,
        left_out: Iterable[str],
        incomplete: str = "ignore",
    ) -> None:
        """Set all that is the same for every block of rows."""
        if incomplete not in ("ignore", "em"):
            raise ValueError(f"incomplete={incomplete!r} is not 'ignore' or 'em'")
        self.incomplete = incomplete
        self.names = tuple(names)
        self.states = {name: tuple(states[name]) for name in self.names}
        self.target = target
        self.left_out = tuple(left_out)
        self._position = {name: v for v, name in enumerate(self.names)}
        self.target_index = self.index(target)
        self.cards = np.array([len(self.states[name]) for name in self.names], dtype=np.int64)
        self.dtype = smallest_dtype(self.cards)
        self.missing = int(np.iinfo(self.dtype).max)

    @classmethod
    def from_frame(cls, frame: Any, target: str, weights: npt.ArrayLike | None = None) -> Table:
        """Code the columns of a frame of discrete values.

        Parameters
        ----------
        frame : pandas or polars frame
            Columns of strings, categoricals (their order and unused categories are kept), booleans or
            numbers; every distinct value is a state. Rows of weight 0 are left out.
        target : str
            The column that holds the class.
        weights : array-like of shape (rows,), optional
            Non-negative row weights.

        Raises
        ------
        ValueError
            For an empty frame, a target that is not there or has missing cells, no feature, duplicate
            names, infinite numbers, or a column with no value at all; the message names the column.
        """
        frame, target = to_frame(frame), str(target)
        kept = None if weights is None else row_weights(weights, len(frame), "weights")
        present = present_rows(kept)
        if kept is not None and present is not None:
            frame, kept = frame[present], kept[present]
        check_frame(frame, target)
        return cls.from_coded({str(name): code_column(column) for name, column in frame.items()}, target, kept)

    @classmethod
    def from_coded(
        cls,
        columns: Mapping[str, Coded],
        target: str,
        weights: npt.ArrayLike | None = None,
        left_out: Iterable[str] = (),
        incomplete: str = "ignore",
    ) -> Table:
        """Return the table of columns that are coded already, each with codes of its own type.

        Parameters
        ----------
        columns : mapping of str to (codes, states)
            Signed codes, -1 where a cell is missing, and the labels that they number.
        target : str
        weights : array-like of shape (rows,), optional
            Positive row weights.
        left_out : iterable of str
            Columns of the data that are no variables.
        incomplete : {"ignore", "em"}
            How to learn from rows with missing cells.

        Raises
        ------
        ValueError
            For a column without states, or a class that is missing, unless `incomplete` is "em".
        """
        states = {name: column.states for name, column in columns.items()}
        check_states(states, columns[target].codes if incomplete == "ignore" else np.empty(0, np.int8), target)
        dtype = smallest_dtype([len(labels) for labels in states.values()])
        codes = np.empty((len(columns), len(columns[target].codes)), dtype=dtype)
        for v, column in enumerate(columns.values()):
            codes[v] = _narrow(column.codes, dtype)
        return cls(codes, tuple(columns), states, target, weights, left_out, incomplete)

    def _check_codes(self) -> None:
        """Refuse what compiled kernels, which check no bounds, would write outside their arrays for."""
        if self.codes.dtype != self.dtype:
            raise ValueError(f"codes have dtype {self.codes.dtype}; {self.dtype} is the smallest for these states")
        if self.codes.ndim != 2 or len(self.codes) != len(self.names):
            raise ValueError(f"codes have shape {self.codes.shape}; {len(self.names)} variables need one row each")
        if self.weights is not None and self.weights.shape != (self.n_rows,):
            raise ValueError(f"weights have shape {self.weights.shape}; there are {self.n_rows} rows")
        for name, card, column in zip(self.names, self.cards, self.codes, strict=True):
            if column.max(initial=0) >= card and ((column >= card) & (column != self.missing)).any():
                raise ValueError(f"codes of {name!r} must be below {card}, its number of states, or {self.missing}")

    @classmethod
    def empty(cls, names: Sequence[str], states: Mapping[str, Sequence[State]], target: str) -> Table:
        """Return a table without rows: the variables and their states, to encode new rows by."""
        dtype = smallest_dtype([len(states[name]) for name in names])
        return cls(np.empty((len(names), 0), dtype=dtype), names, states, target)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[1])

    @property
    def features(self) -> list[int]:
        """The positions of all variables but the class."""
        return [v for v in range(len(self.names)) if v != self.target_index]

    @property
    def total_weight(self) -> float:
        """M: the number of rows, or the sum of their weights."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def mean_weight(self) -> float:
        """The mean weight of the rows with a positive weight; 1 without weights."""
        return float(self._mean_weights(False)[0]) if self.weighted else 1.0

    def with_relative_weights(self, by_class: bool = False) -> Table:
        """Return the same rows with weights divided by their mean, for methods that use only their ratios.

        If all weights are equal, the result has no weights.

        Parameters
        ----------
        by_class : bool
            Whether to divide by the mean of each class, which removes class weights.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 1], "c": ["n", "y"]}), "c", weights=[2.0, 6.0])
        >>> table.with_relative_weights().weights
        array([0.5, 1.5])
        >>> table.with_relative_weights(by_class=True).weighted
        False
        """
        if not self.weighted:
            return self
        ranges = np.array(self.map(weight_ranges, by_class))
        equal = (ranges[:, 0].min(axis=0) >= ranges[:, 1].max(axis=0)).all()
        return self._with_weights_divided(None if equal else self._mean_weights(by_class))

    def _mean_weights(self, by_class: bool) -> FloatArray:
        """Return the mean weight of each class and of rows without a class, or one mean weight of all rows."""
        weights, rows = self.sum(weights_and_rows, by_class)
        return np.asarray(np.divide(weights, rows, out=np.ones_like(weights), where=weights > 0))

    def _with_weights_divided(self, divisors: FloatArray | None) -> Table:
        """Return the same rows with weights divided by the divisor of their group, or without weights."""
        weights = None if divisors is None else divided(self, divisors)
        return self._with_rows(self.codes, weights)

    @property
    def n_blocks(self) -> int:
        """The number of blocks of rows; of a table in memory, 1."""
        return len(self.block_sizes)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The number of rows of each block."""
        return (self.n_rows,)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    @property
    def has_missing(self) -> BoolArray:
        """Of each variable, whether some row lacks it."""
        return np.array([(column == self.missing).any() for column in self.codes], dtype=bool)

    @property
    def lacks_classes(self) -> bool:
        """Whether some row has no class."""
        return bool(self.has_missing[self.target_index])

    @property
    def learned_by_em(self) -> bool:
        """Whether cells are missing, and all that is known of their rows is to be learned from."""
        return self.incomplete == "em" and bool(self.has_missing.any())

    def with_class(self) -> Table:
        """Return a table of the rows that have a class: this one, where all have."""
        return self.take(self.column(self.target_index) != self.missing) if self.lacks_classes else self

    def ignoring(self) -> Table:
        """Return the rows that have a class as a table of which each statistic ignores the rows that lack a cell.

        What does without EM learns from that on an incomplete table, and EM starts from it.
        """
        return self.with_class()._learned("ignore")

    def _learned(self, incomplete: str) -> Table:
        """Return the same rows, to be learned from in another way."""
        other = copy(self)
        other.incomplete = incomplete
        return other

    def counts(self, families: Sequence[Sequence[int]], folds: npt.ArrayLike | None = None) -> list[FloatArray]:
        """Count the joint states of many families in one pass over the blocks.

        Rows in which a variable of the family is missing are not counted; a row counts as often as its weight says.

        Parameters
        ----------
        families : sequence of sequences of int
            Variables: a child and its parents, say.
        folds : int array of shape (rows,), optional
            Each row's fold, negative for one that is in none.

        Returns
        -------
        list of float64 arrays
            One for each family, with an axis for each of its variables. With folds, there is one axis more before them:
            that of the fold, whose last entry is of the rows that are in none.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
        >>> [found.tolist() for found in table.counts([[0, 1], [1]])]
        [[[1.0, 1.0], [0.0, 1.0]], [1.0, 2.0]]
        >>> table.counts([[1]], folds=[0, 0, -1])[0].tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        from bnplug.data._counting import count_families

        families = [tuple(map(as_number, own)) for own in families]
        if folds is None:
            return self.sum(count_families, families)
        folds = np.asarray(folds, dtype=np.int64)
        n_folds = int(folds.max(initial=-1)) + 1
        return self.sum(count_families, families, self.split(folds), n_folds)

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return ``function(block, *args)`` for every block, in the order of the blocks; the caller adds up.

        Parameters
        ----------
        function : callable
            Of a module, so that it can be sent to where a block is. A block is a table in memory.
        *args
            The same for every block, but for an :class:`~bnplug.data.blocks.EachBlock`.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
        >>> sum(table.map(lambda block, v: int((block.codes[v] == 0).sum()), 0))
        2
        """
        return list(self.each(function, *args))

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield what :meth:`map` returns, one block after the other: for results too large to be held together.

        Who asks may stop before the last block.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
        >>> any(found for found in table.each(lambda block: bool((block.codes[0] == 1).any())))
        True
        """
        yield function(self, *EachBlock.of(args, 0))

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up, over the blocks in their order, the arrays or numbers that ``function(block, *args)`` returns.

        They are added as they come, or where the blocks are: no more than a few are held at once.

        Parameters
        ----------
        function : callable
            As for :meth:`map`. It returns a sequence, of as many parts for every block: each is added up on its own.
        *args
            As for :meth:`map`.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
        >>> table.sum(lambda block: [block.n_rows, (block.codes == 0).sum(axis=1)])
        [3, array([2, 1])]
        """
        return list(function(self, *EachBlock.of(args, 0)))

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return ``factory(block, *args)`` of every block, kept where the block is: what is known of each row, say.

        Parameters
        ----------
        factory : callable
            A class, or a function of a module.
        *args
            As for :meth:`map`.

        Examples
        --------
        >>> import pandas as pd
        >>> class Rows:
        ...     def __init__(self, block):
        ...         self.block = block
        ...     def number_of(self, v, state):
        ...         return int((self.block.codes[v] == state).sum())
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
        >>> sum(table.spawn(Rows).call("number_of", 0, 0))
        2
        """
        return Blocks([factory(self, *EachBlock.of(args, 0))])

    def split(self, values: npt.NDArray[Any]) -> EachBlock:
        """Return an array over all rows as an argument of :meth:`map` that is another one for each block."""
        if values.shape[:1] != (self.n_rows,):
            raise ValueError(f"an array of shape {values.shape} cannot be split: the table has {self.n_rows} rows")
        return EachBlock(np.split(values, np.cumsum(self.block_sizes)[:-1]))

    def gather(self) -> Table:
        """Return a table in memory with all rows: this one."""
        return self

    def column(self, v: int) -> CodeArray:
        """Return the codes of one variable in all rows."""
        found: CodeArray = self.codes[v]
        return found

    def _with_rows(self, codes: CodeArray, weights: FloatArray | None) -> Table:
        """Return a table of other rows, which were checked before."""
        other = copy(self)
        other.codes, other.weights = codes, weights
        return other

    def index(self, name: str) -> int:
        """Return the position of variable `name`."""
        if name not in self._position:
            raise ValueError(f"no variable {name!r} in the table; it has {list(self.names)}")
        return self._position[name]

    def take(self, rows: npt.ArrayLike) -> Table:
        """Return a table of the given rows (numbers or a mask), with the same states."""
        rows = np.asarray(rows)
        rows = rows if rows.dtype == bool else rows.astype(np.int64)
        weights = None if self.weights is None else self.weights[rows]
        made = Table(self.codes[:, rows], self.names, self.states, self.target, weights, self.left_out)
        made.incomplete = self.incomplete
        return made

    def expand(self, variables: Sequence[int]) -> Table:
        """Return the rows that know some variables.

        Of a table that `expects` these are all rows, also those without a class: one that lacks such a variable is
        there once for each state of it, and its weight is shared out by how probable the network says they are.

        Examples
        --------
        >>> import pandas as pd
        >>> table = Table.from_frame(pd.DataFrame({"a": [0, None, 1], "c": ["n", "y", "y"]}), "c")
        >>> table.expand([0]).codes.tolist()
        [[0, 1], [0, 1]]
        """
        return self.take(np.concatenate(self.map(_knows, [int(v) for v in variables])))

    def padded(self) -> tuple[CodeArray, IntArray]:
        """Return the codes with missing as one more state, and the number of codes that each variable then has.

        Returns
        -------
        codes : unsigned array of shape (variables, rows)
            A missing cell of variable v has the code ``cards[v]``.
        sizes : int64 array of shape (variables,)
            ``cards``, and one more where the column has missing cells.
        """
        has_missing = self.has_missing
        if not has_missing.any():
            return self.codes, self.cards.copy()
        lowered = np.minimum(self.codes, self.cards.astype(self.codes.dtype)[:, None])
        return read_only(lowered), self.cards + has_missing

    def encode(
        self, frame: Any, unseen: str = "missing", missing_states: Mapping[str, State] | None = None
    ) -> CodeArray:
        """Code new rows by this table's states.

        Parameters
        ----------
        frame : pandas or polars frame
            Columns are matched by name. A column that is absent (such as the class) is missing in every row.
        unseen : {"missing", "error"}
            What becomes of a value that is not among the states: missing, with one warning per
            column, or a ``ValueError``.
        missing_states : mapping of str to state label, optional
            The state of missing cells, for columns that have one. No value is in that state: its label, where the
            frame has it, is an unseen value.

        Returns
        -------
        unsigned array of shape (variables, rows)
        """
        frame = to_frame(frame)
        return self.encode_columns(dict(frame.items()), len(frame), unseen, missing_states)

    def encode_columns(
        self,
        columns: Mapping[Any, pd.Series[Any] | Coded],
        n_rows: int,
        unseen: str = "missing",
        missing_states: Mapping[str, State] | None = None,
    ) -> CodeArray:
        """Code new rows as :meth:`encode` does, from columns that may be coded already, by labels of their own."""
        check_unseen(unseen)
        codes = np.full((len(self.names), n_rows), self.missing, dtype=self.dtype)
        for v, name in enumerate(self.names):
            if name in columns:
                column = match_column(columns[name], self.states[name], by_text=True)
                if missing_states and name in missing_states:
                    column = _with_missing_state(column, self.states[name].index(missing_states[name]))
                report_unseen(name, columns[name], column, unseen)
                codes[v] = _narrow(column, self.dtype)
        return read_only(codes)

    def dag(self, parents: Sequence[Iterable[int]]) -> DAG:
        """Return the pgmpy DAG in which ``parents[v]`` are the parents of variable ``v``, as numbers.

        pgmpy is imported when something is asked of the graph that :meth:`parents` does not know.
        """
        listed = [sorted(map(as_number, own)) for own in parents]
        numbers = range(len(self.names))
        if len(listed) != len(numbers) or any(p not in numbers for own in listed for p in own):
            raise ValueError(
                f"parents must list, for each of the {len(numbers)} variables, numbers from 0 to {len(numbers) - 1}; "
                f"they are {listed}"
            )
        return lazy_dag(self.names, listed)

    def naive_bayes(self) -> list[list[int]]:
        """Return the parents of every variable in naive Bayes, as numbers: the class of every feature, it has none."""
        return [[] if v == self.target_index else [self.target_index] for v in range(len(self.names))]

    def parents(self, dag: DAG) -> list[list[int]]:
        """Return the parents of every variable in `dag` as ascending numbers; the inverse of :meth:`dag`."""
        known = parents_by_number(dag, self.names)
        if known is not None:
            return known
        return [sorted(self.index(p) for p in dag.predecessors(name)) for name in self.names]

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {len(self.names) - 1} features, target {self.target!r})"


def _knows(block: Table, variables: list[int]) -> BoolArray:
    """Say which rows of a block know some variables."""
    known: BoolArray = (block.codes[variables] != block.missing).all(axis=0)
    return known


def check_unseen(unseen: str) -> None:
    """Raise a ``ValueError`` unless `unseen` is one of the ways to treat a value that training did not see."""
    if unseen not in ("missing", "error"):
        raise ValueError(f"unseen={unseen!r} is not 'missing' or 'error'")


def smallest_dtype(cards: npt.ArrayLike) -> np.dtype[Any]:
    """Return the smallest unsigned dtype whose largest value is free to mean missing."""
    largest = int(np.max(cards, initial=0))
    for dtype in (np.uint8, np.uint16):
        if largest <= np.iinfo(dtype).max:
            return np.dtype(dtype)
    return np.dtype(np.uint32)


def _narrow(column: Codes, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Codes in the table's dtype. -1 wraps round to the largest value, which is what missing is."""
    return np.maximum(column, MISSING).astype(dtype)


def _with_missing_state(column: Codes, position: int) -> Codes:
    """Codes of a column whose missing cells are in the state at `position`, and whose values are not."""
    return np.where(column == MISSING, position, np.where(column == position, UNSEEN, column))
