"""Terms are found again, and their sums are rounded once."""

from __future__ import annotations

from itertools import combinations
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug.compiling import kernel
from bnplug.scoring._batches import Terms, exact_sum, find

find_term = kernel(find.py_func) if hasattr(find, "py_func") else find
summed = kernel(exact_sum.py_func) if hasattr(exact_sum, "py_func") else exact_sum


def test_every_family_is_found_by_its_number_and_no_other():
    terms, n, k = Terms(9, 4, 3), 9, 3
    expected = {}
    for child in range(n):
        for size in range(k + 1):
            for own in combinations([v for v in range(n) if v not in (4, child)], size):
                expected[child, own] = len(expected) + 0.5
                for _ in range(2):
                    terms.add(child, tuple(sorted((*own, 4))), expected[child, own])
    kept = terms.codes[terms.codes >= 0]
    assert len(kept) == len(set(kept.tolist())) == len(expected)
    assert len(terms.codes) >= 2 * len(expected)
    found = [terms.values[find_term(terms.codes, terms.shift, code)] for code in kept]
    assert sorted(found) == sorted(expected.values())
    assert find_term(terms.codes, terms.shift, int(kept.max()) + 1) == -1


@pytest.mark.parametrize(("n", "k", "fits"), [(100, 8, True), (100, 9, False), (10**6, 2, True)])
def test_families_have_numbers_as_long_as_they_fit_a_word(n, k, fits):
    assert Terms.fit(n, k) is fits


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), max_size=30))
def test_a_sum_is_rounded_once(values):
    array = np.array([0.0, *values])
    assert summed(array, np.empty(len(array) + 1)) == fsum(array)


def test_a_sum_half_way_between_two_numbers_and_one_without_end():
    parts = np.empty(9)
    for values in ([1.0, 2.0**-53, 2.0**-200], [1.0, 2.0**-53, -(2.0**-200)], [1e16, 1.0, 1e-16], [1.0, -1.0]):
        assert summed(np.array(values), parts) == fsum(values)
    assert summed(np.array([1.0, -np.inf, 3.0]), parts) == -np.inf
