"""States by their labels: rows given as such, and numeric columns that come as bins already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import CodeArray
from bnplug.data._pooling import unlike
from bnplug.data.bins import bin_labels, in_bins, nearest
from bnplug.data.coding import MISSING, Coded, State, code_column, factorize, label_index
from bnplug.data.kinds import is_numeric, to_floats
from bnplug.data.table import Table
from bnplug.errors import did_you_mean


def named_bins(column: pd.Series[Any], cuts: npt.ArrayLike) -> Coded | None:
    """Return the bins of a column that names some of them; None where it holds numbers alone.

    Raises
    ------
    ValueError
        If a value is neither a number nor the label of a bin; the message names the column.

    Examples
    --------
    >>> named_bins(pd.Series(["<=0.5", ">0.5", None, 0.3]), [0.5])
    Coded(codes=array([ 0,  1, -1,  0]), states=('<=0.5', '>0.5'))
    """
    if is_numeric(column) or column.dtype.kind == "b":
        return None
    codes, values = factorize(column)
    position = {label: number for number, label in enumerate(bin_labels(cuts))}
    numbers = [position[v] if isinstance(v, str) and v in position else _bin(v, cuts, column.name) for v in values]
    return Coded(np.array([*numbers, MISSING], dtype=np.int64)[codes], tuple(position))


def _bin(value: Any, cuts: npt.ArrayLike, name: Any) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(
            f"column {name!r} is numeric, and {value!r} is neither a number nor one of its bins {bin_labels(cuts)}"
        )
    return int(in_bins(np.array([number]), cuts).codes[0])


def with_nearest_states(frame: pd.DataFrame, whole: Mapping[str, Sequence[State]]) -> pd.DataFrame:
    """Return a frame in which numbers given as categories or text are replaced by the nearest known number.

    Columns of a numeric type are unchanged, and so are values that are not numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
    whole : mapping of str to sequence
        The columns with few distinct whole numbers, and these numbers.

    Examples
    --------
    >>> with_nearest_states(pd.DataFrame({"n": pd.Categorical([7, None, "2", "x"])}), {"n": (1, 2)})["n"].tolist()
    [2, None, 2, 'x']
    """
    changed = {}
    for name in [str(name) for name, dtype in frame.dtypes.items() if name in whole and dtype.kind not in "biuf"]:
        if not is_numeric(frame[name]):
            codes, values = factorize(frame[name])
            cells = np.array([*(_nearest_state(value, whole[name]) for value in values), None], dtype=object)
            changed[name] = pd.Series(cells[codes], frame.index, dtype=object)
    return frame.assign(**changed) if changed else frame


def _nearest_state(value: Any, states: Sequence[State]) -> Any:
    """Return the state nearest to a number, which may be given as text; return other values unchanged."""
    if isinstance(value, bool | np.bool_):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    return states[int(nearest(np.array([number]), states).codes[0])] if np.isfinite(number) else value


def as_states(codes: CodeArray, schema: Table, missing_states: Mapping[str, str]) -> dict[str, pd.Categorical]:
    """Return encoded rows as columns of state labels.

    A cell in the state for missing cells becomes missing. In a column with such a state, a value that did not occur in
    training becomes ``"unseen"``, or a similar label that is not a state: as a missing cell it would be mistaken for
    the state for missing cells.

    Examples
    --------
    >>> schema = Table.empty(["sky", "y"], {"sky": ["sun", "?"], "y": [0, 1]}, "y")
    >>> codes = np.array([[0, 1, 255], [1, 255, 0]], np.uint8)
    >>> [list(column) for column in as_states(codes, schema, {"sky": "?"}).values()]
    [['sun', nan, 'unseen'], [1, nan, 0]]
    """
    columns = {}
    for name, row_codes in zip(schema.names, codes, strict=True):
        states, label = schema.states[name], missing_states.get(name)
        unknown = row_codes == schema.missing
        signed = np.where(unknown, MISSING, row_codes.astype(np.int64))
        if label is not None and unknown.any():
            signed[unknown] = len(states)
            states = (*states, unlike("unseen", set(map(str, states))))
        column = pd.Categorical.from_codes(signed, categories=label_index(states))
        columns[name] = column if label is None else column.remove_categories([label])
    return columns


def with_given_states(frame: pd.DataFrame, states: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return a frame in which some columns have more states than occur, as categories in the order that states have.

    Examples
    --------
    >>> with_given_states(pd.DataFrame({"n": [2, None]}), {"n": [1, 3]})["n"].cat.categories.tolist() == [1, 2, 3]
    True
    """
    for name in states:
        if name not in frame.columns:
            hint = did_you_mean(name, frame.columns)
            raise ValueError(f"states names {name!r}, and there is no such column.{hint}")
    return frame.assign(**{name: _with_categories(frame[name], own) for name, own in states.items()})


def check_known_states(states: Mapping[str, Sequence[Any]], schema: Table, columns: Sequence[str]) -> None:
    """Refuse states of columns that the first rows, whose states are `schema`'s, neither had nor named.

    Columns that are no variables, because the first rows tell nothing by them, may have any.

    Raises
    ------
    ValueError
        The message names the column and the states.
    """
    for name, given in states.items():
        if name not in columns:
            raise ValueError(f"states names {name!r}, and there is no such column.{did_you_mean(name, columns)}")
        known = schema.states.get(name)
        new = [] if known is None else [own for own in dict.fromkeys(given) if own not in known]
        if new:
            raise ValueError(
                f"states={{{name!r}: ...}}: {new} are no states of the column, which has {list(known or ())}; "
                "states are named in the first partial_fit, so begin again with all of them"
            )


def _with_categories(column: pd.Series[Any], states: Sequence[Any]) -> pd.Series[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.add_categories([own for own in dict.fromkeys(states) if own not in column.cat.categories])
    given = pd.Series(list(states), dtype=object)
    every = pd.concat([column.astype(object), given], ignore_index=True)
    every.name = column.name
    found = code_column(every)
    return pd.Series(
        pd.Categorical.from_codes(found.codes[: len(column)], categories=label_index(found.states)), column.index
    )


def to_cells(column: pd.Series[Any] | Coded) -> Any:
    """Return a column as a frame holds it."""
    if not isinstance(column, Coded):
        return column
    return pd.Categorical.from_codes(column.codes, categories=label_index(column.states), ordered=True)


def snapped(column: pd.Series[Any], states: Sequence[State]) -> pd.Series[Any]:
    """Return a column with every number that is no state in place of the nearest one, as it is where there is none."""
    if not is_numeric(column):
        return column
    values = to_floats(column)
    numbers = np.append(np.asarray(states, dtype=np.float64), np.nan)[nearest(values, states).codes]
    return column if np.array_equal(values, numbers, equal_nan=True) else pd.Series(numbers, column.index)


def with_state(column: pd.Series[Any], label: str) -> pd.Series[Any]:
    """Return `column` with missing cells as a state of their own, behind the others."""
    if any(str(value) == label for value in column.dropna().unique()):
        raise ValueError(
            f"column {column.name!r} has the value {label!r}, which is the name of the state of missing cells; "
            "training has not seen that value"
        )
    as_categorical = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")
    if label not in as_categorical.cat.categories:
        as_categorical = as_categorical.cat.add_categories([label])
    return as_categorical.fillna(label)
