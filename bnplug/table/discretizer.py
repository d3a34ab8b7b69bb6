"""Discretizers: scikit-learn transformers that cut numeric columns into bins. A value is at most its upper cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug.errors import ContractError, PluginError, UnknownMethodError
from bnplug.hooks import registry
from bnplug.hooks.descriptors import AUTO_DISCRETIZER, NO_DISCRETIZER, Kind
from bnplug.hooks.specs import PROJECT
from bnplug.table._cells import Cells
from bnplug.table._checks import native
from bnplug.table.bins import bin_labels, in_bins
from bnplug.table.coding import MISSING
from bnplug.table.frames import collected, is_polars, to_frame
from bnplug.table.kinds import _few_whole_numbers, is_numeric, refuse_infinities, split_columns, to_floats
from bnplug.table.weights import present_rows, row_weights
from bnplug.typing import FloatArray, IntArray

# "auto": the bins for the default parameters of a classifier.
_DEFAULT = "log2-quantile"


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of discretizers: a subclass finds the cuts in ``_cutter``."""

    def __init__(self, categorical_features: Any = "auto") -> None:
        self.categorical_features = categorical_features

    @abstractmethod
    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        """Return a function that finds the cuts of a column, perhaps with NaN; each value stands for `repeats` rows."""

    def fit(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the cuts of every numeric column.

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
            NaN is missing and ignored; infinite numbers are errors.
        y : array-like of shape (rows,)
            The class of each row; only ``MDLDiscretizer`` needs it, the others ignore it.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is equivalent to repeating the row, 0 to omitting it.
        """
        frame = self._frame(X, reset=True)
        classes = self._classes(y, frame)
        weights = row_weights(sample_weight, len(frame))
        present = present_rows(weights)
        if present is not None:
            frame, weights = frame.loc[present], weights[present]
            classes = None if classes is None else classes[present]
        cutter = self._cutter(classes, weights)
        columns = split_columns(frame, self.categorical_features, weights)[1]
        names = [str(name) for name in frame.columns]
        return self._set_cuts([cutter(columns[name]) if name in columns else None for name in names])

    def fit_numbers(
        self, columns: Mapping[str, FloatArray], y: npt.NDArray[Any] | None, weights: FloatArray | None = None
    ) -> Self:
        """Find the cuts of checked columns, with positive weights, as ``fit`` with ``categorical_features=None``."""
        self.n_features_in_, self.feature_names_in_ = len(columns), np.array(list(columns), dtype=object)
        n_rows = len(next(iter(columns.values())))
        cutter = self._cutter(y, np.ones(n_rows) if weights is None else weights)
        return self._set_cuts([cutter(numbers) for numbers in columns.values()])

    def fit_cells(self, columns: Mapping[str, Cells], numbers: Mapping[str, FloatArray]) -> Self:
        """Find the cuts of columns of numbers from the distinct cells of each, as :meth:`fit_numbers` from rows."""
        self.n_features_in_, self.feature_names_in_ = len(columns), np.array(list(columns), dtype=object)
        return self._set_cuts([self._cuts_of_cells(cells, numbers[name]) for name, cells in columns.items()])

    def _cuts_of_cells(self, cells: Cells, numbers: FloatArray) -> FloatArray | None:
        if self.categorical_features is not None and _few_whole_numbers(cells) is not None:
            return None
        return self._cutter(cells.labels, cells.row_weights(), cells.repeats)(numbers)

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

    def _classes(self, y: Any, frame: pd.DataFrame) -> npt.NDArray[Any] | None:
        """Return the class of each row, if the cuts depend on it."""
        return None

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

    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        raise ValueError("the discretizer that found these cuts is not at hand: they can be applied, not found again")


def unfitted(spec: Any) -> Any:
    """Return the unfitted discretizer of a parameter ``discretizer``; None if every distinct value is a state.

    Parameters
    ----------
    spec : str, (str, mapping), transformer or None
        A registered name, that name with parameters, or an instance, which is cloned. ``"auto"`` are the bins for the
        default parameters of a classifier.

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
    cut_points = transformer.cut_points_
    if len(cut_points) != n_columns:
        raise _refused_cuts(transformer, f"are for {len(cut_points)} columns, not {n_columns}")
    for j, cuts in enumerate(cut_points):
        if cuts is not None and not _ascend(np.array(cuts, dtype=np.float64)):
            raise _refused_cuts(transformer, f"of column {j} are not finite and ascending")


def _refused_cuts(transformer: Any, problem: str) -> ContractError:
    return ContractError(f"{registry.origin(transformer)}: its cut_points_ {problem}")


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
            raise ValueError(f"columns {list(names)} are numeric, and there is no discretizer for them")
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
    if not _ascend(values):
        raise ValueError("cut points are not finite and ascending")
    return values


def _ascend(cuts: FloatArray) -> bool:
    return bool(np.isfinite(cuts).all() and (np.diff(cuts) > 0).all())


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
