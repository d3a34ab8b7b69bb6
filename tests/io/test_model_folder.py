"""A model folder gives back the model that was saved, or says why not."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, ModelFileError
from bnplug._json import sealed
from bnplug.datasets import iris


@pytest.fixture(scope="module")
def fitted():
    X, y = iris()
    X = X.assign(colour=np.where(np.arange(len(X)) % 3, "blue", None), big=X.iloc[:, 0] > 5.8)
    return BayesianNetworkClassifier(structure="kdb", missing="value").fit(X, y), X


@pytest.fixture
def folder(fitted, tmp_path):
    fitted[0].save(tmp_path / "model")
    return tmp_path / "model"


def read_index(folder):
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


def reseal(folder, index):
    """Write another index with checksums that are right, so that what is behind them is tested."""
    with suppress(OSError, KeyError, TypeError):
        numbers = (folder / Path(index["tables"]).name).read_bytes()
        name = f"tables-{hashlib.sha256(numbers).hexdigest()[:16]}.npz"
        (folder / name).write_bytes(numbers)
        index = {**index, "tables": name, "tables_sha256": hashlib.sha256(numbers).hexdigest()}
    (folder / "model.json").write_bytes(sealed({key: index[key] for key in index if key != "checksum"}))


def test_loading_gives_the_same_model(fitted, folder):
    model, X = fitted
    loaded = bnplug.load(folder)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.tables_.states == model.tables_.states
    assert loaded.tables_.edges == model.tables_.edges
    assert list(loaded.feature_names_in_) == list(X.columns)
    assert loaded.missing == "value"


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"], np.array([3, 4], dtype=np.int8)], ids=str)
def test_class_labels_keep_their_type(tmp_path, labels):
    X, y = pd.DataFrame({"x": [0, 1, 1, 0]}), np.asarray(labels)[[0, 1, 1, 0]]
    model = BayesianNetworkClassifier("nb").fit(X, y)
    model.save(tmp_path / "m")
    predicted = bnplug.load(tmp_path / "m").predict(X)
    assert predicted.tolist() == y.tolist()
    assert predicted.dtype == model.predict(X).dtype


def test_a_model_of_an_array_goes_by_position(tmp_path):
    X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    BayesianNetworkClassifier("nb").fit(X, [0, 1, 1, 0]).save(tmp_path / "m")
    loaded = bnplug.load(tmp_path / "m")
    assert not hasattr(loaded, "feature_names_in_")
    assert loaded.predict(X).tolist() == [0, 1, 1, 0]


def test_saving_again_replaces_the_model_and_leaves_nothing_behind(fitted, folder):
    X, y = iris()
    BayesianNetworkClassifier("nb").fit(X, y).save(folder)
    assert len(list(folder.iterdir())) == 2
    assert bnplug.load(folder).n_features_in_ == 4


def test_a_foreign_folder_is_left_alone(fitted, tmp_path):
    (tmp_path / "diary.txt").write_text("dear diary")
    with pytest.raises(ValueError, match="other files"):
        fitted[0].save(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        fitted[0].save(tmp_path / "diary.txt")


def test_a_foreign_or_absent_folder_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match=r"it has no model\.json"):
        bnplug.load(tmp_path / "nowhere")
    (tmp_path / "model.json").write_text('{"format": "something else"}')
    with pytest.raises(ModelFileError, match="not a model of bnplug"):
        bnplug.load(tmp_path)
    (tmp_path / "model.json").write_text("\xff\xfe not json")
    with pytest.raises(ModelFileError, match="cannot be read"):
        bnplug.load(tmp_path)


def test_a_later_version_says_so(folder):
    index = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**index, "version": 99, "bnplug": "9.9"}))
    with pytest.raises(ModelFileError, match=r"format version 99.*written by bnplug 9\.9"):
        bnplug.load(folder)


def test_a_cut_off_file_is_a_clear_error(folder):
    numbers = next(folder.glob("*.npz"))
    content = numbers.read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 1):
        numbers.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match="damaged"):
            bnplug.load(folder)
    numbers.unlink()
    with pytest.raises(ModelFileError, match="damaged"):
        bnplug.load(folder)


def _walk(value, path=()):
    """Every place in a JSON document."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _walk(child, (*path, key))


