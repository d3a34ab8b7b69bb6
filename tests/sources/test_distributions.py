"""How often numbers occur: exact while few differ, and else with ranks that are wrong by no more than is promised."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug.sources._summaries import Distribution, Points


def points_of(values, classes, weights=None):
    values, classes = np.asarray(values, dtype=np.float64), np.asarray(classes, dtype=np.int64)
    order = np.argsort(classes, kind="stable")
    return Points.of(values[order], classes[order], None if weights is None else np.asarray(weights)[order])


def as_counter(points):
    return Counter(
        dict(zip(zip(points.values.tolist(), points.classes.tolist(), strict=True), points.rows, strict=True))
    )


ROWS = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=1, max_size=40)


@given(st.lists(ROWS, min_size=1, max_size=6))
def test_few_numbers_are_counted_exactly_whatever_the_batches(batches):
    seen = Distribution(most_exact=9)
    for rows in batches:
        seen.add(points_of(*zip(*rows, strict=True)))
    everything = [row for rows in batches for row in rows]
    assert seen.exact
    assert as_counter(seen.points()) == Counter(everything)
    assert seen.points().values.tolist() == sorted(seen.points().values)


@given(ROWS, st.data())
def test_weights_are_added_up(rows, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    found = points_of(*zip(*rows, strict=True), np.array(weights, dtype=np.float64))
    expected = Counter()
    for row, weight in zip(rows, weights, strict=True):
        expected[row] += weight
    assert (
        dict(zip(zip(found.values.tolist(), found.classes.tolist(), strict=True), found.weights, strict=True))
        == expected
    )


RNG = np.random.default_rng(0)
N = 6000
SHAPES = {
    "normal": RNG.normal(size=N),
    "ascending": np.sort(RNG.normal(size=N)),
    "descending": -np.sort(RNG.normal(size=N)),
    "one number is half of them": np.where(RNG.random(N) < 0.5, 0.25, RNG.random(N)),
    "a cluster among many sizes": np.where(
        RNG.random(N) < 0.5, 1 + 1e-9 * RNG.random(N), 10 ** (600 * RNG.random(N) - 300)
    ),
    "a point after much else": np.concatenate([RNG.random(N // 2), 0.5 + 1e-6 * RNG.random(N - N // 2)]),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_are_too_low_by_no_more_than_is_promised(shape, weighted):
    values, classes = SHAPES[shape], RNG.integers(0, 3, N)
    weights = RNG.random(N) + 0.5 if weighted else None
    size = np.ones(N) if weights is None else weights
    kept, leaf = 32, 100
    seen = Distribution(kept, leaf, most_exact=200)
    for rows in np.array_split(np.arange(N), 40):
        seen.add(points_of(values[rows], classes[rows], None if weights is None else weights[rows]))
    found = seen.points()
    assert not seen.exact
    assert len(found.values) < 3 * 6 * kept * math.log2(N / leaf)
    own = found.rows if weights is None else found.weights
    order = np.argsort(values)
    bound = size.sum() / kept * (1 + math.ceil(math.log2(N / leaf)))
    asked = values[order][::7]
    true_ranks = np.cumsum(size[order])[np.searchsorted(values[order], asked, side="right") - 1]
    short = true_ranks - np.array([own[found.values <= x].sum() for x in asked])
    assert short.min() > -1e-6
    assert short.max() <= bound
    # The promise is about what happened: where nothing is moved it would be idle.
    assert short.max() > 0
    for c in range(3):
        of_class = classes == c
        assert own[found.classes == c].sum() == pytest.approx(size[of_class].sum())


def test_the_least_and_the_greatest_number_are_known():
    seen = Distribution(8, 50, most_exact=60)
    for rows in np.array_split(SHAPES["normal"], 30):
        seen.add(points_of(rows, np.zeros(len(rows))))
    found = seen.points().values
    assert (found.min(), found.max()) == (SHAPES["normal"].min(), SHAPES["normal"].max())


def test_a_number_that_many_rows_have_is_not_moved():
    values = SHAPES["one number is half of them"]
    seen = Distribution(8, 50, most_exact=60)
    for rows in np.array_split(values, 30):
        seen.add(points_of(rows, np.zeros(len(rows))))
    found = seen.points()
    assert found.rows[found.values == 0.25].sum() >= (values == 0.25).sum()


def test_classes_that_are_mixed_stay_mixed():
    """With points of their own for each class, nearly every point would be of one class, and MDL would cut there."""
    seen = Distribution(32, 100, most_exact=200)
    for rows in np.array_split(SHAPES["normal"], 40):
        seen.add(points_of(rows, RNG.integers(0, 2, len(rows))))
    found = seen.points()
    heavy = [own for x in np.unique(found.values) if (own := found.rows[found.values == x]).sum() > 20]
    assert sum(len(own) == 2 for own in heavy) > 0.9 * len(heavy)


@given(st.integers(0, 3), st.integers(1, 5))
def test_merging_is_as_good_as_one_after_the_other(seed, n_parts):
    rng = np.random.default_rng(seed)
    parts = []
    for n in rng.integers(0, 900, n_parts):
        part = Distribution(32, 100, most_exact=200)
        for rows in np.array_split(rng.normal(size=n), 5):
            part.add(points_of(rows, np.zeros(len(rows))))
        parts.append((n, part))
    whole = Distribution(32, 100, most_exact=200)
    for _, part in parts:
        whole.merge(part)
    assert whole.points().rows.sum() == sum(n for n, _ in parts)
    assert whole.points().values.tolist() == sorted(whole.points().values.tolist())


def test_whole_numbers_stay_whole_while_they_are_exact():
    seen = Distribution()
    big = 2**60
    seen.add(Points.of(np.array([big, big + 1]), np.zeros(2, dtype=np.int64)))
    assert seen.points().values.tolist() == [big, big + 1]
