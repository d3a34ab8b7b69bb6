"""Whole numbers from 2^53 on stay distinct, or are refused by name, wherever rows come from."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, datasets
from bnplug.sources import _streaming
from bnplug.sources._streaming import CsvRows
from bnplug.sources._summaries import Distribution, Points, SmallestHashes
from bnplug.sources.files import read_data
from bnplug.table._checks import as_written

B = 2**53
IDS = [B, B + 1, None, B + 2]
Y = ["a", "b", "a", "b"]
N = 30
# No state determines the class.
LABELS = Y * (N - 1) + Y[::-1]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(_streaming, "BATCH_ROWS", 7)


def write_csv(path, columns):
    rows = zip(*columns.values(), strict=True)
    cells = (",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    path.write_text("\n".join([",".join(columns), *cells]) + "\n")
    return path


CELLS = {
    "signed": [B, B + 1, None, 5],
    "negative": [-B - 1, -B, None, 5],
    "unsigned": [2**63, 2**63 + 1, None, 5],
    "both": [2**63, 2**63 + 1, -5, None],
    "longer": [2**64, 2**64 + 1, None, 5],
    "no gaps": [B, B + 1, B + 2, 5],
    "whole floats": [B, B + 1, "1e3", "2.0"],
}


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
@pytest.mark.parametrize("name", CELLS)
def test_a_csv_file_keeps_every_digit(tmp_path, name, batch_rows):
    cells = CELLS[name]
    path = write_csv(tmp_path / "rows.csv", {"i": cells, "j": range(4)})
    expected = [None if cell is None else int(float(cell)) if isinstance(cell, str) else cell for cell in cells]
    batches = pd.concat([own["i"].astype(object) for own in CsvRows(path, batch_rows=batch_rows).batches(["i"])])
    for column in (read_data(path)["i"], batches):
        assert [None if pd.isna(cell) else cell for cell in column] == expected
        assert all(isinstance(cell, int) for cell in column.astype(object).dropna() if cell >= B)


def test_other_text_for_missing_is_missing_in_unsigned_numbers_too(tmp_path):
    path = write_csv(tmp_path / "rows.csv", {"i": [2**63, "?", 2**63 + 1], "j": [1, 2, 3]})
    column = read_data(path, missing=["?"])["i"]
    assert column.isna().tolist() == [False, True, False]
    assert column.dropna().tolist() == [2**63, 2**63 + 1]
    assert read_data(path, text=["i"], missing=["?"])["i"].tolist()[::2] == [str(2**63), str(2**63 + 1)]


def test_large_floats_stay_floats(tmp_path):
    path = write_csv(tmp_path / "rows.csv", {"x": ["1.5e300", "2e17", None, "0.5"], "y": [2**60, "0.5", None, "1e20"]})
    assert (read_data(path).dtypes == np.float64).all()


def test_whole_numbers_and_fractions_that_floats_merge_are_refused_by_name(tmp_path):
    path = write_csv(tmp_path / "rows.csv", {"i": [B, B + 1, "0.5", "1.5"] * N, "y": LABELS})
    frame = read_data(path)
    for fit in (
        lambda model: model.fit(frame[["i"]], frame["y"]),
        lambda model: model.fit_files(path, "y"),
    ):
        with pytest.raises(ValueError, match="column 'i' contains whole numbers that are too large for floats"):
            fit(BayesianNetworkClassifier("nb"))


@pytest.mark.parametrize("writer", ["csv", "polars", "arrow", "pandas"])
def test_few_large_numbers_are_states_of_their_own_in_memory_and_in_files(tmp_path, writer):
    columns = {"i": IDS * N, "y": LABELS}
    path = tmp_path / ("rows.csv" if writer == "csv" else "rows.parquet")
    if writer == "csv":
        write_csv(path, columns)
    elif writer == "polars":
        pl.DataFrame(columns).write_parquet(path)
    elif writer == "arrow":
        pa.parquet.write_table(pa.table(columns), path)
    else:
        pd.DataFrame({"i": pd.array(columns["i"], dtype="Int64"), "y": columns["y"]}).to_parquet(path)
    frame = read_data(path)
    model = BayesianNetworkClassifier("nb").fit(frame[["i"]], frame["y"])
    assert model.schema_.states["i"] == (B, B + 1, B + 2)
    # Without a value, the classes are equally frequent, and the first is predicted.
    assert model.predict(frame[["i"]].head(4)).tolist() == ["a", "b", "a", "b"]
    files = BayesianNetworkClassifier("nb").fit_files(path, "y")
    assert files.schema_.states == model.schema_.states
    assert files.predict_proba(frame[["i"]]).tolist() == model.predict_proba(frame[["i"]]).tolist()
    files.predict_files(path, tmp_path / "answers.csv")
    assert pd.read_csv(tmp_path / "answers.csv")["y"].tolist() == model.predict(frame[["i"]]).tolist()


@pytest.mark.parametrize("writer", ["csv", "polars"])
def test_many_large_numbers_are_refused_in_memory_and_in_files(tmp_path, writer):
    columns = {"i": [None if k % 7 == 0 else B + k % 40 for k in range(120)], "y": LABELS}
    path = tmp_path / ("rows.csv" if writer == "csv" else "rows.parquet")
    write_csv(path, columns) if writer == "csv" else pl.DataFrame(columns).write_parquet(path)
    frame = read_data(path)
    for fit in (
        lambda model: model.fit(frame[["i"]], frame["y"]),
        lambda model: model.fit(columns, columns.pop("y")),
        lambda model: model.fit_files(path, "y"),
    ):
        with pytest.raises(ValueError, match="column 'i' contains whole numbers that are too large for floats"):
            fit(BayesianNetworkClassifier("nb"))


FRAMES = {
    "nullable": lambda cells: pd.DataFrame({"x0": pd.array(cells, dtype="Int64")}),
    "objects": lambda cells: pd.DataFrame({"x0": pd.Series(cells, dtype=object)}),
    "arrow": lambda cells: pd.DataFrame({"x0": pd.array(cells, dtype="int64[pyarrow]")}),
    "polars": lambda cells: pl.DataFrame({"x0": cells}),
    "dict": lambda cells: {"x0": cells},
    "array": lambda cells: np.array([[cell] for cell in cells], dtype=object),
    "lists": lambda cells: [[np.nan if cell is None else cell] for cell in cells],
}


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_frame_keeps_every_digit(name, listed):
    X = FRAMES[name](IDS * N)
    model = BayesianNetworkClassifier("nb", categorical_features=[0] if listed else "auto").fit(X, LABELS)
    assert model.schema_.states["x0"] == (B, B + 1, B + 2)
    assert model.predict(X)[:4].tolist() == Y


@pytest.mark.parametrize("dtype", ["polars", "Int64"])
def test_classes_keep_every_digit_beside_rows_without_a_class(dtype):
    cells = [B, B + 1, None] * N
    y = pl.Series("y", cells) if dtype == "polars" else pd.Series(cells, dtype=dtype)
    model = BayesianNetworkClassifier("nb", missing="em").fit(pd.DataFrame({"a": [*"uvu"] * (N - 1) + [*"vuu"]}), y)
    assert model.classes_.tolist() == [B, B + 1]


def test_one_word_in_a_file_does_not_change_what_the_other_numbers_mean(tmp_path):
    frame = pd.DataFrame({"i": pd.array([B, B + 2] * (2 * N), dtype="Int64")})
    model = BayesianNetworkClassifier("nb").fit(frame, LABELS)
    path = write_csv(tmp_path / "rows.csv", {"i": [B, B + 2, B + 1, "none"]})
    with pytest.warns(bnplug.UnseenValueWarning, match="not seen"):
        model.predict_files(path, tmp_path / "answers.csv")
    found = pd.read_csv(tmp_path / "answers.csv")["P(b)"]
    known = model.predict_proba(pd.DataFrame({"i": [B, B + 2]}))[:, 1]
    prior = model.predict_proba(pd.DataFrame({"i": [None]}))[0, 1]
    assert found.tolist() == pytest.approx([*known, prior, prior])


def test_the_two_parts_of_a_data_set_keep_every_digit(tmp_path):
    write_csv(tmp_path / "toy-train.csv", {"i": [B, B + 1, None], "class": [*"aba"]})
    write_csv(tmp_path / "toy-test.csv", {"i": [1, None, 2], "class": [*"aba"]})
    cells = datasets.load("toy", tmp_path).X["i"].tolist()
    assert [cells[0], cells[1], cells[3], cells[5]] == [B, B + 1, 1, 2]


@pytest.mark.parametrize("others", [np.array([5.0]), np.array([5], dtype=np.uint64)])
def test_numbers_of_other_types_do_not_merge_them(others):
    seen = Distribution()
    seen.add(Points.of(np.array([B, B + 1]), np.array([0, 0])))
    seen.add(Points.of(others, np.array([0])))
    assert seen.points().values.tolist() == [5, B, B + 1]
    assert not seen.merged


@pytest.mark.parametrize(("numbers", "merged"), [(np.arange(B, B + 40), True), (np.arange(B, B + 80, 2), False)])
def test_a_summary_knows_whether_it_merged_numbers(numbers, merged):
    other = Distribution(8, 10, 20)
    other.add(Points.of(numbers, np.zeros(40, dtype=np.int64)))
    assert Distribution().merge(other).merged == merged
    mixed = Distribution()
    mixed.add(Points.of(numbers, np.zeros(40, dtype=np.int64)))
    mixed.add(Points.of(np.array([0.5]), np.array([0])))
    assert len(mixed.points().values) == len({float(number) for number in numbers}) + 1
    assert mixed.merged == merged


def test_large_numbers_are_counted_exactly():
    seen = SmallestHashes()
    for dtype in (np.int64, np.uint64):
        seen.add(np.arange(B, B + 100).astype(dtype))
    assert seen.n_distinct() == 100


def test_text_as_numbers():
    assert as_written(pd.Series(["1", None, str(2**63)])).dtype == "UInt64"
    assert as_written(pd.Series(["-1", None, str(2**63)])).tolist() == [-1, None, 2**63]
    assert as_written(pd.Series([], dtype=str)).dtype == "Int64"


WARNING = r"Columns \['i'\] hold whole numbers from 2\^53 on as floats, .*dtype={'i': 'Int64'}"
AS_FLOATS = {
    "pandas": lambda cells: pd.DataFrame({"i": cells}),
    "nullable": lambda cells: pd.DataFrame({"i": pd.array(cells, dtype="Float64")}),
    "arrow": lambda cells: pd.DataFrame({"i": pd.array(cells, dtype="double[pyarrow]")}),
    "categories": lambda cells: pd.DataFrame({"i": pd.Categorical(cells)}),
    "polars": lambda cells: pl.DataFrame({"i": pl.Series(cells, dtype=pl.Float64)}),
}


def inexact_warnings(call):
    """Return the warnings about inexact floats that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(own.message) for own in caught if "as floats" in str(own.message)]


