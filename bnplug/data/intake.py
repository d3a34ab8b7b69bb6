"""From the user's data to a table: what training decides about every column, and its application to new rows.

Which columns are discrete, where numeric ones are cut, and what a missing cell becomes is settled here
once, on the training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array, check_consistent_length, compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data._checks import check_sum, native, refuse_surrogates
from bnplug.data.bins import in_bins
from bnplug.data.class_labels import class_labels, distinct_classes
from bnplug.data.coding import MISSING, Coded, code_column
from bnplug.data.discretize import Discretizer, check_cut_points, unfitted, with_frames
from bnplug.data.frames import is_frame, to_frame
from bnplug.data.kinds import floats_of, refuse_infinities, split_columns, to_floats
from bnplug.data.table import Table
from bnplug.data.weights import present_rows
from bnplug.errors import MissingColumnWarning
from bnplug.hooks.descriptors import is_component

# A discrete column with more states than this and than half the rows names rows, it does not describe them.
_IDENTIFIER_STATES = 10

_MISSING = ("ignore", "drop", "value", "error")


def code(
    X: Any,
    y: Any,
    sample_weight: npt.ArrayLike | None = None,
    *,
    discretizer: Any = "mdl",
    categorical_features: Any = "auto",
    class_weight: Any = None,
    missing: str = "ignore",
    target: str | None = None,
) -> tuple[Table, Intake]:
    """Return the table that :meth:`bnplug.BayesianNetworkClassifier.fit` learns on, and what codes other rows alike.

    Parameters
    ----------
    X : pandas or polars frame, or 2-D array
        Features of any mix of types; missing cells are allowed.
    y : array-like
        The class of every row.
    sample_weight : array-like, optional
        A weight of 2 is the row twice; rows of weight 0 are left out.
    discretizer, categorical_features, class_weight, missing
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`.
    target : str, optional
        What to call the class; by default the name of `y`, or ``"class"``, made unlike every feature's.

    Returns
    -------
    table : Table
        The rows that have a weight (with ``missing="drop"``: that are complete too).
    intake : Intake
        ``intake.encode(frame, table)`` codes other rows.

    Raises
    ------
    ValueError
        For data that cannot be learned from; the message names the column.

    Examples
    --------
    >>> X = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain"], "wind": [1.5, 8.5, 2.5, 9.5]})
    >>> table, intake = code(X, ["go", "stay", "go", "stay"], discretizer=("uniform", {"n_bins": 2}))
    >>> table.names, table.states["wind"], table.codes.tolist()
    (('sky', 'wind', 'class'), ('<=5.5', '>5.5'), [[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]])
    >>> intake.encode(pd.DataFrame({"sky": ["sun"], "wind": [7.0]}), table).tolist()
    [[1], [1], [255]]
    """
    check_missing(missing)
    frame, labels = _checked_frame(X), class_labels(y)
    check_consistent_length(frame, labels)
    weights = _weights(frame, labels, sample_weight, class_weight)
    name = _target_name(y, frame) if target is None else target
    if name in frame.columns:
        raise ValueError(f"target={name!r} is the name of a feature too")
    kept = _kept_rows(frame, weights, missing)
    if not kept.all():
        frame, labels = frame[kept], labels[kept]
        weights = None if weights is None else weights[kept]
    classes, codes = distinct_classes(labels)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least two")
    intake, values = Intake.learn(frame, classes, codes, weights, discretizer, categorical_features)
    columns = intake.code_training(frame, values, missing == "value")
    return Table.from_coded({**columns, name: Coded(codes, tuple(classes.tolist()))}, name, weights), intake


class Intake:
    """Makes frames discrete as training decided; :func:`bnplug.code` makes one.

    Attributes
    ----------
    names : tuple of str
        The features.
    numeric : tuple of str
        Those that go through the discretiser.
    discretizer : transformer or None
        Fitted on the numeric columns of the training rows; None where there are none, or none is wanted.
    missing_states : dict of str to str
        The state that stands for missing, for each column that has one (``missing="value"``).
    classes : array
        The class labels, sorted, of the type that they have in the data.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        numeric: tuple[str, ...],
        discretizer: Any,
        missing_states: dict[str, str],
        classes: npt.NDArray[Any],
    ) -> None:
        self.names = names
        self.numeric = numeric
        self.discretizer = discretizer
        self.missing_states = missing_states
        self.classes = classes

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame,
        classes: npt.NDArray[Any],
        codes: npt.NDArray[Any],
        weights: FloatArray | None = None,
        discretizer: Any = "mdl",
        categorical_features: Any = "auto",
    ) -> tuple[Intake, dict[str, FloatArray]]:
        """Settle how frames like this one become discrete; return that, and the numbers of its numeric columns.

        ``classes[codes]`` are the classes of its rows, all of which have positive weights.

        Raises
        ------
        ValueError
            For a column of infinite numbers, of datetimes, without any value, or with a state
            for almost every row; the message names it.
        """
        _check_values(frame)
        names = tuple(map(str, frame.columns))
        discrete, columns = split_columns(frame, categorical_features, weights)
        transformer = _bins_all(discretizer) if is_component(discretizer) else unfitted(discretizer)
        if transformer is None:
            discrete[:], columns = True, {}
        _check_identifiers(frame.loc[:, discrete])
        if columns:
            _fit(transformer, columns, codes, weights)
        return cls(names, tuple(columns), transformer if columns else None, {}, classes), columns

    def code_training(
        self, frame: pd.DataFrame, values: Mapping[str, FloatArray], missing_is_a_state: bool
    ) -> dict[str, Coded]:
        """Return the columns of the training rows as codes; where missing is a state, note its label."""
        coded = {
            name: column if isinstance(column, Coded) else code_column(column)
            for name, column in self._discrete(frame, values).items()
        }
        if missing_is_a_state:
            for name, column in coded.items():
                holes = column.codes == MISSING
                if holes.any():
                    self.missing_states[name] = label = _unlike("missing", set(map(str, column.states)))
                    codes = np.where(holes, len(column.states), column.codes)
                    coded[name] = Coded(codes, (*column.states, label))
        return coded

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` with numeric columns cut into bins and missing cells as training treats them.

        A numeric column that is absent stays so.

        Raises
        ------
        ValueError
            If numbers are infinite, or a value is called as the state of missing cells is: :meth:`encode` takes that
            for an unseen value.
        """
        cells = {name: _to_categorical(column) for name, column in self._columns(frame).items()}
        for name in self.missing_states.keys() & cells.keys():
            cells[name] = _with_state(pd.Series(cells[name], name=name, index=frame.index), self.missing_states[name])
        made = frame.copy(deep=False)
        for name, column in cells.items():
            made[name] = column
        return made

    def encode(self, frame: pd.DataFrame, schema: Table, unseen: str = "missing") -> CodeArray:
        """Return the codes of `frame` by the states of `schema`, as :meth:`bnplug.Table.encode` does.

        A missing cell is in the state that stands for missing, where its column has one; a value is never in it, also
        if it is called the same: training has not seen that value.
        """
        return schema.encode_columns(self._columns(frame), len(frame), unseen, self.missing_states)

    def check_names(self, frame: pd.DataFrame, target: str) -> None:
        """Refuse columns that training did not have, and warn of those that are absent."""
        unknown = [name for name in frame.columns if name not in self.names]
        if unknown:
            hint = f" ({target!r} is the class)" if target in unknown else ""
            raise ValueError(f"columns {unknown} were not there in training{hint}; there were {list(self.names)}")
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            warnings.warn(f"columns {absent} are absent; they are marginalised", MissingColumnWarning, stacklevel=5)

    def encode_evidence(self, evidence: Mapping[str, Any], schema: Table) -> dict[str, int]:
        """Return the code of each value in `evidence`, by name; one that is no state is an error."""
        frame = pd.DataFrame({name: pd.Series([value]) for name, value in evidence.items()})
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
        return {name: int(codes[schema.index(name), 0]) for name in evidence}

    def _columns(self, frame: pd.DataFrame) -> dict[str, pd.Series[Any] | Coded]:
        """Return the columns of new rows, numeric ones in their bins; every number is looked at once, here."""
        values = {name: to_floats(frame[name]) for name in self.numeric if name in frame.columns}
        refuse_infinities({**floats_of(frame.drop(columns=list(values))), **values})
        return self._discrete(frame, values)

    def _discrete(self, frame: pd.DataFrame, values: Mapping[str, FloatArray]) -> dict[str, pd.Series[Any] | Coded]:
        """Return the columns of a frame, with those that are in `values` put into their bins."""
        columns: dict[str, Any] = {str(name): column for name, column in frame.items()}
        if hasattr(self.discretizer, "cut_points_"):
            for name, cuts in zip(self.numeric, self.discretizer.cut_points_, strict=True):
                if name in values:
                    alone = pd.Series(values[name], frame.index, name=name)
                    columns[name] = alone if cuts is None else in_bins(values[name], cuts)
        elif values:
            absent = np.full(len(frame), np.nan)
            whole = pd.DataFrame({name: values.get(name, absent) for name in self.numeric}, index=frame.index)
            binned = self.discretizer.transform(whole)
            columns |= {name: binned[name] for name in values}
        return columns


def check_missing(missing: str) -> None:
    """Raise a ``ValueError`` unless `missing` is one of the ways to train with missing cells."""
    if missing not in _MISSING:
        raise ValueError(f"missing={missing!r} is not one of {list(_MISSING)}")


def _checked_frame(X: Any) -> pd.DataFrame:
    if not is_frame(X):
        return to_frame(check_array(native(X), dtype=None, ensure_all_finite="allow-nan", input_name="X"), "X")
    frame = to_frame(X, "X")
    if frame.shape[1] == 0:
        raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")
    if len(frame) == 0:
        raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
    return frame


def _weights(frame: pd.DataFrame, labels: npt.NDArray[Any], sample_weight: Any, class_weight: Any) -> FloatArray | None:
    if sample_weight is None and class_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, labels)
    check_sum(weights, "the row weights")
    return weights


def _kept_rows(frame: pd.DataFrame, weights: FloatArray | None, missing: str) -> npt.NDArray[np.bool_]:
    """Return which rows have a weight and, if asked, no missing cell."""
    present = present_rows(weights)
    kept = np.ones(len(frame), dtype=bool) if present is None else present
    incomplete = [str(name) for name, column in frame.items() if column.hasnans]
    if incomplete and missing == "error":
        raise ValueError(f'columns {incomplete} have missing cells, and missing="error"')
    if incomplete and missing == "drop":
        kept &= ~frame[incomplete].isna().any(axis=1).to_numpy()
    if not kept.any():
        raise ValueError("no row is left: all have weight 0 or, with missing='drop', a missing cell")
    return kept


def _target_name(y: Any, frame: pd.DataFrame) -> str:
    """Return the name of `y`, or "class", made unlike every feature's."""
    name = getattr(y, "name", None)
    refuse_surrogates([name], "y")
    return _unlike(str(name) if name not in (None, "") else "class", set(frame.columns))


