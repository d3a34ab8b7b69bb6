"""Sums of terms are rounded once."""

from __future__ import annotations

from math import fsum

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bnplug.compiling import kernel
from bnplug.scoring._batches import exact_sum

summed = kernel(exact_sum.py_func) if hasattr(exact_sum, "py_func") else exact_sum


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), max_size=30))
def test_a_sum_is_rounded_once(values):
    array = np.array([0.0, *values])
    assert summed(array, np.empty(len(array) + 1)) == fsum(array)


def test_a_sum_half_way_between_two_numbers_and_one_without_end():
    parts = np.empty(9)
    for values in ([1.0, 2.0**-53, 2.0**-200], [1.0, 2.0**-53, -(2.0**-200)], [1e16, 1.0, 1e-16], [1.0, -1.0]):
        assert summed(np.array(values), parts) == fsum(values)
    assert summed(np.array([1.0, -np.inf, 3.0]), parts) == -np.inf
