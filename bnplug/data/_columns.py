"""What training decides about columns before numbers are cut: which are useless, discrete, dates; what is rare.

Every column is looked at once; what is wrong with the frame is told in one message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bnplug.arrays import FloatArray, IntArray
from bnplug.data._cells import Cells, Seen, cells_of, count_rows, rows_by_number
from bnplug.data._dates import all_parts, varying
from bnplug.data._looking import NUMBERS, STATES, TIMES, Look, column_kind, listed_columns, look, refuse, unsupported
from bnplug.data._pooling import FEW_ROWS, FEW_TELLING_ROWS, MANY_STATES, check_limits, pool, tells, unlike
from bnplug.data._whole_numbers import are_inexact, are_merged, report_inexact
from bnplug.data.coding import Coded, Codes, State, coded, factorize
from bnplug.errors import PooledStatesWarning, UselessColumnWarning, warn_outside

# A discrete column with more states than this, and than this share of the rows, names rows, it does not describe them;
# who refuses useless columns refuses those with more than half.
_IDENTIFIER_STATES, _NEARLY_ALL_STATES, _STRICT = 10, 0.8, 0.5

# So does a column of whole numbers that is named like an identifier, if so many of them are distinct.
_NEARLY_ALL = 0.95
_FIRST_WORDS = {"id", "uuid", "guid", "unnamed"}
_LAST_WORDS = {
    "id",
    "ids",
    "identifier",
    "uuid",
    "guid",
    "key",
    "rowid",
    "userid",
    "serial",
    "no",
    "nr",
    "number",
    "unnamed",
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Above, a float has no halves.
_LARGEST_WITH_HALVES = 2.0**52

# What to do with numbers that are too large, and too close to each other.
_CLOSE = "convert the column to text, or subtract its smallest number"

# As many columns are named in a warning about pooled states.
_SHOWN = 10

#: Why a column is left out.
EMPTY, IDENTIFIER, MANY, NUMBERED, UNCOUNTED = (
    "have no value at all",
    "have a state of their own for nearly every row, like an identifier",
    "have more states than half the rows, like an identifier",
    "are named like an identifier, and nearly every row has a whole number of its own",
    "have more distinct values than are kept of rows that are not in memory",
)
_REMEDIES = {
    EMPTY: "drop them",
    IDENTIFIER: "drop them, or name them in categorical_features",
    MANY: "drop them, make them numeric or coarser, or name them in categorical_features",
    NUMBERED: "drop them, or name them in categorical_features",
    UNCOUNTED: "drop them, or make them numeric or coarser",
}


@dataclass(frozen=True)
class Rules:
    """What a user says about columns: parameters of :class:`~bnplug.BayesianNetworkClassifier`."""

    categorical_features: Any = "auto"
    on_useless: str = "drop"
    max_categories: int | None = None
    min_frequency: Any = "auto"
    dates: str = "parts"
    #: Columns whose states are given, so that none is rare.
    spared: frozenset[str] = frozenset()
    #: Whether only the ratios of weights matter. Decisions based on the number of rows then ignore weights.
    relative_weights: bool = False

    def __post_init__(self) -> None:
        """Raise a ``ValueError`` for a rule that there is not."""
        if self.on_useless not in ("drop", "error"):
            raise ValueError(f"on_useless={self.on_useless!r} is not 'drop' or 'error'")
        if self.dates not in ("parts", "drop", "error"):
            raise ValueError(f"dates={self.dates!r} is not 'parts', 'drop' or 'error'")
        check_limits(self.max_categories, self.min_frequency)


@dataclass
class Settled:
    """The columns of a frame, and what was decided about them.

    Attributes
    ----------
    names : tuple of str
        The features, in the order of the columns that they come from.
    numbers : dict of str to float64 array
        The numeric features.
    coded : dict of str to Coded
        The discrete ones.
    left_out : dict of str to str
        The columns that no feature comes from, and why.
    dates : dict of str to dict of str to str
        For a column of times: the feature of each of its parts.
    whole : dict of str to tuple
        The features of few whole numbers: which ones there are.
    pooled : dict of str to tuple
        The features with rare values: their states, the last of which stands for these.
    cells : dict of str to Cells
        What all that was decided by.
    """

    names: tuple[str, ...] = ()
    numbers: dict[str, FloatArray] = field(default_factory=dict)
    coded: dict[str, Coded] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    dates: dict[str, dict[str, str]] = field(default_factory=dict)
    whole: dict[str, tuple[State, ...]] = field(default_factory=dict)
    pooled: dict[str, tuple[State, ...]] = field(default_factory=dict)
    cells: dict[str, Cells] = field(default_factory=dict)


def settle(
    frame: pd.DataFrame,
    rules: Rules,
    weights: FloatArray | None = None,
    binned: bool = True,
    labels: Codes | None = None,
) -> Settled:
    """Decide about every column of the training rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows that have positive weights.
    rules : Rules
    weights : float64 array of shape (rows,), optional
    binned : bool
        Whether there is a discretiser; without one every distinct number is a state.
    labels : int array of shape (rows,), optional
        The number of each row's class, by which rare states are pooled or not.

    Raises
    ------
    ValueError
        For columns that cannot be learned from, and where none is left; the message names all of them.
    """
    given = cells_of(frame, labels, weights)
    kinds = {name: column_kind(own.column) for name, own in given.items()}
    columns: dict[str, Seen] = dict(given)
    for name, own in given.items():
        if kinds[name] == TIMES and rules.dates == "parts":
            columns[name] = {part: own._replace(column=numbers) for part, numbers in all_parts(own.column).items()}
    return settle_cells(columns, rules, binned, kinds)


def settle_cells(
    columns: Mapping[str, Seen], rules: Rules, binned: bool = True, kinds: Mapping[str, str] | None = None
) -> Settled:
    """Decide about columns by their cells, as :func:`settle` does.

    Parameters
    ----------
    columns : mapping of str to Cells, or to mapping of str to Cells
        With ``dates="parts"``, a column of points in time is given as all parts of them.
    rules : Rules
    binned : bool
    kinds : mapping of str to str, optional
        What the columns hold, where that is known.
    """
    listed = listed_columns(list(columns), rules.categorical_features)
    found = Settled()
    if kinds is None:
        kinds = {name: column_kind(own.column) if isinstance(own, Cells) else TIMES for name, own in columns.items()}
    found.cells, kinds = _spread_times(columns, kinds, rules, found)
    named = {part for name in listed or () for part in found.dates.get(name, {name: name}).values()}
    counted = found.cells
    if rules.relative_weights:
        counted = {name: cells._replace(weights=None) for name, cells in found.cells.items()}
    seen = look(counted, kinds, None if listed is None else named)
    problems = [*unsupported(kinds), *seen.problems]
    found.numbers = seen.numbers if binned else {}
    found.whole = {name: few.states for name, few in seen.few.items() if _have_middles(few.states)}
    for name, own in found.cells.items():
        if kinds[name] in (NUMBERS, STATES):
            _settle_column(name, own, seen, named, rules.on_useless == "error", found, problems)
    found.names = tuple(name for name in found.cells if name not in found.left_out)
    _leave_out(found, rules, problems)
    report_inexact([name for name in found.coded if are_inexact(found.cells[name].column)])
    spared = named | rules.spared
    _pool(found, rules, spared if binned else spared | seen.numbers.keys())
    return found


def empty_columns(frame: pd.DataFrame, rules: Rules) -> list[str]:
    """Return the columns without any value that will be left out, so that no row is incomplete for them."""
    return [str(name) for name, column in frame.items() if rules.on_useless == "drop" and column.isna().all()]


def _spread_times(
    columns: Mapping[str, Seen], kinds: Mapping[str, str], rules: Rules, found: Settled
) -> tuple[dict[str, Cells], dict[str, str]]:
    """Return the cells of all columns, with times as the rule says, and what each column holds."""
    cells: dict[str, Cells] = {}
    taken = set(kinds)
    for name, own in columns.items():
        if isinstance(own, Cells):
            if kinds[name] == TIMES and rules.dates == "drop":
                found.left_out[name] = TIMES
            else:
                cells[name] = own
        elif all(part.column.isna().all() for part in own.values()):
            found.left_out[name] = EMPTY
        else:
            parts = varying({part: cell.column for part, cell in own.items()})
            found.dates[name] = {part: unlike(f"{name}.{part}", taken) for part in parts}
            taken |= set(found.dates[name].values())
            called = {found.dates[name][part]: own[part] for part in parts}
            cells |= {new: cell._replace(column=cell.column.rename(new)) for new, cell in called.items()}
    return cells, {name: kinds.get(name, NUMBERS) for name in cells}


def _settle_column(
    name: str, cells: Cells, seen: Look, named: set[str], strict: bool, found: Settled, problems: list[str]
) -> None:
    """Code a discrete column, or note why a column is useless."""
    column = cells.column
    if name in found.numbers:
        reason = _useless_numbers(name, cells, found.numbers[name])
    elif name in seen.few:
        found.coded[name] = seen.few[name]
        reason = None if seen.few[name].states else EMPTY
    elif cells.n_distinct is not None:
        reason = UNCOUNTED
    else:
        codes, values = factorize(column)
        reason = _useless_states(codes, len(values), strict, cells.repeats)
        if reason != EMPTY and name in named:
            reason = None
        if reason is None:
            try:
                found.coded[name] = coded(column, codes, values)
            except ValueError as error:
                problems.append(str(error))
    if reason is not None:
        found.left_out[name] = reason
    elif cells.merged or (name in found.numbers and are_merged(column, found.numbers[name])):
        problems.append(f"column {name!r} contains whole numbers that are too large for floats to tell apart; {_CLOSE}")


def _useless_numbers(name: str, cells: Cells, values: FloatArray) -> str | None:
    if np.isnan(values[:1]).all() and np.isnan(values).all():
        return EMPTY
    if not is_named_like_identifier(name):
        return None
    present = ~np.isnan(values)
    n_distinct = cells.column.nunique() if cells.n_distinct is None else cells.n_distinct
    n_rows = count_rows(present, cells.repeats)
    nearly_all = n_distinct > _IDENTIFIER_STATES and n_distinct >= _NEARLY_ALL * n_rows
    return NUMBERED if nearly_all and (values[present] == np.rint(values[present])).all() else None


def _useless_states(codes: Codes, n_values: int, strict: bool, repeats: IntArray | None) -> str | None:
    """Tell whether a discrete column is useless; of categories those count that occur."""
    if n_values <= _IDENTIFIER_STATES and (codes[:1] >= 0).any():
        return None
    rows = rows_by_number(codes, repeats, 1)
    if not rows.any():
        return EMPTY
    n_states = np.count_nonzero(rows)
    if n_states <= max(_IDENTIFIER_STATES, _STRICT * rows.sum()):
        return None
    if strict:
        return MANY
    return IDENTIFIER if n_states >= _NEARLY_ALL_STATES * rows.sum() else None


def is_named_like_identifier(name: str) -> bool:
    """Whether a column is named as one is whose numbers name rows.

    Examples
    --------
    >>> is_named_like_identifier("customerId"), is_named_like_identifier("width")
    (True, False)
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _LAST_WORDS or words[0] in _FIRST_WORDS)


