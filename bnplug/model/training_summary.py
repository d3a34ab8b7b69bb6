"""What a fitted model keeps of its training rows, for comparison with later rows: counts and quantiles, no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bnplug.model.log_tables import LogTables
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

# The most quantiles, and the fewest rows per quantile.
_MOST_QUANTILES, _ROWS_PER_QUANTILE = 200, 5

#: The number of bins of equal width of the largest probability of a class.
CONFIDENCE_BINS = 10


class HeldOutSummary(NamedTuple):
    """Summary of held-out training rows under models that were learned without them.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    log_likelihood, log_score : float64 arrays
        Quantiles of log P(features) and of log P(class | features), at the levels (i + 1/2) / (number of quantiles).
    reliability : float64 array of shape (CONFIDENCE_BINS, 3)
        For each bin of the largest probability of a class: the number of rows, the sum of these probabilities, and the
        number of rows of this class.
    """

    n_rows: int
    log_likelihood: FloatArray
    log_score: FloatArray
    reliability: FloatArray

    @classmethod
    def of(cls, log_likelihood: FloatArray, log_posterior: FloatArray, classes: IntArray) -> Self:
        """Summarize rows by log P(features), log P(class | features) for every class, and their classes."""
        score = log_posterior[np.arange(len(classes)), classes]
        return cls(len(classes), _quantiles(log_likelihood), _quantiles(score), reliability(log_posterior, classes))


def reliability(log_posterior: FloatArray, classes: IntArray) -> FloatArray:
    """Return the rows, the sums of confidences and the correct rows by bins of confidence.

    See :class:`HeldOutSummary`.
    """
    confidence = np.exp(log_posterior.max(axis=1))
    correct = log_posterior.argmax(axis=1) == classes
    bins = np.minimum((confidence * CONFIDENCE_BINS).astype(np.int64), CONFIDENCE_BINS - 1)
    weights = (np.ones(len(classes)), confidence, correct.astype(np.float64))
    return np.stack([np.bincount(bins, weight, CONFIDENCE_BINS) for weight in weights], axis=1)


def _quantiles(values: FloatArray) -> FloatArray:
    n = min(_MOST_QUANTILES, len(values) // _ROWS_PER_QUANTILE)
    # Interpolation between infinite values would be NaN.
    return np.sort(values)[((np.arange(n) + 0.5) / max(n, 1) * len(values)).astype(np.int64)]


@dataclass(frozen=True)
class TrainingSummary:
    """Counts of the training rows, each row once whatever its weight, and a summary of held-out rows.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    states : mapping of str to int64 array
        The number of rows in each state of a variable; in the remaining rows it is missing.
    families : mapping of str to int64 array
        The number of rows in each joint state of a variable and its parents, with axes ``(variable, *parents)``.
    class_weights : float64 array
        The total weight of the rows of each class: the prevalence that the model was trained for.
    held_out : HeldOutSummary or None
        None unless held-out rows were used to calibrate evidence (``calibrate="evidence"``).
    """

    n_rows: int
    states: Mapping[str, IntArray]
    families: Mapping[str, IntArray]
    class_weights: FloatArray
    held_out: HeldOutSummary | None = None

    @classmethod
    def of(cls, table: Table, structure: Structure, held_out: HeldOutSummary | None = None) -> Self:
        """Count the rows of a table."""
        rows = table._with_weights_divided(None) if table.weighted else table
        singles = [(v,) for v in range(len(table.names))]
        families = [(v, *parents) for v, parents in enumerate(structure.parents)]
        counts = [cells.astype(np.int64) for cells in rows.counts([*singles, *families])]
        states, cells = (
            dict(zip(table.names, part, strict=True)) for part in (counts[: len(singles)], counts[len(singles) :])
        )
        weights = table.counts([[table.target_index]])[0] if table.weighted else states[table.target].astype(np.float64)
        return cls(table.n_rows, states, cells, weights, held_out)

    def __add__(self, more: TrainingSummary) -> TrainingSummary:
        """Return the counts of both; the held-out rows are those of the first."""
        return replace(
            self,
            n_rows=self.n_rows + more.n_rows,
            states={name: counts + more.states[name] for name, counts in self.states.items()},
            families={name: counts + more.families[name] for name, counts in self.families.items()},
            class_weights=self.class_weights + more.class_weights,
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all as few arrays, counts in the smallest unsigned type."""
        counts = np.concatenate(
            [[self.n_rows], *(c.ravel() for part in (self.states, self.families) for c in part.values())]
        )
        arrays = {
            "training_counts": counts.astype(np.min_scalar_type(int(counts.max()))),
            "training_classes": self.class_weights,
        }
        if self.held_out is not None:
            arrays["held_out_quantiles"] = np.stack([self.held_out.log_likelihood, self.held_out.log_score])
            arrays["held_out_reliability"] = self.held_out.reliability
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], tables: LogTables) -> Self | None:
        """Undo :meth:`to_arrays`; None if the arrays have no counts. Raise a ``ValueError`` if they are damaged."""
        if "training_counts" not in arrays:
            return None
        shapes = [(len(tables.states[name]),) for name in tables.names]
        shapes += [table.values.shape for table in tables.tables.values()]
        ends = np.cumsum([1, *map(prod, shapes)])
        flat, weights = arrays["training_counts"], arrays["training_classes"]
        if flat.dtype.kind != "u" or flat.shape != (ends[-1],) or int(flat.max()) > np.iinfo(np.int64).max:
            raise ValueError(f"{flat.shape} counts of training rows of type {flat.dtype}; {ends[-1]} expected")
        if tables.target is None or weights.shape != shapes[tables.names.index(tables.target)]:
            raise ValueError(f"weights of classes of shape {weights.shape}")
        parts = np.split(flat.astype(np.int64), ends[:-1])
        counts = [part.reshape(shape) for part, shape in zip(parts[1:], shapes, strict=True)]
        n = len(tables.names)
        states, families = (dict(zip(tables.names, part, strict=True)) for part in (counts[:n], counts[n:]))
        held_out = _held_out(arrays) if "held_out_quantiles" in arrays else None
        return cls(int(flat[0]), states, families, weights.astype(np.float64), held_out)


def _held_out(arrays: Mapping[str, npt.NDArray[Any]]) -> HeldOutSummary:
    quantiles, bins = arrays["held_out_quantiles"], arrays["held_out_reliability"]
    if quantiles.dtype != np.float64 or quantiles.ndim != 2 or len(quantiles) != 2 or np.isnan(quantiles).any():
        raise ValueError(f"quantiles of held-out rows of shape {quantiles.shape} and dtype {quantiles.dtype}")
    if bins.dtype != np.float64 or bins.shape != (CONFIDENCE_BINS, 3) or not np.isfinite(bins).all():
        raise ValueError(f"bins of confidence of shape {bins.shape} and dtype {bins.dtype}")
    return HeldOutSummary(int(bins[:, 0].sum()), quantiles[0], quantiles[1], bins)
