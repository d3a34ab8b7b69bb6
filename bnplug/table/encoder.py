"""ColumnEncoder: the decisions of training about every column, and the codes of new rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import has_fit_parameter

from bnplug.errors import BnplugWarning, MissingColumnWarning, warn_outside
from bnplug.hooks.descriptors import is_component
from bnplug.table._cells import Seen, unlike
from bnplug.table._checks import are_inexact, is_large, read_only, refuse, report_inexact, to_decimals
from bnplug.table._columns import ColumnPlan, plan_columns
from bnplug.table._dates import spread
from bnplug.table.bins import _named_bins, _with_nearest_states, bin_labels, in_bins, middles
from bnplug.table.coding import MISSING, UNSEEN, Coded, Codes, State, _is_plain, code_column, label_index, match_column
from bnplug.table.discretizer import Discretizer, check_cut_points, refuse_knots, unfitted, with_frames
from bnplug.table.kinds import COMPLEX, _unsupported, floats_of, is_numeric, refuse_infinities, to_floats
from bnplug.table.rules import ColumnRules
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray

# Frames of up to this many rows are encoded cell by cell.
_FEW_ROWS = 16


@dataclass(eq=False, repr=False)
class ColumnEncoder:
    """Encodes raw columns as decided in training; see :func:`bnplug.encode_training`.

    Attributes
    ----------
    columns : tuple of str
        The raw columns of the training rows.
    names : tuple of str
        The features: the columns without those that are left out, and with points in time as their parts.
    numeric : tuple of str
        The features that the discretizer cuts.
    discretizer : transformer or None
        Fitted on the numeric columns of the training rows; None if there are none, or numbers are states.
    missing_states : dict of str to str
        The state of missing cells, for each column that has one (``missing="value"``).
    classes : array
        The class labels, sorted, of the type that they have in the data.
    left_out : dict of str to str
        Useless columns, and why they are useless.
    dates : dict of str to dict of str to str
        For a column of points in time: the feature of each part.
    zones : dict of str to str
        For a column of points in time with a time zone: the zone, to which other zoned times are converted.
    whole : dict of str to tuple
        The features with few whole numbers, and these numbers. Other numbers are in the state of the nearest one.
    pooled : dict of str to tuple
        The features with rare values, and their states. The last state stands for all values that are no state.
    """

    names: tuple[str, ...]
    numeric: tuple[str, ...]
    discretizer: Any
    missing_states: dict[str, str]
    classes: npt.NDArray[Any]
    _: KW_ONLY
    columns: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    dates: dict[str, dict[str, str]] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    whole: dict[str, tuple[State, ...]] = field(default_factory=dict)
    pooled: dict[str, tuple[State, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the features for the raw columns if no columns are given."""
        self.columns = self.columns or self.names
        self._coder: _RowCoder | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_coder": None}

    @classmethod
    def learn(
        cls, columns: Mapping[str, Seen], classes: npt.NDArray[Any], rules: ColumnRules
    ) -> tuple[ColumnEncoder, dict[str, Coded]]:
        """Learn from the cells of every column how columns become discrete; return the encoder and the encoded cells.

        ``classes[labels]`` are the classes of the cells. Those with a negative label have no class, and do not affect
        where numbers are cut.
        """
        transformer = unfitted(rules.discretizer)
        refuse_knots(transformer)
        named = transformer is not None and is_component(rules.discretizer)
        if named and "categorical_features" in transformer.get_params(False):
            # A discretizer given by name cuts every column.
            transformer.set_params(categorical_features=None)
        plan = plan_columns(columns, rules, transformer is not None)
        if plan.numbers:
            _fit(transformer, plan)
        decisions = {name: getattr(plan, name) for name in ("left_out", "dates", "zones", "whole", "pooled")}
        discretizer = transformer if plan.numbers else None
        encoder = cls(plan.names, tuple(plan.numbers), discretizer, {}, classes, columns=tuple(columns), **decisions)
        return encoder, encoder._code_plan(plan, rules)

    @property
    def cut_points(self) -> dict[str, FloatArray]:
        """The cuts between the bins of each numeric feature, if the discretizer has cuts."""
        cuts = getattr(self.discretizer, "cut_points_", None)
        pairs = () if cuts is None else zip(self.numeric, cuts, strict=True)
        return {name: points for name, points in pairs if points is not None}

    def _code_plan(self, plan: ColumnPlan, rules: ColumnRules) -> dict[str, Coded]:
        """Return encoded training columns; missing is a state if that is their policy and cells are missing."""
        policies, binned, columns = rules.policies, self.bin_numbers(plan.numbers), {}
        origin = {part: column for column, parts in self.dates.items() for part in parts.values()}
        for name in plan.names:
            column = binned[name] if name in binned else plan.coded[name]
            codes, states = columns[name] = column if isinstance(column, Coded) else code_column(column)
            if policies[origin.get(name, name)] == "value" and (holes := codes == MISSING).any():
                self.missing_states[name] = label = unlike("missing", set(map(str, states)))
                columns[name] = Coded(np.where(holes, len(states), codes), (*states, label))
        return columns

    def bin_numbers(self, values: Mapping[str, FloatArray]) -> dict[str, pd.Series[Any] | Coded]:
        """Return numbers in their bins, as the discretizer makes them."""
        if values and not hasattr(self.discretizer, "cut_points_"):
            binned = self.discretizer.transform(pd.DataFrame(dict(values)).reindex(columns=list(self.numeric)))
            return {name: binned[name] for name in values}
        cuts = self.cut_points
        return {
            name: in_bins(numbers, cuts[name]) if name in cuts else pd.Series(numbers, name=name)
            for name, numbers in values.items()
        }

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the features of `frame`, and columns unknown to training; points in time become their parts."""
        left_out = [name for name in frame.columns if name in self.left_out]
        features = spread(frame.drop(columns=left_out) if left_out else frame, self.dates, self.zones)
        return _with_nearest_states(features, self.whole)

    def encode(self, frame: pd.DataFrame, schema: Table, unseen: str = "missing") -> CodeArray:
        """Return the codes of `frame` by the states of `schema`, as :meth:`bnplug.Table.encode` does.

        A missing cell is in the state of missing cells, if its column has one. A value with the label of that state is
        unseen. Floats that may have lost digits of large whole numbers give a warning.
        """
        features, coder = self.features(frame), self.coder(schema)
        report_inexact([name for name in coder.large if name in features and are_inexact(features[name])])
        return coder.code_features(features, unseen)

    def coder(self, schema: Table) -> _RowCoder:
        """Return the compiled coder for the states of `schema`, which is cached."""
        coder = self._coder
        if coder is None or coder.schema is not schema:
            coder = self._coder = _RowCoder(self, schema)
        return coder

    def to_states(self, codes: CodeArray, schema: Table) -> dict[str, pd.Categorical]:
        """Return encoded rows as columns of state labels.

        A cell in the state of missing cells becomes missing. In a column with that state, an unseen value becomes
        ``"unseen"``, or a similar label that is not a state.
        """
        columns = {}
        for name, row_codes in zip(schema.names, codes, strict=True):
            states, label = schema.states[name], self.missing_states.get(name)
            unknown = row_codes == schema.missing
            signed = np.where(unknown, MISSING, row_codes.astype(np.int64))
            if label is not None and unknown.any():
                signed[unknown] = len(states)
                states = (*states, unlike("unseen", set(map(str, states))))
            column = pd.Categorical.from_codes(signed, categories=label_index(states))
            columns[name] = column if label is None else column.remove_categories([label])
        return columns

    def known_columns(self, frame: pd.DataFrame, target: str) -> pd.DataFrame:
        """Return the columns that training had; warn about others and absent ones, or raise if training had none."""
        known = {*self.columns, *self.names}
        unknown = [name for name in frame.columns if name not in known]
        if unknown:
            hint = f" ({target!r} is the class)" if target in unknown else ""
            message = f"columns {unknown} were not in the training data{hint}"
            if len(unknown) == frame.shape[1]:
                raise ValueError(f"{message}, which had {list(self.columns)}")
            warn_outside(f"{message}; they are ignored", BnplugWarning)
            frame = frame[[name for name in frame.columns if name in known]]
        present = set(frame.columns)
        used = [name for name in self.columns if name not in self.left_out]
        absent = [name for name in used if not {name, *self.dates.get(name, {}).values()} & present]
        if absent:
            warn_outside(f"columns {absent} are absent; they are marginalized", MissingColumnWarning)
        return frame

    def encode_evidence(self, evidence: Mapping[str, Any], schema: Table) -> dict[str, int]:
        """Return the code of each value in `evidence`, by name; unseen values are errors."""
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


class _RowCoder:
    """Encodes rows by the states of a table."""

    def __init__(self, encoder: ColumnEncoder, schema: Table) -> None:
        self.encoder, self.schema = encoder, schema
        edges = {name: np.asarray(cuts, dtype=np.float64) for name, cuts in encoder.cut_points.items()}
        labels: dict[str, Sequence[State]] = {name: bin_labels(cuts) for name, cuts in edges.items()}
        edges |= {name: middles(states) for name, states in encoder.whole.items()}
        labels |= encoder.whole
        # The edges between the intervals of each numeric feature, and the codes of the intervals.
        self._intervals = {
            name: (edges[name], match_column(Coded(np.arange(len(labels[name])), tuple(labels[name])), states))
            for name, states in schema.states.items()
            if name in edges
        }
        # Features that have large whole numbers as states.
        self.large = [
            name
            for name, states in schema.states.items()
            if name not in self._intervals and name not in encoder.numeric and any(map(is_large, states))
        ]
        # Features encoded from numbers or from text alone: each as (variable, column, edges or codes).
        self._numbers: list[tuple[int, int, FloatArray]] = []
        self._words: list[tuple[int, int, dict[str, int]]] = []
        self._n_features = len(schema.features)
        columns = {name: position for position, name in enumerate(encoder.columns)}
        if encoder.dates or encoder.pooled or encoder.missing_states:
            columns = {}
        for v in [v for v in schema.features if schema.names[v] in columns]:
            name = schema.names[v]
            states, (cuts, codes) = schema.states[name], self._intervals.get(name, (None, None))
            if cuts is not None and codes is not None and np.array_equal(codes, np.arange(len(states))):
                self._numbers.append((v, columns[name], cuts))
            elif name not in encoder.numeric and all(isinstance(state, str) for state in states):
                self._words.append((v, columns[name], {str(state): code for code, state in enumerate(states)}))

    def code_plain(self, data: Any) -> CodeArray | None:
        """Return the codes of arrays or frames of floats, or of short frames of numbers and known text, else None."""
        if isinstance(data, np.ndarray):
            return self._code_array(data)
        if not isinstance(data, pd.DataFrame) or data.columns.tolist() != list(self.encoder.columns) or not len(data):
            return None
        dtypes = data.dtypes.tolist()
        if all(dtype == np.float64 for dtype in dtypes):
            array = data.to_numpy()
            # The message about an infinite number names its column, which the general path knows.
            return None if np.isinf(array).any() else self._code_array(array)
        return self._code_cells(data, dtypes) if len(data) <= _FEW_ROWS else None

    def _code_array(self, array: npt.NDArray[Any]) -> CodeArray | None:
        if not _is_plain(array.dtype, "f") or len(self._numbers) < self._n_features:
            return None
        return read_only(self._code_numbers(to_decimals(array.ravel()).reshape(array.shape).T))

    def _code_cells(self, frame: pd.DataFrame, dtypes: list[Any]) -> CodeArray | None:
        is_plain = all(
            _is_plain(dtypes[column], "iu") or dtypes[column] == np.float64 for _, column, _ in self._numbers
        )
        if not is_plain or len(self._numbers) + len(self._words) < self._n_features:
            return None
        cells = frame.to_numpy(dtype=object)
        values = np.full(cells.shape[::-1], np.nan)
        for _, column, _ in self._numbers:
            values[column] = cells[:, column]
        codes = self._code_numbers(values)
        for variable, column, known in self._words:
            column_codes = [_word_code(cell, known, self.schema.missing) for cell in cells[:, column].tolist()]
            if UNSEEN in column_codes:
                return None
            codes[variable] = column_codes
        return None if np.isinf(values).any() else read_only(codes)

    def _code_numbers(self, values: FloatArray) -> CodeArray:
        """Return the codes of numbers, given by column and row; all other features are missing."""
        codes = np.full((len(self.schema.names), values.shape[1]), self.schema.missing, dtype=self.schema.dtype)
        for variable, column, edges in self._numbers:
            codes[variable] = edges.searchsorted(values[column])
        holes = np.isnan(values)
        if holes.any():
            for variable, column, _ in self._numbers:
                codes[variable, holes[column]] = self.schema.missing
        return codes

    def code_features(self, features: pd.DataFrame, unseen: str) -> CodeArray:
        """Return the codes of any features; absent ones are missing, complex and infinite numbers errors."""
        columns = {str(name): column for name, column in features.items()}
        refuse(_unsupported({name: COMPLEX for name, column in columns.items() if column.dtype.kind == "c"}))
        codes: dict[str, Codes] = {}
        for name, cuts in self.encoder.cut_points.items():
            bins = _named_bins(columns[name], cuts) if name in columns else None
            if bins is not None:
                codes[name] = match_column(bins, self.schema.states[name])
        whole = {name for name in self.encoder.whole if name in columns and is_numeric(columns[name])}
        numeric = {*self.encoder.numeric, *whole} - codes.keys()
        numbers = {name: to_floats(column) for name, column in columns.items() if name in numeric}
        others = {name: column for name, column in columns.items() if name not in numbers}
        floats = {name: values for name, values in numbers.items() if columns[name].dtype.kind not in "iu"}
        refuse_infinities({**floats_of(others), **floats})
        for name in numbers.keys() & self._intervals.keys():
            (edges, of_interval), values = self._intervals[name], numbers.pop(name)
            codes[name] = of_interval[edges.searchsorted(values)]
            codes[name][np.isnan(values)] = MISSING
        if numbers:
            # The discretizer has no cuts.
            binned = self.encoder.bin_numbers(numbers)
            codes |= {name: match_column(binned[name], self.schema.states[name], by_text=True) for name in numbers}
        for name in [name for name in self.schema.states if name in others and name not in codes]:
            states, pooled = self.schema.states[name], self.encoder.pooled.get(name)
            codes[name] = match_column(others[name], states if pooled is None else pooled[:-1], by_text=True)
            if pooled is not None:
                # All other values are in the last state.
                last = np.where(codes[name] == UNSEEN, len(pooled) - 1, codes[name])
                codes[name] = match_column(Coded(last, pooled), states)
        return self.schema.pack(codes, columns, len(features), unseen, self.encoder.missing_states)


def _word_code(cell: Any, known: dict[str, int], missing: int) -> int:
    """Return the code of a cell that is text or missing; ``UNSEEN`` for all other cells."""
    if isinstance(cell, str):
        return known.get(cell, UNSEEN)
    is_missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return missing if is_missing else UNSEEN


def _fit(transformer: Any, plan: ColumnPlan) -> None:
    """Fit `transformer` to the columns of numbers, with weights if there are any; it then returns pandas frames."""
    with_frames(transformer)
    if isinstance(transformer, Discretizer):
        pairs = ((name, plan.cells[name], numbers) for name, numbers in plan.numbers.items())
        transformer.fit_summaries(cells.summary(name, x, transformer.supervised) for name, cells, x in pairs)
        return
    cells = plan.cells[next(iter(plan.numbers))]
    assert cells.labels is not None
    known: Any = cells.labels >= 0
    frame = pd.DataFrame({name: numbers[known] for name, numbers in plan.numbers.items()})
    if cells.weights is None:
        transformer.fit(frame, cells.labels[known])
    elif has_fit_parameter(transformer, "sample_weight"):
        transformer.fit(frame, cells.labels[known], sample_weight=cells.weights[known])
    else:
        raise ValueError(
            f"{type(transformer).__name__} takes no sample_weight, and rows are weighted; use another "
            "discretizer, or neither sample_weight nor class_weight"
        )
    if hasattr(transformer, "cut_points_"):
        check_cut_points(transformer, len(plan.numbers))
