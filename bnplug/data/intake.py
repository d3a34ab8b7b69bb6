"""From the user's data to a table: what training decides about every column, and its application to new rows.

Which columns are discrete, where numeric ones are cut, and what a missing cell becomes is settled here
once, on the training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array, check_consistent_length, compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from bnplug.arrays import BoolArray, CodeArray, FloatArray
from bnplug.data._cells import Seen
from bnplug.data._checks import check_sum, native, refuse_surrogates, weight_numbers
from bnplug.data._columns import Rules, Settled, empty_columns, settle, settle_cells
from bnplug.data._dates import spread
from bnplug.data._leakage import distinct_pairs, label_name, refuse_class_column
from bnplug.data._looking import refuse
from bnplug.data._named_bins import named_bins, snapped, to_cells, with_given_states, with_nearest_states, with_state
from bnplug.data._pooling import match_pooled, unlike
from bnplug.data._relative_weights import divided_by_class_mean
from bnplug.data._whole_numbers import are_inexact, is_large, report_inexact
from bnplug.data.bins import in_bins, nearest
from bnplug.data.class_labels import _known_classes, _labels_and_gaps
from bnplug.data.coding import MISSING, Coded, State, code_column
from bnplug.data.discretize import Discretizer, check_cut_points, unfitted, with_frames
from bnplug.data.frames import is_frame, to_frame
from bnplug.data.kinds import floats_of, is_numeric, refuse_complex, refuse_infinities, to_floats
from bnplug.data.missing_cells import MissingCells, _report_dropped
from bnplug.data.table import Table
from bnplug.data.weights import check_class_weight, present_rows
from bnplug.errors import BnplugWarning, MissingColumnWarning, warn_outside
from bnplug.hooks.descriptors import is_component

_DEFAULT = Rules()
_IGNORE = MissingCells("ignore")


def code(
    X: Any,
    y: Any,
    sample_weight: npt.ArrayLike | None = None,
    *,
    discretizer: Any = "auto",
    categorical_features: Any = "auto",
    class_weight: Any = None,
    missing: Any = "ignore",
    unlabeled: Any = None,
    on_useless: str = "drop",
    max_categories: int | None = None,
    min_frequency: Any = "auto",
    dates: str = "parts",
    target: str | None = None,
    classes: npt.ArrayLike | None = None,
    states: Mapping[str, Sequence[Any]] | None = None,
    relative_weights: bool = False,
) -> tuple[Table, Intake]:
    """Return the table that :meth:`bnplug.BayesianNetworkClassifier.fit` learns on, and what codes other rows alike.

    Parameters
    ----------
    X : pandas or polars frame, or 2-D array
        Features of any mix of types; missing cells are allowed.
    y : array-like
        The class of every row; with ``missing="em"``, rows may have none.
    sample_weight : array-like, optional
        A weight of 2 is the row twice; rows of weight 0 are left out.
    discretizer, categorical_features, class_weight, missing, unlabeled
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`; ``discretizer="auto"`` are the bins for its default
        parameters.
    on_useless, max_categories, min_frequency, dates
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`.
    target : str, optional
        What to call the class; by default the name of `y`, or ``"class"``, made unlike every feature's.
    classes : array-like, optional
        All classes, where `y` need not have each of them.
    states : dict of str to sequence, optional
        States that columns have besides those that occur; such columns are discrete, and their states are not rare.
    relative_weights : bool
        Whether only the ratios of weights matter, as for learners that leave rows out. The number of rows then decides
        which columns of whole numbers are discrete and which states are rare, and cuts depend on weights within each
        class, but not on class weights. By default, a row of weight 2 is equivalent to two rows.

    Returns
    -------
    table : Table
        The rows that have a weight (with ``missing="drop"``: that are complete too). ``table.incomplete`` says how it
        is to be learned from where cells are missing.
    intake : Intake
        ``intake.encode(frame, table)`` codes other rows.

    Raises
    ------
    ValueError
        For data that cannot be learned from; one message names all such columns.

    Examples
    --------
    >>> X = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain"], "wind": [1.5, 8.5, 2.5, 9.5]})
    >>> table, intake = code(X, ["go", "stay", "go", "stay"], discretizer=("uniform", {"n_bins": 2}))
    >>> table.names, table.states["wind"], table.codes.tolist()
    (('sky', 'wind', 'class'), ('<=5.5', '>5.5'), [[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]])
    >>> intake.encode(pd.DataFrame({"sky": ["sun"], "wind": [7.0]}), table).tolist()
    [[1], [1], [255]]
    """
    cells = MissingCells.of(missing)
    spared = frozenset(states or ())
    rules = Rules(categorical_features, on_useless, max_categories, min_frequency, dates, spared, relative_weights)
    frame = with_given_states(_checked_frame(X), states or {})
    labels, gaps = _labels_and_gaps(y, unlabeled, cells.incomplete == "em")
    check_consistent_length(frame, labels)
    _refuse_class_among(frame, y, labels, gaps)
    cells.check_names(map(str, frame.columns))
    weights = _learning_weights(frame, labels, sample_weight, class_weight, gaps)
    name = _target_name(y, frame) if target is None else target
    if name in frame.columns:
        raise ValueError(f"target={name!r} is the name of a feature too")
    kept = _kept_rows(frame, labels, weights, cells, rules)
    if not kept.all():
        frame, labels, gaps = frame[kept], labels[kept], gaps[kept]
        weights = None if weights is None else weights[kept]
    known, codes = _known_classes(labels, gaps, classes)
    if len(known) < 2:
        raise ValueError(f"y has only one class, {known.tolist()[0]!r}; a classifier needs at least two")
    intake, columns = Intake.learn(frame, known, codes, weights, discretizer, rules, cells)
    columns[name] = Coded(codes, tuple(known.tolist()))
    return Table.from_coded(columns, name, weights, intake.left_out, cells.incomplete), intake


class Intake:
    """Makes frames discrete as training decided; :func:`bnplug.code` makes one.

    Attributes
    ----------
    columns : tuple of str
        What a frame has: the columns of training.
    names : tuple of str
        The features: the columns, but for those that are left out, and for times, which are parts of themselves.
    numeric : tuple of str
        The features that go through the discretiser.
    discretizer : transformer or None
        Fitted on the numeric columns of the training rows; None where there are none, or none is wanted.
    missing_states : dict of str to str
        The state that stands for missing, for each column that has one (``missing="value"``).
    classes : array
        The class labels, sorted, of the type that they have in the data.
    left_out : dict of str to str
        The columns that are of no use, and why.
    dates : dict of str to dict of str to str
        For a column of times: the feature of each part of them.
    whole : dict of str to tuple
        The features that are few whole numbers, and these numbers: any other number is in the state of the nearest.
    pooled : dict of str to tuple
        The features with rare values: their states. The last stands for all values that are no state.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        numeric: tuple[str, ...],
        discretizer: Any,
        missing_states: dict[str, str],
        classes: npt.NDArray[Any],
        *,
        columns: tuple[str, ...] | None = None,
        left_out: dict[str, str] | None = None,
        dates: dict[str, dict[str, str]] | None = None,
        whole: dict[str, tuple[State, ...]] | None = None,
        pooled: dict[str, tuple[State, ...]] | None = None,
    ) -> None:
        self.columns = names if columns is None else columns
        self.names = names
        self.numeric = numeric
        self.discretizer = discretizer
        self.missing_states = missing_states
        self.classes = classes
        self.left_out = left_out or {}
        self.dates = dates or {}
        self.whole = whole or {}
        self.pooled = pooled or {}

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame,
        classes: npt.NDArray[Any],
        codes: npt.NDArray[Any],
        weights: FloatArray | None = None,
        discretizer: Any = "auto",
        rules: Rules = _DEFAULT,
        missing: MissingCells = _IGNORE,
    ) -> tuple[Intake, dict[str, Coded]]:
        """Settle how frames like this one become discrete; return that, and its columns as codes.

        ``classes[codes]`` are the classes of its rows, all of which have positive weights; the code of a row without a
        class is -1. Numbers are cut by the rows that have one.

        Raises
        ------
        ValueError
            For columns that cannot be learned from; the message names all of them.
        """
        transformer = _bins_all(discretizer) if is_component(discretizer) else unfitted(discretizer)
        weights = divided_by_class_mean(weights, codes) if rules.relative_weights else weights
        found = settle(frame, rules, weights, transformer is not None, codes)
        if found.numbers:
            _fit(transformer, *_with_class(found.numbers, codes, weights))
        intake = cls._of(found, transformer, classes, tuple(map(str, frame.columns)))
        binned = intake._bins(found.numbers, frame.index)
        columns = {name: found.coded[name] if name in found.coded else _coded(binned[name]) for name in found.names}
        return intake, intake._with_missing_states(columns, missing)

    @classmethod
    def learn_cells(
        cls,
        columns: Mapping[str, Seen],
        classes: npt.NDArray[Any],
        discretizer: Any = "auto",
        rules: Rules = _DEFAULT,
        missing: MissingCells = _IGNORE,
    ) -> tuple[Intake, dict[str, tuple[State, ...]]]:
        """Settle the same by the distinct cells of every column; return that, and the states of every feature.

        Parameters
        ----------
        columns : mapping of str to Cells, or to mapping of str to Cells
            As for :func:`~bnplug.data._columns.settle_cells`, with labels and weights.
        classes, discretizer, rules, missing
            As for :meth:`learn`; a discretiser must be one of those that cut column by column.

        Raises
        ------
        ValueError
            For columns that cannot be learned from, and a discretiser that needs all columns of a row at once.
        """
        transformer = _bins_all(discretizer) if is_component(discretizer) else unfitted(discretizer)
        found = settle_cells(columns, rules, transformer is not None)
        if rules.relative_weights:
            found.cells = {
                name: cells._replace(weights=divided_by_class_mean(cells.weights, cells.labels, cells.repeats))
                for name, cells in found.cells.items()
            }
        if found.numbers:
            with_frames(transformer).fit_cells({name: found.cells[name] for name in found.numbers}, found.numbers)
        intake = cls._of(found, transformer, classes, tuple(columns))
        binned = {name: intake._bins({name: own}, pd.RangeIndex(len(own)))[name] for name, own in found.numbers.items()}
        coded = found.coded | {name: _coded(own) for name, own in binned.items()}
        coded = intake._with_missing_states({name: coded[name] for name in found.names}, missing)
        return intake, {name: column.states for name, column in coded.items()}

    @classmethod
    def _of(cls, found: Settled, transformer: Any, classes: npt.NDArray[Any], columns: tuple[str, ...]) -> Intake:
        """Return what was settled about columns, with a discretiser that is fitted where one is needed."""
        return cls(
            found.names,
            tuple(found.numbers),
            transformer if found.numbers else None,
            {},
            classes,
            columns=columns,
            left_out=found.left_out,
            dates=found.dates,
            whole=found.whole,
            pooled=found.pooled,
        )

    @property
    def cut_points(self) -> dict[str, FloatArray]:
        """The numbers between the bins of each numeric feature, where the discretiser tells them."""
        cuts = getattr(self.discretizer, "cut_points_", None)
        pairs = () if cuts is None else zip(self.numeric, cuts, strict=True)
        return {name: own for name, own in pairs if own is not None}

    def _with_missing_states(self, columns: dict[str, Coded], missing: MissingCells) -> dict[str, Coded]:
        """Return columns of training with missing as a state, where that is their way."""
        origin = {part: column for column, parts in self.dates.items() for part in parts.values()}
        return {
            name: self._with_missing_state(name, column) if missing[origin.get(name, name)] == "value" else column
            for name, column in columns.items()
        }

    def _with_missing_state(self, name: str, column: Coded) -> Coded:
        """Return a column of training with missing as a state, if cells are; note what it is called."""
        holes = column.codes == MISSING
        if not holes.any():
            return column
        self.missing_states[name] = label = unlike("missing", set(map(str, column.states)))
        return Coded(np.where(holes, len(column.states), column.codes), (*column.states, label))

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of `frame` that are features, or are none of training's, with times as their parts.

        Raises
        ------
        ValueError
            If a column of times holds something else.
        """
        left_out = [name for name in frame.columns if name in self.left_out]
        features = spread(frame.drop(columns=left_out) if left_out else frame, self.dates)
        return with_nearest_states(features, self.whole)

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the features of `frame` as states: numbers in bins, rare and missing cells as training treats them.

        A feature that is absent stays so.

        Raises
        ------
        ValueError
            If numbers are infinite, or a value is called as the state of missing cells is: :meth:`encode` takes that
            for an unseen value.
        """
        features = self.features(frame)
        cells: dict[str, Any] = {name: to_cells(column) for name, column in self._columns(features).items()}
        cells |= {name: snapped(features[name], states) for name, states in self.whole.items() if name in cells}
        for name in self.missing_states.keys() & cells.keys():
            cells[name] = with_state(pd.Series(cells[name], name=name, index=frame.index), self.missing_states[name])
        return pd.DataFrame(cells, index=frame.index)

    def encode(self, frame: pd.DataFrame, schema: Table, unseen: str = "missing") -> CodeArray:
        """Return the codes of `frame` by the states of `schema`, as :meth:`bnplug.Table.encode` does.

        A missing cell is in the state that stands for missing, where its column has one; a value is never in it, also
        if it is called the same: training has not seen that value.

        Warns about floats that may have lost digits of the large whole numbers that `schema` has as states.
        """
        features = self.features(frame)
        self._report_inexact(features, schema)
        return self._encode(features, schema, unseen)

    def _encode(self, features: pd.DataFrame, schema: Table, unseen: str) -> CodeArray:
        """Return the codes of features, as :meth:`encode` does, without its warning about floats."""
        return schema.encode_columns(self._columns(features), len(features), unseen, self.missing_states)

    def _report_inexact(self, features: pd.DataFrame, schema: Table) -> None:
        """Warn about columns of large whole numbers that are floats, unless they are cut into bins."""
        exempt = {*self.numeric, *self.whole}
        inexact = [str(name) for name, column in features.items() if name not in exempt and are_inexact(column)]
        report_inexact([name for name in inexact if any(map(is_large, schema.states.get(name, ())))])

    def check_names(self, frame: pd.DataFrame, target: str) -> None:
        """Refuse columns that training did not have, and warn of those that are absent."""
        known = {*self.columns, *self.names}
        unknown = [name for name in frame.columns if name not in known]
        if unknown:
            hint = f" ({target!r} is the class)" if target in unknown else ""
            raise ValueError(f"columns {unknown} were not there in training{hint}; there were {list(self.columns)}")
        there = set(frame.columns)
        absent = [name for name in self.columns if name not in self.left_out and not {name, *self._parts(name)} & there]
        if absent:
            warn_outside(f"columns {absent} are absent; they are marginalised", MissingColumnWarning)

    def _parts(self, name: str) -> Collection[str]:
        return self.dates.get(name, {}).values()

    def encode_evidence(self, evidence: Mapping[str, Any], schema: Table) -> dict[str, int]:
        """Return the code of each value in `evidence`, by name; one that is no state is an error."""
        frame = pd.DataFrame({name: pd.Series([value]) for name, value in evidence.items()})
        useless = [name for name in frame.columns if name in self.left_out]
        if useless:
            raise ValueError(
                f"evidence {useless}: no such feature, these columns were left out in training; drop them here too"
            )
        frame = self.features(frame)
        for name in frame.columns:
            schema.index(name)
        empty = [name for name in frame.columns if frame[name].isna().all() and name not in self.missing_states]
        if empty:
            raise ValueError(f"evidence {empty} is missing; leave it out")
        for name, label in self.missing_states.items():
            if isinstance(evidence.get(name), str) and evidence[name] == label:
                raise ValueError(
                    f"evidence {name!r}: training has not seen the value {label!r}, which names the state of missing "
                    "cells here; for that state give None"
                )
        codes = self.encode(frame, schema, unseen="error")
        return {name: int(codes[schema.index(name), 0]) for name in frame.columns}

    def _columns(self, features: pd.DataFrame) -> dict[str, pd.Series[Any] | Coded]:
        """Return features of new rows, coded where training's states say how; every number is looked at once, here."""
        given = {str(name): column for name, column in features.items()}
        refuse_complex(given)
        named = self._named_bins(given)
        numbers = {name: to_floats(given[name]) for name in self.numeric if name in given and name not in named}
        whole = {name: to_floats(given[name]) for name in self.whole if name in given and is_numeric(given[name])}
        known = {**numbers, **whole}
        unsure = {name: values for name, values in known.items() if given[name].dtype.kind not in "iu"}
        others = {name: column for name, column in given.items() if name not in known}
        refuse_infinities({**floats_of(others), **unsure})
        coded = {name: nearest(values, self.whole[name]) for name, values in whole.items()}
        pooled = {name: states for name, states in self.pooled.items() if name in given}
        coded |= {name: match_pooled(given[name], states) for name, states in pooled.items()}
        return given | self._bins(numbers, features.index) | named | coded

    def _named_bins(self, columns: Mapping[str, pd.Series[Any]]) -> dict[str, Coded]:
        """Return the numeric features that come as bins, by their labels."""
        found = {name: named_bins(columns[name], own) for name, own in self.cut_points.items() if name in columns}
        return {name: column for name, column in found.items() if column is not None}

    def _bins(self, values: Mapping[str, FloatArray], index: pd.Index[Any]) -> dict[str, pd.Series[Any] | Coded]:
        """Return numbers in their bins."""
        if not hasattr(self.discretizer, "cut_points_"):
            return self._transformed(values, index) if values else {}
        columns: dict[str, pd.Series[Any] | Coded] = {}
        for name, cuts in zip(self.numeric, self.discretizer.cut_points_, strict=True):
            if name in values:
                own = values[name]
                columns[name] = pd.Series(own, index, name=name) if cuts is None else in_bins(own, cuts)
        return columns

    def _transformed(self, values: Mapping[str, FloatArray], index: pd.Index[Any]) -> dict[str, Any]:
        """Return numbers as a discretiser makes them that has no cuts."""
        absent = np.full(len(index), np.nan)
        whole = pd.DataFrame({name: values.get(name, absent) for name in self.numeric}, index=index)
        binned = self.discretizer.transform(whole)
        return {name: binned[name] for name in values}


