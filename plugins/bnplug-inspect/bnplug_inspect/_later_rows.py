"""Later rows as a model encodes them, beside their raw values: what is missing, and what training has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug import BayesianNetworkClassifier, Table
from bnplug.errors import BnplugWarning
from bnplug.table.frames import is_frame, to_frame
from bnplug.typing import BoolArray, IntArray


@dataclass(frozen=True)
class LaterRows:
    """Rows that arrived after training.

    Attributes
    ----------
    frame : pandas frame
        The columns that the model knows.
    table : Table
        The rows with values that training has not seen, and unknown classes, as missing.
    missing : dict of str to array
        The rows in which each feature is missing, by the raw values.
    new : dict of str to dict
        The values of each feature, and classes, that training has not seen, with their numbers of rows.
    labels : int64 array or None
        The class of each row by its position, -1 if it is missing or unknown.
    extra : list of str
        Columns that the model does not know.
    """

    frame: pd.DataFrame
    table: Table
    missing: dict[str, BoolArray]
    new: dict[str, dict[Any, int]]
    labels: IntArray | None
    extra: list[str]

    @classmethod
    def of(cls, model: BayesianNetworkClassifier, X: Any, y: Any = None) -> LaterRows:
        """Encode rows; the class is `y`, or the column of `X` that has its name."""
        frame, target = to_frame(X, "X_new"), model.target_
        encoder, schema = model.encoder_, model.schema_
        known = [*encoder.columns, *encoder.names]
        if not is_frame(X):
            if frame.shape[1] != len(encoder.columns):
                raise ValueError(f"X_new has {frame.shape[1]} columns, and the model has {len(encoder.columns)}")
            frame = frame.set_axis(list(encoder.columns), axis=1)
        if y is None and target in frame.columns and target not in known:
            y = frame[target]
        extra = [name for name in frame.columns if name not in known and name != target]
        frame = frame[[name for name in frame.columns if name in known]]
        if len(frame) == 0 or frame.shape[1] == 0:
            raise ValueError(f"X_new has no rows, or none of the columns of the model, {list(encoder.columns)}")
        # Whole numbers that are not states belong to the nearest in predictions; here they are new.
        exact = replace(encoder, whole={})
        with warnings.catch_warnings():
            # The report lists these values and columns.
            warnings.simplefilter("ignore", BnplugWarning)
            codes = exact.encode(frame, schema, "missing").copy()
        features, new = exact.features(frame), {}
        missing = {name: np.ones(len(frame), dtype=bool) for name in encoder.names}
        for name in [name for name in encoder.names if name in features]:
            missing[name] = features[name].isna().to_numpy()
            unseen = (codes[schema.index(name)] == schema.missing) & ~missing[name]
            if unseen.any():
                new[name] = _counted(features[name][unseen])
        labels = None
        if y is not None:
            labels, unknown = _classes(model, y, len(frame))
            if unknown:
                new[target] = unknown
            codes[schema.target_index] = np.where(labels < 0, schema.missing, labels)
        return cls(frame, Table(codes, schema.names, schema.states, target), missing, new, labels, extra)


def _counted(values: pd.Series[Any]) -> dict[Any, int]:
    return {value: int(n) for value, n in values.map(str).value_counts().items()}


def _classes(model: BayesianNetworkClassifier, y: Any, n_rows: int) -> tuple[IntArray, dict[Any, int]]:
    """Return the positions of labels in ``classes_``, -1 for others, and the labels that are no class."""
    cells = pd.Series(y).reset_index(drop=True)
    if len(cells) != n_rows:
        raise ValueError(f"X_new has {n_rows} rows and y_new has {len(cells)}")
    position: Mapping[Any, int] = {label: i for i, label in enumerate(model.classes_.tolist())}
    labels: npt.NDArray[Any] = np.array([position.get(label, -1) for label in cells.tolist()], dtype=np.int64)
    unknown = (labels < 0) & cells.notna().to_numpy()
    if n_rows and unknown.all():
        raise ValueError(
            f"y_new has none of the classes {list(position)}; it has {cells.unique().tolist()[:5]}, of type "
            f"{cells.dtype}"
        )
    return labels, _counted(cells[unknown]) if unknown.any() else {}