def _leave_out(found: Settled, rules: Rules, problems: list[str]) -> None:
    """Leave useless columns out with a warning, or refuse them, together with all that is wrong."""
    useless = {name: reason for name, reason in found.left_out.items() if reason in _REMEDIES}
    if rules.on_useless == "error" or not found.names:
        problems += [f"columns {names} {reason}; {_REMEDIES[reason]}" for reason, names in _by_reason(useless).items()]
    refuse(problems if useless or found.names else [*problems, "dates='drop' leaves no column to learn from"])
    if useless:
        told = "; ".join(f"columns {names}, which {reason}" for reason, names in _by_reason(useless).items())
        warn_outside(
            f"left out, and summed out in prediction: {told}. categorical_features keeps an identifier that it names; "
            "on_useless='error' refuses such columns",
            UselessColumnWarning,
        )
    for name in useless:
        found.numbers.pop(name, None)
        found.coded.pop(name, None)
        found.whole.pop(name, None)


def _by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    reasons = dict.fromkeys(left_out.values())
    return {reason: [name for name, own in left_out.items() if own == reason] for reason in reasons}


def _pool(found: Settled, rules: Rules, spared: set[str]) -> None:
    """Pool rare states as the rules say, with one warning; by default, `spared` columns keep theirs."""
    told = []
    for name, column in found.coded.items():
        own, fewest = found.cells[name], rules.min_frequency
        if fewest == "auto":
            many = rules.max_categories is None and len(column.states) > MANY_STATES
            fewest = _rows_needed(column, own) if many and name not in spared else None
        weights = None if rules.relative_weights else own.weights
        pooled = pool(column, weights, rules.max_categories, fewest, own.repeats)
        if pooled is not None:
            found.coded[name], found.pooled[name] = pooled, pooled.states
            found.whole.pop(name, None)
            n_rare = len(column.states) - len(pooled.states) + 1
            told.append(f"{n_rare} of the {len(column.states)} states of {name!r} are {pooled.states[-1]!r}")
    if told:
        others = f"; and in {len(told) - _SHOWN} more columns" if len(told) > _SHOWN else ""
        warn_outside(
            f"rare states are pooled: {'; '.join(told[:_SHOWN])}{others}. max_categories and min_frequency say which "
            f"(by default: in columns of more than {MANY_STATES} states those of fewer than {FEW_ROWS} rows, or "
            f"{FEW_TELLING_ROWS} where chance does not explain how the column goes with the class); "
            "min_frequency=None keeps all",
            PooledStatesWarning,
        )


def _rows_needed(column: Coded, cells: Cells) -> int:
    """Return how many rows a state of a column with many states needs."""
    telling = cells.labels is not None and tells(column, cells.labels, cells.repeats)
    return FEW_TELLING_ROWS if telling else FEW_ROWS


def _have_middles(states: Sequence[State]) -> bool:
    """Whether states are numbers, and floats tell what lies between them."""
    return bool(states) and all(not isinstance(state, str) and abs(state) <= _LARGEST_WITH_HALVES for state in states)
