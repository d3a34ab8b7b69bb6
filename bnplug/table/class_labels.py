"""Class labels: accepted as given, or refused if a file could not preserve them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_scalar
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from bnplug.errors import AmbiguousValueWarning, warn_outside
from bnplug.table._cells import missing_text, similar_text
from bnplug.table._checks import is_beyond_numpy, unmasked
from bnplug.table.coding import MISSING, State, match_column, plain_label
from bnplug.table.frames import _is_a, collected, is_polars
from bnplug.typing import BoolArray

_ACCEPTED = (
    "class labels are text, or an array whose type is of truth values or of numbers of at most 64 bits; convert them, "
    "such as with y.astype(str)"
)
# scikit-learn's checks look for these words.
_UNKNOWN = "Unknown label type"
_MISSING = (
    'Input y contains NaN: the class is missing in some rows; drop these rows, or learn from them, with missing="em"'
)


def class_labels(y: Any) -> npt.NDArray[Any]:
    """Return the class of every row as an array of text (objects), numbers or truth values.

    Other values, such as points in time, long or continuous numbers, and missing ones are errors.
    """
    where = _called(y)
    if isinstance(y, list | tuple):
        _check_listed(y, where)
    labels = label_array(y)
    if pd.isna(labels).any():
        raise ValueError(_MISSING)
    if labels.dtype == object:
        types = set(map(type, labels))
        if not all(issubclass(kind, str) for kind in types):
            _refuse_types(types, where)
    check_classification_targets(labels)
    return labels


def _labels_and_gaps(y: Any, unlabeled: Any, may_lack: bool) -> tuple[npt.NDArray[Any], BoolArray]:
    """Return the class of every row, and which rows have none (missing or `unlabeled`, errors unless `may_lack`)."""
    if not may_lack and unlabeled is None:
        labels = class_labels(y)
        return labels, np.zeros(len(labels), dtype=bool)
    cells = y
    if not isinstance(y, pd.Series):
        cells = pd.Series(list(y) if isinstance(y, list | tuple) else label_array(y), dtype=object)
    gaps = _are_marked(cells, unlabeled) | (cells.isna().to_numpy() if may_lack else False)
    if gaps.any() and not may_lack:
        raise ValueError(
            f"y marks {gaps.sum()} row(s) as unlabeled={unlabeled!r}; rows without a class are learned from with "
            'missing="em" alone: say so, or drop these rows'
        )
    if gaps.all():
        raise ValueError("no row has a class: to learn a classifier some must")
    if not gaps.any():
        return class_labels(y), gaps
    known = class_labels(_as_given(cells[~gaps], y))
    labels = np.full(len(gaps), known[0], dtype=known.dtype)
    labels[~gaps] = known
    return labels, gaps


def _are_marked(cells: pd.Series, unlabeled: Any) -> BoolArray:
    """Return which labels, or their text, mark a row without a class; arrays of text and -1 contain "-1"."""
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
    """Return the sorted classes and the code of each row, -1 without a class; `classes` lists the allowed ones."""
    if gaps.all():
        raise ValueError("no row has a class: to learn a classifier some must")
    codes = np.full(len(labels), MISSING, dtype=np.intp)
    labels = labels[~gaps]
    known, codes[~gaps] = distinct_classes(labels) if classes is None else _among_classes(labels, classes)
    return known, codes


def label_array(y: Any) -> npt.NDArray[Any]:
    """Return labels, which may be missing, as a 1-D array of objects, text, numbers or truth values."""
    y = collected(y)
    _check_dtypes(_kinds(y), y)
    labels: npt.NDArray[Any] = column_or_1d(_without_mask(y), warn=True)
    if labels.dtype.kind == "T":
        labels = labels.astype(object)
    _check_dtypes([labels.dtype], y)
    return labels


def distinct_classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the sorted classes, as plain Python text if they are objects, and the code of each row."""
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.dtype == object:
        classes = np.array([plain_label(label) for label in classes], dtype=object)
    return classes, codes


