"""One pass over the rows: counts of values, missing cells by class, fingerprints of rows, and a sample of rows.

Memory is bounded: the values of a column are counted exactly up to a limit, fingerprints are kept for rows whose hash
is small enough, and the sample is uniform.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.table.kinds import column_kind
from bnplug.typing import FloatArray, IntArray

#: The most distinct values that are counted per column, the most rows of the sample, and the most fingerprints.
MOST_VALUES, MOST_SAMPLED, MOST_PRINTS = 1 << 15, 20_000, 1 << 21

#: The most classes; a class with more values is probably a number.
MOST_CLASSES = 1000

_MIX = np.uint64(0x9E3779B97F4A7C15)
_DIGIT_FIRST = r"^\s*[+-]?\.?[0-9]"
# The fingerprint of a missing cell.
_HOLE = np.uint64(0x632BE59BD9B4E019)


class ColumnProfile:
    """The values of a column with the number of rows of each: numbers, and text that is not a number.

    Attributes
    ----------
    numbers, texts : pandas.Series
        The number of rows of each number or text.
    n_numbers, n_texts : int
        The number of rows with a number, and with other text.
    n_written : int
        The number of rows in which the number is text.
    n_zeros : int
        The number of rows in which that text begins with a zero that a number would lose, as in 00123.
    missing : dict
        The number of missing cells by class.
    cut : bool
        Whether there were too many values to count all.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers: pd.Series[Any] = pd.Series(dtype=np.int64)
        self.texts: pd.Series[Any] = pd.Series(dtype=np.int64)
        self.n_numbers = self.n_texts = self.n_written = self.n_zeros = 0
        self.missing: dict[Any, int] = {}
        self.cut = self.times = False

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        return sum(self.missing.values())

    @property
    def n_present(self) -> int:
        """The number of cells with a value."""
        return self.n_numbers + self.n_texts

    @property
    def text_rows(self) -> dict[str, int]:
        """The number of rows of each text."""
        return {str(text): int(n) for text, n in self.texts.items()}

    def add(self, column: pd.Series[Any], codes: IntArray, values: Any, classes: IntArray) -> None:
        """Add cells, which are also given as codes (-1 if missing) of distinct values, and the class of each row."""
        holes = codes < 0
        if holes.any():
            for label, n in zip(*np.unique(classes[holes], return_counts=True), strict=True):
                self.missing[int(label)] = self.missing.get(int(label), 0) + int(n)
        rows = np.bincount(codes[~holes], minlength=len(values))
        used = rows > 0
        values, rows = values[used], rows[used]
        kind = column_kind(column)
        if kind == "numbers":
            self._add_numbers(np.asarray(values, dtype=np.float64), rows)
        elif kind == "states":
            self._add_texts(pd.Series(np.asarray(values, dtype=object)).map(str), rows)
        else:
            self.times = True
            self._add_texts(pd.Series(values).map(str), rows)

    def _add_numbers(self, values: FloatArray, rows: IntArray) -> None:
        self.n_numbers += int(rows.sum())
        self.numbers = self._joined(self.numbers, pd.Series(rows, index=values))

    def _add_texts(self, values: pd.Series[Any], rows: IntArray) -> None:
        # Words are not converted: most columns of text contain no number.
        digits = values.str.contains(_DIGIT_FIRST, regex=True).to_numpy(dtype=bool)
        parsed = np.full(len(values), np.nan)
        if digits.any():
            parsed[digits] = pd.to_numeric(values[digits], errors="coerce").to_numpy(np.float64, na_value=np.nan)
        is_number = np.isfinite(parsed)
        if is_number.any():
            self.n_written += int(rows[is_number].sum())
            zeros = values[is_number].str.fullmatch(r"\s*0[0-9]+\s*").to_numpy(dtype=bool)
            self.n_zeros += int(rows[is_number][zeros].sum())
            self._add_numbers(parsed[is_number], rows[is_number])
        self.n_texts += int(rows[~is_number].sum())
        self.texts = self._joined(self.texts, pd.Series(rows[~is_number], index=values[~is_number].to_numpy(object)))

    def _joined(self, known: pd.Series[Any], more: pd.Series[Any]) -> pd.Series[Any]:
        """Return the sums of two counts; if there are too many values, rare ones are dropped."""
        both = pd.concat([known, more]) if len(known) else more
        if len(known) or not both.index.is_unique:
            both = both.groupby(level=0, sort=False).sum()
        if len(both) > MOST_VALUES:
            self.cut = True
            both = both.nlargest(MOST_VALUES)
        return both


