"""What to ask next, against enumeration."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import asked_rows, marginal, weighted
from scipy.special import entr
from strategies import seeds

from bnplug.counts.information import by_falling
from bnplug.inference.explain import check_costs, expected_information, next_frame, ranked
from bnplug.inference.marginals import Marginalizer


def enumerated(tables, evidence, feature):
    """H(C | e) - sum over x of P(x | e) H(C | x, e)."""
    joint = marginal(tables, weighted(tables, evidence), [tables.target, feature])
    after = sum(p * entr(column / p).sum() for p, column in zip(joint.sum(axis=0), joint.T, strict=True) if p > 0)
    return entr(joint.sum(axis=1)).sum() - after


@pytest.mark.parametrize("block", range(4))
def test_information_is_that_of_enumeration(block):
    for seed in seeds(50):
        tables, known, codes = asked_rows([block, seed])
        found = expected_information(tables, tables.target, lambda name: Marginalizer(tables, name), codes)  # noqa: B023
        for row, own in zip(found, known, strict=True):
            possible = weighted(tables, own).sum() > 0
            for v, name in enumerate(tables.names):
                if name == tables.target or name in own or not possible:
                    assert np.isnan(row[v])
                else:
                    assert row[v] == pytest.approx(enumerated(tables, own, name), abs=1e-10), (block, seed)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_ranks_are_those_that_structure_learners_use(values, seed):
    worth = np.array(values) / 4 + np.random.default_rng(seed).uniform(0, 1e-10, len(values))
    assert ranked(worth[None])[0].tolist() == by_falling(worth, range(len(values)))


def test_a_frame_has_what_is_unknown_by_what_it_is_worth():
    information = np.array([[0.1, 0.4, 0.2], [0.3, np.nan, 0.3]])
    unknown = np.array([[True, True, True], [True, False, True]])
    frame = next_frame(information, unknown, ["a", "b", "c"], pd.Index(["r", "s"]))
    assert frame.to_numpy().tolist() == [
        ["r", "b", 0.4],
        ["r", "c", 0.2],
        ["r", "a", 0.1],
        ["s", "a", 0.3],
        ["s", "c", 0.3],
    ]
    cheap = next_frame(information, unknown, ["a", "b", "c"], pd.Index(["r", "s"]), np.array([1.0, 8.0, 1.0]))
    assert cheap.columns.tolist() == ["row", "feature", "information", "cost", "per_cost"]
    assert cheap["feature"].tolist() == ["c", "a", "b", "a", "c"]
    assert cheap["per_cost"].tolist() == pytest.approx([0.2, 0.1, 0.05, 0.3, 0.3])


def test_an_impossible_row_lists_what_is_unknown_without_a_figure():
    frame = next_frame(np.full((1, 2), np.nan), np.array([[False, True]]), ["a", "b"], pd.RangeIndex(1))
    assert frame["feature"].tolist() == ["b"]
    assert frame["information"].isna().all()


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"a": 1, "bb": 2}, "no feature 'bb'. Did you mean 'b'"),
        ({"a": 1}, r"\['b'\] have none"),
        ({"a": 1, "b": 0}, "'b' costs 0, which is not a positive number"),
        ({"a": 1, "b": float("nan")}, "'b' costs nan"),
        ({"a": 1, "b": "much"}, "'b' costs 'much'"),
    ],
)
def test_costs_that_are_none(costs, message):
    with pytest.raises(ValueError, match=message):
        check_costs(costs, ["a", "b"])
    assert check_costs({"b": 2, "a": 1}, ["a", "b"]).tolist() == [1.0, 2.0]
