"""Summaries of columns: whatever the batches, and however they are put together, the same as of all rows at once."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bnplug.sources._summaries as summaries
from bnplug import ColumnRules
from bnplug.sources._summaries import (
    Distribution,
    Labels,
    NumberSummary,
    SmallestHashes,
    StateSummary,
    TimeSummary,
    renumbered,
)
from bnplug.sources._survey import _Column
from bnplug.table.kinds import STATES

ROWS = st.lists(
    st.tuples(st.sampled_from([None, 1, 2, 7]), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=12
)


class Column(_Column):
    """A column whose kind is known."""

    def __init__(self, summary):
        super().__init__("x", ColumnRules())
        self.summary = summary

    def add(self, column, labels):
        super().add(column, STATES, labels)

    def merge(self, other):
        super().merge(other, np.arange(4))


def cells_as_counters(cells):
    keys = [(None if pd.isna(value) else value, c) for value, c in zip(cells.column, cells.labels, strict=True)]
    assert len(set(keys)) == len(keys)
    rows = Counter(dict(zip(keys, cells.repeats.tolist(), strict=True)))
    return rows, None if cells.weights is None else Counter(dict(zip(keys, cells.weights.tolist(), strict=True)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [NumberSummary, StateSummary])
@given(batches=st.lists(ROWS, min_size=1, max_size=4), merged=st.booleans())
def test_values_are_counted_with_their_classes(kind, weighted, batches, merged):
    whole, parts = Column(kind()), []
    for rows in batches:
        values, labels, weights = zip(*rows, strict=True)
        cells = [None if value is None or kind is NumberSummary else f"v{value}" for value in values]
        column = pd.Series(values, dtype=np.float64) if kind is NumberSummary else pd.Series(cells, dtype=object)
        own = Labels.of(np.array(labels), np.array(weights, dtype=np.float64) if weighted else None)
        part = Column(kind()) if merged else whole
        part.add(column, own)
        parts.append(part)
    if merged:
        for part in parts:
            whole.merge(part)
    rows, by_weight = cells_as_counters(whole.cells())
    expected, weighed = Counter(), Counter()
    for value, c, weight in (row for batch in batches for row in batch):
        key = (value if kind is NumberSummary or value is None else f"v{value}", c)
        expected[key] += 1
        weighed[key] += weight
    assert rows == expected
    assert by_weight == (weighed if weighted else None)
    assert whole.cells().n_distinct is None
    assert whole.cells().n_distinct is None


def labels_of(*codes):
    return Labels.of(np.array(codes))


def test_whole_numbers_are_floats_beside_missing_cells_as_in_pandas():
    seen = Column(NumberSummary())
    seen.add(pd.Series([1, 2]), labels_of(0, 1))
    assert seen.cells().column.dtype == np.int64
    seen.add(pd.Series([np.nan, 2.0]), labels_of(0, 1))
    assert seen.cells().column.dtype == np.float64


def test_nullable_numbers_and_decimals_are_numbers():
    from decimal import Decimal

    seen = Column(NumberSummary())
    seen.add(pd.Series([1, None], dtype="Int64"), labels_of(0, 0))
    seen.add(pd.Series([Decimal("2.5"), None], dtype=object), labels_of(0, 0))
    assert cells_as_counters(seen.cells())[0] == {(1, 0): 1, (2.5, 0): 1, (None, 0): 2}


def test_categories_keep_their_order_while_all_batches_have_the_same():
    first = pd.Series(pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"]))
    seen = Column(StateSummary())
    seen.add(first, labels_of(0, 1))
    seen.add(first, labels_of(0, 1))
    assert list(seen.cells().column.cat.categories) == ["lo", "mid", "hi"]
    seen.add(pd.Series(pd.Categorical(["hi"], categories=["hi", "lo"])), labels_of(1))
    assert seen.cells().column.dtype == object
    assert cells_as_counters(seen.cells())[0] == {("lo", 0): 2, ("hi", 1): 3}


def test_text_that_comes_as_categories_is_text():
    seen = Column(StateSummary(categorical=False))
    seen.add(pd.Series(pd.Categorical(["b"], categories=["z", "b"])), labels_of(0))
    assert seen.cells().column.tolist() == ["b"]
    assert seen.cells().column.dtype == object


def test_a_column_with_too_many_values_is_given_up(monkeypatch):
    monkeypatch.setattr(summaries, "MOST_STATES", 3)
    seen = Column(StateSummary())
    seen.add(pd.Series(list("abc")), labels_of(0, 0, 0))
    assert seen.summary.complete
    seen.add(pd.Series(list("de")), labels_of(0, 1))
    seen.add(pd.Series(list("a")), labels_of(1))
    assert not seen.summary.complete
    assert seen.cells().n_distinct == np.inf


def test_times_are_summed_up_by_their_parts():
    seen, other = Column(TimeSummary()), Column(TimeSummary())
    seen.add(pd.Series(pd.to_datetime(["2026-01-31 10:00", None])), labels_of(0, 1))
    other.add(pd.Series(pd.to_datetime(["2025-01-31 11:00"])), labels_of(1))
    seen.merge(other)
    parts = seen.cells()
    assert cells_as_counters(parts["year"])[0] == {(2026, 0): 1, (2025, 1): 1, (None, 1): 1}
    assert set(parts) == {"year", "month", "day", "weekday", "hour", "minute"}


def test_the_number_of_distinct_values_is_about_right():
    seen, other = SmallestHashes(), SmallestHashes()
    seen.add(np.arange(10.0))
    seen.add(np.arange(10.0))
    assert seen.n_distinct() == 10
    other.add(np.arange(200_000))
    seen.take(other.least)
    assert seen.n_distinct() == pytest.approx(200_000, rel=0.06)


def test_an_identifier_is_known_by_its_distinct_numbers(monkeypatch):
    monkeypatch.setattr(summaries, "Distribution", lambda: Distribution(8, 10, 20))
    seen = Column(NumberSummary(identifier=True))
    seen.add(pd.Series(np.arange(100)), Labels.of(np.zeros(100, dtype=np.int64)))
    assert seen.cells().n_distinct is not None
    assert seen.cells().n_distinct == 100
    seen.add(pd.Series([0.5]), labels_of(0))
    assert seen.cells().n_distinct == 0


def test_numbers_that_occur_are_numbered_anew():
    occurring, numbers = renumbered(np.array([4, -1, 2, 4]), 6)
    assert occurring.tolist() == [2, 4]
    assert numbers.tolist() == [1, -1, 0, 1]
