"""From the user's columns to discrete ones: what training decided, applied to new rows.

Which columns are discrete, where numeric ones are cut, and what a missing cell becomes is settled here
once, on the training rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import has_fit_parameter

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data.coding import refuse_infinite
from bnplug.data.discretize import discretizer as make_discretizer
from bnplug.data.kinds import discrete_columns, numbers
from bnplug.data.table import Table
from bnplug.hooks.descriptors import is_component

# A discrete column with more states than this and than half the rows names rows, it does not describe them.
_IDENTIFIER_STATES = 10

_MISSING = ("ignore", "drop", "value", "error")


class Intake:
    """Makes frames discrete as training decided.

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
    """

    def __init__(
        self,
        names: tuple[str, ...],
        numeric: tuple[str, ...],
        discretizer: Any,
        missing_states: dict[str, str],
    ) -> None:
        self.names = names
        self.numeric = numeric
        self.discretizer = discretizer
        self.missing_states = missing_states

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame,
        y: npt.NDArray[Any],
        weights: FloatArray | None,
        discretizer: Any = "mdl",
        categorical_features: Any = "auto",
        missing: str = "ignore",
    ) -> tuple[Intake, pd.DataFrame]:
        """Settle how frames like this one become discrete; return that, and this one made so.

        Raises
        ------
        ValueError
            For a column of infinite numbers, of datetimes, without any value, or with a state
            for almost every row; the message names it.
        """
        _check_columns(frame)
        names = tuple(map(str, frame.columns))
        discrete = discrete_columns(frame, categorical_features, weights)
        transformer = _bins_all(discretizer) if is_component(discretizer) else make_discretizer(discretizer)
        if transformer is None:
            discrete = np.ones(len(names), dtype=bool)
        numeric = tuple(name for name, is_discrete in zip(names, discrete, strict=True) if not is_discrete)
        _check_identifiers(frame.loc[:, discrete])
        fitted = _fit(transformer, frame[list(numeric)], y, weights) if numeric else None
        intake = cls(names, numeric, fitted, {})
        discrete_frame = intake.apply(frame)
        if missing == "value":
            intake.missing_states = _missing_states(discrete_frame)
            discrete_frame = intake._with_missing_states(discrete_frame)
        return intake, discrete_frame

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return `frame` with numeric columns cut into bins and missing cells as training treats them.

        A numeric column that is absent stays so.

        Raises
        ------
        ValueError
            If numbers are infinite, or a value is called as the state of missing cells is: :meth:`encode` takes that
            for an unseen value.
        """
        return self._with_missing_states(self._binned(frame))

    def encode(self, frame: pd.DataFrame, schema: Table, unseen: str = "missing") -> CodeArray:
        """Return the codes of `frame` by the states of `schema`, as :meth:`bnplug.Table.encode` does.

        A missing cell is in the state that stands for missing, where its column has one; a value is never in it, also
        if it is called the same: training has not seen that value.
        """
        return schema.encode(self._binned(frame), unseen, self.missing_states)

    def _binned(self, frame: pd.DataFrame) -> pd.DataFrame:
        refuse_infinite(frame)
        present = [name for name in self.numeric if name in frame.columns]
        if present:
            whole = frame.reindex(columns=list(self.numeric)) if len(present) < len(self.numeric) else frame
            binned = self.discretizer.transform(_as_float(whole[list(self.numeric)]))
            frame = frame.assign(**{name: binned[name] for name in present})
        return frame

    def _with_missing_states(self, frame: pd.DataFrame) -> pd.DataFrame:
        for name in self.missing_states.keys() & set(frame.columns):
            frame = frame.assign(**{name: _with_state(frame[name], self.missing_states[name])})
        return frame


def check_missing(missing: str) -> None:
    """Raise a ``ValueError`` unless `missing` is one of the ways to train with missing cells."""
    if missing not in _MISSING:
        raise ValueError(f"missing={missing!r} is not one of {list(_MISSING)}")


def _bins_all(spec: Any) -> Any:
    """Return a discretiser given by name; which columns it gets is decided here, so that it bins all of them."""
    transformer = make_discretizer(spec)
    return transformer if transformer is None else transformer.set_params(categorical_features=None)


def _check_columns(frame: pd.DataFrame) -> None:
    refuse_infinite(frame)
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


def _fit(transformer: Any, frame: pd.DataFrame, y: npt.NDArray[Any], weights: Any) -> Any:
    """Fit `transformer`, which then returns pandas frames; with weights where there are any."""
    transformer.set_output(transform="pandas")
    if weights is None:
        return transformer.fit(_as_float(frame), y)
    if not has_fit_parameter(transformer, "sample_weight"):
        raise ValueError(
            f"{type(transformer).__name__} takes no sample_weight, and rows are weighted; use another "
            "discretizer, or neither sample_weight nor class_weight"
        )
    return transformer.fit(_as_float(frame), y, sample_weight=weights)


def _as_float(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: numbers(column) for name, column in frame.items()}, index=frame.index)


def _missing_states(frame: pd.DataFrame) -> dict[str, str]:
    """Return a label for the missing state of every column that has missing cells, unlike its values."""
    labels = {}
    for name, column in frame.items():
        if column.isna().any():
            is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
            taken = set(map(str, column.cat.categories if is_categorical else column.dropna().unique()))
            label = "missing"
            while label in taken:
                label += "_"
            labels[str(name)] = label
    return labels


def _with_state(column: pd.Series[Any], label: str) -> pd.Series[Any]:
    """Return `column` with missing cells as a state of their own, behind the others."""
    if any(str(value) == label for value in column.dropna().unique()):
        raise ValueError(
            f"column {column.name!r} has the value {label!r}, and so the state that stands for missing is called; "
            "training has not seen that value"
        )
    as_categorical = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")
    if label not in as_categorical.cat.categories:
        as_categorical = as_categorical.cat.add_categories([label])
    return as_categorical.fillna(label)
