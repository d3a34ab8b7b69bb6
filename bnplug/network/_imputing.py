"""Missing cells of raw rows, filled in by a network: states become values again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state

from bnplug.inference.sample import draw_missing, fill_most_probable
from bnplug.network._fitted import named_frame
from bnplug.table.coding import label_index
from bnplug.typing import CodeArray, FloatArray, IntArray

#: The ways to fill in what is missing.
WAYS = ("most_probable", "sample")


#: Rows whose values stand for bins and pooled states: a frame with the columns of training, and its codes.
Donors = tuple[pd.DataFrame, CodeArray]


def imputed(model: Any, X: Any, how: str, random_state: Any, donors: Donors | None = None) -> pd.DataFrame:
    """Return rows with their missing cells filled in; see ``BayesianNetworkClassifier.impute``."""
    if how not in WAYS:
        raise ValueError(f"how={how!r} is not one of {list(WAYS)}")
    random = check_random_state(random_state)
    X = model._named(X)
    codes = np.asarray(model.encode(X))
    frame = named_frame(model, X)
    if how == "sample":
        filled = draw_missing(model.tables_, codes, random, model.n_jobs, model.max_clique_size)
    else:
        filled = fill_most_probable(model.tables_, codes, model.schema_.features, model.max_clique_size)
    given = (frame, codes) if donors is None else donors
    result = {str(name): column for name, column in frame.items()}
    for name in model.encoder_.names:
        v = model.schema_.index(name)
        # A part of a date is no column, and where missing is a state nothing is missing.
        if name not in model.encoder_.columns or name in model.encoder_.missing_states:
            continue
        column = result.get(name, pd.Series(np.nan, frame.index, dtype=object, name=name))
        holes = np.flatnonzero(column.isna().to_numpy())
        if len(holes):
            values = _values(model, name, filled[v, holes], given, how, random)
            result[name] = _with_values(column, holes, values) if name in result else pd.Series(values, frame.index)
    return pd.DataFrame(result, index=frame.index)


def _values(
    model: Any, name: str, states: IntArray, donors: Donors, how: str, random: np.random.RandomState
) -> list[Any]:
    """Return a value for each state: its label or, of a bin or pooled state, that of a donor."""
    labels = label_index(model.schema_.states[name]).tolist()
    is_numeric, cuts = name in model.encoder_.numeric, model.encoder_.cut_points.get(name, ())
    lent = set(range(len(labels))) if is_numeric else set()
    if name in model.encoder_.pooled:
        lent.add(len(labels) - 1)
    v, (frame, codes) = model.schema_.index(name), donors
    there = frame[name] if name in frame.columns else pd.Series(dtype=object)
    cells: list[Any] = [labels[state] for state in states.tolist()]
    for state in sorted(lent & set(states.tolist())):
        lenders = there[(codes[v] == state) & there.notna().to_numpy()] if len(there) else there
        places = np.flatnonzero(states == state)
        if len(lenders) and how == "sample":
            values = lenders.iloc[random.randint(len(lenders), size=len(places))].tolist()
        elif len(lenders):
            is_ordered = pd.api.types.is_numeric_dtype(lenders)
            # The value in the middle, which is one of them; or the most frequent.
            middle = lenders.sort_values().iloc[(len(lenders) - 1) // 2] if is_ordered else lenders.mode().iloc[0]
            values = [middle] * len(places)
        else:
            # The label of a bin is no number; a column without cuts stays missing.
            label = np.nan if is_numeric and isinstance(labels[state], str) else labels[state]
            values = [_number_in_bin(cuts, state) if len(cuts) else label] * len(places)
        for place, value in zip(places.tolist(), values, strict=True):
            cells[place] = value
    return cells


def _number_in_bin(cuts: FloatArray, state: int) -> float:
    """Return the middle of a bin; of the first its upper end, which it includes, of the last a number just inside."""
    if state == 0:
        return float(cuts[0])
    lower = cuts[state - 1]
    if state < len(cuts):
        return float(max(lower / 2 + cuts[state] / 2, np.nextafter(lower, np.inf)))
    with np.errstate(over="ignore"):
        # The column may be one of float32, whose next number is farther away.
        above = np.nextafter(np.float32(lower), np.float32(np.inf))
    return float(above if np.isfinite(above) else np.nextafter(lower, np.inf))


def _with_values(column: pd.Series[Any], holes: IntArray, values: list[Any]) -> pd.Series[Any]:
    """Return a column with values in its holes, of its own type where that holds them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        new = [value for value in dict.fromkeys(values) if value not in column.cat.categories]
        column = column.cat.add_categories(new)
    cells: npt.NDArray[Any] = column.to_numpy(dtype=object, copy=True)
    cells[holes] = values
    try:
        return pd.Series(cells, column.index, dtype=column.dtype, name=column.name)
    except (TypeError, ValueError):
        return pd.Series(cells, column.index, name=column.name)