def floats(cells):
    return [np.nan if cell is None else float(cell) for cell in cells]


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", AS_FLOATS)
def test_large_whole_numbers_that_are_floats_are_reported_once_by_name(name, listed):
    X = AS_FLOATS[name](floats(IDS * N))
    model = BayesianNetworkClassifier("nb", categorical_features=["i"] if listed else "auto")
    with pytest.warns(bnplug.BnplugWarning, match=WARNING):
        model.fit(X, LABELS)
    assert len(inexact_warnings(lambda: model.fit(X, LABELS))) == 1
    exact = BayesianNetworkClassifier("nb").fit(FRAMES["nullable"](IDS * N).rename(columns={"x0": "i"}), LABELS)
    text = BayesianNetworkClassifier("nb").fit(pd.DataFrame({"i": [str(cell) for cell in IDS * N]}), LABELS)
    for known in (model, exact, text):
        with pytest.warns(bnplug.BnplugWarning, match=WARNING):
            known.predict(X)
        assert len(inexact_warnings(lambda known=known: known.predict_proba(X))) == 1


def test_an_array_of_floats_is_reported():
    X = np.array([floats(IDS * N), [1.0, 2.0] * (2 * N)]).T
    model = BayesianNetworkClassifier("nb")
    assert len(inexact_warnings(lambda: model.fit(X, LABELS))) == 1
    assert len(inexact_warnings(lambda: model.predict(X))) == 1


