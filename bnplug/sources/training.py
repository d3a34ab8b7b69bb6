"""Encode training data: a frame or array in memory, files, or Dask collections."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array, check_consistent_length, compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from bnplug.errors import BnplugWarning, warn_outside
from bnplug.table._cells import cells_of, unlike
from bnplug.table._checks import check_sum, native, refuse, refuse_surrogates, weight_numbers
from bnplug.table._columns import plan_columns, with_given_states
from bnplug.table._leakage import distinct_pairs, label_name, refuse_class_column
from bnplug.table.class_labels import _check_classes, _known_classes, _labels_and_gaps
from bnplug.table.coding import Coded
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.frames import is_frame, to_frame
from bnplug.table.rules import ColumnRules, _report_dropped
from bnplug.table.table import Table
from bnplug.table.weights import _divided_by_class_mean, check_class_weight
from bnplug.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from bnplug.sources._table_files import Progress


def encode_training(
    source: Any,
    target: Any,
    sample_weight: Any = None,
    *,
    class_weight: Any = None,
    name: str | None = None,
    classes: npt.ArrayLike | None = None,
    columns: Sequence[str] | None = None,
    cache: str | PathLike[str] | None = None,
    csv: Mapping[str, Any] | None = None,
    client: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **rules: Any,
) -> tuple[Table, ColumnEncoder]:
    """Return training rows as a table, and the encoder that codes other rows in the same way.

    Parameters
    ----------
    source : frame or array, path or paths, or Dask frame or array
        Rows in memory: a pandas, polars or Arrow frame, or a 2-D array. Files that need not fit into memory: a path,
        a pattern such as ``"rows/*.parquet"``, or several of them; Parquet, or CSV with a header, compressed or not.
        Rows on a Dask cluster: a Dask frame or 2-D array, whose partitions become the blocks of the table.
    target : str or array-like
        The name of the column that holds the class or, unless the source is files, the class of every row. With
        ``missing="em"``, rows in memory may have no class.
    sample_weight : str or array-like, optional
        The weights of the rows, or the name of the column that holds them. A row of weight 2 is equivalent to two
        rows; rows of weight 0 are left out.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    name : str, optional
        The name of the class variable; by default the name of `target`, or ``"class"``, made different from the name
        of every feature. Not for files.
    classes : array-like, optional
        All classes, if some do not occur in the rows. For rows in memory only.
    columns : sequence of str, optional
        For files: the features; by default all other columns.
    cache : path, optional
        For files: a folder that keeps the coded table. It is used again as long as the files and the options are the
        same. By default the table is in a temporary folder, which is removed with the last reference to the table.
    csv : dict, optional
        For files: how CSV is read. ``sep``, ``encoding``, ``decimal``, ``missing`` (texts that stand for a missing
        value), ``text`` and ``numbers`` (columns that are text, or numbers, whatever they look like), ``dates``
        (columns of points in time; by default features in which all values are ISO 8601).
    client : distributed.Client, optional
        For Dask; by default the client that was created last.
    n_jobs : int, optional
        For files: the number of threads.
    progress : callable, optional
        For files: called with a description of the step, the number of rows processed, and their total number.
    **rules
        The fields of :class:`~bnplug.table.rules.ColumnRules`: ``discretizer``, ``categorical_features``,
        ``missing``, and so on.

    Returns
    -------
    table : Table
        The rows that have a weight (with ``missing="drop"``: that are also complete). ``table.missing_policy`` says
        how to learn from missing cells.
    encoder : ColumnEncoder
        ``encoder.encode(frame, table)`` codes other rows.

    Raises
    ------
    ValueError
        For data that cannot be learned from (one message names all such columns), and for files that cannot be read
        or do not belong together.
    OSError
        If the codes do not fit on the disk; the message says how many bytes they need.
    bnplug.ClusterError
        If the cluster has no worker, or too little memory.

    Notes
    -----
    Parquet files are read twice, in batches: for states and cuts, and for codes, which are written to a file. CSV
    files are read once more, to find the types of their columns, and columns of whole numbers are read again if one of
    them has leading zeros. Dask partitions are computed twice, unless they are persisted.

    All sources give the same states, cuts and codes, as long as every numeric column has at most 65,536 distinct
    values and every other column at most 262,144. Above, for files and Dask, cuts come from a summary, which
    counts at most ``n / 8192 * (1 + log2(n / 32768))`` rows too few at or below a number, 0.16% of 100 million rows;
    and a column that is not numeric is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain"], "wind": [1.5, 8.5, 2.5, 9.5]})
    >>> table, encoder = encode_training(X, ["go", "stay", "go", "stay"], discretizer=("uniform", {"n_bins": 2}))
    >>> table.names, table.states["wind"], table.codes.tolist()
    (('sky', 'wind', 'class'), ('<=5.5', '>5.5'), [[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]])
    >>> encoder.encode(pd.DataFrame({"sky": ["sun"], "wind": [7.0]}), table).tolist()
    [[1], [1], [255]]
    """
    options = {
        "class_weight": class_weight, "name": name, "classes": classes, "columns": columns, "cache": cache, "csv": csv,
        "client": client, "n_jobs": n_jobs, "progress": progress,
    }  # fmt: skip
    return _encode_source(source, target, sample_weight, ColumnRules(**rules), **options)


#: The options that each kind of source takes.
_OPTIONS = {
    "files": {"class_weight", "columns", "cache", "csv", "n_jobs", "progress"},
    "Dask collections": {"class_weight", "name", "client"},
    "rows in memory": {"class_weight", "name", "classes"},
}


def _encode_source(
    source: Any, target: Any, sample_weight: Any, rules: ColumnRules, **options: Any
) -> tuple[Table, ColumnEncoder]:
    """Encode any source; the options are as for :func:`encode_training`."""
    source = list(source) if isinstance(source, Iterator) else source
    kind = _kind_of(source)
    given = {option: value for option, value in options.items() if value is not None}
    surplus = sorted(given.keys() - _OPTIONS[kind])
    if surplus:
        raise ValueError(f"{surplus[0]}: this option does not apply to {kind}")
    if kind == "files":
        from bnplug.sources._table_files import encode_files

        return encode_files(source, target, sample_weight, rules, **given)
    source, target, sample_weight = _split_columns(source, target, sample_weight)
    if kind == "Dask collections":
        from bnplug.sources.dask._tables import encode_dask

        return encode_dask(source, target, sample_weight, rules, **given)
    if not is_frame(source):
        source = check_array(native(source), dtype=None, ensure_all_finite="allow-nan", input_name="X")
    return _encode_frame(to_frame(source, "X"), target, sample_weight, rules, **given)


def _kind_of(source: Any) -> str:
    paths = source if isinstance(source, list | tuple) else [source]
    if paths and all(isinstance(path, str | PathLike) for path in paths):
        return "files"
    return "Dask collections" if type(source).__module__.split(".")[0] in ("dask", "dask_expr") else "rows in memory"


def _split_columns(source: Any, target: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Take the class and the weights out of a frame if they are given by name."""
    columns = {"target": target, "sample_weight": sample_weight}
    named = {what: column for what, column in columns.items() if isinstance(column, str)}
    if not named:
        return source, target, sample_weight
    existing = list(getattr(source, "columns", ()))
    for what, column in named.items():
        if column not in existing:
            raise ValueError(f"{what}={column!r}: no such column; the columns are {existing}")
    features = source[[column for column in existing if column not in named.values()]]
    target, sample_weight = (source[value] if what in named else value for what, value in columns.items())
    return features, target, sample_weight


