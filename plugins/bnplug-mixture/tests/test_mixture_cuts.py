"""Cuts that are drawn: as many as allowed, near their quantiles, by the seed alone."""

import numpy as np
import pytest
from bnplug_mixture.cuts import JitteredQuantiles
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(0, 6), st.floats(0, 0.49))
def test_a_cut_stays_within_its_bin(seed, low, more, jitter):
    rows = np.arange(1.0, 1001.0)[:, None]
    (cuts,) = JitteredQuantiles(low, low + more, jitter, seed).fit(rows).cut_points_
    n_bins = len(cuts) + 1
    assert low <= n_bins <= low + more
    assert (np.abs(cuts * n_bins / 1000 - np.arange(1, n_bins)) <= jitter + n_bins / 1000 + 1e-9).all()


def test_every_number_of_bins_is_drawn():
    cuts = JitteredQuantiles(random_state=0).fit(np.random.RandomState(0).normal(size=(500, 200))).cut_points_
    assert {len(own) + 1 for own in cuts} == set(range(4, 13))


def test_other_rows_have_the_same_draws():
    rows = np.random.RandomState(0).normal(size=(4000, 3))
    one, other = (JitteredQuantiles(random_state=5).fit(part).cut_points_ for part in (rows[:2000], rows[2000:]))
    assert all(len(a) == len(b) and np.allclose(a, b, atol=0.2) for a, b in zip(one, other, strict=True))


def test_few_values_have_few_bins_and_none_has_none():
    rows = np.column_stack([[0.0, 1.0] * 30, [2.0] * 60, [np.nan] * 60])
    fitted = JitteredQuantiles().fit(rows)
    assert [own.tolist() for own in fitted.cut_points_] == [[0.0], [], []]
    assert np.isnan(fitted.transform(rows)[:, 2]).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_bins": 1}, "min_bins=1: expected a whole number of at least 2"),
        ({"max_bins": 4.5}, "max_bins=4.5: expected a whole number"),
        ({"min_bins": 9, "max_bins": 8}, "min_bins=9 is more than max_bins=8"),
        ({"jitter": 0.5}, "jitter=0.5: expected a number from 0 to less than 0.5"),
    ],
)
def test_what_makes_no_bins_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        JitteredQuantiles(**params).fit([[1.0], [2.0]])