def test_a_file_of_floats_is_reported_once(tmp_path):
    frame = pd.DataFrame({"i": floats(IDS * N), "y": LABELS})
    frame.to_parquet(tmp_path / "rows.parquet")
    model = BayesianNetworkClassifier("nb")
    assert len(inexact_warnings(lambda: model.fit_files(tmp_path / "rows.parquet", "y"))) == 1
    path = write_csv(tmp_path / "rows.csv", {"i": IDS * N, "y": LABELS})
    assert inexact_warnings(lambda: model.fit_files(path, "y")) == []
    assert inexact_warnings(lambda: model.predict_files(path, tmp_path / "answers.csv")) == []


@pytest.mark.parametrize(
    "cells",
    [
        floats([B - 1, B - 2, None, 5] * N),
        [B + 2.0, 0.5, None, 5.0] * N,
        [1e20 + 1e18 * (k % 40) for k in range(4 * N)],
        pd.array(IDS * N, dtype="Int64"),
    ],
    ids=["smaller", "fractions", "binned", "integers"],
)
def test_columns_that_lose_nothing_are_not_reported(cells):
    X = pd.DataFrame({"i": cells})
    model = BayesianNetworkClassifier("nb")
    assert inexact_warnings(lambda: model.fit(X, LABELS)) == []
    assert inexact_warnings(lambda: model.predict(X)) == []


