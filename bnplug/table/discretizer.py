"""Discretizers: scikit-learn transformers that cut numeric columns into bins. A value is at most its upper cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from bnplug.errors import ContractError, PluginError, UnknownMethodError
from bnplug.hooks import registry
from bnplug.hooks.descriptors import AUTO_DISCRETIZER, NO_DISCRETIZER, Kind
from bnplug.hooks.specs import PROJECT
from bnplug.table._checks import native
from bnplug.table.bins import bin_labels, in_bins
from bnplug.table.coding import MISSING
from bnplug.table.column_summary import ColumnSummary
from bnplug.table.frames import collected, is_polars, to_frame
from bnplug.table.kinds import MAX_WHOLE_STATES, is_numeric, refuse_infinities, split_columns, to_floats
from bnplug.table.weights import present_rows, row_weights
from bnplug.typing import FloatArray, IntArray

# "auto": the bins for the default parameters of a classifier.
_DEFAULT = "log2-quantile"


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of discretizers that cut column by column: a subclass implements :meth:`cuts`.

    Everything else follows: ``fit`` and ``transform`` as in scikit-learn, and the same cuts from rows in memory,
    in files and on Dask. A subclass may have parameters; without `categorical_features`, it cuts every column of
    numbers.

    Parameters
    ----------
    categorical_features : "auto", None, or sequence of names, positions or booleans
        The discrete columns, which are unchanged; see :func:`bnplug.table.kinds.discrete_columns`.

    Attributes
    ----------
    supervised : bool
        Whether cuts depend on the class. If True, ``fit`` needs ``y``; if False, a summary has a single class.
    knots : bool
        Whether :meth:`cuts` returns knots, at least one, between which values are interpolated. Not supported yet: a
        classifier refuses a discretizer with knots.
    cut_points_, bin_labels_ : list
        The ascending cuts of each column, and the labels of its bins; None for a discrete column.

    Examples
    --------
    >>> class Median(Discretizer):
    ...     def cuts(self, column):
    ...         below = np.cumsum(column.weights)
    ...         return column.values[[np.searchsorted(below, below[-1] / 2)]]
    >>> Median().fit([[1.5], [2.5], [4.0], [np.nan]], sample_weight=[1, 1, 3, 1]).cut_points_
    [array([4.])]
    """

    supervised: ClassVar[bool] = False
    knots: ClassVar[bool] = False
    # Of subclasses whose constructor does not have it.
    categorical_features: Any = None

    def __init__(self, categorical_features: Any = "auto") -> None:
        self.categorical_features = categorical_features

    @abstractmethod
    def cuts(self, column: ColumnSummary) -> npt.ArrayLike:
        """Return the cuts of a column, finite and ascending, perhaps none. A value is at most the cut above it.

        It is called for each column of numbers that has a value.
        """

    def fit(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the cuts of every numeric column.

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
            NaN is missing and ignored; infinite numbers are errors.
        y : array-like of shape (rows,)
            The class of each row; needed if the discretizer is ``supervised``, else ignored.
        sample_weight : array-like, optional
            A weight of 2 is equivalent to repeating the row, 0 to omitting it.
        """
        frame = self._frame(X, reset=True)
        classes = self._class_codes(y, frame) if self.supervised else None
        weights = None if sample_weight is None else row_weights(sample_weight, len(frame))
        present = present_rows(weights)
        if weights is not None and present is not None:
            frame, weights = frame.loc[present], weights[present]
            classes = None if classes is None else classes[present]
        columns = split_columns(frame, self.categorical_features, weights)[1]
        return self._set_cuts([
            self._cuts(ColumnSummary.of(columns[name], classes, weights, name=name)) if name in columns else None
            for name in map(str, frame.columns)
        ])  # fmt: skip

    def fit_summaries(self, columns: Iterable[ColumnSummary]) -> Self:
        """Find the cuts of columns of numbers from their summaries; those of few whole numbers may be discrete."""
        names, cuts, few = [], [], self.categorical_features is not None
        for column in columns:
            names.append(column.name)
            cuts.append(None if few and _has_few_whole_numbers(column) else self._cuts(column))
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        return self._set_cuts(cuts)

    def _cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the checked cuts of a column; a column without values has none."""
        if not len(column.points.values):
            return np.empty(0)
        cuts = np.array(self.cuts(column), dtype=np.float64)
        if not _are_cuts(cuts, self.knots):
            raise ContractError(
                f"{registry.origin(self)}: the cuts of column {column.name!r} are not {_expected(self.knots)}: {cuts!r}"
            )
        return cuts

    def _set_cuts(self, cuts: Sequence[FloatArray | None]) -> Self:
        self.cut_points_: list[FloatArray | None] = list(cuts)
        self.bin_labels_: list[list[str] | None] = [None if points is None else bin_labels(points) for points in cuts]
        return self

    def transform(self, X: Any) -> Any:
        """Replace numbers by their bins.

        Returns
        -------
        array or frame of the shape of X
            An array (scikit-learn's default) has the numbers of the bins, from 0, and NaN for missing values; it is of
            type object if an unchanged column does not contain numbers. After ``set_output(transform="pandas")``,
            columns are ordered categoricals of the bin labels; for ``"polars"``, they are of type ``Enum``. Discrete
            columns are unchanged.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        alone = [cuts is None for cuts in self.cut_points_]
        values = {
            str(name): to_floats(column)
            for (name, column), discrete in zip(frame.items(), alone, strict=True)
            if not discrete or is_numeric(column)
        }
        refuse_infinities(values)
        codes = {j: self.bin_codes(values[str(frame.columns[j])], j) for j, left in enumerate(alone) if not left}
        container = _get_output_config("transform", self)["dense"]
        if container == "pandas":
            return self._to_pandas(frame, codes)
        if container == "polars":
            return self._to_polars(frame, codes, X)
        return _to_array(frame, codes)

    def bin_codes(self, values: FloatArray, column: int) -> IntArray:
        """Return the number of each value's bin in a column (given by position), -1 for NaN."""
        check_is_fitted(self)
        cuts = self.cut_points_[column]
        if cuts is None:
            raise ValueError(f"column {column} has no bins: it is discrete, and was left alone")
        return in_bins(values, cuts).codes.astype(np.int64, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.target_tags.required = self.supervised
        return tags

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """Check names and number of the columns as scikit-learn does; return `X` as a frame."""
        X = collected(X, "X")
        if not (isinstance(X, pd.DataFrame) or is_polars(X)):
            return to_frame(validate_data(self, native(X), reset=reset, dtype=None, ensure_all_finite=False), "X")
        frame = to_frame(validate_data(self, X, reset=reset, skip_check_array=True), "X")
        if frame.empty:
            raise ValueError(
                f"X has {frame.shape[0]} sample(s) and {frame.shape[1]} feature(s); at least one of each is required"
            )
        return frame

    def _class_codes(self, y: Any, frame: pd.DataFrame) -> IntArray:
        """Return the class of each row, as a number."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        classes: npt.NDArray[Any] = column_or_1d(y, warn=True)
        check_consistent_length(frame, classes)
        if pd.isna(classes).any():
            raise ValueError("Input y contains NaN: the class is missing in some rows; drop these rows")
        if classes.dtype.kind == "f" and (classes != np.rint(classes)).any():
            raise ValueError("Unknown label type: continuous. y holds fractional numbers, not classes")
        return pd.factorize(classes, sort=True)[0].astype(np.int64)

    def _to_pandas(self, frame: pd.DataFrame, codes: Mapping[int, IntArray]) -> pd.DataFrame:
        columns: dict[str, Any] = {str(name): column for name, column in frame.items()}
        for j, (name, labels) in enumerate(zip(list(columns), self.bin_labels_, strict=True)):
            if labels is not None:
                columns[name] = pd.Categorical.from_codes(codes[j], categories=pd.Index(labels), ordered=True)
        return pd.DataFrame(columns, index=frame.index)

    def _to_polars(self, frame: pd.DataFrame, codes: Mapping[int, IntArray], X: Any) -> Any:
        import polars

        columns = []
        for j, (name, column) in enumerate(frame.items()):
            labels = self.bin_labels_[j]
            if labels is not None:
                # -1, for missing, selects the last.
                values = np.array([*labels, None])[codes[j]]
                columns.append(polars.Series(name, values, dtype=polars.Enum(labels)))
            elif is_polars(X):
                columns.append(X[name])
            else:
                cells = column.astype(object)
                columns.append(polars.Series(name, cells.where(cells.notna(), None).tolist(), strict=False))
        return polars.DataFrame(columns)


class _GivenCuts(Discretizer):
    """The cuts of a discretizer that is not installed: they can be applied, but not fitted."""

    def cuts(self, column: ColumnSummary) -> FloatArray:
        raise ValueError("the discretizer that found these cuts is not at hand: they can be applied, not found again")


def unfitted(spec: Any) -> Any:
    """Return the unfitted discretizer of a parameter ``discretizer``; None if every distinct value is a state.

    An instance is cloned; ``"auto"`` means the bins for the default parameters of a classifier.

    Examples
    --------
    >>> unfitted(("quantile", {"n_bins": 3})), unfitted("none")
    (QuantileDiscretizer(n_bins=3), None)
    """
    if spec is None or (isinstance(spec, str) and spec == NO_DISCRETIZER):
        return None
    if isinstance(spec, str) and spec == AUTO_DISCRETIZER:
        spec = _DEFAULT
    made = registry.build(Kind.DISCRETIZER, spec)
    return clone(made) if made is spec else made


def check_cut_points(transformer: Any, n_columns: int) -> None:
    """Raise a `ContractError` unless ``cut_points_`` has finite ascending cuts, or None, for each column."""
    cut_points, knots = transformer.cut_points_, getattr(transformer, "knots", False)
    wrong = [cuts is not None and not _are_cuts(np.array(cuts, dtype=np.float64), knots) for cuts in cut_points]
    problem = f"of column {wrong.index(True)} are not {_expected(knots)}" if True in wrong else ""
    if len(cut_points) != n_columns:
        problem = f"are for {len(cut_points)} columns, not {n_columns}"
    if problem:
        raise ContractError(f"{registry.origin(transformer)}: its cut_points_ {problem}")


def refuse_knots(transformer: Any) -> None:
    """Raise a ``ValueError`` for a discretizer with knots."""
    if getattr(transformer, "knots", False):
        raise ValueError(
            f"{registry.origin(transformer)} has knots = True, and interpolation between knots is not supported yet; "
            "use a discretizer whose array holds cuts"
        )


def discretizer_to_json(transformer: Any) -> dict[str, Any] | None:
    """Return name, parameters and cuts of a fitted discretizer as JSON; without ``cut_points_``, a ``ValueError``."""
    if transformer is None:
        return None
    if not hasattr(transformer, "cut_points_"):
        raise ValueError(
            f"a {type(transformer).__name__} cannot be saved with a model: it leaves no cut_points_. Use one that "
            "does, such as those that `bnplug methods` lists"
        )
    params = {name: value for name, value in transformer.get_params(deep=False).items() if _is_json(value)}
    given = transformer.cut_points_
    cuts = [None if points is None else np.asarray(points, dtype=np.float64).tolist() for points in given]
    method = registry.method_of(transformer)
    return {
        "name": None if method is None else method.name,
        "distribution": None if method is None else registry.provider(method).distribution,
        "params": params,
        "cut_points": cuts,
    }


def discretizer_from_json(data: Mapping[str, Any] | None, names: Sequence[str]) -> Any:
    """Return the fitted discretizer that :func:`discretizer_to_json` described, or its cuts if it is not installed."""
    if data is None:
        if names:
            raise ValueError(f"columns {list(names)} are numeric, but there is no discretizer for them")
        return None
    if len(data["cut_points"]) != len(names):
        raise ValueError(f"no discretizer of {len(names)} columns: {data['name']!r}, {len(data['cut_points'])}")
    name = None if data["name"] is None else f"{data.get('distribution', PROJECT)}:{data['name']}"
    try:
        discretizer = _GivenCuts() if name is None else registry.build(Kind.DISCRETIZER, (name, dict(data["params"])))
    except (UnknownMethodError, PluginError, TypeError):
        discretizer = _GivenCuts()
    cuts = [None if points is None else _checked_cuts(points) for points in data["cut_points"]]
    if isinstance(discretizer, Discretizer):
        discretizer._set_cuts(cuts)
    discretizer.cut_points_ = cuts
    discretizer.n_features_in_, discretizer.feature_names_in_ = len(names), np.array(names, dtype=object)
    return with_frames(discretizer)


def with_frames(transformer: Any) -> Any:
    """Set a transformer to return pandas frames, if it has the choice."""
    return transformer.set_output(transform="pandas") if hasattr(transformer, "set_output") else transformer


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | bool | int | float)


def _checked_cuts(cuts: Any) -> FloatArray:
    if not all(isinstance(cut, float | int) for cut in cuts):
        raise ValueError("cut points are not numbers")
    values = np.array(cuts, dtype=np.float64)
    if not _are_cuts(values):
        raise ValueError("cut points are not finite and ascending")
    return values


def _are_cuts(cuts: FloatArray, knots: bool = False) -> bool:
    ascending = cuts.ndim == 1 and bool(np.isfinite(cuts).all() and (cuts[1:] > cuts[:-1]).all())
    return ascending and (len(cuts) > 0 or not knots)


def _expected(knots: bool) -> str:
    return "finite and ascending" + (" knots, at least one" if knots else "")


def _has_few_whole_numbers(column: ColumnSummary) -> bool:
    """Return whether a column of numbers is discrete for ``categorical_features="auto"``."""
    values, n_rows = column.values, max(float(column.rows.sum()), float(column.weights.sum()))
    few = len(values) <= min(MAX_WHOLE_STATES, n_rows / 2)
    return bool(few and (values == np.rint(values)).all())


def _checked_bins(n_bins: Any) -> int:
    """Return a number of bins as an int, or raise a ``ValueError``."""
    if isinstance(n_bins, bool) or not isinstance(n_bins, Integral) or int(n_bins) < 2:
        raise ValueError(f"n_bins={n_bins!r}: expected a whole number of at least 2")
    return int(n_bins)


def _to_array(frame: pd.DataFrame, codes: Mapping[int, IntArray]) -> npt.NDArray[Any]:
    """Return bin numbers and discrete columns, as floats if all of these are numbers."""
    alone = [frame.iloc[:, j] for j in range(frame.shape[1]) if j not in codes]
    numeric = all(is_numeric(column) or pd.api.types.is_bool_dtype(column.dtype) for column in alone)
    array = np.empty(frame.shape, dtype=np.float64 if numeric else object, order="F")
    for j, (_, column) in enumerate(frame.items()):
        if j in codes:
            array[:, j] = np.where(codes[j] == MISSING, np.nan, codes[j])
        else:
            array[:, j] = column.to_numpy(np.float64, na_value=np.nan) if numeric else column.to_numpy(object)
    return array
