"""Decisions about columns before numbers are cut: which are useless, discrete or dates, and which states are pooled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bnplug.errors import AmbiguousValueWarning, PooledStatesWarning, UselessColumnWarning, did_you_mean, warn_outside
from bnplug.table._cells import Cells, Seen, cells_of, count_rows, missing_text, rows_by_number, similar_text, unlike
from bnplug.table._checks import are_merged, is_inexact, refuse, report_inexact
from bnplug.table._dates import all_parts, varying, zone_of
from bnplug.table.coding import MISSING, Coded, Codes, State, _same_text, code_column, coded, factorize, label_index
from bnplug.table.inspection import DateFormat, NumericText, date_formats, numeric_text
from bnplug.table.kinds import NUMBERS, STATES, TIMES, _inspect, _listed_columns, _unsupported, column_kind
from bnplug.table.rules import ColumnRules
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.table.table import Table

# A discrete column with more states than this, and than this share of the rows, identifies rows; with
# on_useless="error", more than half of the rows are enough.
_IDENTIFIER_STATES, _NEARLY_ALL_STATES, _STRICT = 10, 0.8, 0.5

# So does a column of whole numbers named like an identifier, if this share of them is distinct.
_NEARLY_ALL = 0.95
_FIRST_WORDS = {"id", "uuid", "guid", "unnamed"}
_LAST_WORDS = _FIRST_WORDS | {"ids", "identifier", "key", "rowid", "userid", "serial", "no", "nr", "number"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Larger floats have no fractional part.
_LARGEST_WITH_HALVES = 2.0**52

# min_frequency="auto": in a column with more states than MANY_STATES, a state needs FEW_ROWS rows, or FEW_TELLING_ROWS
# if the column is significantly associated with the class (at the level CHANCE).
MANY_STATES, FEW_ROWS, FEW_TELLING_ROWS, CHANCE = 30, 30, 10, 0.001

# The name of the state of rare values, made longer if a state has that name.
OTHER = "other"

# A warning names this many columns, and this many values of a column.
_SHOWN, _SHOWN_TEXTS = 10, 5

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


@dataclass
class ColumnPlan:
    """The features of a frame, and the decisions about its columns, all by name; see :class:`ColumnEncoder`."""

    names: tuple[str, ...] = ()
    numbers: dict[str, FloatArray] = field(default_factory=dict)
    coded: dict[str, Coded] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    dates: dict[str, dict[str, str]] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    whole: dict[str, tuple[State, ...]] = field(default_factory=dict)
    pooled: dict[str, tuple[State, ...]] = field(default_factory=dict)
    cells: dict[str, Cells] = field(default_factory=dict)
    numeric_text: dict[str, NumericText] = field(default_factory=dict)
    mixed_dates: dict[str, list[DateFormat]] = field(default_factory=dict)


def plan_columns(data: pd.DataFrame | Mapping[str, Seen], rules: ColumnRules, binned: bool = True) -> ColumnPlan:
    """Decide about every column of rows with positive weights: of a frame, or given as cells.

    Without a discretizer (`binned`), every distinct number is a state. A ``ValueError`` names all unusable columns.
    """
    columns = cells_of(data) if isinstance(data, pd.DataFrame) else data
    listed = _listed_columns(list(columns), rules.categorical_features)
    plan = ColumnPlan()
    kinds = _spread_times(columns, rules, plan)
    named = {part for name in listed or () for part in plan.dates.get(name, {name: name}).values()}
    counted = plan.cells
    if rules.relative_weights:
        counted = {name: cells._replace(weights=None) for name, cells in plan.cells.items()}
    numbers, few_numbers, found = _inspect(counted, kinds, None if listed is None else named)
    problems = [*_unsupported(kinds), *found]
    plan.numbers = numbers if binned else {}
    # Numbers whose midpoints floats represent exactly.
    plan.whole = {
        name: few.states
        for name, few in few_numbers.items()
        if few.states and all(not isinstance(x, str) and abs(x) <= _LARGEST_WITH_HALVES for x in few.states)
    }
    for name in plan.cells:
        if kinds[name] in (NUMBERS, STATES):
            _plan_column(name, few_numbers, named, rules.on_useless == "error", plan, problems)
    plan.names = tuple(name for name in plan.cells if name not in plan.left_out)
    _leave_out(plan, rules, problems)
    report_inexact([name for name, column in plan.coded.items() if any(map(is_inexact, column.states))])
    _report_ambiguous(plan)
    spared = named | set(rules.states or ())
    _pool(plan, rules, spared if binned else spared | numbers.keys())
    return plan


def with_given_states(frame: pd.DataFrame, states: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return a frame in which some columns are categoricals with additional states, in the order that states have."""
    for name in states:
        _check_column(name, [str(column) for column in frame.columns])
    return frame.assign(**{name: _with_categories(frame[name], labels) for name, labels in states.items()})