def test_large_floats_are_not_reported_where_they_are_unseen_or_belong_to_the_nearest_number():
    X = pd.DataFrame({"few": [1, 2] * (2 * N), "text": [*"uv"] * (2 * N)})
    model = BayesianNetworkClassifier("nb").fit(X, LABELS)
    new = pd.DataFrame({"few": [2.0**60], "text": [2.0**60]})
    assert inexact_warnings(lambda: model.predict(new)) == []


@pytest.mark.parametrize(
    ("cells", "states", "message"),
    [
        ([f"{B + 1}.0"], [B + 1], None),
        ([B + 1, "2.5"], [B + 1, None], "column 'id': 2.5 not seen"),
        ([B + 1, f"{B + 1}.0"], [B + 1, B + 1], None),
        ([B + 3, f"{B + 4}.0", "x"], [None, None, None], "column 'id': .* not seen"),
        (["9.007199254740993e15"], [B], r"Columns \['id'\] hold whole numbers from 2\^53"),
        (["9.007199254740993e15", B + 1], [B, B + 1], r"Columns \['id'\] hold whole numbers from 2\^53"),
    ],
    ids=str,
)
def test_cells_of_a_file_match_the_same_whole_number_or_are_reported(tmp_path, cells, states, message):
    model = BayesianNetworkClassifier("nb", "ml").fit(pd.DataFrame({"id": pd.array(IDS * N, dtype="Int64")}), LABELS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_files(write_csv(tmp_path / "rows.csv", {"id": cells}), tmp_path / "out.csv")
    assert [re.match(message or "no warning", str(own.message)) is not None for own in caught] == [True] * bool(message)
    expected = model.predict_proba(pd.DataFrame({"id": pd.array(states, dtype="Int64")}))
    assert np.allclose(pd.read_csv(tmp_path / "out.csv")[["P(a)", "P(b)"]], expected)


@pytest.mark.parametrize("column", [[float(B), 2.5], pd.Series([float(B), B + 1], dtype=object)], ids=str)
def test_one_cell_without_a_loss_does_not_hide_the_others(column):
    model = BayesianNetworkClassifier("nb", unseen="error", categorical_features=["id"])
    model.fit(pd.DataFrame({"id": [B, B + 1, 2.5, B] * N}, dtype=object), LABELS)
    with pytest.warns(bnplug.BnplugWarning, match=r"Columns \['id'\] hold whole numbers from 2\^53"):
        model.predict(pd.DataFrame({"id": column}))
