"""Tables of files: coded once, used again while the files are the same, whole or not there after a run was killed."""

import errno
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
import bnplug.sources._streaming as streaming
from bnplug import encode_training
from bnplug.sources import _table_files as table_files

pytest.importorskip("pyarrow")
N = 500
RNG = np.random.default_rng(0)
Y = pd.Series(RNG.choice(["p", "q"], N), name="y")
X = pd.DataFrame(
    {
        "t": RNG.choice(list("abc"), N),
        "x": np.where(RNG.random(N) < 0.1, np.nan, np.round(RNG.normal(size=N) + 2 * (Y == "p"), 1)),
        "k": RNG.integers(0, 4, N),
    }
)
WEIGHTS = RNG.integers(0, 3, N)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(streaming, "BATCH_ROWS", 90)
    monkeypatch.setattr(table_files, "MOST_ROWS", 77)


@pytest.fixture
def rows(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for i, own in enumerate(np.array_split(np.arange(N), 3)):
        X.assign(y=Y, w=WEIGHTS).iloc[own].to_parquet(folder / f"{i}.parquet", index=False)
    return str(folder / "*.parquet")


def opened(rows, cache=None, **params):
    return encode_training(rows, "y", cache=cache, columns=["t", "x", "k"], **params)[0]


@pytest.fixture
def codings(monkeypatch):
    """How often files were read to be coded."""
    told = []
    monkeypatch.setattr(table_files, "survey", lambda *own, **named: told.append(1) or survey(*own, **named))
    return told


survey = table_files.survey


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cached", [False, True])
def test_a_table_of_files_is_the_table_of_their_rows(rows, tmp_path, weighted, cached):
    table = opened(rows, tmp_path / "cache" if cached else None, sample_weight="w" if weighted else None)
    expected, encoder = bnplug.encode_training(X, Y, WEIGHTS if weighted else None)
    again = opened(rows, tmp_path / "cache", sample_weight="w" if weighted else None) if cached else table
    for own in (table, again):
        gathered = own.gather()
        assert own.n_blocks == -(-expected.n_rows // 77)
        assert (gathered.codes == expected.codes).all()
        assert own.names == expected.names
        assert own.states == expected.states
        assert own.target == "y"
        assert weighted == own.weighted
        assert not weighted or (gathered.weights == expected.weights).all()
    options = {"cache": tmp_path / "cache", "columns": ["t", "x", "k"]} if cached else {"columns": ["t", "x", "k"]}
    _, of_files = bnplug.encode_training(rows, "y", "w" if weighted else None, **options)
    assert (of_files.encode(X, table) == encoder.encode(X, expected)).all()


def test_what_was_coded_is_used_again(rows, tmp_path, codings):
    cache = tmp_path / "cache"
    opened(rows, cache)
    opened(rows, cache)
    assert len(codings) == 1
    opened(rows, cache, discretizer="quantile")
    opened(rows, cache)
    assert len(codings) == 2
    assert len(list(cache.iterdir())) == 4


def test_a_changed_file_is_noticed_and_coded_again(rows, tmp_path, codings):
    cache = tmp_path / "cache"
    opened(rows, cache)
    path = tmp_path / "rows" / "1.parquet"
    frame = pd.read_parquet(path).assign(t="new")
    frame.to_parquet(path, index=False)
    table = opened(rows, cache)
    assert len(codings) == 2
    assert table.states["t"] == ("a", "b", "c", "new")
    # What nobody will ask for is gone.
    assert len(list(cache.iterdir())) == 2


def test_a_file_more_is_another_table(rows, tmp_path, codings):
    opened(rows, tmp_path / "cache")
    X.assign(y=Y, w=WEIGHTS).to_parquet(tmp_path / "rows" / "more.parquet", index=False)
    assert opened(rows, tmp_path / "cache").n_rows == 2 * N


def damage(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["codes", "short", "gone", "index", "no json", "half an index", "other format"])
def test_a_damaged_table_is_coded_again(rows, tmp_path, codings, how):
    cache = tmp_path / "cache"
    expected = opened(rows, cache).gather().codes
    (codes,), (index,) = cache.glob("*.codes"), cache.glob("*.json")
    if how == "codes":
        damage(codes, 100)
    elif how == "short":
        codes.write_bytes(codes.read_bytes()[:-8])
    elif how == "gone":
        codes.unlink()
    elif how == "index":
        index.write_text(index.read_text().replace('"weighted": false', '"weighted": true '))
    elif how == "no json":
        index.write_bytes(b"\xff")
    elif how == "half an index":
        index.write_bytes(index.read_bytes()[:200])
    else:
        index.write_text(json.dumps({**json.loads(index.read_text()), "version": 99}))
    assert (opened(rows, cache).gather().codes == expected).all()
    assert len(codings) == 2
    assert (opened(rows, cache).gather().codes == expected).all()
    assert len(codings) == 2


def test_a_file_that_changes_while_it_is_read_is_an_error(rows, tmp_path, monkeypatch):
    path = tmp_path / "rows" / "1.parquet"

    def touched(*own, **named):
        found = survey(*own, **named)
        os.utime(path, ns=(0, 0))
        return found

    monkeypatch.setattr(table_files, "survey", touched)
    with pytest.raises(ValueError, match=r"1\.parquet was changed while it was read"):
        opened(rows, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.json"))


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(rows, tmp_path, monkeypatch, when):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if when == "before":
        monkeypatch.setattr(table_files.os, "posix_fallocate", full, raising=False)
    else:
        monkeypatch.setattr(table_files, "write_blocks", lambda file, layout, batches: file.write(b"1") and full())
    with pytest.raises(OSError, match=r"the codes of 500 rows take 2,0\d\d bytes, which the disk has not") as caught:
        opened(rows, tmp_path / "cache")
    assert caught.value.errno == errno.ENOSPC
    assert str(tmp_path / "cache") in str(caught.value)
    assert not list((tmp_path / "cache").iterdir())


def test_without_a_cache_the_codes_go_when_the_table_goes(rows, monkeypatch, tmp_path):
    monkeypatch.setattr(table_files.tempfile, "tempdir", str(tmp_path))
    table = opened(rows)
    part = table.take(np.arange(0, N, 2))
    (folder,) = tmp_path.glob("bnplug-table-*")
    del table
    gc.collect()
    assert part.gather().n_rows == N // 2
    del part
    gc.collect()
    assert not folder.exists()


def test_a_table_travels_by_the_place_of_its_codes(rows, tmp_path):
    table = opened(rows, tmp_path / "cache")
    content = pickle.dumps(table)
    assert (pickle.loads(content).gather().codes == table.gather().codes).all()


def test_two_bytes_where_a_column_has_many_states(rows, tmp_path):
    wide = tmp_path / "wide.parquet"
    pd.DataFrame({"a": [f"s{i % 300}" for i in range(900)], "y": ["p", "q"] * 450}).to_parquet(wide)
    table, _ = encode_training(wide, "y", min_frequency=None)
    assert table.dtype == np.uint16
    assert table.counts([[0]])[0].tolist() == [3.0] * 300


def test_progress_is_told_for_both_readings(rows):
    told = []
    opened(rows, progress=lambda *own: told.append(own))
    assert [own for own in told if own[1] == N] == [("states and cuts", N, N), ("codes", N, N)]


SCRIPT = """
import sys, time
import bnplug.sources._streaming as streaming
streaming.BATCH_ROWS = 25
from bnplug import encode_training

def slowly(what, done, total):
    print(what, done, flush=True)
    time.sleep(0.02)

encode_training(sys.argv[1], "y", cache=sys.argv[2], columns=["t", "x", "k"], progress=slowly)
"""


@pytest.mark.parametrize(
    "when",
    ["codes 200", *(pytest.param(own, marks=pytest.mark.long) for own in ("states and cuts 100", f"codes {N}"))],
)
def test_a_run_that_is_killed_leaves_no_damaged_table(rows, tmp_path, when):
    cache = tmp_path / "cache"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, rows, str(cache)], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == when:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    table = opened(rows, cache)
    assert (table.gather().codes == bnplug.encode_training(X, Y)[0].codes).all()
    assert [path.suffix for path in sorted(cache.iterdir())] == [".codes", ".json"]


@pytest.mark.long
def test_a_run_that_ends_is_used_by_another(rows, tmp_path, codings):
    subprocess.run([sys.executable, "-c", SCRIPT, rows, str(tmp_path / "cache")], check=True, capture_output=True)
    opened(rows, tmp_path / "cache")
    assert not codings


def test_warnings_about_columns_come_once(rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encode_training(rows, "y", columns=["t", "x", "k"], max_categories=2)
    assert [own.category for own in caught] == [bnplug.PooledStatesWarning]


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # the month determines the class
def test_columns_of_dates_are_the_dates_that_a_frame_has(tmp_path):
    days = pd.date_range("2026-01-01", periods=200, freq="2D")
    frame = pd.DataFrame({"day": days, "text": days.strftime("%b %Y"), "y": (days.month % 2).astype(str)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = bnplug.BayesianNetworkClassifier("nb").fit_files(tmp_path / "rows.csv", "y")
    expected = bnplug.BayesianNetworkClassifier("nb").fit(frame.drop(columns="y"), frame["y"])
    assert found.schema_.names == expected.schema_.names
    assert any("day" in name and name != "day" for name in found.schema_.names)  # parts of it
    assert (found.predict_proba(frame[["day", "text"]]) == expected.predict_proba(frame[["day", "text"]])).all()
    with pytest.warns(bnplug.UselessColumnWarning, match="day"):
        text, _ = encode_training(tmp_path / "rows.csv", "y", csv={"dates": []})
    assert text.names == ("text", "y")


@pytest.mark.parametrize("parts", [1, 2])
def test_numbers_of_no_common_integer_type_are_those_of_memory(tmp_path, parts):
    rows = pd.DataFrame({"c": ["-1", "0", "18446744073709551615", ""] * 30, "y": ["p", "q", "q"] * 40})
    rows = rows.sort_values("c")
    for i, part in enumerate(np.array_split(np.arange(len(rows)), parts)):
        rows.iloc[part].to_csv(tmp_path / f"{i}.csv", index=False)
    table, _ = encode_training(f"{tmp_path}/*.csv", "y")
    assert table.states["c"] == (-1, 0, 18446744073709551615)
    assert table.counts([[0]])[0].tolist() == [30, 30, 30]


def test_files_may_come_one_by_one(tmp_path):
    for i in range(2):
        pd.DataFrame({"a": [0, 1] * 20, "y": ["p", "q", "q", "p"] * 10}).to_csv(tmp_path / f"{i}.csv", index=False)
    paths = [tmp_path / "0.csv", tmp_path / "1.csv"]
    model = bnplug.BayesianNetworkClassifier("nb").fit_files(iter(paths), "y")
    assert model.tables_.edges == [("y", "a")]
    table, _ = bnplug.encode_training((path for path in paths), "y")
    assert table.n_rows == 80


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (iter([pd.DataFrame({"a": [1]})]), "expected paths of data files, got DataFrame. To learn from rows in memory"),
        (pd.DataFrame({"a": [1]}), "expected paths of data files, got DataFrame"),
        (3, "expected paths of data files, got int"),
    ],
)
def test_what_are_no_paths_is_named(paths, message):
    with pytest.raises(TypeError, match=message):
        bnplug.BayesianNetworkClassifier("nb").fit_files(paths, "y")