def _encode_frame(
    frame: pd.DataFrame,
    y: Any,
    sample_weight: Any,
    rules: ColumnRules,
    class_weight: Any = None,
    name: str | None = None,
    classes: npt.ArrayLike | None = None,
) -> tuple[Table, ColumnEncoder]:
    """Return the table of a frame as `to_frame` returns it, and the encoder; see :func:`bnplug.encode_training`."""
    if frame.shape[1] == 0:
        raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")
    if len(frame) == 0:
        raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
    frame = with_given_states(frame, rules.states or {})
    labels, gaps = _labels_and_gaps(y, rules.unlabeled, rules.policies.of_table == "em")
    check_consistent_length(frame, labels)
    for what, given in (("y", y), ("sample_weight", sample_weight)):
        _report_reordered(frame.index, getattr(given, "index", None), what)
    label = label_name(y)
    if label is not None and label in frame.columns:
        refuse_class_column(label, distinct_pairs(frame[label][~gaps], labels[~gaps]))
    rules.policies.check_names(map(str, frame.columns))
    weights = _learning_weights(frame, labels, sample_weight, class_weight, gaps)
    name = _target_name(y, frame, name)
    kept = _kept_rows(frame, labels, weights, rules)
    if not kept.all():
        frame, labels, gaps = frame[kept], labels[kept], gaps[kept]
        weights = None if weights is None else weights[kept]
    known, codes = _known_classes(labels, gaps, classes)
    _check_classes(known)
    relative = _divided_by_class_mean(weights, codes) if rules.relative_weights else weights
    encoder, columns = ColumnEncoder.learn(cells_of(frame, codes, relative), known, rules)
    columns[name] = Coded(codes, tuple(known.tolist()))
    return Table.from_coded(columns, name, weights, encoder.left_out, rules.policies.of_table), encoder


