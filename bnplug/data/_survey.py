"""The first of two readings of files that do not fit into memory: what training decides about every column.

It comes out as :func:`bnplug.code` would decide on all rows at once, unless a column has more distinct values than
:mod:`bnplug.data._summaries` keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import compute_sample_weight

from bnplug.arrays import BoolArray, CodeArray, FloatArray, IntArray
from bnplug.compiling import run_in_threads
from bnplug.data._cells import Cells, Seen
from bnplug.data._checks import CONTAINERS, check_sum, weight_numbers
from bnplug.data._columns import Rules, is_named_like_identifier
from bnplug.data._looking import COMPLEX, NUMBERS, TIMES, refuse
from bnplug.data._streaming import CATEGORIES, NOTHING, Batch, DataFiles, SeenKinds, note_kinds
from bnplug.data._summaries import ByClass, Labels, NumberSummary, StateSummary, Summary, TimeSummary, renumbered
from bnplug.data.class_labels import class_labels, distinct_classes
from bnplug.data.coding import factorize, match_column
from bnplug.data.discretize import Discretizer, unfitted
from bnplug.data.intake import Intake
from bnplug.data.missing_cells import MissingCells, _report_dropped
from bnplug.data.table import Table
from bnplug.data.weights import check_class_weight
from bnplug.errors import did_you_mean
from bnplug.hooks.descriptors import is_component

#: Told how many rows more were read.
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Question:
    """What a table is to be made of, and how: as the parameters of :func:`bnplug.code`.

    Attributes
    ----------
    target : str
        The column that holds the class.
    sample_weight : str, optional
        The column that holds the weights.
    columns : sequence of str, optional
        The features; by default all other columns.
    """

    target: str
    sample_weight: str | None = None
    columns: Sequence[str] | None = None
    discretizer: Any = "auto"
    class_weight: Any = None
    missing: Any = "ignore"
    rules: Rules = field(default_factory=Rules)

    def features(self, files: DataFiles) -> list[str]:
        """Return the columns that are features.

        Raises
        ------
        ValueError
            If a column that is named is not there, or none is left.
        """
        own = {"target": [self.target], "sample_weight": [self.sample_weight or self.target]}
        for what, names in {**own, "columns": self.columns or ()}.items():
            for name in names:
                if name not in files.names:
                    hint = did_you_mean(name, files.names)
                    raise ValueError(
                        f"{files.paths[0]}: {what} names {name!r}, and there is no such column.{hint} "
                        f"There are {files.names}"
                    )
        used = {self.target, self.sample_weight}
        names = [name for name in files.names if name not in used and (self.columns is None or name in self.columns)]
        if not names:
            raise ValueError(f"{files.paths[0]}: there is no feature beside {sorted(filter(None, used))}")
        self.cells.check_names(names)
        return names

    @property
    def cells(self) -> MissingCells:
        """What becomes of missing cells."""
        return MissingCells.of(self.missing)

    def passes_over(self, empty: frozenset[str]) -> bool:
        """Whether rows were passed over since they lack a value in columns that nobody has one in: to be read again."""
        return bool(empty) and self.cells.drops and self.rules.on_useless == "drop"

    def check(self) -> None:
        """Raise a ``ValueError`` for what cannot be done, before anything is read."""
        MissingCells.of(self.missing)
        check_class_weight(self.class_weight)
        check_cuts_columns(unfitted(self.discretizer), named=is_component(self.discretizer))


class UsableRows(NamedTuple):
    """Rows of a batch that count: they have a weight and, with ``missing="drop"``, no missing cell."""

    frame: pd.DataFrame
    labels: pd.Series[Any]
    weights: FloatArray | None
    kept: BoolArray


@dataclass(frozen=True)
class Surveyed:
    """What the first reading found.

    Attributes
    ----------
    intake : Intake
    schema : Table
        The variables and their states, without rows.
    n_rows : int
        The rows that count.
    class_weights : float64 array, or None
        What the weight of a row is multiplied by, for each class.
    empty : frozenset of str
        Columns without any value, so that no row is incomplete for them.
    """

    intake: Intake
    schema: Table
    n_rows: int
    class_weights: FloatArray | None
    empty: frozenset[str]

    def encode(self, batch: Batch, question: Question) -> tuple[CodeArray, FloatArray | None]:
        """Return the rows of a batch that count: codes (variables, rows), and weights where rows have them."""
        rows = usable_rows(batch, question, self.empty)
        # The survey has reported floats that may have lost digits.
        codes = np.array(self.intake._encode(self.intake.features(rows.frame), self.schema, unseen="error"))
        labels = match_column(rows.labels, self.intake.classes.tolist())
        codes[self.schema.target_index] = np.maximum(labels, 0)
        known = labels >= 0
        if self.class_weights is None:
            if not known.all():
                raise ValueError(f"{batch.path}: there are classes that the first reading did not find: it was changed")
            return codes, rows.weights
        # Rows of a class whose weight is 0 are absent.
        weights = self.class_weights[labels[known]]
        return codes[:, known], weights if rows.weights is None else weights * rows.weights[known]


def survey(
    files: DataFiles, question: Question, n_jobs: int | None = None, progress: Progress | None = None
) -> Surveyed:
    """Read files once, and decide about every column.

    Parameters
    ----------
    files : DataFiles
    question : Question
    n_jobs : int, optional
        Threads; columns are summed up side by side.
    progress : callable, optional

    Raises
    ------
    ValueError
        As :func:`bnplug.code`.
    """
    question.check()
    names = question.features(files)
    found = _read(files, question, names, frozenset(), n_jobs, progress)
    empty = found.empty
    if question.passes_over(empty):
        found = _read(files, question, names, empty, n_jobs, progress)
    return found.surveyed(empty)


def usable_rows(batch: Batch, question: Question, empty: frozenset[str] = frozenset()) -> UsableRows:
    """Return the rows of a batch that count, and which they are.

    Raises
    ------
    ValueError
        If a class is missing, or weights are no numbers from 0 on; the message names the file.
    """
    frame = batch.frame
    labels = frame[question.target]
    features = frame.drop(columns=[name for name in (question.target, question.sample_weight) if name is not None])
    weights = None if question.sample_weight is None else _weights(frame[question.sample_weight], batch)
    kept = np.ones(len(frame), dtype=bool) if weights is None else weights > 0
    if question.cells.drops:
        looked_at = [name for name in question.cells.columns("drop", features.columns) if name not in empty]
        kept &= ~features[looked_at].isna().any(axis=1).to_numpy()
    if kept.all():
        return UsableRows(features, labels, weights, kept)
    return UsableRows(features[kept], labels[kept], None if weights is None else weights[kept], kept)


def _weights(column: pd.Series[Any], batch: Batch) -> FloatArray:
    weights = weight_numbers(column, f"{batch.path}: column {str(column.name)!r}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"{batch.path}: the weights in {str(column.name)!r} are negative, missing or infinite")
    return weights


def check_cuts_columns(transformer: Any, named: bool = False) -> None:
    """Raise a ``ValueError`` for a discretiser that cannot be fitted on the distinct cells of each column.

    Examples
    --------
    >>> from sklearn.preprocessing import KBinsDiscretizer
    >>> check_cuts_columns(KBinsDiscretizer())
    Traceback (most recent call last):
    ValueError: a KBinsDiscretizer takes whole rows, which are not in memory here; use mdl, quantile, uniform or none
    """
    if transformer is None:
        return
    if not isinstance(transformer, Discretizer):
        kind = type(transformer).__name__
        raise ValueError(f"a {kind} takes whole rows, which are not in memory here; use mdl, quantile, uniform or none")
    listed = None if named else transformer.categorical_features
    if listed is not None and not (isinstance(listed, str) and listed == "auto"):
        raise ValueError("the classifier says here which columns are discrete: give the discretizer no list of them")


def _read(
    files: DataFiles,
    question: Question,
    names: list[str],
    empty: frozenset[str],
    n_jobs: int | None,
    progress: Progress | None,
) -> Gathered:
    found = Gathered(names, question)
    wanted = {*names, question.target, question.sample_weight}
    for batch in files.batches([name for name in files.names if name in wanted]):
        found.add(batch, empty, n_jobs)
        if progress is not None:
            progress(len(batch.frame))
    return found


class Gathered:
    """All that one reading gathers, of some rows or of all; classes are numbered as they come.

    Parameters
    ----------
    names : sequence of str
        The features.
    question : Question

    Attributes
    ----------
    empty : frozenset of str
        The features without any value.
    """

    def __init__(self, names: Sequence[str], question: Question) -> None:
        self.names, self.question = names, question
        self.columns = {name: _Column(name, question.rules) for name in names}
        self.valued: set[str] = set()
        self.incomplete: set[str] = set()
        self.places: dict[Any, int] = {}
        self.labels: list[npt.NDArray[Any]] = []
        # By class: all rows, and those that count.
        self.all_rows = self.rows = np.zeros(0, dtype=np.int64)
        self.total_weight = 0.0
        self.kinds: SeenKinds = {}

    @property
    def empty(self) -> frozenset[str]:
        """The features without any value."""
        return frozenset(name for name in self.names if name not in self.valued)

    def merge(self, other: Gathered) -> None:
        """Take in what was gathered of other rows.

        Raises
        ------
        ValueError
            Where a column holds something else there.
        """
        places = np.array([self.places.setdefault(own, len(self.places)) for own in other.places], dtype=np.int64)
        self.labels += other.labels
        self.valued |= other.valued
        self.incomplete |= other.incomplete
        self.all_rows = _with_renumbered(self.all_rows, other.all_rows, places)
        self.rows = _with_renumbered(self.rows, other.rows, places)
        self.total_weight += other.total_weight
        for name, (kind, path) in other.kinds.items():
            note_kinds(self.kinds, path, {name: kind})
        for name, column in self.columns.items():
            column.merge(other.columns[name], places)

    def add(self, batch: Batch, empty: frozenset[str], n_jobs: int | None) -> None:
        """Take in one more batch."""
        note_kinds(self.kinds, batch.path, batch.kinds)
        codes = self._class_codes(batch)
        rows = usable_rows(batch, self.question, empty)
        looked_at = batch.frame if self.question.cells.drops else rows.frame
        self.valued |= {name for name in self.names if name not in self.valued and looked_at[name].notna().any()}
        lacking = {name for name in self.names if name not in self.incomplete and batch.frame[name].hasnans}
        self.incomplete |= lacking
        self.all_rows, self.rows = self._with(self.all_rows, codes), self._with(self.rows, codes[rows.kept])
        if len(rows.frame):
            self.total_weight += len(rows.frame) if rows.weights is None else float(rows.weights.sum())
            labels = Labels.of(codes[rows.kept], rows.weights)
            run_in_threads(
                lambda name: self.columns[name].add(rows.frame[str(name)], batch.kinds[name], labels),
                self.names,
                n_jobs=n_jobs,
            )

    def _class_codes(self, batch: Batch) -> IntArray:
        column = batch.frame[self.question.target]
        numbers, values = factorize(column)
        occurring, numbers = renumbered(numbers.astype(np.int64), len(values))
        if (numbers < 0).any():
            raise ValueError(
                f"{batch.path}: Input y contains NaN: the class {column.name!r} is missing; drop such rows, or read "
                'them into memory: fit learns from them too, with missing="em"'
            )
        labels = _checked_labels(pd.Series(values[occurring], name=column.name), batch)
        self.labels.append(labels)
        return np.array([self.places.setdefault(own, len(self.places)) for own in labels.tolist()])[numbers]

    def _with(self, total: IntArray, codes: IntArray) -> IntArray:
        """Return the number of rows of each class, with more rows."""
        counted = np.bincount(codes, minlength=len(self.places)).astype(np.int64)
        counted[: len(total)] += total
        return counted

    def surveyed(self, empty: frozenset[str]) -> Surveyed:
        """Decide about every column; rows that lack a value in the `empty` ones are not incomplete for that."""
        question, rules = self.question, self.question.rules
        empty = empty if rules.on_useless == "drop" else frozenset()
        holes = [name for name in self.names if name in self.incomplete and name not in empty]
        lacking = question.cells.columns("error", holes)
        if lacking:
            refuse([f'columns {lacking} have missing cells, and missing="error"'])
        classes = distinct_classes(np.concatenate(self.labels))[0] if self.labels else np.array([])
        places = np.array([self.places[label] for label in classes.tolist()], dtype=np.int64)
        weights = _class_weights(question.class_weight, classes, self.all_rows[places])
        counted = self.rows[places] > 0 if weights is None else (self.rows[places] > 0) & (weights > 0)
        if question.cells.drops and counted.any():
            _report_dropped(int(self.all_rows.sum()), int(self.rows.sum()), classes[self.rows[places] == 0].tolist())
        classes, places = classes[counted], places[counted]
        weights = None if weights is None else weights[counted]
        _check_classes(classes)
        check_sum(np.array([self.total_weight * (1.0 if weights is None else weights.max())]), "the row weights")
        rank = np.full(len(self.places), -1, dtype=np.int64)
        rank[places] = np.arange(len(places))
        cells = {name: _by_class(column.cells(), rank, weights) for name, column in self.columns.items()}
        intake, states = Intake.learn_cells(cells, classes, question.discretizer, rules, question.cells)
        every = {**states, question.target: tuple(classes.tolist())}
        schema = Table.empty(list(every), every, question.target)
        schema.left_out = tuple(intake.left_out)
        return Surveyed(intake, schema, int(self.rows[places].sum()), weights, empty)


class _Column:
    """What is gathered of one column, whose first batches may hold nothing, so that its kind is not known yet."""

    def __init__(self, name: str, rules: Rules) -> None:
        self.name, self.rules = name, rules
        self.summary: Summary | None = None
        self.odd: pd.Series[Any] | None = None
        self.nothing = ByClass()

    def add(self, column: pd.Series[Any], kind: str, labels: Labels) -> None:
        if kind == NOTHING:
            self.nothing.add([0], np.zeros(len(column), dtype=np.int64), labels)
        elif kind in (CONTAINERS, COMPLEX) or (kind == TIMES and self.rules.dates != "parts"):
            self.odd = column.iloc[:1]
        else:
            self.summary = self._begun(kind) if self.summary is None else self.summary
            self.summary.add(column, labels)

    def merge(self, other: _Column, places: IntArray) -> None:
        """Take in another column, whose class c is class ``places[c]`` here; it is not to be used any more."""
        other.nothing.renumber(places)
        self.nothing.merge([0], other.nothing)
        self.odd = other.odd if self.odd is None else self.odd
        if other.summary is None:
            return
        other.summary.renumber(places)
        if self.summary is None:
            self.summary = other.summary
        else:
            self.summary.merge(other.summary)

    def _begun(self, kind: str) -> Summary:
        if kind == NUMBERS:
            return NumberSummary(is_named_like_identifier(self.name))
        return TimeSummary() if kind == TIMES else StateSummary(kind == CATEGORIES)

    def cells(self) -> Seen:
        """Return the distinct cells; of a column that nothing is learned from, one that shows what it is."""
        if self.odd is not None:
            return Cells(self.odd, np.zeros(1, dtype=np.int64), None, np.ones(1, dtype=np.int64))
        summary = StateSummary() if self.summary is None else self.summary
        summary.lack(self.nothing)
        return summary.cells()


def _with_renumbered(total: IntArray, more: IntArray, places: IntArray) -> IntArray:
    """Return the sum of two numbers of rows by class, class c of the second being class ``places[c]`` of the first."""
    own = places[: len(more)]
    found = np.zeros(max(len(total), int(own.max(initial=-1)) + 1), dtype=np.int64)
    found[: len(total)] = total
    found[own] += more
    return found


def _by_class(seen: Seen, rank: IntArray, weights: FloatArray | None) -> Seen:
    """Return cells by the numbers of sorted classes, and weighted by class; those of classes that do not count go."""
    if not isinstance(seen, Cells):
        return {part: _one_by_class(own, rank, weights) for part, own in seen.items()}
    return _one_by_class(seen, rank, weights)


def _one_by_class(cells: Cells, rank: IntArray, weights: FloatArray | None) -> Cells:
    assert cells.labels is not None
    assert cells.repeats is not None
    labels = rank[cells.labels]
    kept = labels >= 0
    own = None if cells.weights is None else cells.weights[kept]
    if weights is not None:
        own = weights[labels[kept]] * (cells.repeats[kept] if own is None else own)
    return cells._replace(column=cells.column[kept], labels=labels[kept], weights=own, repeats=cells.repeats[kept])


def _checked_labels(values: pd.Series[Any], batch: Batch) -> npt.NDArray[Any]:
    try:
        # Each label three times: scikit-learn warns where most rows have a label of their own.
        return class_labels(pd.concat([values] * 3))[: len(values)]
    except ValueError as error:
        raise ValueError(f"{batch.path}: {error}") from None


def _check_classes(classes: npt.NDArray[Any]) -> None:
    if not len(classes):
        raise ValueError("no row is left: all have weight 0 or, with missing='drop', a missing cell")
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least two")


def _class_weights(given: Any, classes: npt.NDArray[Any], rows: IntArray) -> FloatArray | None:
    """Return the weight of each class, as scikit-learn's ``compute_sample_weight`` gives it to its rows."""
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        balanced: FloatArray = rows.sum() / (len(classes) * rows)
        return balanced
    weights: FloatArray = compute_sample_weight(given, classes)
    return weights
