"""Dask frames and arrays as partitions of rows, and what is done with one partition on a worker."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from bnplug.dask._parcels import unpack
from bnplug.data._leakage import distinct_pairs
from bnplug.data._streaming import BATCH_ROWS, Batch, kinds_of
from bnplug.data._survey import Gathered, Question, Surveyed
from bnplug.data._views import read_only
from bnplug.data.blocks import Rows
from bnplug.data.class_labels import label_array
from bnplug.data.frames import to_frame


class Partitions(NamedTuple):
    """Rows in parts, none of which is computed yet.

    Attributes
    ----------
    parts : list of (X, y, weights)
        As Dask's delayed objects; weights may be None.
    meta : pandas.DataFrame
        The columns of `X`, without rows.
    """

    parts: list[tuple[Any, Any, Any]]
    meta: pd.DataFrame

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> Partitions:
        """Take Dask collections apart.

        Raises
        ------
        TypeError
            If one of them is no Dask collection.
        ValueError
            If they are not partitioned alike.
        """
        rows, meta = _frame_parts(X)
        labels = _column_parts(y, "y", X)
        weights = None if sample_weight is None else _column_parts(sample_weight, "sample_weight", X)
        for what, own in (("y", labels), ("sample_weight", weights)):
            if own is not None and len(own) != len(rows):
                raise ValueError(
                    f"X has {len(rows)} partitions and {what} has {len(own)}: give them the same rows in each, such as "
                    "by taking both from one frame"
                )
        none = [None] * len(rows)
        return cls(list(zip(rows, labels, none if weights is None else weights, strict=True)), meta)


def is_dask(data: Any) -> bool:
    """Whether `data` is a Dask frame or array."""
    return isinstance(data, dd.DataFrame | dd.Series | da.Array)


def _frame_parts(X: Any) -> tuple[list[Any], pd.DataFrame]:
    if isinstance(X, dd.DataFrame):
        return list(X.to_delayed()), to_frame(X._meta, "X")
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X: expected a frame or a 2D array, got an array of {X.ndim} dimension(s)")
        whole = X.rechunk({1: -1})
        return whole.to_delayed()[:, 0].tolist(), to_frame(np.empty((0, X.shape[1]), dtype=X.dtype), "X")
    raise TypeError(
        f"X is a {type(X).__name__}, and must be a Dask frame or array: make one, such as with "
        "dask.dataframe.from_pandas, or use bnplug.BayesianNetworkClassifier"
    )


def _column_parts(column: Any, what: str, X: Any) -> list[Any]:
    if isinstance(column, dd.DataFrame) and len(column.columns) == 1:
        column = column[column.columns[0]]
    if isinstance(column, dd.Series):
        return list(column.to_delayed())
    if isinstance(column, da.Array) and column.ndim == 1:
        if isinstance(X, da.Array) and not np.isnan([*X.chunks[0], *column.chunks[0]]).any():
            if X.shape[0] != column.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows and {what} has {column.shape[0]}")
            column = column.rechunk((X.chunks[0],))
        return list(column.to_delayed())
    raise TypeError(f"{what} is a {type(column).__name__}, and must be a Dask series or an array of one dimension")


def survey_partition(x: Any, y: Any, weights: Any, number: int, parcel: bytes) -> Gathered:
    """Return what is gathered of the rows of one partition."""
    question, names, empty = unpack(parcel)
    found = Gathered(names, question)
    for batch in batches(x, y, weights, number, question):
        found.add(batch, empty, None)
    return found


def merge_surveys(parts: Sequence[Gathered]) -> Gathered:
    """Return what was gathered of several partitions together; they are left as they are, for a worker that dies."""
    total = deepcopy(parts[0])
    for own in parts[1:]:
        total.merge(deepcopy(own))
    return total


def class_pairs(x: Any, y: Any, name: str) -> set[tuple[Hashable, Hashable]]:
    """Return the distinct pairs of a value of one column and a class in the rows of one partition."""
    return distinct_pairs(to_frame(x, "X")[name], label_array(y))


def code_partition(x: Any, y: Any, weights: Any, number: int, parcel: bytes) -> Rows:
    """Return the codes of the rows of one partition that count, and their weights."""
    surveyed: Surveyed
    question: Question
    surveyed, question = unpack(parcel)
    found = [surveyed.encode(batch, question) for batch in batches(x, y, weights, number, question)]
    codes = [own for own, _ in found] or [surveyed.schema.codes]
    coded = read_only(np.ascontiguousarray(np.concatenate(codes, axis=1)))
    if question.sample_weight is None and surveyed.class_weights is None:
        return coded, None
    return coded, read_only(np.concatenate([np.empty(0), *(own for _, own in found if own is not None)]))


def batches(x: Any, y: Any, weights: Any, number: int, question: Question) -> Iterator[Batch]:
    """Yield the rows of a partition as a frame with the class and the weights, some at a time."""
    place = f"partition {number}"
    frame = to_frame(x, place)
    columns = {question.target: y, **({} if question.sample_weight is None else {question.sample_weight: weights})}
    for name, column in columns.items():
        if len(column) != len(frame):
            raise ValueError(f"{place}: X has {len(frame)} rows, and {len(column)} are given of {name!r}")
        values = column.array if isinstance(column, pd.Series) else np.asarray(column)
        frame = frame.assign(**{name: values})
    for low in range(0, len(frame), BATCH_ROWS):
        rows = frame.iloc[low : low + BATCH_ROWS]
        yield Batch(place, rows, kinds_of(rows))