def _report_reordered(rows: pd.Index[Any], index: Any, what: str) -> None:
    """Warn if an index has the row labels of X in another order: the caller may expect pandas to align them."""
    if not isinstance(index, pd.Index) or index.equals(rows) or not index.is_unique or not rows.is_unique:
        return
    if len(index) == len(rows) and index.isin(rows).all():
        warn_outside(
            f"{what} has the row labels of X in another order. Rows are paired by position, and labels are ignored. To "
            f"pair rows by label, pass {what}.loc[X.index]",
            BnplugWarning,
        )


def _learning_weights(
    frame: pd.DataFrame, labels: npt.NDArray[Any], sample_weight: Any, class_weight: Any, gaps: BoolArray | None = None
) -> FloatArray | None:
    """Return the weights of rows in learning, class weights included; None if all rows have the same weight."""
    if sample_weight is None and class_weight is None:
        return None
    given = None if sample_weight is None else weight_numbers(sample_weight)
    weights: FloatArray = _check_sample_weight(given, frame, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        check_class_weight(class_weight)
        known = np.ones(len(labels), dtype=bool) if gaps is None else ~gaps
        weights[known] *= compute_sample_weight(class_weight, labels[known])
    check_sum(weights, "the row weights")
    return weights


def _target_name(y: Any, frame: pd.DataFrame, given: str | None) -> str:
    """Return the given name of the class, or the name of `y`, or "class", made different from every feature."""
    if given is not None:
        if given in frame.columns:
            raise ValueError(f"name={given!r}: a feature has the same name as the class")
        return given
    name = getattr(y, "name", None)
    refuse_surrogates([name], "y")
    return unlike(str(name) if name not in (None, "") else "class", set(frame.columns))


def _kept_rows(
    frame: pd.DataFrame, labels: npt.NDArray[Any], weights: FloatArray | None, rules: ColumnRules
) -> BoolArray:
    """Return which rows have a weight and, if requested, no missing cell; columns without any value are ignored."""
    kept = np.ones(len(frame), dtype=bool) if weights is None else weights > 0
    policies = rules.policies
    if {"drop", "error"} & {policies[str(name)] for name in frame.columns}:
        # Columns that will be left out do not make rows incomplete.
        empty = {name for name, column in frame[kept].items() if rules.on_useless == "drop" and column.isna().all()}
        holes = [str(name) for name, column in frame.items() if column.hasnans and name not in empty]
        refused = policies.columns("error", holes)
        if refused:
            refuse([f'columns {refused} have missing cells, and missing="error"', *_problems(frame[kept], rules)])
        before, kept = kept, kept & ~frame[policies.columns("drop", holes)].isna().any(axis=1).to_numpy()
        if kept.any():
            remaining = set(pd.unique(labels[kept]).tolist())
            lost = [label for label in pd.unique(labels[before]).tolist() if label not in remaining]
            _report_dropped(int(before.sum()), int(kept.sum()), lost)
    if not kept.any():
        raise ValueError("no row is left: all have weight 0 or, with missing='drop', a missing cell")
    return kept


def _problems(frame: pd.DataFrame, rules: ColumnRules) -> list[str]:
    """Return what else is wrong with a frame that will be refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BnplugWarning)
        try:
            plan_columns(frame, rules)
        except ValueError as error:
            return [str(error)]
    return []
