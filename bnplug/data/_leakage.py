"""Target leakage: the class column among the features, and features that determine the class."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import FloatArray
from bnplug.data.coding import factorize
from bnplug.data.frames import collected, is_polars
from bnplug.data.table import Table
from bnplug.errors import TargetLeakageWarning, warn_outside

# A state in fewer rows may occur with a single class by chance.
_FEWEST_ROWS = 5


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
    ValueError: X contains the class: column 'ill' has the same name as y, and its values match those of y one to one...
    """
    one_to_one = len(pairs) == len({value for value, _ in pairs}) == len({label for _, label in pairs})
    if len(pairs) > 1 and one_to_one:
        raise ValueError(
            f"X contains the class: column {name!r} has the same name as y, and its values match those of y one to "
            f"one. Drop it: fit(X.drop(columns={name!r}), y)"
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
    # Compiled code is loaded when it is first needed.
    from bnplug.data._counting import count_rows

    few = [v for v in table.features if 1 < table.cards[v] <= np.sqrt(table.n_rows)]
    counts = table.sum(count_rows, [(v, table.target_index) for v in few]) if few else []
    return [table.names[v] for v, own in zip(few, counts, strict=True) if _determines(own)]


def warn_of_leakage(table: Table) -> None:
    """Issue one warning that names all features that determine the class."""
    names = determining_features(table)
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


def _determines(counts: FloatArray) -> bool:
    """Whether the first variable of a pair determines the second, by the number of rows in each joint state."""
    counts = counts[counts.any(axis=1)]
    pure = bool(((counts > 0).sum(axis=1) == 1).all())
    several = int(counts.any(axis=0).sum()) > 1
    return pure and several and len(counts) ** 2 <= counts.sum() and counts.sum(axis=1).min() >= _FEWEST_ROWS