@pytest.mark.filterwarnings("ignore:.*the built-in engine 'elimination' is used:bnplug.errors.PluginWarning")
def test_anything_else_in_the_index_is_a_clear_error_or_a_valid_model(fitted, folder):
    original = json.loads((folder / "model.json").read_text())
    places = [place for place in _walk(original) if place]
    rng = np.random.default_rng(0)
    for place in places:
        index = json.loads(json.dumps(original))
        inner = index
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = [None, 7, "x", [], {}, [[[]]], -1, 1e308, "../../x"][rng.integers(9)]
        reseal(folder, index)
        try:
            model = bnplug.load(folder)
        except ModelFileError:
            continue
        row = pd.DataFrame(index=[0], columns=list(model.encoder_.names), dtype=float)
        if place[-1] == "max_clique_size":  # too small a limit is told when a row needs more: a complete one does not
            row = fitted[1].iloc[[1]]
        assert model.predict_proba(row).sum() == pytest.approx(1), place


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("state", "variables", 0, "states", 0), [], "texts, numbers and truth values"),
        (("state", "variables", 0, "states", 0), None, "texts, numbers and truth values"),
        (("params", "unseen"), "guess", "unseen='guess'"),
        (("params", "engine"), "../../x", "there is no engine"),
        (("params", "missing"), "guess", "missing='guess'"),
        (("params", "max_clique_size"), "x", "finite positive number"),
        (("params", "n_jobs"), "x", "whole number or None"),
        (("params", "verbosity"), 1, "no parameter 'verbosity'"),
    ],
)
def test_labels_and_settings_are_checked(folder, place, value, message):
    index = json.loads((folder / "model.json").read_text())
    inner = index
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    reseal(folder, index)
    with pytest.raises(ModelFileError, match=message):
        bnplug.load(folder)


def test_a_zip_of_a_version_that_there_is_not_is_damaged(folder):
    path = next(folder.glob("*.npz"))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 176
    path.write_bytes(bytes(content))
    reseal(folder, read_index(folder))
    with pytest.raises(ModelFileError):
        bnplug.load(folder)


def test_an_array_that_claims_more_bytes_than_the_file_has_is_damaged(folder):
    path = next(folder.glob("*.npz"))
    content = bytearray(path.read_bytes())
    last, array = content.rindex(b"PK\x01\x02"), content.rindex(b"\x93NUMPY")
    # The sizes of the last array, stored and unpacked, in the directory at the end of the file.
    for place in (last + 20, last + 24):
        content[place : place + 4] = (len(content) - array + 50).to_bytes(4, "little")
    # And the length of its header.
    content[array + 8 : array + 10] = b"\xff\xff"
    path.write_bytes(bytes(content))
    reseal(folder, read_index(folder))
    with pytest.raises(ModelFileError, match="damaged"):
        bnplug.load(folder)


# A letter of the name of a distribution: that is not installed, and its engine is replaced.
@pytest.mark.filterwarnings("ignore::bnplug.PluginWarning")
def test_flipped_bytes_are_a_clear_error_or_a_valid_model(folder):
    rng = np.random.default_rng(1)
    originals = {path: path.read_bytes() for path in folder.iterdir()}
    for _ in range(600):
        path = list(originals)[rng.integers(len(originals))]
        content = bytearray(originals[path])
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(bytes(content[: rng.integers(len(content))] if rng.random() < 0.2 else content))
        with suppress(ModelFileError, ValueError):
            reseal(folder, read_index(folder))
        with suppress(ModelFileError):
            assert bnplug.load(folder).tables_.names
        for original, before in originals.items():
            original.write_bytes(before)


def test_arrays_that_are_compressed_are_refused(folder):
    """A file of a thousand bytes could ask for a gigabyte."""
    path = next(folder.glob("*.npz"))
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez_compressed(path, **arrays)
    reseal(folder, read_index(folder))
    with pytest.raises(ModelFileError, match="compressed"):
        bnplug.load(folder)


def test_objects_are_never_unpickled(folder):
    numbers = next(folder.glob("*.npz"))
    np.savez(numbers, **{"0": np.array([{"a": 1}], dtype=object)})
    reseal(folder, read_index(folder))
    with pytest.raises(ModelFileError, match="damaged"):
        bnplug.load(folder)


def test_a_folder_that_another_process_makes_meanwhile_is_no_file(fitted, tmp_path, monkeypatch):
    """Whatever is asked about it first is answered before it is there, all the rest after."""
    folder = tmp_path / "new"

    def then_made(ask):
        def asked(path, *args, **kwargs):
            try:
                return ask(path, *args, **kwargs)
            finally:
                if isinstance(path, str | os.PathLike) and Path(path) == folder:
                    with suppress(FileExistsError):
                        os.mkdir(folder)

        return asked

    for name in ("stat", "lstat", "listdir"):
        monkeypatch.setattr(os, name, then_made(getattr(os, name)))
    fitted[0].save(folder)
    assert bnplug.load(folder).target_ == fitted[0].target_


def test_a_link_that_leads_nowhere_is_called_so(fitted, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="link is a broken link"):
        fitted[0].save(tmp_path / "link")
