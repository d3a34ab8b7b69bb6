"""Bins: which one a number is in, and what they are called."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bnplug.table.bins import bin_labels, in_bins


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8, unique=True))
@example([1.0, np.nextafter(1.0, 2)])
@example([0.1 + 0.2, 0.4])
@example([1600000000.5, 1600000001.5])
def test_labels_are_distinct_and_plain(cuts):
    labels = bin_labels(sorted(cuts))
    assert len(set(labels)) == len(labels) == len(cuts) + 1
    assert not any(set(label) & set(" ,;'\"()[]{}/") for label in labels)


def test_labels_print_few_digits():
    assert bin_labels([-0.0, 0.1 + 0.2, 1e20]) == ["<=0", "0..0.3", "0.3..1e+20", ">1e+20"]


def test_a_value_is_at_most_its_upper_cut():
    coded = in_bins(np.array([-np.inf, 1.0, 1.5, 2.0, 9.0, np.nan]), (1.0, 2.0))
    assert coded.codes.tolist() == [0, 0, 1, 1, 2, -1]
    assert coded.states == ("<=1", "1..2", ">2")
    assert in_bins(np.array([3.0, np.nan]), []).codes.tolist() == [0, -1]
