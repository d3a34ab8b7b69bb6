"""Class labels: taken as they are given, or refused where a file could not give them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_scalar
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from bnplug.arrays import BoolArray
from bnplug.data._checks import is_beyond_numpy, unmasked
from bnplug.data.coding import MISSING, State, match_column, plain_label
from bnplug.data.frames import _is_polars_series, collected, is_polars

_ACCEPTED = (
    "class labels are text, or an array whose type is of truth values or of numbers of at most 64 bits; convert them, "
    "such as with y.astype(str)"
)
# scikit-learn's checks look for these words.
_UNKNOWN = "Unknown label type"
_MISSING = (
    'Input y contains NaN: the class is missing in some rows; drop them, or learn from them too, with missing="em"'
)


def class_labels(y: Any) -> npt.NDArray[Any]:
    """Return the class of every row as an array: of objects, text alone, or of numbers or truth values.

    Raises
    ------
    ValueError
        If there is something else among them (points in time, bytes, numbers longer than 64 bits, mixed types), a
        class is missing, or the numbers are no classes.

    Examples
    --------
    >>> class_labels(pd.Series([1, 0, 1], dtype="Int64"))
    array([1, 0, 1])
    """
    where = _called(y)
    if isinstance(y, list | tuple):
        _check_listed(y, where)
    labels = label_array(y)
    if pd.isna(labels).any():
        raise ValueError(_MISSING)
    if labels.dtype == object:
        _check_types(labels, where)
    check_classification_targets(labels)
    return labels


def _labels_and_gaps(y: Any, unlabeled: Any, may_lack: bool) -> tuple[npt.NDArray[Any], BoolArray]:
    """Return the class of every row, and which rows have none, what they hold being of no meaning.

    Parameters
    ----------
    y : array-like
    unlabeled : label or None
        What marks a row without a class, besides a missing value.
    may_lack : bool
        Whether rows may have no class.

    Raises
    ------
    ValueError
        As :func:`class_labels` for the others; if rows have no class and must, or all have none.

    Examples
    --------
    >>> _labels_and_gaps([1, 0, -1], -1, True)
    (array([1, 0, 1]), array([False, False,  True]))
    """
    if not may_lack and unlabeled is None:
        labels = class_labels(y)
        return labels, np.zeros(len(labels), dtype=bool)
    cells = y if isinstance(y, pd.Series) else pd.Series(_as_objects(y), dtype=object)
    gaps = _are_marked(cells, unlabeled) | (cells.isna().to_numpy() if may_lack else False)
    if gaps.any() and not may_lack:
        raise ValueError(
            f"y marks {gaps.sum()} row(s) as unlabeled={unlabeled!r}; rows without a class are learned from with "
            'missing="em" alone: say so, or drop them'
        )
    if gaps.all():
        raise ValueError("no row has a class: to learn a classifier some must")
    if not gaps.any():
        return class_labels(y), gaps
    known = class_labels(_as_given(cells[~gaps], y))
    # What stands in the gaps is of no meaning, but it must be of the others' type.
    labels = np.full(len(gaps), known[0], dtype=known.dtype)
    labels[~gaps] = known
    return labels, gaps


def _are_marked(cells: pd.Series, unlabeled: Any) -> BoolArray:
    """Return which labels are the one that marks a row without a class.

    A number is also its text: arrays of NumPy that hold text and -1, and columns of a file, have "-1" in its place.
    """
    if unlabeled is None:
        return np.zeros(len(cells), dtype=bool)
    if not is_scalar(unlabeled):
        raise ValueError(f"unlabeled={unlabeled!r} is not one label, such as -1")
    known, text = cells.notna().to_numpy(), str(unlabeled)
    marked = np.zeros(len(cells), dtype=bool)
    marked[known] = [label == unlabeled or str(label) == text for label in cells[known].tolist()]
    return marked


def _known_classes(
    labels: npt.NDArray[Any], gaps: BoolArray, classes: npt.ArrayLike | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the classes, sorted, and which of them each row has; -1 where it has none.

    Raises
    ------
    ValueError
        If no row has a class, or one that is not among `classes`, where these are given.
    """
    if gaps.all():
        raise ValueError("no row has a class: to learn a classifier some must")
    codes = np.full(len(labels), MISSING, dtype=np.intp)
    known, found = distinct_classes(labels[~gaps]) if classes is None else _among_classes(labels[~gaps], classes)
    codes[~gaps] = found
    return known, codes


def label_array(y: Any) -> npt.NDArray[Any]:
    """Return labels, which may be missing, as an array of one dimension: of objects, text, numbers or truth values.

    Raises
    ------
    ValueError
        If they are of another type, which the message names: complex numbers, bytes, points in time, containers.

    Examples
    --------
    >>> label_array(np.ma.array([1, 2], mask=[True, False]))
    array([None, 2], dtype=object)
    """
    y = collected(y)
    _check_dtypes(_kinds(y), y)
    labels: npt.NDArray[Any] = column_or_1d(_without_mask(y), warn=True)
    if labels.dtype.kind == "T":
        labels = labels.astype(object)
    _check_dtypes([labels.dtype], y)
    return labels