class Profile:
    """What one pass over the rows of some columns leaves; `target` is the class among them, or None."""

    def __init__(self, names: Iterable[str], target: str | None) -> None:
        self.target = target
        self.features = [name for name in names if name != target]
        self.columns = {name: ColumnProfile(name) for name in names}
        self.n_rows = 0
        self.labels: dict[Any, int] = {}
        self.class_rows = np.zeros(0, dtype=np.int64)
        self.sample = pd.DataFrame()
        self._keys = np.zeros(0)
        self._rng = np.random.default_rng(0)
        self.prints = np.zeros(0, dtype=np.uint64)
        self.print_classes = np.zeros(0, dtype=np.int64)
        # The share of all hashes that are kept.
        self.print_share = 1.0

    def add(self, frame: pd.DataFrame) -> None:
        """Add a batch of rows."""
        classes = self._classes(frame)
        prints = np.zeros(len(frame), dtype=np.uint64)
        for name, column in frame.items():
            codes, values = pd.factorize(column if column.dtype.kind in "mM" else column.array)
            self.columns[str(name)].add(column, codes, values, classes)
            if name != self.target:
                hashes = np.append(_hashes(values), _HOLE)
                prints = (prints ^ hashes[codes]) * _MIX
                prints ^= prints >> np.uint64(29)
        self._add_prints(prints, classes)
        self._add_sample(frame)
        self.n_rows += len(frame)

    def _classes(self, frame: pd.DataFrame) -> IntArray:
        """Return the number of the class of each row, -1 where it is missing, and count them."""
        if self.target is None:
            return np.full(len(frame), -1, dtype=np.int64)
        codes, values = pd.factorize(frame[self.target].array)
        places = [self.labels.setdefault(value, len(self.labels)) for value in values]
        if len(self.labels) > MOST_CLASSES:
            raise ValueError(
                f"the class {self.target!r} has more than {MOST_CLASSES:,} distinct values. A class is discrete: pass "
                "another column, or cut the numbers into classes"
            )
        classes = np.array([*places, -1], dtype=np.int64)[codes]
        rows = np.bincount(classes[classes >= 0], minlength=len(self.labels))
        rows[: len(self.class_rows)] += self.class_rows
        self.class_rows = rows
        return classes

    def _add_prints(self, prints: npt.NDArray[np.uint64], classes: IntArray) -> None:
        kept = prints <= self._largest_print()
        self.prints = np.concatenate([self.prints, prints[kept]])
        self.print_classes = np.concatenate([self.print_classes, classes[kept]])
        while len(self.prints) > MOST_PRINTS:
            self.print_share /= 2
            kept = self.prints <= self._largest_print()
            self.prints, self.print_classes = self.prints[kept], self.print_classes[kept]

    def _largest_print(self) -> np.uint64:
        return np.uint64(int(2**64 * self.print_share) - 1)

    def _add_sample(self, frame: pd.DataFrame) -> None:
        """Keep the rows with the smallest random keys: a uniform sample of all rows so far, in their order."""
        keys = self._rng.random(len(frame))
        limit = self._keys.max() if len(self._keys) >= MOST_SAMPLED else 2.0
        chosen = np.flatnonzero(keys < limit)
        if len(chosen) > MOST_SAMPLED:
            chosen = np.sort(chosen[np.argpartition(keys[chosen], MOST_SAMPLED)[:MOST_SAMPLED]])
        if not len(chosen):
            return
        self._keys = np.concatenate([self._keys, keys[chosen]])
        self.sample = pd.concat([self.sample, frame.iloc[chosen]], ignore_index=True)
        if len(self._keys) > MOST_SAMPLED:
            kept = np.sort(np.argpartition(self._keys, MOST_SAMPLED)[:MOST_SAMPLED])
            self._keys, self.sample = self._keys[kept], self.sample.iloc[kept].reset_index(drop=True)

    def sampled_classes(self) -> IntArray:
        """Return the number of the class of each sampled row, -1 where it is missing."""
        if self.target is None:
            return np.full(len(self.sample), -1, dtype=np.int64)
        return self.sample[self.target].map(self.labels).fillna(-1).to_numpy(np.int64)


def _hashes(values: Any) -> npt.NDArray[np.uint64]:
    """Return a hash of each distinct value."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        # Columns of whole numbers are floats in batches with a missing cell.
        values = values.astype(np.float64) + 0.0
    else:
        values = np.asarray(values, dtype=object)
        # Numbers may be text in batches that contain other text.
        texts = pd.Series([value if isinstance(value, str) else str(value) for value in values], dtype=object)
        digits = texts.str.contains(_DIGIT_FIRST, regex=True).to_numpy(dtype=bool)
        hashes = np.asarray(pd.util.hash_array(texts.to_numpy(object), categorize=False))
        numbers = np.full(len(texts), np.nan)
        numbers[digits] = pd.to_numeric(texts[digits], errors="coerce").to_numpy(np.float64, na_value=np.nan)
        known = np.isfinite(numbers)
        hashes[known] = pd.util.hash_array(numbers[known] + 0.0)
        return hashes
    return np.asarray(pd.util.hash_array(values))
