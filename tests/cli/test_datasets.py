import socket

import pandas as pd
from commands import run

from bnplug import datasets


def test_every_data_set_has_its_line():
    lines = run("datasets").output.splitlines()
    assert [line.split()[0] for line in lines] == [entry.name for entry in datasets.entries()]
    assert all(entry.summary in line for entry, line in zip(datasets.entries(), lines, strict=True))


def test_a_data_set_is_written_as_it_is_with_its_class_last(tmp_path):
    X, y = datasets.iris()
    run("datasets", "iris", "-o", tmp_path / "iris.csv")
    written = pd.read_csv(tmp_path / "iris.csv")
    pd.testing.assert_frame_equal(written, X.assign(species=y), check_dtype=False)
    assert run("datasets", "iris").output == (tmp_path / "iris.csv").read_text()
    assert run("datasets", "irisses", code=1).output.startswith("bnplug: there is no data set 'irisses'")


def test_a_file_needs_the_name_of_a_data_set(tmp_path):
    assert "-o takes a data set" in run("datasets", "-o", tmp_path / "all.csv", code=2).output
    assert not list(tmp_path.iterdir())


def test_the_command_refuses_a_folder_that_is_not_there(tmp_path):
    result = run("datasets", "--data-dir", tmp_path / "nowhere", code=1)
    assert result.output.strip().splitlines() == [f"bnplug: {tmp_path / 'nowhere'}: there is no such folder"]


def test_the_files_of_a_folder_are_listed_once_and_the_network_is_not_touched(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    (tmp_path / "toy.csv").write_text("a,class\n1,x\n2,y\n")
    output = run("datasets", "--data-dir", tmp_path).output
    assert [line.split()[0] for line in output.splitlines()] == datasets.names(tmp_path)
    assert "toy.csv" in output
    assert "toy" not in run("datasets").output
