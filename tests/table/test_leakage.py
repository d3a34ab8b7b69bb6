"""Features that are the class, and features that determine it."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from blocked import mapped

from bnplug import Table
from bnplug.errors import TargetLeakageWarning
from bnplug.table._leakage import distinct_pairs, label_name, refuse_class_column, warn_of_features


def table(weights=None, **columns):
    return Table.from_frame(pd.DataFrame(columns), "c", weights)


def determining_features(table):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_features(table)
    return [
        name for warning in caught for name in re.findall(r"'(\w+)'", str(warning.message).partition(" the class")[0])
    ]


C = ["n", "p"] * 10


@pytest.mark.parametrize(
    ("column", "determines"),
    [
        (["a", "b"] * 10, True),
        (["a", "b", "a", "c"] * 5, True),
        (["a", "b"] * 9 + ["b", "a"], False),  # two rows of another class
        (["a", "b"] * 8 + ["a", "d"] * 2, True),  # d is in two rows, which are no evidence
        (["a", "b"] * 8 + ["a", "d", "d", "b"], False),  # but d has two classes
        ([f"{i % 2}{i // 8}" for i in range(20)], False),  # states of four rows
        (["a", "b"] * 5 + [None] * 10, True),
        (["a", "b"] * 4 + [None] * 12, False),  # states of four rows
        (["a", None] * 10, False),  # known with one class only
        (["a", "b"] * 9 + [None, None], True),
        (pd.Categorical(["a", "b"] * 10, categories=[*"abc"]), True),  # c does not occur
    ],
)
def test_what_determines_the_class(column, determines):
    assert determining_features(table(x=column, c=C)) == (["x"] if determines else [])


@pytest.mark.parametrize(
    ("rows", "determines"),
    [
        ({"no": 60, "yes": 40, "rare": 4}, True),
        ({"no": 96, "yes": 4}, True),
        ({"no": 99, "yes": 1}, True),
        ({str(i): 2 for i in range(12)}, True),
        ({str(i): 1 for i in range(12)}, False),
        ({"no": 5, "yes": 4}, False),
    ],
    ids=str,
)
def test_a_copy_of_the_class_is_reported_whatever_classes_are_rare(rows, determines):
    c = np.repeat(list(rows), list(rows.values()))
    assert determining_features(table(x=np.char.add("x", c), c=c)) == (["x"] if determines else [])


def test_no_more_states_than_the_root_of_the_rows():
    n = 25
    for n_states, determines in ((5, True), (6, False)):
        x = np.repeat(np.arange(n_states), 5)[:n] if n_states == 5 else np.arange(30) % 6
        c = np.where(x % 2 == 0, "n", "p")
        assert determining_features(table(x=x.astype(str), c=c)) == (["x"] if determines else [])


def test_rows_count_and_not_their_weights():
    few = {"x": ["a", "b"] * 3 + ["d"] * 6, "c": ["n", "p"] * 3 + ["n"] * 6}
    assert determining_features(table(np.full(12, 100.0), **few)) == []
    assert determining_features(table(np.full(20, 0.001), x=["a", "b"] * 10, c=C)) == ["x"]


def test_blocks_are_counted_together(tmp_path):
    rng = np.random.default_rng(0)
    c = rng.choice(["n", "p"], 90)
    whole = table(x=np.char.add("x", c), noise=rng.choice(["u", "v"], 90), c=c)
    assert determining_features(mapped(whole, tmp_path, 4)) == determining_features(whole) == ["x"]


def test_one_warning_names_them_all():
    with pytest.warns(TargetLeakageWarning) as caught:
        warn_of_features(table(x=["a", "b"] * 10, noise=["u", "u", "v", "v"] * 5, z=[0, 1] * 10, c=C))
    assert len(caught) == 1
    assert str(caught[0].message).startswith("features ['x', 'z'] determine the class 'c': each of their states")
    with pytest.warns(TargetLeakageWarning, match="feature 'x' determines the class 'c': each of its states"):
        warn_of_features(table(x=["a", "b"] * 10, c=C))


def test_without_such_a_feature_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_features(table(noise=["u", "u", "v", "v"] * 5, c=C))


def test_names_of_labels():
    assert label_name(pd.Series([1, 2], name=3)) == "3"
    assert label_name(pd.DataFrame({"name": [1, 2]})) == "name"
    assert label_name(pd.DataFrame({"a": [1], "b": [2]})) is None
    assert label_name(np.array([1, 2])) is None
    assert label_name(pd.Series([1, 2], name="")) is None


@pytest.mark.parametrize(
    ("column", "labels", "refused"),
    [
        (["a", "b", "a"], ["a", "b", "a"], True),
        (["a", "b", "a"], [0, 1, 0], True),
        ([0.0, 1.0, np.nan], [0, 1, 1], True),
        (pd.Categorical(["b", "a"], categories=[*"cba"]), ["b", "a"], True),
        (["a", "b", "d"], [0, 1, 0], False),
        (["a", "b", "a"], [0, 1, 1], False),
        (["a", "a", None], [0, 0, 1], False),
    ],
)
def test_the_class_column_is_known_by_its_values(column, labels, refused):
    pairs = distinct_pairs(pd.Series(column), labels)
    if not refused:
        return refuse_class_column("ill", pairs)
    with pytest.raises(ValueError, match=r"X contains the class: column 'ill'.*fit\(X.drop\(columns='ill'\), y\)"):
        refuse_class_column("ill", pairs)
