"""Checks of the training rows: target leakage, and categories without rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import FloatArray
from bnplug.data.coding import factorize
from bnplug.data.frames import collected, is_polars
from bnplug.data.table import Table
from bnplug.errors import TargetLeakageWarning, UnseenValueWarning, warn_outside

# A state in fewer rows may occur with a single class by chance.
_FEWEST_ROWS = 5

# A warning names this many columns, and this many categories of each.
_SHOWN = 5


def label_name(y: Any) -> str | None:
    """Return the name of the labels: the name of a series, or of the only column of a frame.

    Examples
    --------
    >>> label_name(pd.Series([0, 1], name="ill")), label_name(pd.DataFrame({"ill": [0, 1]})), label_name([0, 1])
    ('ill', 'ill', None)
    """
    y = collected(y)
    if isinstance(y, pd.DataFrame) or is_polars(y):
        return str(y.columns[0]) if len(y.columns) == 1 else None
    name = getattr(y, "name", None)
    return None if name in (None, "") else str(name)


def distinct_pairs(column: pd.Series[Any], labels: npt.ArrayLike) -> set[tuple[Hashable, Hashable]]:
    """Return the distinct pairs of a value and a label; rows in which either is missing are skipped.

    Examples
    --------
    >>> sorted(distinct_pairs(pd.Series(["B", "M", None, "B"]), ["no", "yes", "yes", "no"]))
    [('B', 'no'), ('M', 'yes')]
    """
    codes, values = factorize(column)
    label_codes, label_values = factorize(pd.Series(labels))
    known = (codes >= 0) & (label_codes >= 0)
    pairs = np.unique(np.stack([codes[known], label_codes[known]]), axis=1)
    return {(values[i], label_values[j]) for i, j in pairs.T.tolist()}


def refuse_class_column(name: str, pairs: Collection[tuple[Hashable, Hashable]]) -> None:
    """Raise a ``ValueError`` if a feature with the name of the class has the same values, or codes of them.

    Parameters
    ----------
    name : str
        The name of the feature and of the class.
    pairs : collection of (value, label)
        The distinct pairs that occur; see :func:`distinct_pairs`.

    Examples
    --------
    >>> refuse_class_column("ill", {("B", 0), ("M", 1)})
    Traceback (most recent call last):
    ValueError: X contains the class: column 'ill' has the same name as y, and its values match the labels one to one...
    """
    one_to_one = len(pairs) == len({value for value, _ in pairs}) == len({label for _, label in pairs})
    if len(pairs) > 1 and one_to_one:
        raise ValueError(
            f"X contains the class: column {name!r} has the same name as y, and its values match the labels one "
            f"to one. Drop it: fit(X.drop(columns={name!r}), y)"
        )


def determining_features(table: Table) -> list[str]:
    """Return the features that determine the class.

    Such a feature has at most √n states, where n is the number of rows in which it is known. Each state that occurs
    is in at least 5 rows, all of one class, and at least two classes occur among these rows. Row weights are ignored,
    because they do not make a coincidence less likely.

    Examples
    --------
    >>> frame = pd.DataFrame({"ward": ["a", "b"] * 6, "sex": ["f", "m", "m"] * 4, "ill": ["no", "yes"] * 6})
    >>> determining_features(Table.from_frame(frame, "ill"))
    ['ward']
    """
    return _determining(table, _count_features(table)[0])


def warn_of_features(table: Table, categorical: Collection[str] = ()) -> None:
    """Warn of target leakage and of categories without training rows, each in one warning for all features.

    Parameters
    ----------
    table : Table
        The training rows.
    categorical : collection of str
        The features whose states are values of the data, not bins of numbers.
    """
    pairs, rows = _count_features(table, categorical)
    _warn_of_leakage(table, _determining(table, pairs))
    _warn_of_empty_categories(table, rows)


def _warn_of_leakage(table: Table, names: list[str]) -> None:
    """Issue one warning that names all features that determine the class."""
    if not names:
        return
    one = len(names) == 1
    what = f"feature {names[0]!r} determines" if one else f"features {names} determine"
    warn_outside(
        f"{what} the class {table.target!r}: each of {'its' if one else 'their'} states occurs with a single class. If "
        f"{'it was' if one else 'they were'} derived from the class, or recorded after the class was known, drop "
        f"{'it' if one else 'them'}: otherwise scores are too optimistic",
        TargetLeakageWarning,
    )


def _warn_of_empty_categories(table: Table, rows: Mapping[int, FloatArray]) -> None:
    """Issue one warning that names all categories without training rows."""
    empty = {
        repr(table.names[v]): _listed([repr(table.states[table.names[v]][i]) for i in np.flatnonzero(counts == 0)])
        for v, counts in rows.items()
        if (counts == 0).any()
    }
    if not empty:
        return
    if len(empty) == 1:
        name, categories = next(iter(empty.items()))
        what = f"Column {name} has categories without training rows: {categories}"
    else:
        columns = _listed([f"{name} ({categories})" for name, categories in empty.items()])
        what = f"Columns have categories without training rows: {columns}"
    warn_outside(
        f"{what}. Their probabilities come from smoothing alone. To treat them as unseen values, remove them before "
        "fit (pandas: .cat.remove_unused_categories()) or convert the column to text",
        UnseenValueWarning,
    )


def _listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence, the first few if there are many."""
    others = [f"and {len(words) - _SHOWN} more"] if len(words) > _SHOWN else []
    return ", ".join([*words[:_SHOWN], *others])


def _count_features(
    table: Table, categorical: Collection[str] = ()
) -> tuple[dict[int, FloatArray], dict[int, FloatArray]]:
    """Count rows, whatever their weights, in one pass.

    Returns
    -------
    pairs : dict of int to array of shape (states, classes)
        The features with at most √n states: the number of rows of each state and class.
    rows : dict of int to array of shape (states,)
        The categorical features: the number of rows of each state.
    """
    # Compiled code is loaded when it is first needed.
    from bnplug.data._counting import count_rows

    few = [v for v in table.features if 1 < table.cards[v] <= np.sqrt(table.n_rows)]
    named = [table.index(name) for name in categorical]
    # Pairs do not count rows without a class.
    alone = [v for v in named if v not in few or table.learned_by_em]
    families = [*((v, table.target_index) for v in few), *((v,) for v in alone)]
    counts = table.sum(count_rows, families) if families else []
    pairs, rows = dict(zip(few, counts, strict=False)), dict(zip(alone, counts[len(few) :], strict=True))
    return pairs, {v: rows[v] if v in rows else pairs[v].sum(axis=1) for v in named}


def _determining(table: Table, pairs: Mapping[int, FloatArray]) -> list[str]:
    return [table.names[v] for v, counts in pairs.items() if _determines(counts)]


def _determines(counts: FloatArray) -> bool:
    """Whether the first variable of a pair determines the second, by the number of rows in each joint state."""
    counts = counts[counts.any(axis=1)]
    pure = bool(((counts > 0).sum(axis=1) == 1).all())
    several = int(counts.any(axis=0).sum()) > 1
    return pure and several and len(counts) ** 2 <= counts.sum() and counts.sum(axis=1).min() >= _FEWEST_ROWS
