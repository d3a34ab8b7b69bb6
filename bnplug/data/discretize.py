"""Discretisation: numeric columns are cut into bins, as scikit-learn transformers.

:class:`MDLDiscretizer` cuts where the class changes (Fayyad and Irani, IJCAI 1993), :class:`QuantileDiscretizer`
into bins of equal weight, :class:`UniformDiscretizer` into bins of equal width. Cuts come from the rows given to
``fit`` alone. A value belongs to the left of a cut when it is at most the cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from bnplug.arrays import FloatArray, IntArray
from bnplug.data._cells import Cells
from bnplug.data._checks import native
from bnplug.data._equal_bins import quantile_cuts, uniform_cuts
from bnplug.data._looking import few_whole_numbers
from bnplug.data.bins import bin_labels, in_bins
from bnplug.data.coding import MISSING
from bnplug.data.frames import collected, is_polars, to_frame
from bnplug.data.kinds import is_numeric, refuse_infinities, split_columns, to_floats
from bnplug.data.weights import present_rows, row_weights
from bnplug.errors import ContractError, PluginError, UnknownMethodError
from bnplug.hooks import registry
from bnplug.hooks.descriptors import AUTO_DISCRETIZER, NO_DISCRETIZER, Kind
from bnplug.hooks.specs import PROJECT

# What "auto" is where nobody says for which parameters: the bins that a classifier's own want, unless others are given.
_WANTED_BY_DEFAULT = "log2-quantile"


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the discretisers share: a subclass says, in ``_cutter``, where the cuts are."""

    def __init__(self, categorical_features: Any = "auto") -> None:
        self.categorical_features = categorical_features

    @abstractmethod
    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        """Return a function that finds the cuts of a column of these rows; its values may include NaN.

        `repeats` is the number of rows that each value represents; by default 1.
        """

    def fit(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the cuts of every numeric column.

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
            NaN is missing and takes no part; infinite numbers are refused.
        y : array-like of shape (rows,)
            The class of each row; only ``MDLDiscretizer`` needs it, the others ignore it.
        sample_weight : array-like of shape (rows,), optional
            A weight of 2 is the row twice, 0 is absence.
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
        return self._cut([columns.get(str(name)) for name in frame.columns], cutter)

    def fit_numbers(
        self, columns: Mapping[str, FloatArray], y: npt.NDArray[Any] | None, weights: FloatArray | None = None
    ) -> Self:
        """Find the cuts of columns of numbers that have been checked, on rows that have positive weights.

        The same as ``fit`` with ``categorical_features=None``.
        """
        self.n_features_in_, self.feature_names_in_ = len(columns), np.array(list(columns), dtype=object)
        n_rows = len(next(iter(columns.values())))
        return self._cut(columns.values(), self._cutter(y, np.ones(n_rows) if weights is None else weights))

    def fit_cells(self, columns: Mapping[str, Cells], numbers: Mapping[str, FloatArray]) -> Self:
        """Find the cuts of columns of numbers by their distinct cells, each column having cells of its own.

        Where rows are summed up as cells without loss, the cuts are those that :meth:`fit_numbers` finds.

        Parameters
        ----------
        columns : mapping of str to Cells
            With labels and weights.
        numbers : mapping of str to float64 array
            The numbers of the cells, NaN where one is missing.
        """
        self.n_features_in_, self.feature_names_in_ = len(columns), np.array(list(columns), dtype=object)
        return self._set_cuts([self._cuts_of_cells(own, numbers[name]) for name, own in columns.items()])

    def _cuts_of_cells(self, cells: Cells, numbers: FloatArray) -> FloatArray | None:
        if self.categorical_features is not None and few_whole_numbers(cells) is not None:
            return None
        return self._cutter(cells.labels, cells.row_weights(), cells.repeats)(numbers)

    def _cut(self, columns: Iterable[FloatArray | None], cutter: Callable[[FloatArray], FloatArray]) -> Self:
        return self._set_cuts([None if own is None else cutter(own) for own in columns])

    def _set_cuts(self, cuts: Sequence[FloatArray | None]) -> Self:
        self.cut_points_: list[FloatArray | None] = list(cuts)
        self.bin_labels_: list[list[str] | None] = [
            None if own is None else bin_labels(own) for own in self.cut_points_
        ]
        return self

    def transform(self, X: Any) -> Any:
        """Put the numeric columns into their bins.

        Returns
        -------
        array or frame of the shape of X
            As an array (scikit-learn's default): the number of the bin, from 0, and NaN where the value
            is missing; of type object where a column that was left alone holds something other than
            numbers. After ``set_output(transform="pandas")``: ordered categoricals of the bins'
            labels; for ``"polars"``, columns of type ``Enum``. Other columns stay as they are.
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
        """Return the number of each value's bin in a column (given by position), -1 for NaN.

        Examples
        --------
        >>> bins = UniformDiscretizer(n_bins=2).fit(np.linspace(0, 1, 20)[:, None])
        >>> bins.bin_codes(np.array([0.3, 0.5, 7.0, np.nan]), 0)
        array([ 0,  0,  1, -1])
        """
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
        """Check names and number of the columns as scikit-learn does; return X as a frame."""
        X = collected(X)
        if not (isinstance(X, pd.DataFrame) or is_polars(X)):
            return to_frame(validate_data(self, native(X), reset=reset, dtype=None, ensure_all_finite=False), "X")
        frame = to_frame(validate_data(self, X, reset=reset, skip_check_array=True), "X")
        if frame.empty:
            raise ValueError(
                f"X has {frame.shape[0]} sample(s) and {frame.shape[1]} feature(s); at least one of each is required"
            )
        return frame

    def _classes(self, y: Any, frame: pd.DataFrame) -> npt.NDArray[Any] | None:
        """Return the class of each row, where the cuts depend on it."""
        return None

    def _to_pandas(self, frame: pd.DataFrame, codes: Mapping[int, IntArray]) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for j, (name, column) in enumerate(frame.items()):
            labels = self.bin_labels_[j]
            columns[str(name)] = (
                column
                if labels is None
                else pd.Categorical.from_codes(codes[j], categories=pd.Index(labels), ordered=True)
            )
        return pd.DataFrame(columns, index=frame.index)

    def _to_polars(self, frame: pd.DataFrame, codes: Mapping[int, IntArray], X: Any) -> Any:
        import polars

        columns = []
        for j, (name, column) in enumerate(frame.items()):
            labels = self.bin_labels_[j]
            if labels is not None:
                # -1, for missing, picks the last
                values = np.array([*labels, None])[codes[j]]
                columns.append(polars.Series(name, values, dtype=polars.Enum(labels)))
            elif is_polars(X):
                columns.append(X[name])
            else:
                cells = column.astype(object)
                columns.append(polars.Series(name, cells.where(cells.notna(), None).tolist(), strict=False))
        return polars.DataFrame(columns)


class MDLDiscretizer(Discretizer):
    """Cut where it tells classes apart, by the minimum description length of Fayyad and Irani.

    An interval is cut where the class entropy that is left, E, is least; both parts are cut in turn. A
    cut is accepted when its gain exceeds ``[log2(n - 1) + log2(3^k - 2) - k E + k1 E1 + k2 E2] / n``.
    Cuts lie midway between neighbouring values. Of cuts that leave equal entropies (within 1e-11 nats)
    the one at the lowest value is taken. A column without any cut has one bin, ``all``.

    Parameters
    ----------
    categorical_features : "auto", None, or sequence of names, positions or booleans
        The discrete columns, which are left alone; see :func:`bnplug.data.kinds.discrete_columns`.

    Attributes
    ----------
    cut_points_ : list of (float64 array or None)
        The ascending cuts of each column; None for a column that is left alone.
    bin_labels_ : list of (list of str or None)
        The labels of each column's bins, from the lowest.

    Notes
    -----
    With weights, ``n`` is the total weight of an interval, and n - 1 is taken as at least 1. Weights
    count evidence: if they sum to 1, there is one row's worth of it, which pays for hardly any cut.

    References
    ----------
    Fayyad, Irani: Multi-interval discretization of continuous-valued attributes for classification learning (1993).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> mdl = MDLDiscretizer().set_output(transform="pandas")
    >>> mdl.fit_transform(X, y)["petal width (cm)"].cat.categories.tolist()
    ['<=0.8', '0.8..1.75', '>1.75']
    """

    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        # Compiled code is loaded when it is first needed.
        from bnplug.data.mdl import ClassColumn, mdl_cuts

        assert y is not None
        return partial(mdl_cuts, classes=ClassColumn.of(y, weights))

    def _classes(self, y: Any, frame: pd.DataFrame) -> npt.NDArray[Any]:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        classes: npt.NDArray[Any] = column_or_1d(y, warn=True)
        check_consistent_length(frame, classes)
        if pd.isna(classes).any():
            raise ValueError("Input y contains NaN: the class is missing in some rows; drop them")
        if classes.dtype.kind == "f" and (classes != np.rint(classes)).any():
            raise ValueError("Unknown label type: continuous. y holds fractional numbers, not classes")
        return classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class QuantileDiscretizer(Discretizer):
    """Cut into bins of equal weight.

    The cut below which a share q of the weight lies is the least value whose cumulative weight reaches
    it (the inverted distribution function), so weights and repeated rows give the same cuts. Where
    many values are equal, cuts coincide and there are fewer bins.

    Parameters
    ----------
    n_bins : int
        The number of bins, at least 2.
    categorical_features : "auto", None, or sequence of names, positions or booleans
        The discrete columns, which are left alone; see :func:`bnplug.data.kinds.discrete_columns`.

    Attributes
    ----------
    cut_points_ : list of (float64 array or None)
        The ascending cuts of each column; None for a column that is left alone.
    bin_labels_ : list of (list of str or None)
        The labels of each column's bins, from the lowest.

    Examples
    --------
    >>> QuantileDiscretizer(n_bins=4).fit(np.arange(1.0, 101.0)[:, None]).bin_labels_
    [['<=25', '25..50', '50..75', '>75']]
    """

    def __init__(self, n_bins: int = 5, categorical_features: Any = "auto") -> None:
        super().__init__(categorical_features)
        self.n_bins = n_bins

    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        return partial(quantile_cuts, weights=weights, n_bins=_checked_bins(self.n_bins))


class UniformDiscretizer(Discretizer):
    """Cut into bins of equal width between the least and the greatest value.

    Parameters
    ----------
    n_bins : int
        The number of bins, at least 2; a constant column has one.
    categorical_features : "auto", None, or sequence of names, positions or booleans
        The discrete columns, which are left alone; see :func:`bnplug.data.kinds.discrete_columns`.

    Attributes
    ----------
    cut_points_ : list of (float64 array or None)
        The ascending cuts of each column; None for a column that is left alone.
    bin_labels_ : list of (list of str or None)
        The labels of each column's bins, from the lowest.

    Examples
    --------
    >>> UniformDiscretizer(n_bins=4).fit(np.arange(0.0, 101.0)[:, None]).bin_labels_
    [['<=25', '25..50', '50..75', '>75']]
    """

    def __init__(self, n_bins: int = 5, categorical_features: Any = "auto") -> None:
        super().__init__(categorical_features)
        self.n_bins = n_bins

    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        return partial(uniform_cuts, n_bins=_checked_bins(self.n_bins))


class _GivenCuts(Discretizer):
    """The cuts that a discretiser left which is not at hand: they are applied, and nothing is learned."""

    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        raise ValueError("the discretizer that found these cuts is not at hand: they can be applied, not found again")


def unfitted(spec: Any) -> Any:
    """Return the unfitted discretiser that a parameter ``discretizer`` asks for.

    Parameters
    ----------
    spec : str, (str, mapping), transformer or None
        A registered name, that name with parameters, or an instance, which is cloned. ``"auto"`` are the bins for the
        default parameters of a classifier.

    Returns
    -------
    transformer or None
        None for ``"none"``: the data is discrete already, and every distinct value is a state.

    Raises
    ------
    UnknownMethodError
        If no discretiser is registered under that name.

    Examples
    --------
    >>> unfitted(("quantile", {"n_bins": 3})), unfitted("none")
    (QuantileDiscretizer(n_bins=3), None)
    """
    if spec is None or (isinstance(spec, str) and spec == NO_DISCRETIZER):
        return None
    if isinstance(spec, str) and spec == AUTO_DISCRETIZER:
        spec = _WANTED_BY_DEFAULT
    made = registry.build(Kind.DISCRETIZER, spec)
    return clone(made) if made is spec else made


def check_cut_points(transformer: Any, n_columns: int) -> None:
    """Raise a `ContractError` unless what fitting left in ``cut_points_`` are cuts of so many columns.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_cut_points(SimpleNamespace(cut_points_=[[2.0, 1.0], None]), 2)
    Traceback (most recent call last):
    bnplug.errors.ContractError: types.SimpleNamespace: its cut_points_ of column 0 are not finite and ascending
    """
    cut_points = transformer.cut_points_
    if len(cut_points) != n_columns:
        raise ContractError(
            f"{registry.origin(transformer)}: its cut_points_ are for {len(cut_points)} columns, not {n_columns}"
        )
    for j, cuts in enumerate(cut_points):
        values = np.array([] if cuts is None else cuts, dtype=np.float64)
        if not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise ContractError(
                f"{registry.origin(transformer)}: its cut_points_ of column {j} are not finite and ascending"
            )


def discretizer_to_json(transformer: Any) -> dict[str, Any] | None:
    """Return a fitted discretiser, or None, as what JSON can hold: its name and parameters, and its cuts.

    Raises
    ------
    ValueError
        For a transformer without ``cut_points_``.
    """
    if transformer is None:
        return None
    if not hasattr(transformer, "cut_points_"):
        raise ValueError(
            f"a {type(transformer).__name__} cannot be saved with a model: it leaves no cut_points_. Use one that "
            "does, such as those that `bnplug methods` lists"
        )
    params = {name: value for name, value in transformer.get_params(deep=False).items() if _is_json(value)}
    cuts = [None if own is None else np.asarray(own, dtype=np.float64).tolist() for own in transformer.cut_points_]
    method = registry.method_of(transformer)
    return {
        "name": None if method is None else method.name,
        "distribution": None if method is None else registry.provider(method).distribution,
        "params": params,
        "cut_points": cuts,
    }


def discretizer_from_json(data: Mapping[str, Any] | None, names: Sequence[str]) -> Any:
    """Return the fitted discretiser that :func:`discretizer_to_json` described, for columns of these names.

    Where it is not registered here, its cuts are applied all the same. It returns pandas frames.

    Raises
    ------
    ValueError
        If the description is damaged or does not fit the columns.
    """
    if data is None:
        if names:
            raise ValueError(f"columns {list(names)} are numeric, and there is no discretizer for them")
        return None
    if len(data["cut_points"]) != len(names):
        raise ValueError(f"no discretizer of {len(names)} columns: {data['name']!r}, {len(data['cut_points'])}")
    # Before distributions were noted there were discretisers of the core alone.
    name = None if data["name"] is None else f"{data.get('distribution', PROJECT)}:{data['name']}"
    made = _as_saved(name, data["params"])
    made.cut_points_ = [None if cuts is None else _checked_cuts(cuts) for cuts in data["cut_points"]]
    made.n_features_in_, made.feature_names_in_ = len(names), np.array(names, dtype=object)
    if isinstance(made, Discretizer):
        made.bin_labels_ = [None if cuts is None else bin_labels(cuts) for cuts in made.cut_points_]
    return with_frames(made)


def with_frames(transformer: Any) -> Any:
    """Let a transformer return pandas frames, where it has a choice."""
    return transformer.set_output(transform="pandas") if hasattr(transformer, "set_output") else transformer


def _as_saved(name: str | None, params: Mapping[str, Any]) -> Any:
    """Return an unfitted discretiser by name; one that only holds cuts where that one cannot be made here."""
    try:
        return _GivenCuts() if name is None else registry.build(Kind.DISCRETIZER, (name, dict(params)))
    except (UnknownMethodError, PluginError, TypeError):
        return _GivenCuts()


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | bool | int | float)


def _checked_cuts(cuts: Any) -> FloatArray:
    if not all(isinstance(cut, float | int) for cut in cuts):
        raise ValueError("cut points are not numbers")
    values = np.array(cuts, dtype=np.float64)
    if not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ValueError("cut points are not finite and ascending")
    return values


def _checked_bins(n_bins: Any) -> int:
    if isinstance(n_bins, bool) or not isinstance(n_bins, Integral) or int(n_bins) < 2:
        raise ValueError(f"n_bins={n_bins!r}: expected a whole number of at least 2")
    return int(n_bins)


def _to_array(frame: pd.DataFrame, codes: Mapping[int, IntArray]) -> npt.NDArray[Any]:
    """Return bin numbers and the columns that were left alone, as floats where all of them are numbers."""
    alone = [frame.iloc[:, j] for j in range(frame.shape[1]) if j not in codes]
    numeric = all(is_numeric(column) or pd.api.types.is_bool_dtype(column.dtype) for column in alone)
    array = np.empty(frame.shape, dtype=np.float64 if numeric else object, order="F")
    for j in range(frame.shape[1]):
        if j in codes:
            array[:, j] = np.where(codes[j] == MISSING, np.nan, codes[j])
        elif numeric:
            array[:, j] = frame.iloc[:, j].to_numpy(np.float64, na_value=np.nan)
        else:
            array[:, j] = frame.iloc[:, j].to_numpy(object)
    return array
