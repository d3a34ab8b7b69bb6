"""The files of a model folder: damage is found, files of others stay, and saves at once lose no model."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from strategies import some

import bnplug
from bnplug import BayesianNetworkClassifier, ModelFileError
from bnplug.datasets import iris


def read_index(folder):
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def small():
    """Two small models, and a row on which they differ."""
    X = pd.DataFrame({"a": [0, 1, 1, 0, 1, 0], "b": ["x", "y", "y", "x", "y", "y"]})
    models = [BayesianNetworkClassifier(s).fit(X, [0, 1, 1, 0, 1, 1]) for s in ("nb", [("a", "b"), ("class", "b")])]
    row = X.iloc[[-1]]
    assert models[0].predict_proba(row)[0, 0] != models[1].predict_proba(row)[0, 0]
    return (*models, row)


@pytest.fixture
def folder(small, tmp_path):
    small[0].save(tmp_path / "model")
    return tmp_path / "model"


# Checksums


def assert_never_another_model(folder, path, content, expected, row):
    """A folder with one file changed is an error: above all, it does not predict otherwise."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        loaded = bnplug.load(folder)
    except ModelFileError:
        return
    finally:
        path.write_bytes(before)
    assert (loaded.predict_proba(row) == expected).all(), "another model was loaded"
    raise AssertionError("a damaged file was loaded")


def test_flipped_bits_of_the_index_are_an_error(small, tmp_path):
    model, _, row = small
    model.save(tmp_path / "m")
    index = tmp_path / "m" / "model.json"
    content, expected = index.read_bytes(), model.predict_proba(row)
    # 31 has no factor in common with 8, so every place of every byte is met.
    for place in some(range(8 * len(content)), 31):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        assert_never_another_model(tmp_path / "m", index, bytes(flipped), expected, row)
    assert (bnplug.load(tmp_path / "m").predict_proba(row) == expected).all()


def test_flipped_bits_anywhere_are_an_error(tmp_path):
    X, y = iris()
    X = X.assign(colour=np.where(np.arange(len(X)) % 3, "blue", None), big=X.iloc[:, 0] > 5.8)
    model, folder = BayesianNetworkClassifier("kdb", missing="value").fit(X, y), tmp_path
    model.save(folder)
    row, rng = X.iloc[[0]], np.random.default_rng(2)
    expected = model.predict_proba(row)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for place in some(rng.integers(8 * len(content), size=400), 3):
            flipped = bytearray(content)
            flipped[place // 8] ^= 1 << place % 8
            assert_never_another_model(folder, path, bytes(flipped), expected, row)


def test_an_index_cannot_do_without_its_checksum(folder):
    index = read_index(folder)
    del index["checksum"]
    (folder / "model.json").write_text(json.dumps(index))
    with pytest.raises(ModelFileError, match=r"model\.json does not match its checksum"):
        bnplug.load(folder)
    (folder / "model.json").write_text(json.dumps({**index, "checksum": "0" * 64}))
    with pytest.raises(ModelFileError, match=r"model\.json does not match its checksum"):
        bnplug.load(folder)


def test_the_tables_of_another_model_are_an_error(small, tmp_path):
    for name, model in zip("ab", small[:2], strict=True):
        model.save(tmp_path / name)
    shutil.copy(next((tmp_path / "b").glob("*.npz")), next((tmp_path / "a").glob("*.npz")))
    with pytest.raises(ModelFileError, match="npz does not match its checksum"):
        bnplug.load(tmp_path / "a")


def test_other_line_ends_are_no_damage(small, tmp_path):
    model, _, row = small
    model.save(tmp_path / "m")
    index = tmp_path / "m" / "model.json"
    index.write_bytes(index.read_bytes().replace(b"\n", b"\r\n"))
    assert (bnplug.load(tmp_path / "m").predict_proba(row) == model.predict_proba(row)).all()


# Files of others


@pytest.mark.parametrize("content", ['{"format": "another"}', "{}", "[1]", "", "no json", "\udcff"], ids=range(6))
def test_a_foreign_model_file_is_left_alone(small, tmp_path, content):
    files = {"model.json": content, "tables-0123456789abcdef.npz": "theirs", "weights.bin": "theirs"}
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"model\.json is not a model of bnplug.*choose an empty or a new folder"):
        small[0].save(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_of_others_beside_a_model_stay(small, tmp_path):
    small[0].save(tmp_path)
    strange = ["tables-0123456789abcdef.npz", "tables-old.npz", "tables-0123456789abcdef-0123456789abcdef.npz", "notes"]
    for name in strange:
        (tmp_path / name).write_text("theirs")
    small[1].save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*strange, "model.json", read_index(tmp_path)["tables"]}
    assert all((tmp_path / name).read_text() == "theirs" for name in strange)


def test_an_index_cannot_have_other_files_removed(small, tmp_path):
    folder = tmp_path / "m"
    small[0].save(folder)
    for path in (tmp_path / "tables-0123456789abcdef.npz", folder / "notes", folder / "tables-a.npz"):
        path.write_text("theirs")
    names = [
        "notes",
        "../tables-0123456789abcdef.npz",
        str(tmp_path / "tables-0123456789abcdef.npz"),
        "tables-a.npz",
        7,
    ]
    for name in names:
        index = {**read_index(folder), "tables": name, "former_tables": names}
        (folder / "model.json").write_text(json.dumps(index))
        small[0].save(folder)
    assert (tmp_path / "tables-0123456789abcdef.npz").read_text() == "theirs"
    assert (folder / "notes").read_text() == (folder / "tables-a.npz").read_text() == "theirs"


