"""Files from strangers, and places to write to: each is handled, or refused in a sentence that names it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from attack.hostile import X, Y, learn
from bnplug_deploy import net, xdsl
from click.testing import CliRunner

import bnplug
from bnplug import BayesianNetworkClassifier, files
from bnplug._json import sealed
from bnplug.cli import cli
from bnplug.experiments import compare, storage
from bnplug.experiments._tables import TextTable
from bnplug.io import bif, model_folder, xmlbif
from bnplug.sources.files import read_data


def read_xdsl(path, target=None):
    return bnplug.read_network(path, target, "xdsl")


def read_net(path, target=None):
    return bnplug.read_network(path, target, "net")


READERS = [bnplug.read_bif, bnplug.read_xmlbif, read_xdsl, read_net]


def saved(folder):
    model = learn(pd.DataFrame({"x": X, "o": X[::-1]}))
    model.save(folder)
    return model


def with_index(folder, change):
    """Change what the index of a model folder says, and seal it again."""
    index = json.loads((folder / "model.json").read_text())
    index.pop("checksum")
    change(index)
    (folder / "model.json").write_bytes(sealed(index))


def test_a_type_of_classes_that_asks_for_gigabytes(tmp_path):
    """6 GB from 2 KB."""
    saved(tmp_path / "model")
    with_index(tmp_path / "model", lambda index: index["state"].update(class_dtype="<U500000000"))
    with pytest.raises(bnplug.ModelFileError, match=r"classes of dtype <U500000000 would take 4,000,000,000 bytes"):
        bnplug.load(tmp_path / "model")


def test_max_parameters_holds_at_the_door(tmp_path):
    model = learn(pd.DataFrame({"x": X, "o": X[::-1]}), max_parameters=30)
    model.save(tmp_path / "model")
    assert bnplug.load(tmp_path / "model").max_parameters == 30
    with_index(tmp_path / "model", lambda index: index["params"].update(max_parameters=10))
    with pytest.raises(bnplug.ModelFileError, match=r"more than max_parameters=10"):
        bnplug.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"more than max_parameters=10"):
        BayesianNetworkClassifier.from_tables(model.tables_, max_parameters=10)


def test_a_method_that_nobody_has_is_damage_by_the_name_of_the_file(tmp_path):
    saved(tmp_path / "model")
    with_index(tmp_path / "model", lambda index: index["params"].update(engine="../../x"))
    with pytest.raises(bnplug.ModelFileError, match=r"model is a damaged model folder: .*no engine '../../x'"):
        bnplug.load(tmp_path / "model")


def test_compressed_arrays_are_refused(tmp_path):
    """5.6 GB from 2.7 MB."""
    folder = tmp_path / "model"
    saved(folder)
    (tables,) = folder.glob("tables-*.npz")
    with np.load(tables) as arrays:
        np.savez_compressed(tables, **arrays)
    data = tables.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    new = folder / f"tables-{digest[:16]}-{'0' * 16}.npz"
    tables.rename(new)
    with_index(folder, lambda index: index.update(tables=new.name, tables_sha256=digest))
    with pytest.raises(bnplug.ModelFileError, match=r"compressed|not stored as a model's arrays are"):
        bnplug.load(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither")
def test_devices_and_pipes_are_not_read(tmp_path):
    for name in ("model.json", "tables"):
        for kind in ("device", "pipe"):
            folder = tmp_path / f"{name}-{kind}"
            saved(folder)
            path = folder / name if name == "model.json" else next(folder.glob("tables-*.npz"))
            path.unlink()
            if kind == "device":
                path.symlink_to("/dev/zero")
            else:
                os.mkfifo(path)
            with pytest.raises(bnplug.ModelFileError, match="not a regular file, but a device, a pipe or a folder"):
                bnplug.load(folder)
    (tmp_path / "model.bif").symlink_to("/dev/zero")
    for read in READERS:
        with pytest.raises(OSError, match="not a regular file"):
            read(tmp_path / "model.bif", "c")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows opens no folder")
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    """The message had the number of a descriptor."""
    place = tmp_path / "place"
    place.mkdir()
    for read in READERS:
        with pytest.raises(OSError, match=r"Is a directory: '.*place'"):
            read(place, "c")
    with pytest.raises(OSError, match=r"Is a directory: '.*place'"):
        compare(["nb"], ["corral"], cv=2, output=place)
    for name in ("model.json", "tables-*.npz"):
        folder = tmp_path / name[:6]
        saved(folder)
        (path,) = folder.glob(name)
        path.unlink()
        path.mkdir()
        with pytest.raises(bnplug.ModelFileError, match=rf"Is a directory: '.*{path.name}'"):
            bnplug.load(folder)


def grown(path):
    """Make a file very long, without a disk that holds so much."""
    with open(path, "r+b") as file:
        file.truncate(3 << 30)


@pytest.mark.skipif(sys.platform != "linux", reason="a file of 3 GB may take as much")
def test_the_size_of_a_file_is_looked_at_before_it_is_read(tmp_path):
    """3.5 GB of memory, to find that a checksum is wrong."""
    model = saved(tmp_path / "tables")
    saved(tmp_path / "index")
    model.to_bif(tmp_path / "model.bif")
    model.to_xmlbif(tmp_path / "model.xml")
    model.write(tmp_path / "model.xdsl")
    model.write(tmp_path / "model.net")
    (tables,) = (tmp_path / "tables").glob("tables-*.npz")
    for path, read in (
        (tables, lambda: bnplug.load(tmp_path / "tables")),
        (tmp_path / "index" / "model.json", lambda: bnplug.load(tmp_path / "index")),
        (tmp_path / "model.bif", lambda: bnplug.read_bif(tmp_path / "model.bif")),
        (tmp_path / "model.xml", lambda: bnplug.read_xmlbif(tmp_path / "model.xml")),
        (tmp_path / "model.xdsl", lambda: read_xdsl(tmp_path / "model.xdsl")),
        (tmp_path / "model.net", lambda: read_net(tmp_path / "model.net")),
    ):
        grown(path)
        tracemalloc.start()
        try:
            with pytest.raises(bnplug.ModelFileError, match=rf"3,221,225,472 bytes.*{path.name}"):
                read()
            assert tracemalloc.get_traced_memory()[1] < 1 << 24
        finally:
            tracemalloc.stop()
    with pytest.raises(ValueError, match=r"index.model\.json is not a model of bnplug, or is damaged"):
        model.save(tmp_path / "index")


def test_a_file_that_is_too_large_for_the_memory_is_named(tmp_path, monkeypatch):
    saved(tmp_path / "model").to_bif(tmp_path / "model.bif")

    def too_large(*_, **__):
        raise MemoryError

    for module, name, read, said in (
        (bif, "_scan", lambda: bnplug.read_bif(tmp_path / "model.bif"), r"model\.bif"),
        (xmlbif, "parse_xmlbif", lambda: bnplug.read_xmlbif(tmp_path / "model.bif"), r"model\.bif"),
        (xdsl, "parse_xdsl", lambda: read_xdsl(tmp_path / "model.bif"), r"model\.bif"),
        (net, "_scan", lambda: read_net(tmp_path / "model.bif"), r"model\.bif"),
        (model_folder, "_read_numbers", lambda: bnplug.load(tmp_path / "model"), "model"),
        (BayesianNetworkClassifier, "restore_state", lambda: bnplug.load(tmp_path / "model"), "model"),
        (storage, "read_plain", lambda: storage.ResultsFile(tmp_path / "model.bif", {}), r"model\.bif"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, too_large)
            with pytest.raises(MemoryError, match=rf"{said} does not fit into memory"):
                read()


@contextmanager
def stopped_after(seconds):
    """Fail what waits for ever."""

    def stop(number, frame):
        raise AssertionError(f"it takes more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


needs_pipes = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")


@needs_pipes
@pytest.mark.parametrize("read", READERS)
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path, monkeypatch, read):
    """It was, for ever."""
    monkeypatch.setattr(files, "_WRITER_SECONDS", 0.1, raising=False)
    os.mkfifo(tmp_path / "model")
    with stopped_after(20), pytest.raises(OSError, match=r"it is a pipe without a writer.*model"):
        read(tmp_path / "model", "c")


@needs_pipes
def test_pipes_that_somebody_writes_to_are_read(tmp_path, monkeypatch):
    """Named ones, also where the writer is slow, and those that a shell makes for a process."""
    monkeypatch.setattr(files, "_WRITER_SECONDS", 0.2)
    learn(pd.DataFrame({"x": X, "o": X[::-1]})).to_bif(tmp_path / "model.bif")
    os.mkfifo(tmp_path / "pipe")
    for pause in (0, 1):
        write = f"exec > {tmp_path / 'pipe'}; sleep {pause}; cat {tmp_path / 'model.bif'}"
        with subprocess.Popen(["sh", "-c", write]):
            assert bnplug.read_bif(tmp_path / "pipe").target_ == "class"
    with subprocess.Popen(["cat", str(tmp_path / "model.bif")], stdout=subprocess.PIPE) as writer:
        assert bnplug.read_bif(f"/dev/fd/{writer.stdout.fileno()}").target_ == "class"


@needs_pipes
def test_what_is_no_plain_file_holds_no_data_and_no_results(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(ValueError, match=f"{name}: it is not a regular file, but a device, a pipe or a folder"):
            read_data(tmp_path / name)
        with pytest.raises(OSError, match=f"it is not a regular file.*{name}"):
            compare(["nb"], ["corral"], cv=2, output=tmp_path / name)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"parents": [[2, 5], [2], []]}, "no numbers from 0 to"),
        ({"parents": [[2, 1], [2, 0], []]}, "a cycle"),
        ({"parents": [[2], [], []]}, "not the class and up to"),
        ({"best": [[2], [2]]}, "does not have the parents of 3 variables"),
        ({"best": [[2, 0.5], [2], []]}, "no numbers from 0 to"),
        ({"temperature": float("nan")}, "temperature is not of finite numbers"),
        ({"r": -1.0}, "a number is negative"),
        ({"n_evaluations": 1.5}, "n_evaluations is not of finite numbers"),
        ({"random": {"state": 3}}, "no state of a random generator"),
        ({"draws": []}, "no state of a random generator"),
        ({"draws": {"bit_generator": "MT19937", "state": {"key": [1] * 624, "pos": 10**9}}}, "no state of a random"),
        ({"evaluations": []}, "its trace is cut off"),
    ],
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage, said):
    """A cycle hung, a parent out of range read outside of an array."""
    path = tmp_path / "sa.json"
    search = bnplug.structure_learner("sa", score="cr", checkpoint=str(path), random_state=0, max_evaluations=50)
    columns = pd.DataFrame({"x": X, "o": X[::-1]})
    BayesianNetworkClassifier(search).fit(columns, Y)
    content = json.loads(path.read_text())
    content["state"].update(damage)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"damaged checkpoint of simulated annealing: .*{said}.*; delete it"):
        BayesianNetworkClassifier(search).fit(columns, Y)


def place_said(tmp_path, place):
    """Ask for a model to be learned and saved to a place; return what is said, before anything is read."""
    done = CliRunner().invoke(cli, ["fit", str(tmp_path / "nowhere.csv"), "--target", "c", "-o", str(place)])
    assert done.exit_code == 1
    assert "there is no such file" not in done.output
    return done.output


def test_the_place_of_a_model_is_looked_at_before_data_are_read(tmp_path):
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "a" / "model"):
        assert f"{tmp_path / 'file'} is a file" in place_said(tmp_path, place)
    assert (tmp_path / "file").read_text() == "mine"
    assert "File name too long" in place_said(tmp_path, tmp_path / ("x" * 300))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_a_file_system_that_takes_no_files_is_known_before_data_are_read(tmp_path):
    """Its permissions do not tell."""
    for place in ("/proc/nope", "/proc/nope/model", "/proc/self/model"):
        assert "cannot be created: /proc" in place_said(tmp_path, place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another user must be had")
def test_a_folder_of_another_user_is_known_before_data_are_read(tmp_path):
    folders = {name: tmp_path / name for name in ("closed", "hidden")}
    for name, mode in (("closed", 0o555), ("hidden", 0o000)):
        folders[name].mkdir()
        folders[name].chmod(mode)
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)
    os.seteuid(65534)
    try:
        said = [place_said(tmp_path, folder / rest) for folder in folders.values() for rest in ("model", "a/model")]
    finally:
        os.seteuid(0)
    assert all("cannot be created: " in text for text in said)


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_is_known_before_data_are_read(tmp_path, monkeypatch, there):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    if there:
        (tmp_path / "model").mkdir()
    monkeypatch.setattr(os, "fsync", full)
    assert "is not writable: No space left on device" in place_said(tmp_path, tmp_path / "model")
    assert [path.name for path in tmp_path.rglob("*")] == ["model"] * there


def test_temporary_files_of_a_killed_run_are_swept_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_swept", set())
    left, fresh, other = (tmp_path / f".bnplug-{c * 16}.tmp" for c in "abc")
    other = tmp_path / "notes.tmp"
    for path in (left, fresh, other):
        path.write_text("half")
    for path in (left, other):
        os.utime(path, (0, 0))
    files.write_atomically(tmp_path / "result.txt", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([fresh.name, "notes.tmp", "result.txt"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks, nor SIGKILL")
def test_temporary_files_of_a_killed_run_are_swept_at_once(tmp_path, monkeypatch):
    """Ten minutes later, it was; those of a run that goes on stay."""
    killed = (
        "import os, signal, sys; from bnplug import files\n"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomically(sys.argv[1], 'half')"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(tmp_path / "result.txt")], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert files.TEMPORARY.fullmatch(left.name)
    descriptor, running = files._make_temporary(str(tmp_path), 0o600)
    monkeypatch.setattr(files, "_swept", set())
    files.write_atomically(tmp_path / "result.txt", "whole")
    assert sorted(map(str, tmp_path.iterdir())) == sorted([running, str(tmp_path / "result.txt")])
    os.close(descriptor)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_named_by_commands(tmp_path, monkeypatch):
    saved(tmp_path / "model")
    pd.DataFrame({"x": X, "o": X}).to_csv(tmp_path / "d.csv", index=False)
    command = [sys.executable, "-m", "bnplug", "predict", str(tmp_path / "model"), str(tmp_path / "d.csv")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "bnplug: standard output: No space left on device\n")
    results = storage.ResultsFile(tmp_path / "results.jsonl", {})
    results.path.unlink()
    results.path.symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*results\.jsonl'"):
        results.append({"fold": 0})
    with pytest.raises(OSError, match=r"No space left on device: '/dev/fd/\d+'"), open("/dev/full", "w") as full:
        files.write_atomically(f"/dev/fd/{full.fileno()}", "x")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_names_the_path(tmp_path, monkeypatch):
    with pytest.raises(OSError, match="/dev/full"):
        files.write_atomically("/dev/full", "x" * 100_000)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*result\.txt"):
        files.write_atomically(tmp_path / "result.txt", "x")
    assert list(tmp_path.iterdir()) == []


def test_predict_files_writes_no_formulas_unless_asked(tmp_path):
    link = '=HYPERLINK("http://example.invalid")'
    columns = pd.DataFrame({"x": X, "o": X[::-1]})
    model = learn(columns, pd.Series(np.where(Y == "a", link, "b"), name="@class"))
    columns.assign(**{"=key": link}).to_csv(tmp_path / "rows.csv", index=False)

    def written(**options):
        model.predict_files(tmp_path / "rows.csv", tmp_path / "answers.csv", ids=["=key"], **options)
        return pd.read_csv(tmp_path / "answers.csv")

    escaped = written()
    assert list(escaped) == ["'=key", "'@class", f"P({link})", "P(b)"]
    assert {*escaped["'=key"]} == {"'" + link}
    predicted = model.predict(columns)
    assert escaped["'@class"].tolist() == ["'" + label if label == link else label for label in predicted]
    live = written(formulas=True)
    assert live["@class"].tolist() == predicted.tolist()
    assert {*live["=key"]} == {link}


def test_tables_for_people_run_nothing(tmp_path):
    columns = pd.DataFrame({"x": X, "o": X[::-1]})
    model = learn(columns, np.where(Y == "a", "=1+1", "b"))
    model.save(tmp_path / "model")
    columns.to_csv(tmp_path / "rows.csv", index=False)
    run = ["predict", str(tmp_path / "model"), str(tmp_path / "rows.csv")]
    assert "\n=1+1" not in CliRunner().invoke(cli, run).output
    assert "\n'=1+1" in CliRunner().invoke(cli, run).output
    assert "\n=1+1" in CliRunner().invoke(cli, [*run, "--formulas"]).output
    table = TextTable(["a|b", "<script>"], [["x\n| y", "[l](javascript:x)"]], frozenset())
    assert table.to_markdown().splitlines() == [
        r"| a\|b | \<script\> |",
        "| --- | ---: |",
        r"| x \| y | \[l\](javascript:x) |",
    ]
