"""Encode Dask frames and arrays as a table whose blocks stay on the workers.

Each partition is computed twice: for states and cuts, merged in the order of the partitions, and for codes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client, Future

from bnplug.errors import article
from bnplug.sources._streaming import BATCH_ROWS, Batch, kinds_of
from bnplug.sources._survey import Gathered, Surveyed, TableSpec, survey_passes
from bnplug.sources.dask._cluster import Cluster, find_client
from bnplug.sources.dask._store import DaskStore, n_rows, pack
from bnplug.sources.training import _target_name
from bnplug.table._cells import unlike
from bnplug.table._checks import read_only
from bnplug.table._leakage import distinct_pairs, label_name, refuse_class_column
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Rows
from bnplug.table.class_labels import label_array
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.frames import to_frame
from bnplug.table.rules import ColumnRules

# The number of surveys that one task merges: the survey of a partition may be large.
_MERGED = 8


class Partitions(NamedTuple):
    """Delayed partitions (X, y, weights or None), and the columns of X as a frame without rows."""

    parts: list[tuple[Any, Any, Any]]
    meta: pd.DataFrame

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> Partitions:
        """Split Dask collections; raise a ``ValueError`` if they are partitioned differently."""
        rows, meta = _frame_parts(X)
        labels = _column_parts(y, "y", X)
        weights = [None] * len(rows) if sample_weight is None else _column_parts(sample_weight, "sample_weight", X)
        for what, parts in (("y", labels), ("sample_weight", weights)):
            if len(parts) != len(rows):
                raise ValueError(
                    f"X has {len(rows)} partitions, but {what} has {len(parts)}: partition them alike, for example "
                    "by taking both from one frame"
                )
        return cls(list(zip(rows, labels, weights, strict=True)), meta)


def is_dask(data: Any) -> bool:
    """Return whether `data` is a Dask frame, series or array."""
    return isinstance(data, dd.DataFrame | dd.Series | da.Array)


def not_dask(X: Any) -> TypeError:
    """Return the error for an X that is not a Dask frame or array."""
    return TypeError(
        f"X must be a Dask frame or array, not {article(type(X).__name__)}: create one, for example with "
        "dask.dataframe.from_pandas, or use bnplug.BayesianNetworkClassifier"
    )


def _frame_parts(X: Any) -> tuple[list[Any], pd.DataFrame]:
    if isinstance(X, dd.DataFrame):
        return list(X.to_delayed()), to_frame(X._meta, "X")
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X: expected a frame or a 2D array, got an array of {X.ndim} dimension(s)")
        whole = X.rechunk({1: -1})
        return whole.to_delayed()[:, 0].tolist(), to_frame(np.empty((0, X.shape[1]), dtype=X.dtype), "X")
    raise not_dask(X)


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
    raise TypeError(f"{what} must be a Dask series or a one-dimensional array, not {article(type(column).__name__)}")


def encode_dask(
    X: Any,
    y: Any,
    sample_weight: Any,
    rules: ColumnRules,
    class_weight: Any = None,
    name: str | None = None,
    client: Client | None = None,
) -> tuple[BlockTable, ColumnEncoder]:
    """Return the table of Dask collections, whose blocks stay on the workers; see :func:`bnplug.encode_training`."""
    rows = Partitions.of(X, y, sample_weight)
    # The names of Dask arrays are not names of classes.
    named = None if isinstance(y, da.Array) else y
    name = _target_name(named, rows.meta, name)
    weight = None if sample_weight is None else unlike("sample_weight", {name, *rows.meta.columns})
    spec = TableSpec(name, weight, None, class_weight, rules)
    spec.check()
    cluster = Cluster(find_client(client))
    cluster.wait_for_workers()
    label = None if named is None else label_name(y._meta)
    if label is not None and label in rows.meta.columns:
        tasks = [delayed(class_pairs, pure=False)(x, labels, label) for x, labels, _ in rows.parts]
        refuse_class_column(label, set().union(*cluster.gather(cluster.client.compute(tasks))))
    names = [str(column) for column in rows.meta.columns]
    if not names:
        raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")
    rules.policies.check_names(names)
    surveyed = survey_passes(spec, lambda empty: _gathered(cluster, rows, (spec, names, empty)))
    schema = surveyed.schema
    row_bytes = len(schema.names) * schema.dtype.itemsize + 8 * surveyed.weighted
    cluster.check_memory(surveyed.n_rows * row_bytes)
    blocks = _on_each(cluster, code_partition, rows, surveyed)
    cluster.homes_of(blocks)
    sizes = cluster.gather(cluster.client.map(n_rows, blocks, pure=False))
    kept = [i for i, size in enumerate(sizes) if size]
    store = DaskStore(cluster.client, [blocks[i] for i in kept], [sizes[i] for i in kept], surveyed.weighted)
    left_out, policy = surveyed.encoder.left_out, rules.policies.of_table
    return BlockTable(store, schema.names, schema.states, schema.target, left_out, True, policy), surveyed.encoder


def _gathered(cluster: Cluster, rows: Partitions, content: Any) -> Gathered:
    """Survey all partitions; surveys are merged in an order that does not depend on the workers."""
    parts = _on_each(cluster, survey_partition, rows, content)
    while len(parts) > 1:
        groups = [parts[low : low + _MERGED] for low in range(0, len(parts), _MERGED)]
        parts = [cluster.client.submit(merge_surveys, group, pure=False) for group in groups]
    gathered: Gathered = cluster.gather(parts)[0]
    return gathered


def _on_each(cluster: Cluster, function: Any, rows: Partitions, content: Any) -> list[Future]:
    """Start a function on every partition."""
    parcel = delayed(pack(content), pure=False)
    tasks = [delayed(function, pure=False)(*part, number, parcel) for number, part in enumerate(rows.parts)]
    futures: list[Future] = cluster.client.compute(tasks)
    return futures


def survey_partition(x: Any, y: Any, weights: Any, number: int, parcel: bytes) -> Gathered:
    """Return the summaries of one partition."""
    spec, names, empty = cloudpickle.loads(parcel)
    gathered = Gathered(names, spec)
    for batch in batches(x, y, weights, number, spec):
        gathered.add(batch, empty, None)
    return gathered


def merge_surveys(parts: Sequence[Gathered]) -> Gathered:
    """Merge the summaries of several partitions; they stay unchanged, in case a worker dies."""
    total = deepcopy(parts[0])
    for part in parts[1:]:
        total.merge(deepcopy(part))
    return total


def class_pairs(x: Any, y: Any, name: str) -> set[tuple[Hashable, Hashable]]:
    """Return the distinct pairs of a value of one column and a class in one partition."""
    return distinct_pairs(to_frame(x, "X")[name], label_array(y))


def code_partition(x: Any, y: Any, weights: Any, number: int, parcel: bytes) -> Rows:
    """Return the codes of the usable rows of one partition, and their weights."""
    surveyed: Surveyed = cloudpickle.loads(parcel)
    coded = [surveyed.encode(batch) for batch in batches(x, y, weights, number, surveyed.spec)]
    codes = np.concatenate([part for part, _ in coded] or [surveyed.schema.codes], axis=1)
    totals = np.concatenate([np.empty(0), *(part for _, part in coded if part is not None)])
    return Rows(read_only(np.ascontiguousarray(codes)), read_only(totals) if surveyed.weighted else None)


def batches(x: Any, y: Any, weights: Any, number: int, spec: TableSpec) -> Iterator[Batch]:
    """Yield the rows of a partition as frames with the class and the weights, a batch at a time."""
    place = f"partition {number}"
    frame = to_frame(x, place)
    columns = {spec.target: y, **({} if spec.sample_weight is None else {spec.sample_weight: weights})}
    for name, column in columns.items():
        if len(column) != len(frame):
            raise ValueError(f"{place}: X has {len(frame)} rows, and {len(column)} are given of {name!r}")
        values = column.array if isinstance(column, pd.Series) else np.asarray(column)
        frame = frame.assign(**{name: values})
    for low in range(0, len(frame), BATCH_ROWS):
        rows = frame.iloc[low : low + BATCH_ROWS]
        yield Batch(place, rows, kinds_of(rows))
