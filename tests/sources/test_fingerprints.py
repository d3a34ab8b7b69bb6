"""Fingerprints of files: what was changed is noticed."""

import os

import pytest

from bnplug import ColumnRules, MDLDiscretizer, QuantileDiscretizer
from bnplug.sources._survey import TableSpec
from bnplug.sources._table_files import fingerprint, key_of


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "rows.csv"
    made.write_bytes(bytes(1000) * 1000)
    return made


def with_time_of(path, before):
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("place", [0, 40_000, 500_000, 999_999])
def test_bytes_at_either_end_and_in_pieces_between(path, place):
    before, there = fingerprint([path]), path.stat()
    content = bytearray(path.read_bytes())
    content[place] = 1
    path.write_bytes(content)
    with_time_of(path, there)
    assert fingerprint([path]) != before


def test_size_and_time(path):
    before, there = fingerprint([path]), path.stat()
    assert fingerprint([path]) == before
    os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns + 10**9))
    assert fingerprint([path]) != before
    with_time_of(path, there)
    assert fingerprint([path]) == before
    assert fingerprint([path, path]) != before


QUESTIONS = [
    TableSpec("y"),
    TableSpec("z"),
    TableSpec("y", "w"),
    TableSpec("y", columns=("a",)),
    TableSpec("y", rules=ColumnRules(discretizer="quantile")),
    TableSpec("y", rules=ColumnRules(discretizer=("quantile", {"n_bins": 3}))),
    TableSpec("y", class_weight="balanced"),
    TableSpec("y", rules=ColumnRules(missing="drop")),
    TableSpec("y", rules=ColumnRules(max_categories=4)),
]


def test_what_is_asked_has_a_key_of_its_own(path):
    keys = [key_of([path], spec, {}) for spec in QUESTIONS] + [key_of([path], QUESTIONS[0], {"sep": ";"})]
    assert len(set(keys)) == len(keys)
    assert keys[0] == key_of([path], TableSpec("y"), {})


def test_a_discretizer_by_name_and_as_an_instance_are_the_same(path):
    by_name = key_of([path], TableSpec("y", rules=ColumnRules(discretizer=("quantile", {"n_bins": 3}))), {})
    assert by_name == key_of([path], TableSpec("y", rules=ColumnRules(discretizer=QuantileDiscretizer(3))), {})
    assert by_name != key_of([path], TableSpec("y", rules=ColumnRules(discretizer=MDLDiscretizer())), {})
