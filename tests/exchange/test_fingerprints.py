"""Fingerprints of files: what was changed is noticed."""

import os

import pytest

from bnplug.data._columns import Rules
from bnplug.data._survey import Question
from bnplug.data.discretize import MDLDiscretizer, QuantileDiscretizer
from bnplug.exchange._fingerprints import fingerprint, key_of


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
    Question("y"),
    Question("z"),
    Question("y", "w"),
    Question("y", columns=("a",)),
    Question("y", discretizer="quantile"),
    Question("y", discretizer=("quantile", {"n_bins": 3})),
    Question("y", class_weight="balanced"),
    Question("y", missing="drop"),
    Question("y", rules=Rules(max_categories=4)),
]


def test_what_is_asked_has_a_key_of_its_own(path):
    keys = [key_of([path], question, {}) for question in QUESTIONS] + [key_of([path], QUESTIONS[0], {"sep": ";"})]
    assert len(set(keys)) == len(keys)
    assert keys[0] == key_of([path], Question("y"), {})


def test_a_discretizer_by_name_and_as_an_instance_are_the_same(path):
    by_name = key_of([path], Question("y", discretizer=("quantile", {"n_bins": 3})), {})
    assert by_name == key_of([path], Question("y", discretizer=QuantileDiscretizer(3)), {})
    assert by_name != key_of([path], Question("y", discretizer=MDLDiscretizer()), {})
