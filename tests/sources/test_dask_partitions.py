"""Dask collections as partitions, and what is done with one."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from bnplug.sources import _survey
from bnplug.sources._survey import TableSpec
from bnplug.sources.dask._tables import (
    Partitions,
    batches,
    code_partition,
    is_dask,
    merge_surveys,
    pack,
    survey_partition,
)

FRAME = pd.DataFrame({"sky": [*"srrsrs"], "wind": [1.5, 8.5, 2.5, None, 9.0, 1.0], "play": [*"ynyyny"]})


def computed(rows):
    return [tuple(None if own is None else own.compute() for own in part) for part in rows.parts]


def test_frames():
    rows = dd.from_pandas(FRAME, npartitions=2)
    found = Partitions.of(rows[["sky", "wind"]], rows["play"], rows["wind"])
    assert list(found.meta.columns) == ["sky", "wind"]
    assert [len(own) for part in computed(found) for own in part] == [3] * 6
    assert Partitions.of(rows[["sky"]], rows[["play"]]).parts[0][2] is None


def test_arrays_are_parted_by_rows_alone_and_columns_follow():
    X = da.from_array(np.arange(20).reshape(10, 2), chunks=(4, 1))
    found = Partitions.of(X, da.from_array(np.arange(10), chunks=5))
    assert list(found.meta.columns) == ["x0", "x1"]
    assert [(x.tolist(), y.tolist()) for x, y, _ in computed(found)][2] == ([[16, 17], [18, 19]], [8, 9])


ROWS = dd.from_pandas(FRAME, npartitions=3)
ARRAY = da.zeros((6, 2), chunks=(2, 2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((FRAME, ROWS["play"]), TypeError, r"X must be a Dask frame or array, not a DataFrame.*from_pandas"),
        ((ROWS[["sky"]], FRAME["play"]), TypeError, "y must be a Dask series or a one-dimensional array, not a Series"),
        ((ROWS[["sky"]], ROWS[["sky", "play"]]), TypeError, "y must be a Dask series .*, not a DataFrame"),
        ((ROWS[["sky"]], ROWS["play"].repartition(npartitions=2)), ValueError, "X has 3 partitions, but y has 2"),
        ((ROWS[["sky"]], ROWS["play"], ARRAY[:, 0][:4]), ValueError, "3 partitions, but sample_weight has 2"),
        ((ARRAY, ARRAY[:4, 0]), ValueError, "X has 6 rows and y has 4"),
        ((ARRAY[:, 0], ARRAY[:, 0]), ValueError, r"got an array of 1 dimension\(s\)"),
    ],
)
def test_what_does_not_go_together(arguments, error, message):
    with pytest.raises(error, match=message):
        Partitions.of(*arguments)


def test_what_is_of_dask():
    assert is_dask(ROWS)
    assert is_dask(ARRAY)
    assert not is_dask(FRAME)


def test_rows_come_some_at_a_time(monkeypatch):
    monkeypatch.setattr("bnplug.sources.dask._tables.BATCH_ROWS", 4)
    spec = TableSpec("play", "weight")
    found = list(batches(FRAME[["sky"]], FRAME["play"], np.ones(6), 7, spec))
    assert [(own.path, len(own.frame), list(own.frame)) for own in found] == [
        ("partition 7", 4, ["sky", "play", "weight"]),
        ("partition 7", 2, ["sky", "play", "weight"]),
    ]
    with pytest.raises(ValueError, match=r"partition 7: X has 6 rows, and 2 are given of 'play'"):
        next(batches(FRAME[["sky"]], np.zeros(2), None, 7, TableSpec("play")))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_survey_of_parts_is_that_of_all(weighted):
    spec = TableSpec("play", "weight" if weighted else None)
    weights = np.arange(1.0, 7.0) if weighted else None
    parcel = pack((spec, ["sky", "wind"], frozenset()))

    def survey(rows):
        own = FRAME.iloc[rows]
        part = None if weights is None else weights[rows]
        return survey_partition(own[["sky", "wind"]], own["play"], part, rows.start, parcel)

    parts = [survey(slice(low, low + 2)) for low in range(0, 6, 2)]
    before = [dict(own.places) for own in parts]
    merged, whole = merge_surveys(parts), survey(slice(0, 6))
    assert [own.places for own in parts] == before
    assert merged.surveyed(frozenset()).schema.states == whole.surveyed(frozenset()).schema.states
    assert merged.total_weight == whole.total_weight
    # Merged again, as after a worker died: nothing is counted twice.
    assert merge_surveys(parts).rows == merged.rows == {"y": 4, "n": 2}


def test_codes_of_a_partition():
    spec = TableSpec("play")
    parcel = pack((spec, ["sky", "wind"], frozenset()))
    surveyed = survey_partition(FRAME[["sky", "wind"]], FRAME["play"], None, 0, parcel).surveyed(frozenset())
    codes, weights, _ = code_partition(FRAME[["sky", "wind"]], FRAME["play"], None, 0, pack(surveyed))
    place = surveyed.schema.names.index("sky")
    assert codes[place].tolist() == [1, 0, 0, 1, 0, 1]
    assert weights is None
    assert not codes.flags.writeable
    none, *_ = code_partition(FRAME[["sky", "wind"]][:0], FRAME["play"][:0], None, 0, pack(surveyed))
    assert none.shape == (3, 0)
    assert isinstance(surveyed, _survey.Surveyed)