def _check_classes(classes: npt.NDArray[Any]) -> None:
    """Raise a ``ValueError`` for a single class, and warn about classes that look like missing labels."""
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least two")
    odd = missing_text(classes.tolist())
    if odd:
        warn_outside(
            f"y has the labels {odd}, which usually stand for a missing class, as classes. Drop these rows, or "
            f'learn from them with missing="em", unlabeled={odd[0]!r}',
            AmbiguousValueWarning,
        )
    pair = similar_text(classes.tolist())
    if pair is not None:
        warn_outside(
            f"y has the classes {pair[0]!r} and {pair[1]!r}, which differ only in spaces or letter case. If they mean "
            "the same, replace one by the other",
            AmbiguousValueWarning,
        )


def _among_classes(labels: npt.NDArray[Any], classes: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return given classes, sorted, and the code of each row; a ``ValueError`` names labels that are no classes."""
    known = distinct_classes(class_labels(np.tile(label_array(classes), 3)))[0]
    codes = match_column(pd.Series(labels), known.tolist())
    if (codes < 0).any():
        unknown = pd.unique(pd.Series(labels)[codes < 0]).tolist()
        raise ValueError(f"y has the labels {unknown}, which are not among the classes {known.tolist()}")
    return known, codes.astype(np.intp)


def _as_given(cells: pd.Series[Any], y: Any) -> Any:
    """Return the remaining labels, of the type that they would have without gaps."""
    if isinstance(y, list | tuple):
        return cells.tolist()
    array = cells.to_numpy()
    if array.dtype.kind == "f" and (array == np.rint(array)).all() and (np.abs(array) < 2.0**53).all():
        # Whole numbers became floats because of NaN.
        return array.astype(np.int64)
    return pd.Series(array.tolist(), name=cells.name) if array.dtype == object else array


def _called(y: Any) -> str:
    name = getattr(y, "name", None)
    return "y" if name is None else f"y ({str(name)!r})"


def _kinds(y: Any) -> list[Any]:
    """Return the declared types of labels, before any conversion."""
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
        # polars has integers that numpy does not have, and converts records of one field to numbers.
        is_numpy = isinstance(dtype, np.dtype)
        if (dtype.kind not in "OUTbiuf" or dtype == np.longdouble) if is_numpy else is_beyond_numpy(dtype):
            raise ValueError(f"{_UNKNOWN}: {_called(y)} has labels of type {dtype}; {_ACCEPTED}")


def _without_mask(y: Any) -> Any:
    """Return labels of a nullable type that are all known as a plain type, and masked labels as None."""
    if isinstance(y, np.ma.MaskedArray):
        return unmasked(y)
    if _is_a(y, "polars", "Series") and y.dtype.is_integer() and y.null_count():
        # polars would convert them to floats, which cannot represent all whole numbers.
        return np.array(y.to_list(), dtype=object)
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "biuf" and hasattr(dtype, "numpy_dtype"):
        return y.to_numpy(dtype.numpy_dtype) if not pd.isna(y).any() else y
    return y


def _check_listed(y: Sequence[Any], where: str) -> None:
    """Raise a ``ValueError`` for labels that numpy would change when it converts a list to an array."""
    texts = [label for label in y if isinstance(label, str)]
    if texts and len(texts) < len(y):
        # NaN is not equal to itself.
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
    """Return whether numpy changed a label; a whole number may have become an equal float."""
    # NaN, which is not equal to itself, is reported as missing later.
    return given == given and (made != given or isinstance(made, bool) != isinstance(given, bool))


def _refuse_types(types: set[type], where: str) -> None:
    names = sorted(kind.__name__ for kind in types)
    raise ValueError(f"{_UNKNOWN}: {where} has labels of types {names} among Python objects; {_ACCEPTED}")