def check_missing(missing: Any) -> None:
    """Raise a ``ValueError`` unless `missing` is one of the ways to train with missing cells, or a dict of them."""
    MissingCells.of(missing)


def check_rules(on_useless: str, max_categories: int | None, min_frequency: Any, dates: str) -> None:
    """Raise a ``ValueError`` unless these are ways to treat columns."""
    Rules("auto", on_useless, max_categories, min_frequency, dates)


def _checked_frame(X: Any) -> pd.DataFrame:
    if not is_frame(X):
        return to_frame(check_array(native(X), dtype=None, ensure_all_finite="allow-nan", input_name="X"), "X")
    frame = to_frame(X, "X")
    if frame.shape[1] == 0:
        raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")
    if len(frame) == 0:
        raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
    return frame


def _learning_weights(
    frame: pd.DataFrame,
    labels: npt.NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    gaps: BoolArray | None = None,
) -> FloatArray | None:
    """Return what rows count for in learning; None where all count alike. One without a class has no class weight."""
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


def _kept_rows(
    frame: pd.DataFrame,
    labels: npt.NDArray[Any],
    weights: FloatArray | None,
    missing: MissingCells,
    rules: Rules,
) -> BoolArray:
    """Return which rows have a weight and, if asked, no missing cell; a column without any value does not count."""
    present = present_rows(weights)
    kept = np.ones(len(frame), dtype=bool) if present is None else present
    ways = {str(name): missing[str(name)] for name in frame.columns}
    if {"drop", "error"} & set(ways.values()):
        empty = empty_columns(frame[kept], rules)
        holes = [str(name) for name, column in frame.items() if column.hasnans and name not in empty]
        refused = [name for name in holes if ways[name] == "error"]
        if refused:
            refuse([f'columns {refused} have missing cells, and missing="error"', *_problems(frame[kept], rules)])
        dropped = [name for name in holes if ways[name] == "drop"]
        before, kept = kept, kept & ~frame[dropped].isna().any(axis=1).to_numpy()
        if kept.any():
            remaining = set(pd.unique(labels[kept]).tolist())
            lost = [label for label in pd.unique(labels[before]).tolist() if label not in remaining]
            _report_dropped(int(before.sum()), int(kept.sum()), lost)
    if not kept.any():
        raise ValueError("no row is left: all have weight 0 or, with missing='drop', a missing cell")
    return kept


