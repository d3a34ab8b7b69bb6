"""A data set with its name: features, class, and what is known about both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from bnplug.html import _kit as html
from bnplug.html._kit import plain_display
from bnplug.typing import IntArray

#: Features and class.
Data = tuple[pd.DataFrame, "pd.Series[Any]"]

# Classes that a notebook names.
_MOST_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and class, with what a comparison has to know about them.

    Attributes
    ----------
    name : str
    X : pandas.DataFrame
        The features; a missing value is NaN.
    y : pandas.Series
        The class of each row, never missing.
    categorical_features : tuple of str, or "auto"
        The features that are categories even where they look like numbers; ``"auto"`` where nobody says. It
        is what `BayesianNetworkClassifier` takes under this name.
    source : str
        Where the data come from.
    split : pair of int64 arrays, optional
        The rows for training and the rows for testing, where the data set comes with them.

    Raises
    ------
    ValueError
        If there are no features, or rows without a class.

    Examples
    --------
    >>> from bnplug import datasets
    >>> corral = datasets.load("corral")
    >>> corral.X.shape, corral.y.name, corral.categorical_features[:2], corral.split
    ((128, 6), 'class', ('A0', 'A1'), None)
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    categorical_features: tuple[str, ...] | Literal["auto"]
    source: str
    split: tuple[IntArray, IntArray] | None = None

    def __post_init__(self) -> None:
        if not self.X.shape[1]:
            raise ValueError(f"data set {self.name!r}: there are no features, only the column {self.y.name!r}")
        without_class = int(self.y.isna().sum())
        if without_class:
            raise ValueError(
                f"data set {self.name!r}: {without_class} rows have no class (column {self.y.name!r}); drop them"
            )

    def _repr_html_(self) -> str:
        counts = self.y.value_counts(sort=False)
        classes = [f"{label} {count:,}" for label, count in list(counts.items())[:_MOST_CLASSES]]
        more = ["…"] if len(counts) > len(classes) else []
        return html.display(
            html.title(self.name, f"{len(self.X):,} rows, {self.X.shape[1]:,} features; {self.source}"),
            html.note(f"{self.y.name}: {', '.join(classes + more)}"),
            plain_display(self.X.assign(**{str(self.y.name): self.y}).head()),
        )
