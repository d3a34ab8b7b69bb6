"""From Dask frames and arrays to a table whose blocks are on the workers.

Each partition is looked at twice, where it is: for states and cuts, which are merged in the order of the partitions,
and for codes, one byte a cell, which stay there. Raw rows stay in memory only if whoever gave them persisted them.
"""

from __future__ import annotations

from typing import Any

from dask import delayed
from dask.array import Array
from distributed import Client, Future

from bnplug.dask import _partitions, _tasks
from bnplug.dask._cluster import Cluster, find_client
from bnplug.dask._parcels import pack
from bnplug.dask._partitions import Partitions
from bnplug.dask.store import DaskStore
from bnplug.data._columns import Rules
from bnplug.data._leakage import label_name, refuse_class_column
from bnplug.data._pooling import unlike
from bnplug.data._survey import Gathered, Question, Surveyed
from bnplug.data.block_table import BlockTable
from bnplug.data.intake import Intake, _target_name

# So many partitions are put together by one task: the sums of a partition may be large.
_MERGED = 8


def dask_table(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
    discretizer: Any = "auto",
    categorical_features: Any = "auto",
    class_weight: Any = None,
    missing: Any = "ignore",
    on_useless: str = "drop",
    max_categories: int | None = None,
    min_frequency: Any = "auto",
    dates: str = "parts",
    target: str | None = None,
    relative_weights: bool = False,
) -> tuple[BlockTable, Intake]:
    """Return the rows of Dask collections as a table whose blocks stay on the workers, and what codes other rows alike.

    Learners take the table as they take any other. States and cuts are those of :func:`bnplug.code` on all rows, as
    long as columns have no more distinct values than :func:`bnplug.open_table` keeps.

    Parameters
    ----------
    X : dask.dataframe.DataFrame, or dask.array.Array of two dimensions
        A block of the table is a partition.
    y : dask.dataframe.Series, or dask.array.Array of one dimension
        The class of every row, in as many partitions.
    sample_weight : as `y`, optional
        A weight of 2 is the row twice; rows of weight 0 are left out.
    client : distributed.Client, optional
        By default the one that was made last.
    discretizer, categorical_features, class_weight, missing, on_useless, max_categories, min_frequency, dates
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`. A discretiser must be one that cuts column by
        column, as those of the core do.
    target : str, optional
        What to call the class; by default the name of `y`, or ``"class"``, made unlike every feature's.
    relative_weights : bool
        As for :func:`bnplug.code`.

    Raises
    ------
    ValueError
        For data that cannot be learned from, or that do not go together.
    TypeError
        For what is no Dask collection.
    bnplug.ClusterError
        If the cluster has no worker, or too little memory.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from distributed import Client
    >>> frame = pd.DataFrame({"sky": [*"srrsr"], "play": [*"ynyyn"]})
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     rows = dd.from_pandas(frame, npartitions=2)
    ...     table, intake = dask_table(rows[["sky"]], rows["play"])
    ...     table.block_sizes, table.counts([[0, 1]])[0].tolist()
    ((3, 2), [[2.0, 1.0], [0.0, 2.0]])
    """
    rules = Rules(
        categorical_features, on_useless, max_categories, min_frequency, dates, relative_weights=relative_weights
    )
    rows = Partitions.of(X, y, sample_weight)
    # The name of an array is Dask's own.
    name = _target_name(None if isinstance(y, Array) else y, rows.meta) if target is None else target
    if name in rows.meta.columns:
        raise ValueError(f"target={name!r} is the name of a feature too")
    weight = None if sample_weight is None else unlike("sample_weight", {name, *rows.meta.columns})
    question = Question(name, weight, None, discretizer, class_weight, missing, rules)
    question.check()
    cluster = Cluster(find_client(client))
    cluster.wait_for_workers()
    _refuse_class_among(cluster, rows, y)
    return _Coder(cluster, rows, question).code()


def _refuse_class_among(cluster: Cluster, rows: Partitions, y: Any) -> None:
    """Raise a ``ValueError`` if the class is among the features."""
    # Dask names arrays itself: their names are not names of classes.
    name = None if isinstance(y, Array) else label_name(y._meta)
    if name is not None and name in rows.meta.columns:
        tasks = [delayed(_partitions.class_pairs, pure=False)(x, labels, name) for x, labels, _ in rows.parts]
        refuse_class_column(name, set().union(*cluster.gather(cluster.client.compute(tasks))))


class _Coder:
    """Codes partitions on the workers."""

    def __init__(self, cluster: Cluster, rows: Partitions, question: Question) -> None:
        self.cluster, self.rows, self.question = cluster, rows, question
        self.names = [str(name) for name in rows.meta.columns]
        if not self.names:
            raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")
        question.cells.check_names(self.names)

    def code(self) -> tuple[BlockTable, Intake]:
        surveyed = self.survey()
        schema = surveyed.schema
        weighted = self.question.sample_weight is not None or surveyed.class_weights is not None
        a_row = len(schema.names) * schema.dtype.itemsize + 8 * weighted
        self.cluster.check_memory(surveyed.n_rows * a_row)
        blocks = self._on_each(_partitions.code_partition, (surveyed, self.question))
        self.cluster.homes_of(blocks)
        sizes = self.cluster.gather(self.cluster.client.map(_tasks.n_rows, blocks, pure=False))
        kept = [i for i, size in enumerate(sizes) if size]
        store = DaskStore(self.cluster.client, [blocks[i] for i in kept], [sizes[i] for i in kept], weighted)
        left_out, incomplete = surveyed.intake.left_out, self.question.cells.incomplete
        table = BlockTable(store, list(schema.names), schema.states, schema.target, left_out, True, incomplete)
        return table, surveyed.intake

    def survey(self) -> Surveyed:
        """Decide about every column."""
        found = self._gathered(frozenset())
        empty = found.empty
        if self.question.passes_over(empty):
            found = self._gathered(empty)
        return found.surveyed(empty)

    def _gathered(self, empty: frozenset[str]) -> Gathered:
        """Return what all partitions have, merged in an order that does not depend on the workers."""
        client = self.cluster.client
        parts = self._on_each(_partitions.survey_partition, (self.question, self.names, empty))
        while len(parts) > 1:
            groups = [parts[low : low + _MERGED] for low in range(0, len(parts), _MERGED)]
            parts = [client.submit(_partitions.merge_surveys, own, pure=False) for own in groups]
        found: Gathered = self.cluster.gather(parts)[0]
        return found

    def _on_each(self, function: Any, content: Any) -> list[Future]:
        """Start a function on every partition."""
        parcel = delayed(pack(content), pure=False)
        tasks = [
            delayed(function, pure=False)(x, y, weights, number, parcel)
            for number, (x, y, weights) in enumerate(self.rows.parts)
        ]
        futures: list[Future] = self.cluster.client.compute(tasks)
        return futures
