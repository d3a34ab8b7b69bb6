"""Joint states as numbers: as a dictionary numbers them, whatever their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bnplug.counts import _numbering
from bnplug.counts._numbering import merge_occurring, number_occurring, place_among

SIZES = np.array([3, 2, 4, 1])


@st.composite
def coded(draw, max_rows=30):
    rows = draw(st.integers(0, max_rows))
    columns = [draw(arrays.arrays(np.uint8, rows, elements=st.integers(0, int(size) - 1))) for size in SIZES]
    return np.stack(columns)


@given(coded(), st.permutations(range(4)), st.integers(0, 4))
def test_numbers_are_the_places_among_sorted_joint_states(codes, order, size):
    variables = order[:size]
    seen = [tuple(row) for row in codes[variables].T.tolist()]
    place = {state: i for i, state in enumerate(sorted(set(seen)))}
    numbers, examples = number_occurring(codes, SIZES, variables)
    assert numbers.tolist() == [place[state] for state in seen]
    assert [seen[m] for m in examples] == sorted(place)


@given(coded(), st.permutations(range(4)))
def test_numbers_that_would_outgrow_64_bits_are_made_smaller_on_the_way(codes, order):
    expected = number_occurring(codes, SIZES, order)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_numbering, "_LARGEST_NUMBER", 5)
        assert (number_occurring(codes, SIZES, order)[0] == expected).all()


def test_seventy_variables_of_four_states():
    codes = np.random.default_rng(0).integers(0, 4, (70, 20), dtype=np.uint8)
    codes[:, 10:] = codes[:, :10]
    numbers, examples = number_occurring(codes, np.full(70, 4), range(70))
    assert len(examples) == 10
    assert (numbers[:10] == numbers[10:]).all()
    assert len(set(numbers[:10].tolist())) == 10


@given(st.lists(coded(8), min_size=1, max_size=6))
def test_numbers_of_what_occurs_are_added_over_blocks(blocks):
    parts, expected = [], {}
    for i, codes in enumerate(blocks):
        _, examples = number_occurring(codes, SIZES, range(4))
        parts.append((codes[:, examples].astype(np.int64), np.array([10.0**i * np.arange(len(examples)), examples])))
        for state, *numbers in zip(parts[-1][0].T.tolist(), *parts[-1][1].tolist(), strict=True):
            expected[tuple(state)] = expected.get(tuple(state), 0) + np.array(numbers)
    states, numbers = merge_occurring(iter(parts), SIZES)
    assert [tuple(state) for state in states.T.tolist()] == sorted(expected)
    assert [own.tolist() for own in numbers.T] == [expected[state].tolist() for state in sorted(expected)]


@given(coded(), coded(12), st.permutations(range(4)), st.integers(1, 4))
def test_joint_states_are_found_among_given_ones(codes, others, order, size):
    variables = order[:size]
    _, examples = number_occurring(others, SIZES, variables)
    states = others[variables][:, examples[::-1]].astype(np.int64)  # in any order
    place = {tuple(state): i for i, state in enumerate(states.T.tolist())}
    found = place_among(codes, SIZES, variables, states)
    assert found.tolist() == [place.get(tuple(row), -1) for row in codes[variables].T.tolist()]