def distinct_classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the classes, sorted, and which of them each row has; text of another type is plain text."""
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.dtype == object:
        classes = np.array([plain_label(label) for label in classes], dtype=object)
    return classes, codes


def _among_classes(labels: npt.NDArray[Any], classes: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return given classes, sorted, and which of them each row has.

    Raises
    ------
    ValueError
        If a row has another; the message tells it.

    Examples
    --------
    >>> _among_classes(np.array([2, 2]), [2, 1])
    (array([1, 2]), array([1, 1]))
    """
    known = distinct_classes(class_labels(np.tile(label_array(classes), 3)))[0]
    codes = match_column(pd.Series(labels), known.tolist())
    if (codes < 0).any():
        unknown = pd.unique(pd.Series(labels)[codes < 0]).tolist()
        raise ValueError(f"y has the labels {unknown}, which are not among the classes {known.tolist()}")
    return known, codes.astype(np.intp)


def _as_objects(y: Any) -> npt.NDArray[Any]:
    """Return labels that may be missing, each as it is."""
    if isinstance(y, list | tuple):
        cells = np.empty(len(y), dtype=object)
        cells[:] = y
        return cells
    return label_array(y)


def _as_given(cells: pd.Series[Any], y: Any) -> Any:
    """Return the labels that are left, of the type that they would have had without gaps."""
    if isinstance(y, list | tuple):
        return cells.tolist()
    array = cells.to_numpy()
    if array.dtype.kind == "f" and (array == np.rint(array)).all() and (np.abs(array) < 2.0**53).all():
        # NaN among whole numbers has made floats of them.
        return array.astype(np.int64)
    return pd.Series(array.tolist(), name=cells.name) if array.dtype == object else array


def _called(y: Any) -> str:
    name = getattr(y, "name", None)
    return "y" if name is None else f"y ({str(name)!r})"


def _kinds(y: Any) -> list[Any]:
    """Return the types that labels say they have, before anything is made of them."""
    if is_polars(y):
        return list(y.dtypes)
    if isinstance(y, list | tuple):
        return [np.dtype(complex)] if any(isinstance(label, complex) for label in y) else []
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    return [] if dtype is None else [dtype]


def _check_dtypes(dtypes: list[Any], y: Any) -> None:
    for dtype in dtypes:
        if not _is_taken(dtype):
            raise ValueError(f"{_UNKNOWN}: {_called(y)} has labels of type {dtype}; {_ACCEPTED}")


def _is_taken(dtype: Any) -> bool:
    """Whether labels may be of a type, of numpy or of polars; what objects are is looked at one by one."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "OUTbiuf" and dtype != np.longdouble
    # polars has numbers that numpy has not, and makes numbers of records of one field.
    return not is_beyond_numpy(dtype)


def _without_mask(y: Any) -> Any:
    """Return labels that may be missing, and are not, as those that may not; what numpy's mask hides is None."""
    if isinstance(y, np.ma.MaskedArray):
        return unmasked(y)
    if _is_polars_series(y) and y.dtype.is_integer() and y.null_count():
        # polars would convert them to floats, which cannot represent all whole numbers.
        return np.array(y.to_list(), dtype=object)
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "biuf" and hasattr(dtype, "numpy_dtype"):
        return y.to_numpy(dtype.numpy_dtype) if not pd.isna(y).any() else y
    return y


def _check_listed(y: Sequence[Any], where: str) -> None:
    """Refuse what numpy would change when it makes an array of a list."""
    texts = [label for label in y if isinstance(label, str)]
    if texts and len(texts) < len(y):
        # NaN alone is unlike itself.
        if any(label is None or label is pd.NA or label != label for label in y):
            raise ValueError(_MISSING)
        _refuse_types(set(map(type, y)), where)
    if any(text.endswith("\0") for text in texts):
        raise ValueError(f"{where} has labels that end in a NUL character, which numpy drops; leave it out")
    if all(isinstance(label, str | int | float | np.generic) for label in y):
        made = np.asarray(y).tolist()
        if any(_changed(*pair) for pair in zip(made, map(plain_label, y), strict=True)):
            _refuse_types(set(map(type, y)), where)


def _changed(made: Any, given: State | None) -> bool:
    """Whether a label is another one in numpy's array; a whole number may have become an equal float."""
    # NaN, which alone is unlike itself, is told to be missing later.
    return given == given and (made != given or isinstance(made, bool) != isinstance(given, bool))


def _check_types(labels: npt.NDArray[Any], where: str) -> None:
    types = set(map(type, labels))
    if not all(issubclass(kind, str) for kind in types):
        _refuse_types(types, where)


def _refuse_types(types: set[type], where: str) -> None:
    names = sorted(kind.__name__ for kind in types)
    raise ValueError(f"{_UNKNOWN}: {where} has labels of types {names} among Python objects; {_ACCEPTED}")