def _problems(frame: pd.DataFrame, rules: Rules) -> list[str]:
    """Return what is wrong with a frame that will be refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BnplugWarning)
        try:
            settle(frame, rules)
        except ValueError as error:
            return [str(error)]
    return []


def _refuse_class_among(frame: pd.DataFrame, y: Any, labels: npt.NDArray[Any], gaps: BoolArray) -> None:
    """Raise a ``ValueError`` if the class is among the features."""
    name = label_name(y)
    if name is not None and name in frame.columns:
        refuse_class_column(name, distinct_pairs(frame[name][~gaps], labels[~gaps]))


def _target_name(y: Any, frame: pd.DataFrame) -> str:
    """Return the name of `y`, or "class", made unlike every feature's."""
    name = getattr(y, "name", None)
    refuse_surrogates([name], "y")
    return unlike(str(name) if name not in (None, "") else "class", set(frame.columns))


def _bins_all(spec: Any) -> Any:
    """Return a discretiser given by name; which columns it gets is decided here, so that it bins all of them."""
    transformer = unfitted(spec)
    if transformer is None or "categorical_features" not in transformer.get_params(deep=False):
        return transformer
    return transformer.set_params(categorical_features=None)


def _with_class(
    columns: Mapping[str, FloatArray], codes: npt.NDArray[Any], weights: FloatArray | None
) -> tuple[dict[str, FloatArray], npt.NDArray[Any], FloatArray | None]:
    """Return numbers, classes and weights of the rows that have a class."""
    known = codes >= 0
    if known.all():
        return dict(columns), codes, weights
    weights = None if weights is None else weights[known]
    return {name: own[known] for name, own in columns.items()}, codes[known], weights


def _fit(transformer: Any, columns: Mapping[str, FloatArray], y: npt.NDArray[Any], weights: FloatArray | None) -> None:
    """Fit `transformer`, which then returns pandas frames; with weights where there are any."""
    with_frames(transformer)
    if isinstance(transformer, Discretizer) and transformer.categorical_features is None:
        transformer.fit_numbers(columns, y, weights)
    elif weights is None:
        transformer.fit(pd.DataFrame(columns), y)
    elif has_fit_parameter(transformer, "sample_weight"):
        transformer.fit(pd.DataFrame(columns), y, sample_weight=weights)
    else:
        raise ValueError(
            f"{type(transformer).__name__} takes no sample_weight, and rows are weighted; use another "
            "discretizer, or neither sample_weight nor class_weight"
        )
    if hasattr(transformer, "cut_points_"):
        check_cut_points(transformer, len(columns))


def _coded(column: pd.Series[Any] | Coded) -> Coded:
    return column if isinstance(column, Coded) else code_column(column)