def test_links_among_the_files_are_replaced_and_not_followed(small, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    small[0].save(one)
    two.mkdir()
    for path in one.iterdir():
        (two / path.name).symlink_to(path)
    before = {path: path.read_bytes() for path in one.iterdir()}
    small[1].save(two)
    assert {path: path.read_bytes() for path in one.iterdir()} == before
    assert not any(path.is_symlink() for path in two.iterdir())
    assert len(list(two.iterdir())) == 2
    row = small[2]
    for folder, model in zip((one, two), small[:2], strict=True):
        assert (bnplug.load(folder).predict_proba(row) == model.predict_proba(row)).all()


def test_a_link_to_a_stranger_is_refused(small, tmp_path):
    (tmp_path / "settings.json").write_text('{"theirs": 1}')
    for name, target in {"foreign": "../settings.json", "dangling": "../nowhere.json"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.json").symlink_to(target)
        with pytest.raises(ValueError, match="not a model of bnplug"):
            small[0].save(tmp_path / name)
    assert (tmp_path / "settings.json").read_text() == '{"theirs": 1}'
    assert not (tmp_path / "nowhere.json").exists()


def test_a_folder_reached_by_a_link_is_saved_to(small, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    small[0].save(tmp_path / "link")
    assert bnplug.load(tmp_path / "real").n_features_in_ == 2
    (tmp_path / "lost").symlink_to("nowhere")
    with pytest.raises(ValueError, match="a model is saved to a folder"):
        small[0].save(tmp_path / "lost")


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_private_model_stays_private(small, tmp_path):
    small[0].save(tmp_path)
    for path in tmp_path.iterdir():
        path.chmod(0o600)
    small[1].save(tmp_path)
    small[0].save(tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


# Saves that fail, and saves at once


@pytest.mark.parametrize("times", [1, 2])
def test_a_save_that_failed_leaves_nothing_and_can_be_repeated(small, tmp_path, monkeypatch, times):
    replace, calls = os.replace, []

    def fail_once(*args):
        calls.append(args)
        if len(calls) == times:
            raise OSError("disk full")
        return replace(*args)

    monkeypatch.setattr("os.replace", fail_once)
    with pytest.raises(OSError, match="disk full"):
        small[0].save(tmp_path)
    assert not list(tmp_path.iterdir())
    small[0].save(tmp_path)
    calls.clear()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(OSError, match="disk full"):
        small[1].save(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_interrupt_right_after_the_index_keeps_the_model(small, tmp_path, monkeypatch):
    replace = os.replace

    def interrupted(source, target):
        replace(source, target)
        if str(target).endswith("model.json"):
            raise KeyboardInterrupt

    small[0].save(tmp_path)
    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small[1].save(tmp_path)
    monkeypatch.undo()
    row = small[2]
    assert (bnplug.load(tmp_path).predict_proba(row) == small[1].predict_proba(row)).all()
    # What the interrupt left is named by the index, and goes with the next save.
    assert len(list(tmp_path.iterdir())) == 3
    small[0].save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_first_save_that_was_killed_can_be_repeated(small, tmp_path):
    small[0].save(tmp_path)
    (tmp_path / "model.json").unlink()
    (tmp_path / ".bnplug-0123456789abcdef.tmp").write_bytes(b"PK")
    small[1].save(tmp_path)
    assert bnplug.load(tmp_path).tables_.edges == small[1].tables_.edges


@pytest.mark.parametrize(
    "name", ["tables-0123456789abcdef.npz", "tables-0123456789abcdef-0123456789abcdef.npz", "tables.npz", "x.tmp"]
)
def test_a_file_that_only_looks_left_over_is_another_one(small, tmp_path, name):
    (tmp_path / name).write_text("theirs")
    with pytest.raises(ValueError, match=f"with other files in it, such as '{name}'"):
        small[0].save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


SAVER = """
import sys, bnplug
{lock}
folder, number, *sources = sys.argv[1:]
models = [bnplug.load(source) for source in sources]
for i in range(int(number)):
    models[i % 2].save(folder)
"""

LOADER = """
import sys, pathlib, bnplug
folder, end, *sources = map(pathlib.Path, sys.argv[1:])
known = [(model.tables_.edges, {n: t.values.tolist() for n, t in model.tables_.tables.items()})
         for model in map(bnplug.load, sources)]
pathlib.Path(f"{folder}.ready").touch()
loads = 0
while not end.exists() or loads < 50:
    tables = bnplug.load(folder).tables_
    assert (tables.edges, {n: t.values.tolist() for n, t in tables.tables.items()}) in known
    loads += 1
print(loads)
"""


@pytest.mark.parametrize("lock", ["", "sys.modules['fcntl'] = None"], ids=["in turn", "without a lock"])
def test_savers_and_loaders_at_once_lose_no_model(small, tmp_path, lock):
    sources = [str(tmp_path / name) for name in ("one", "two")]
    for model, source in zip(small[:2], sources, strict=True):
        model.save(source)
    folder, end = tmp_path / "shared", tmp_path / "end"
    small[0].save(folder)
    command = [sys.executable, "-c"]
    loader = subprocess.Popen([*command, LOADER, folder, end, *sources], stdout=subprocess.PIPE)
    try:
        while not (tmp_path / "shared.ready").exists() and loader.poll() is None:
            time.sleep(0.01)
        script = SAVER.format(lock=lock)
        saves = str(len(some(range(150), 3)))
        savers = [subprocess.Popen([*command, script, folder, saves, *sources[::way]]) for way in (1, -1)]
        assert [saver.wait() for saver in savers] == [0, 0]
    finally:
        end.touch()
        printed, _ = loader.communicate()
    assert loader.returncode == 0
    assert int(printed) >= 50
    bnplug.load(folder)
    if not lock and os.name == "posix":
        assert len(list(folder.iterdir())) == 2