def _unlike(label: str, taken: set[str]) -> str:
    while label in taken:
        label += "_"
    return label


def _bins_all(spec: Any) -> Any:
    """Return a discretiser given by name; which columns it gets is decided here, so that it bins all of them."""
    transformer = unfitted(spec)
    if transformer is None or "categorical_features" not in transformer.get_params(deep=False):
        return transformer
    return transformer.set_params(categorical_features=None)


def _check_values(frame: pd.DataFrame) -> None:
    empty = [str(name) for name, column in frame.items() if column.head(1).isna().all() and column.isna().all()]
    if empty:
        raise ValueError(f"columns {empty} have no value at all; drop them")


def _check_identifiers(frame: pd.DataFrame) -> None:
    limit = max(_IDENTIFIER_STATES, len(frame) / 2)
    odd = [str(name) for name, column in frame.items() if _n_states(column) > limit]
    if odd:
        raise ValueError(
            f"columns {odd} have more states than half the rows, like an identifier; drop them, "
            "or make them numeric or coarser"
        )


def _n_states(column: pd.Series[Any]) -> int:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return len(column.cat.categories)
    return 2 if column.dtype == bool else int(column.nunique())


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


def _to_categorical(column: pd.Series[Any] | Coded) -> Any:
    """Return a column as a frame holds it."""
    if not isinstance(column, Coded):
        return column
    return pd.Categorical.from_codes(column.codes, categories=pd.Index(column.states), ordered=True)


def _with_state(column: pd.Series[Any], label: str) -> pd.Series[Any]:
    """Return `column` with missing cells as a state of their own, behind the others."""
    if any(str(value) == label for value in column.dropna().unique()):
        raise ValueError(
            f"column {column.name!r} has the value {label!r}, which is the name of the state of missing cells; "
            "training has not seen that value"
        )
    as_categorical = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")
    if label not in as_categorical.cat.categories:
        as_categorical = as_categorical.cat.add_categories([label])
    return as_categorical.fillna(label)
