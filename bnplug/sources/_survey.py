"""First pass over training rows that are not in memory: choose the states and cut points of every column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import compute_sample_weight

from bnplug.compiling import run_in_threads
from bnplug.errors import article, did_you_mean
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Kind, is_component
from bnplug.sources._streaming import CATEGORIES, NOTHING, Batch, DataFiles, SeenKinds, note_kinds
from bnplug.sources._summaries import NO_ROWS, Labels, NumberSummary, StateSummary, TimeSummary, counted, renumbered
from bnplug.sources.files import _separator_hint
from bnplug.table._cells import Cells, Seen
from bnplug.table._checks import CONTAINERS, check_sum, refuse, weight_numbers
from bnplug.table._columns import is_named_like_identifier
from bnplug.table.class_labels import _check_classes, class_labels, distinct_classes
from bnplug.table.coding import factorize, match_column
from bnplug.table.discretizer import Discretizer, refuse_knots, unfitted
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.kinds import COMPLEX, NUMBERS, TIMES
from bnplug.table.rules import ColumnRules, _report_dropped
from bnplug.table.table import Table
from bnplug.table.weights import _divided_by_class_mean, check_class_weight
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray

#: Called with the number of rows read since the last call.
Progress = Callable[[int], None]


@dataclass(frozen=True)
class TableSpec:
    """The options of :func:`bnplug.encode_training`; class and weights are given by the names of their columns."""

    target: str
    sample_weight: str | None = None
    columns: Sequence[str] | None = None
    class_weight: Any = None
    rules: ColumnRules = field(default_factory=ColumnRules)

    def features(self, files: DataFiles) -> list[str]:
        """Return the feature columns; raise a ``ValueError`` if a named column does not exist or none is left."""
        named = [("target", self.target), ("sample_weight", self.sample_weight or self.target)]
        for what, name in [*named, *(("columns", name) for name in self.columns or ())]:
            if name not in files.names:
                near = _separator_hint(files.names) or did_you_mean(name, files.names)
                hint = f"{near} The columns are {files.names}"
                raise ValueError(f"{files.paths[0]}: {what} names {name!r}, which is not a column.{hint}")
        used = {self.target, self.sample_weight}
        names = [name for name in files.names if name not in used and (self.columns is None or name in self.columns)]
        if not names:
            raise ValueError(f"{files.paths[0]}: there is no feature beside {sorted(filter(None, used))}")
        self.rules.policies.check_names(names)
        return names

    def check(self) -> None:
        """Raise a ``ValueError`` for unsupported options, before anything is read."""
        check_class_weight(self.class_weight)
        check_cuts_columns(unfitted(self.rules.discretizer), named=is_component(self.rules.discretizer))


@dataclass(frozen=True)
class Surveyed:
    """The result of the first pass: `schema` is a table without rows, `empty` are columns without any value."""

    spec: TableSpec
    encoder: ColumnEncoder
    schema: Table
    n_rows: int
    class_weights: FloatArray | None
    empty: frozenset[str]

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.spec.sample_weight is not None or self.class_weights is not None

    def encode(self, batch: Batch) -> tuple[CodeArray, FloatArray | None]:
        """Return the usable rows of a batch: codes (variables, rows), and weights if rows have them."""
        frame, column, row_weights, _ = usable_rows(batch, self.spec, self.empty)
        # The survey has reported floats that may have lost digits.
        codes = np.array(self.encoder.coder(self.schema).code_features(self.encoder.features(frame), "error"))
        labels = match_column(column, self.encoder.classes.tolist())
        codes[self.schema.target_index] = np.maximum(labels, 0)
        known = labels >= 0
        if self.class_weights is None:
            if not known.all():
                raise ValueError(f"{batch.path}: there are classes that the first reading did not find: it was changed")
            return codes, row_weights
        # Rows of a class with weight 0 are dropped.
        weights = self.class_weights[labels[known]]
        return codes[:, known], weights if row_weights is None else weights * row_weights[known]


def survey(files: DataFiles, spec: TableSpec, n_jobs: int | None = None, progress: Progress | None = None) -> Surveyed:
    """Read files once and decide about every column, in `n_jobs` threads; raise as :func:`bnplug.encode_training`."""
    spec.check()
    names = spec.features(files)
    wanted = {*names, spec.target, spec.sample_weight}

    def gather(empty: frozenset[str]) -> Gathered:
        gathered = Gathered(names, spec)
        for batch in files.batches([name for name in files.names if name in wanted]):
            gathered.add(batch, empty, n_jobs)
            if progress is not None:
                progress(len(batch.frame))
        return gathered

    return survey_passes(spec, gather)


def survey_passes(spec: TableSpec, gather: Callable[[frozenset[str]], Gathered]) -> Surveyed:
    """Survey the rows that `gather` reads, given the columns to ignore when it looks for incomplete rows."""
    gathered = gather(frozenset())
    empty = gathered.empty if spec.rules.on_useless == "drop" else frozenset()
    if empty and spec.rules.policies.drops:
        # Rows were dropped for a missing value in a column without any value.
        gathered = gather(empty)
    return gathered.surveyed(empty)


def usable_rows(
    batch: Batch, spec: TableSpec, empty: frozenset[str]
) -> tuple[pd.DataFrame, pd.Series[Any], FloatArray | None, BoolArray]:
    """Return the features, classes and weights of usable rows, and the mask of these rows in the batch.

    They have a weight and, with ``missing="drop"``, no missing cell. A ``ValueError`` about weights names the file.
    """
    frame = batch.frame
    labels = frame[spec.target]
    features = frame.drop(columns=[name for name in (spec.target, spec.sample_weight) if name is not None])
    weights = None
    if spec.sample_weight is not None:
        weights = weight_numbers(frame[spec.sample_weight], f"{batch.path}: column {spec.sample_weight!r}")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(f"{batch.path}: the weights in {spec.sample_weight!r} are negative, missing or infinite")
    kept = np.ones(len(frame), dtype=bool) if weights is None else weights > 0
    if spec.rules.policies.drops:
        required = [name for name in spec.rules.policies.columns("drop", features.columns) if name not in empty]
        kept &= ~features[required].isna().any(axis=1).to_numpy()
    if kept.all():
        return features, labels, weights, kept
    return features[kept], labels[kept], None if weights is None else weights[kept], kept


def check_cuts_columns(transformer: Any, named: bool = False) -> None:
    """Raise a ``ValueError`` for a discretizer that cannot be fitted on the distinct cells of each column."""
    refuse_knots(transformer)
    if transformer is None:
        return
    if not isinstance(transformer, Discretizer):
        raise ValueError(
            f"{article(type(transformer).__name__)} takes whole rows, which are not in memory here. On files and Dask, "
            "a discretizer derives from bnplug.Discretizer and has the method cuts(column), as these have: "
            f"{registry.listing(Kind.DISCRETIZER, 'cuts')}"
        )
    listed = None if named else transformer.categorical_features
    if listed is not None and not (isinstance(listed, str) and listed == "auto"):
        raise ValueError(
            "the classifier has the list of discrete columns: do not pass categorical_features to the discretizer"
        )


class Gathered:
    """Summaries of all columns `names` over some rows; classes are numbered in order of appearance (`places`)."""

    def __init__(self, names: Sequence[str], spec: TableSpec) -> None:
        self.names, self.spec = names, spec
        self.columns = {name: _Column(name, spec.rules) for name in names}
        self.valued: set[str] = set()
        self.incomplete: set[str] = set()
        self.places: dict[Any, int] = {}
        self.labels: list[npt.NDArray[Any]] = []
        # By class: all rows, and usable rows.
        self.all_rows: Counter[Any] = Counter()
        self.rows: Counter[Any] = Counter()
        self.total_weight = 0.0
        self.kinds: SeenKinds = {}

    @property
    def empty(self) -> frozenset[str]:
        """The features without any value."""
        return frozenset(name for name in self.names if name not in self.valued)

    def merge(self, other: Gathered) -> None:
        """Add the summaries of other rows; raise a ``ValueError`` if a column has another type there."""
        places = np.array([self.places.setdefault(label, len(self.places)) for label in other.places], dtype=np.int64)
        self.labels += other.labels
        self.valued |= other.valued
        self.incomplete |= other.incomplete
        self.all_rows.update(other.all_rows)
        self.rows.update(other.rows)
        self.total_weight += other.total_weight
        for name, (kind, path) in other.kinds.items():
            note_kinds(self.kinds, path, {name: kind})
        for name, column in self.columns.items():
            column.merge(other.columns[name], places)

    def add(self, batch: Batch, empty: frozenset[str], n_jobs: int | None) -> None:
        """Add a batch; missing cells in the `empty` columns do not make rows incomplete."""
        note_kinds(self.kinds, batch.path, batch.kinds)
        codes = self._class_codes(batch)
        usable, _, weights, kept = usable_rows(batch, self.spec, empty)
        frame = batch.frame if self.spec.rules.policies.drops else usable
        self.valued |= {name for name in self.names if name not in self.valued and frame[name].notna().any()}
        self.incomplete |= {name for name in self.names if name not in self.incomplete and batch.frame[name].hasnans}
        for total, numbers in ((self.all_rows, codes), (self.rows, codes[kept])):
            total.update(dict(zip(self.places, np.bincount(numbers, minlength=len(self.places)).tolist(), strict=True)))
        if len(usable):
            self.total_weight += len(usable) if weights is None else float(weights.sum())
            labels = Labels.of(codes[kept], weights)
            run_in_threads(
                lambda name: self.columns[name].add(usable[str(name)], batch.kinds[name], labels),
                self.names,
                n_jobs=n_jobs,
            )

    def _class_codes(self, batch: Batch) -> IntArray:
        column = batch.frame[self.spec.target]
        numbers, values = factorize(column)
        occurring, numbers = renumbered(numbers.astype(np.int64), len(values))
        if (numbers < 0).any():
            raise ValueError(
                f"{batch.path}: Input y contains NaN: the class {column.name!r} is missing; drop such rows, or read "
                'them into memory: fit learns from them too, with missing="em"'
            )
        try:
            # Each label three times: scikit-learn warns if most labels are unique.
            labels = class_labels(pd.concat([pd.Series(values[occurring], name=column.name)] * 3))[: len(occurring)]
        except ValueError as error:
            raise ValueError(f"{batch.path}: {error}") from None
        self.labels.append(labels)
        places = [self.places.setdefault(label, len(self.places)) for label in labels.tolist()]
        return np.array(places, dtype=np.int64)[numbers]

    def surveyed(self, empty: frozenset[str]) -> Surveyed:
        """Decide about every column; missing cells in the `empty` columns do not make rows incomplete."""
        spec, policies = self.spec, self.spec.rules.policies
        refused = policies.columns("error", [name for name in self.names if name in self.incomplete - empty])
        if refused:
            refuse([f'columns {refused} have missing cells, and missing="error"'])
        classes, weights = self._classes()
        check_sum(np.array([self.total_weight * (1.0 if weights is None else weights.max())]), "the row weights")
        rank = np.full(len(self.places), -1, dtype=np.int64)
        rank[[self.places[label] for label in classes.tolist()]] = np.arange(len(classes))
        relative = spec.rules.relative_weights
        cells = {name: _by_class(column.cells(), rank, weights, relative) for name, column in self.columns.items()}
        encoder, columns = ColumnEncoder.learn(cells, classes, spec.rules)
        states = {**{name: column.states for name, column in columns.items()}, spec.target: tuple(classes.tolist())}
        schema = Table.empty(list(states), states, spec.target)
        schema.left_out = tuple(encoder.left_out)
        return Surveyed(spec, encoder, schema, sum(self.rows[label] for label in classes.tolist()), weights, empty)

    def _classes(self) -> tuple[npt.NDArray[Any], FloatArray | None]:
        """Return the sorted classes that have rows and a positive weight, and the weight of each."""
        classes = distinct_classes(np.concatenate(self.labels))[0] if self.labels else np.array([])
        all_rows, rows = (
            np.array([total[label] for label in classes.tolist()], dtype=np.int64)
            for total in (self.all_rows, self.rows)
        )
        weights = _class_weights(self.spec.class_weight, classes, all_rows)
        used = rows > 0 if weights is None else (rows > 0) & (weights > 0)
        if self.spec.rules.policies.drops and used.any():
            _report_dropped(self.all_rows.total(), self.rows.total(), classes[rows == 0].tolist())
        classes = classes[used]
        if not len(classes):
            raise ValueError("no row is left: all have weight 0 or, with missing='drop', a missing cell")
        _check_classes(classes)
        return classes, None if weights is None else weights[used]


class _Column:
    """Summary of one column, whose kind is unknown as long as batches contain no value."""

    def __init__(self, name: str, rules: ColumnRules) -> None:
        self.name, self.rules = name, rules
        self.summary: Any = None
        # A cell of a type that cannot be learned from.
        self.odd: pd.Series[Any] | None = None
        # The missing cells of each class, as the number 0.
        self.missing = NO_ROWS

    def add(self, column: pd.Series[Any], kind: str, labels: Labels) -> None:
        if kind in (CONTAINERS, COMPLEX) or (kind == TIMES and self.rules.dates != "parts"):
            self.odd = column.iloc[:1]
            return
        if self.summary is None and kind == NUMBERS:
            self.summary = NumberSummary(is_named_like_identifier(self.name))
        elif self.summary is None and kind != NOTHING:
            self.summary = TimeSummary() if kind == TIMES else StateSummary(kind == CATEGORIES)
        holes = True if kind == NOTHING else self.summary.add(column, labels)
        self.missing = self.missing.join(counted(np.where(holes, 0, np.full(len(column), -1)), labels))

    def merge(self, other: _Column, places: IntArray) -> None:
        """Add another column, whose class c is class ``places[c]`` here; this changes the other column."""
        self.missing = self.missing.join(other.missing.renumbered(places))
        self.odd = other.odd if self.odd is None else self.odd
        if other.summary is not None:
            other.summary.renumber(places)
            if self.summary is not None:
                self.summary.merge(other.summary)
            self.summary = self.summary or other.summary

    def cells(self) -> Seen:
        """Return the distinct cells, or one cell of a column that cannot be learned from."""
        if self.odd is not None:
            return Cells(self.odd, np.zeros(1, dtype=np.int64), None, np.ones(1, dtype=np.int64))
        summary = StateSummary() if self.summary is None else self.summary
        cells: Seen = summary.cells(self.missing)
        return cells


def _by_class(seen: Any, rank: IntArray, weights: FloatArray | None, relative: bool) -> Any:
    """Number classes by rank and multiply weights by class; cells of classes without a rank are dropped."""
    if not isinstance(seen, Cells):
        return {part: _by_class(cells, rank, weights, relative) for part, cells in seen.items()}
    assert seen.repeats is not None
    labels = rank[seen.labels]
    kept = labels >= 0
    labels, repeats, totals = labels[kept], seen.repeats[kept], None if seen.weights is None else seen.weights[kept]
    if weights is not None:
        totals = weights[labels] * (repeats if totals is None else totals)
    if relative:
        totals = _divided_by_class_mean(totals, labels, repeats)
    return seen._replace(column=seen.column[kept], labels=labels, weights=totals, repeats=repeats)


def _class_weights(given: Any, classes: npt.NDArray[Any], rows: IntArray) -> FloatArray | None:
    """Return the weight of each class, as scikit-learn's ``compute_sample_weight`` gives it to its rows."""
    if given is None or given == "balanced":
        return None if given is None else np.asarray(rows.sum() / (len(classes) * rows))
    return np.asarray(compute_sample_weight(given, classes))
