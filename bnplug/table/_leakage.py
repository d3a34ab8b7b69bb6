"""Checks of the training rows: target leakage, and categories without rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.errors import TargetLeakageWarning, UnseenValueWarning, warn_outside
from bnplug.table.coding import factorize
from bnplug.table.frames import collected, is_polars
from bnplug.table.inspection import determines_class
from bnplug.table.table import Table
from bnplug.typing import FloatArray

# A warning names this many columns, and this many categories of each.
_SHOWN = 5


def label_name(y: Any) -> str | None:
    """Return the name of the labels: the name of a series, or of the only column of a frame."""
    y = collected(y)
    if isinstance(y, pd.DataFrame) or is_polars(y):
        return str(y.columns[0]) if len(y.columns) == 1 else None
    name = getattr(y, "name", None)
    return None if name in (None, "") else str(name)


def distinct_pairs(column: pd.Series[Any], labels: npt.ArrayLike) -> set[tuple[Hashable, Hashable]]:
    """Return the distinct pairs of a value and a label; rows in which either is missing are skipped."""
    codes, values = factorize(column)
    label_codes, label_values = factorize(pd.Series(labels))
    known = (codes >= 0) & (label_codes >= 0)
    pairs = np.unique(np.stack([codes[known], label_codes[known]]), axis=1)
    return {(values[i], label_values[j]) for i, j in pairs.T.tolist()}


def refuse_class_column(name: str, pairs: Collection[tuple[Hashable, Hashable]]) -> None:
    """Raise a ``ValueError`` if a feature with the name of the class has the same values, or codes of them."""
    one_to_one = len(pairs) == len({value for value, _ in pairs}) == len({label for _, label in pairs})
    if len(pairs) > 1 and one_to_one:
        raise ValueError(
            f"X contains the class: column {name!r} has the same name as y, and its values match the labels one "
            f"to one. Drop it: fit(X.drop(columns={name!r}), y)"
        )


def warn_of_features(table: Table, categorical: Collection[str] = ()) -> None:
    """Warn of target leakage, and of states of the `categorical` features without training rows."""
    # Compiled code is loaded when it is first needed.
    from bnplug.table._counting import count_rows

    most = max(np.sqrt(table.n_rows), table.cards[table.target_index])
    few = [v for v in table.features if 1 < table.cards[v] <= most]
    named = [table.index(name) for name in categorical]
    # Pairs do not count rows without a class.
    alone = [v for v in named if v not in few or table.learned_by_em]
    families = [*((v, table.target_index) for v in few), *((v,) for v in alone)]
    counts = table.sum(count_rows, families) if families else []
    pairs, rows = dict(zip(few, counts, strict=False)), dict(zip(alone, counts[len(few) :], strict=True))
    leaking = [table.names[v] for v in few if determines_class(pairs[v])]
    if len(leaking) == 1:
        what, its, it_was, it = f"feature {leaking[0]!r} determines", "its", "it was", "it"
    else:
        what, its, it_was, it = f"features {leaking} determine", "their", "they were", "them"
    if leaking:
        warn_outside(
            f"{what} the class {table.target!r}: each of {its} states occurs with a single class. If {it_was} derived "
            f"from the class, or recorded after the class was known, drop {it}: otherwise scores are too optimistic",
            TargetLeakageWarning,
        )
    _warn_of_empty_categories(table, {v: rows[v] if v in rows else pairs[v].sum(axis=1) for v in named})


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
