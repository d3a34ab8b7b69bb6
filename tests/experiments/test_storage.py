"""The results file: what was appended is there after whatever ended the run."""

import json

import pytest

from bnplug.experiments.storage import ResultsFile

SETTINGS = {"cv": "5", "methods": {"nb": 1, "tan": 2}}


@pytest.fixture
def file(tmp_path):
    made = ResultsFile(tmp_path / "r.jsonl", SETTINGS)
    for fold in range(3):
        made.append({"fold": fold, "accuracy": fold / 10})
    return made


def test_records_come_back_in_their_order(file):
    assert file.records == []
    assert ResultsFile(file.path, SETTINGS).records == [{"fold": fold, "accuracy": fold / 10} for fold in range(3)]
    assert len(file.path.read_text().splitlines()) == 4


@pytest.mark.parametrize("cut", range(1, 12))
def test_an_unfinished_last_line_is_dropped(file, cut):
    file.path.write_bytes(file.path.read_bytes()[:-cut])
    again = ResultsFile(file.path, SETTINGS)
    assert [record["fold"] for record in again.records] == [0, 1]
    again.append({"fold": 9})
    assert [record["fold"] for record in ResultsFile(file.path, SETTINGS).records] == [0, 1, 9]


def test_a_beginning_of_the_first_line_is_begun_again(file):
    for length in range(20):
        file.path.write_bytes(file.path.read_bytes()[:length])
        assert ResultsFile(file.path, SETTINGS).records == []
        assert json.loads(file.path.read_text())["settings"] == SETTINGS


def test_other_settings_are_named_and_the_file_stays(file):
    before = file.path.read_bytes()
    with pytest.raises(ValueError, match=r"another experiment \(cv: there '5', here '3'\)"):
        ResultsFile(file.path, SETTINGS | {"cv": "3"})
    with pytest.raises(ValueError, match="methods: tan only there, kdb only here, nb not the same"):
        ResultsFile(file.path, SETTINGS | {"methods": {"nb": 3, "kdb": 1}})
    assert file.path.read_bytes() == before


def test_what_json_cannot_hold_is_refused(file):
    with pytest.raises(ValueError, match="JSON"):
        file.append({"accuracy": float("nan")})
