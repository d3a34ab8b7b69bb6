"""Rows in the place of which stand their completions, against enumeration."""

import numpy as np
import pytest
from random_networks import MISSING, TREE, full_joint, random_rows, random_tables
from scipy.special import logsumexp

from bnplug.inference import sample
from bnplug.inference.sample import _all_completions, _draw_states, _have_few_completions, _split_by

CARDS = [2, 3, 2, 2, 2, 3]


def probabilities(tables, row):
    """The probability of every joint state, given what a row knows; nan where that is impossible."""
    joint = full_joint(tables)
    place = tuple(slice(None) if state == MISSING else int(state) for state in row)
    shares = np.zeros_like(joint)
    with np.errstate(invalid="ignore"):
        shares[place] = np.exp(joint[place] - logsumexp(joint[place]))
    return shares


def rows_and_tables(zeros=0.0):
    rng = np.random.default_rng(1)
    tables = random_tables(rng, TREE, CARDS, zeros=zeros)
    return random_rows(rng, tables, 30, 0.4), tables


@pytest.mark.parametrize("zeros", [0.0, 0.15])
def test_all_completions_have_their_probability(zeros):
    rows, tables = rows_and_tables(zeros)
    codes, shares, source = _all_completions(tables, rows)
    assert (shares > 0).all()
    assert (np.diff(source) >= 0).all()
    for m, row in enumerate(rows.T):
        found, wanted = np.zeros(CARDS), probabilities(tables, row)
        found[tuple(codes[:, source == m].astype(int))] = shares[source == m]
        if np.isnan(wanted).any():  # impossible: each completion is as probable
            wanted = np.where(np.isnan(wanted), 1.0 / np.isnan(wanted).sum(), 0.0)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_no_rows_have_no_completions():
    rows, tables = rows_and_tables()
    codes, shares, source = _all_completions(tables, rows[:, :0])
    assert codes.shape == (6, 0)
    assert len(shares) == len(source) == 0


def test_rows_are_split_by_what_one_variable_is_given_all_else():
    rows, tables = rows_and_tables()
    codes, shares, source = _split_by(tables, rows, 2, 1000, np.random.RandomState(0), None)
    for m, row in enumerate(rows.T):
        wanted = probabilities(tables, row).sum(axis=(0, 1, 3, 4, 5))
        found = np.zeros(2)
        found[codes[2, source == m].astype(int)] = shares[source == m]
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        others = np.arange(6) != 2
        assert (codes[others][:, source == m] == row[others, None]).all()


def test_a_state_is_drawn_where_there_would_be_too_many_rows():
    rows, tables = rows_and_tables()
    codes, shares, _ = _split_by(tables, np.repeat(rows[:, :1], 5000, axis=1), 2, 5000, np.random.RandomState(0), None)
    assert rows[2, 0] == MISSING
    assert codes.shape[1] == 5000
    assert (shares == 1.0).all()
    wanted = probabilities(tables, rows[:, 0]).sum(axis=(0, 1, 3, 4, 5))
    np.testing.assert_allclose(np.bincount(codes[2]) / 5000, wanted, atol=0.03)


def test_states_are_drawn_by_a_number_each():
    shares = np.array([[0.25, 0.5, 0.25]] * 4)
    assert _draw_states(shares, np.array([0.1, 0.3, 0.7, 0.8])).tolist() == [0, 1, 1, 2]


def test_there_is_room_for_the_completions_of_rows_that_have_the_fewest(monkeypatch):
    codes = np.full((3, 4), 255, dtype=np.uint8)
    codes[:, 1] = 0
    codes[0, 2], codes[:2, 3] = 1, 1
    cards = np.array([2, 3, 2])  # 12, 1, 6 and 2 completions
    assert _have_few_completions(codes, cards).all()
    monkeypatch.setattr(sample, "_FEW", 6)
    assert _have_few_completions(codes, cards).tolist() == [False, True, True, True]
    monkeypatch.setattr(sample, "_MOST", 3)
    assert _have_few_completions(codes, cards).tolist() == [False, True, False, True]