def check_known_states(states: Mapping[str, Sequence[Any]], schema: Table, columns: Sequence[str]) -> None:
    """Raise a ``ValueError`` for states that the first rows, whose states are those of `schema`, did not have."""
    for name, labels in states.items():
        _check_column(name, columns)
        known = schema.states.get(name)
        new = [] if known is None else [label for label in dict.fromkeys(labels) if label not in known]
        if new:
            raise ValueError(
                f"states={{{name!r}: ...}}: {new} are not among the states of the column, {list(known or ())}; "
                "states are named in the first partial_fit, so begin again with all of them"
            )


def _check_column(name: str, columns: Sequence[str]) -> None:
    if name not in columns:
        raise ValueError(f"states names {name!r}, which is not a column.{did_you_mean(name, columns)}")


def _with_categories(column: pd.Series[Any], states: Sequence[Any]) -> pd.Series[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        new = [label for label in dict.fromkeys(states) if label not in column.cat.categories]
        return column.cat.add_categories(new)
    cells = pd.concat([column.astype(object), pd.Series(list(states), dtype=object)], ignore_index=True)
    codes, labels = code_column(cells.rename(str(column.name)))
    return pd.Series(pd.Categorical.from_codes(codes[: len(column)], categories=label_index(labels)), column.index)


def _spread_times(columns: Mapping[str, Seen], rules: ColumnRules, plan: ColumnPlan) -> dict[str, str]:
    """Set the cells of a plan, with points in time as the rules say; return their kinds."""
    taken, kinds = set(columns), {}
    for name, seen in columns.items():
        if isinstance(seen, Cells):
            kind = column_kind(seen.column)
            if kind == TIMES and rules.dates == "drop":
                plan.left_out[name] = TIMES
                continue
            if kind != TIMES or rules.dates == "error":
                plan.cells[name], kinds[name] = seen, kind
                continue
            of_column = seen._replace(zone=zone_of(seen.column))
            seen = {part: of_column._replace(column=numbers) for part, numbers in all_parts(seen.column).items()}
        if all(cells.column.isna().all() for cells in seen.values()):
            plan.left_out[name] = EMPTY
            continue
        parts = varying({part: cells.column for part, cells in seen.items()})
        zone = seen[parts[0]].zone
        plan.zones |= {} if zone is None else {name: zone}
        plan.dates[name] = features = {part: unlike(f"{name}.{part}", taken) for part in parts}
        taken |= set(features.values())
        for part, feature in features.items():
            plan.cells[feature] = seen[part]._replace(column=seen[part].column.rename(feature))
            kinds[feature] = NUMBERS
    return kinds


def _plan_column(
    name: str, few: Mapping[str, Coded], named: set[str], strict: bool, plan: ColumnPlan, problems: list[str]
) -> None:
    """Code a discrete column, or note why a column is useless."""
    cells = plan.cells[name]
    reason = None
    if name in plan.numbers:
        reason = _useless_numbers(name, cells, plan.numbers[name])
    elif name in few:
        plan.coded[name] = few[name]
        reason = None if few[name].states else EMPTY
    elif cells.n_distinct is not None:
        reason = UNCOUNTED
    else:
        codes, values = factorize(cells.column)
        reason = _useless_states(codes, len(values), strict, cells.repeats)
        if reason != EMPTY and name in named:
            reason = None
        else:
            _note_text(name, list(values), rows_by_number(codes, cells.repeats, len(values)), plan)
        if reason is None:
            try:
                plan.coded[name] = coded(cells.column, codes, values)
            except ValueError as error:
                problems.append(str(error))
    if reason is not None:
        plan.left_out[name] = reason
    elif cells.merged or (name in plan.numbers and are_merged(cells.column, plan.numbers[name])):
        problems.append(
            f"column {name!r} contains whole numbers that are too large for floats to tell apart; convert the column "
            "to text, or subtract its smallest number"
        )


def _note_text(name: str, values: Sequence[object], rows: FloatArray, plan: ColumnPlan) -> None:
    """Note a column of text that is mostly numbers, or dates in several formats."""
    numbers = numeric_text(values, rows)
    if numbers is not None:
        plan.numeric_text[name] = numbers
    formats = date_formats(values, rows)
    if len(formats) > 1:
        plan.mixed_dates[name] = formats


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
    """Return why a discrete column is useless, or None; only categories that occur count."""
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
    """Return whether the name of a column suggests that its numbers identify rows."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _LAST_WORDS or words[0] in _FIRST_WORDS)


def _leave_out(plan: ColumnPlan, rules: ColumnRules, problems: list[str]) -> None:
    """Leave out useless columns with a warning, or raise a ``ValueError`` with all problems."""
    useless: dict[str, list[str]] = {}
    for name, reason in plan.left_out.items():
        if reason in _REMEDIES:
            useless.setdefault(reason, []).append(name)
            for decisions in (plan.numbers, plan.coded, plan.whole):
                decisions.pop(name, None)
    if rules.on_useless == "error" or not plan.names:
        problems += [f"columns {names} {reason}; {_REMEDIES[reason]}" for reason, names in useless.items()]
    refuse(problems if useless or plan.names else [*problems, "dates='drop' leaves no column to learn from"])
    if useless:
        what = "; ".join(f"columns {names}, which {reason}" for reason, names in useless.items())
        warn_outside(
            f"omitted, and marginalized in prediction: {what}. categorical_features keeps an identifier that it names; "
            "on_useless='error' refuses such columns",
            UselessColumnWarning,
        )


def _report_ambiguous(plan: ColumnPlan) -> None:
    """Warn about states that are probably the same value, or that files do not keep apart."""
    columns, odd = plan.coded, plan.numeric_text
    twice = {name: pair for name, column in columns.items() if (pair := _same_text(column.states)) is not None}
    similar = {name: pair for name, column in columns.items() if (pair := similar_text(column.states)) is not None}
    gaps = {
        name: found for name, column in columns.items() if name not in odd and (found := missing_text(column.states))
    }
    messages = []
    if twice:
        one, other = next(iter(twice.values()))
        messages.append(
            f"columns {list(twice)} have values that differ only in type, such as {one!r} and {other!r}; they are "
            "separate states. Read each column as one type: pandas.read_csv(..., low_memory=False) or dtype=str"
        )
    if similar:
        one, other = next(iter(similar.values()))
        messages.append(
            f"columns {list(similar)} have values that differ only in spaces or letter case, such as {one!r} and "
            f"{other!r}; they are separate states. If they mean the same, replace one by the other"
        )
    if odd:
        shown = [_numbers_in_text(name, mixed) for name, mixed in list(odd.items())[:_SHOWN]]
        others = f". Text in {len(odd) - _SHOWN} more columns is mostly numbers" if len(odd) > _SHOWN else ""
        messages.append(". ".join(shown) + others)
    for name, formats in list(plan.mixed_dates.items())[:_SHOWN]:
        listed = " and ".join(f"{known.name} ({known.example!r}, {known.rows:,} rows)" for known in formats)
        messages.append(f"column {name!r} has dates in several formats: {listed}. Rewrite all as YYYY-MM-DD")
    if gaps:
        texts = list(dict.fromkeys(text for found in gaps.values() for text in found))
        messages.append(
            f"columns {list(gaps)} have states that usually stand for a missing cell: {texts}. If they do, replace "
            f"them by None, or read CSV files with csv={{'missing': {texts}}} (--na on the command line)"
        )
    if messages:
        warn_outside(". Also, ".join(messages), AmbiguousValueWarning)


def _numbers_in_text(name: str, mixed: NumericText) -> str:
    """Return the message about a column of text that is mostly numbers."""
    others = [f"{text!r} ({rows:,} {'row' if rows == 1 else 'rows'})" for text, rows in mixed.others[:_SHOWN_TEXTS]]
    more = len(mixed.others) - len(others)
    # 99.9% are not all.
    percent = min(round(100 * mixed.share), 99 if mixed.others else 100)
    message = f"{percent}% of the cells of {name!r} are numbers"
    if mixed.comma is not None:
        message += f", some with decimal commas, such as {mixed.comma!r}: pass decimal=',' (--decimal ,)"
    if mixed.thousands is not None:
        message += f", some with commas between thousands, such as {mixed.thousands!r}: remove the commas"
    if not others:
        return f"{message}. Each value is a separate state"
    others += [f"and {more:,} more"] if more > 0 else []
    message += f"; the others: {', '.join(others)}. Each value is a separate state. "
    if more > 0:
        return f"{message}Convert the column to numbers, or name it in categorical_features"
    texts = [text for text, _ in mixed.others]
    options = " ".join(f"--na {text!r}" for text in texts)
    return f"{message}If they mean that the value is missing, pass na_values={texts} ({options})"


def _pool(plan: ColumnPlan, rules: ColumnRules, spared: set[str]) -> None:
    """Pool rare states as the rules say, with one warning; by default, `spared` columns keep theirs."""
    changes = []
    for name, column in plan.coded.items():
        cells, fewest = plan.cells[name], rules.min_frequency
        if fewest == "auto":
            many = rules.max_categories is None and len(column.states) > MANY_STATES and name not in spared
            telling = many and cells.labels is not None and tells(column, cells.labels, cells.repeats)
            fewest = (FEW_TELLING_ROWS if telling else FEW_ROWS) if many else None
        weights = None if rules.relative_weights else cells.weights
        pooled = pool(column, weights, rules.max_categories, fewest, cells.repeats)
        if pooled is not None:
            plan.coded[name], plan.pooled[name] = pooled, pooled.states
            plan.whole.pop(name, None)
            n_rare = len(column.states) - len(pooled.states) + 1
            changes.append(f"{n_rare} of the {len(column.states)} states of {name!r} are {pooled.states[-1]!r}")
    others = f"; and in {len(changes) - _SHOWN} more columns" if len(changes) > _SHOWN else ""
    if changes:
        warn_outside(
            f"rare states are pooled: {'; '.join(changes[:_SHOWN])}{others}. max_categories and min_frequency say "
            f"which (by default: in columns of more than {MANY_STATES} states those of fewer than {FEW_ROWS} rows, or "
            f"{FEW_TELLING_ROWS} if the column is significantly associated with the class); "
            "min_frequency=None keeps all",
            PooledStatesWarning,
        )


def pool(
    column: Coded,
    weights: FloatArray | None,
    max_categories: int | None,
    min_frequency: float | None,
    repeats: IntArray | None = None,
) -> Coded | None:
    """Return a column whose last state replaces all rare ones; None if no state is rare.

    The first of equally frequent states are kept. The rows of a state are at least its number of rows, whatever their
    weights.
    """
    rows = rows_by_number(column.codes, repeats, len(column.states))
    if weights is not None:
        rows = np.maximum(rows, rows_by_number(column.codes, weights, len(column.states)))
    kept = np.ones(len(rows), dtype=bool)
    if min_frequency is not None:
        kept = rows >= (min_frequency if min_frequency >= 1 else min_frequency * rows.sum())
    if max_categories is not None and np.count_nonzero(kept) + (not kept.all()) > max_categories:
        order = np.argsort(-rows, kind="stable")
        kept &= np.isin(np.arange(len(rows)), order[kept[order]][: max_categories - 1])
    if kept.all():
        return None
    states = tuple(state for state, stays in zip(column.states, kept, strict=True) if stays)
    number = np.full(len(kept) + 1, len(states), dtype=np.int64)
    number[:-1][kept] = np.arange(len(states))
    number[MISSING] = MISSING
    return Coded(number[column.codes], (*states, unlike(OTHER, set(map(str, states)))))


def tells(column: Coded, labels: Codes, repeats: IntArray | None = None) -> bool:
    """Return whether a column is significantly associated with the class, by Pearson's test of independence."""
    from scipy.special import chdtrc

    n_classes = int(labels.max(initial=0)) + 1
    cells = np.where((column.codes >= 0) & (labels >= 0), column.codes.astype(np.int64) * n_classes + labels, -1)
    rows = rows_by_number(cells, repeats, len(column.states) * n_classes).reshape(-1, n_classes)
    rows = rows[rows.any(axis=1)][:, rows.any(axis=0)]
    if min(rows.shape) < 2:
        return False
    expected = rows.sum(axis=1, keepdims=True) * (rows.sum(axis=0) / rows.sum())
    statistic = ((rows - expected) ** 2 / expected).sum()
    return bool(chdtrc((rows.shape[0] - 1) * (rows.shape[1] - 1), statistic) < CHANCE)
