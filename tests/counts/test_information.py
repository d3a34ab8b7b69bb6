import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import tables

from bnplug.counts import information
from bnplug.counts._sparse import SparseTables
from bnplug.counts.information import (
    by_falling,
    chance_information,
    class_information,
    first_largest,
    pairwise_information,
)
from bnplug.table.table import Table


def slow_information(table, a, b, given_class=True):
    """I(a; b | class) or I(a; b) by the definition, over rows where both are known."""
    c = table.target_index
    joint = {}
    for m in range(table.n_rows):
        x, y, z = table.codes[a, m], table.codes[b, m], table.codes[c, m] if given_class else 0
        if table.missing not in (x, y):
            weight = 1.0 if table.weights is None else table.weights[m]
            joint[x, y, z] = joint.get((x, y, z), 0.0) + weight
    total = sum(joint.values())

    def marginal(*axes):
        sums = {}
        for key, n in joint.items():
            part = tuple(key[i] for i in axes)
            sums[part] = sums.get(part, 0.0) + n
        return sums

    of_xz, of_yz, of_z = marginal(0, 2), marginal(1, 2), marginal(2)
    return sum(n / total * np.log(n * of_z[z,] / (of_xz[x, z] * of_yz[y, z])) for (x, y, z), n in joint.items())


@given(tables(missing=True, weighted=True))
def test_pairwise_information_equals_the_definition(table):
    values = pairwise_information(table)
    for a in table.features:
        for b in table.features:
            expected = 0.0 if a == b else slow_information(table, a, b)
            assert values[a, b] == pytest.approx(expected, abs=1e-10)
    assert not values[table.target_index].any()


@given(tables(missing=True))
def test_class_information_equals_the_definition(table):
    values = class_information(table)
    for v in table.features:
        expected = slow_information(table, v, table.target_index, given_class=False)
        assert values[v] == pytest.approx(expected, abs=1e-10)


def test_large_tables_are_counted_by_what_occurs(monkeypatch):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 5, (200, 4)), columns=["a", "b", "d", "c"]).mask(rng.random((200, 4)) < 0.1)
    table = Table.from_frame(frame.assign(c=rng.integers(0, 3, 200)), "c")
    dense = pairwise_information(table)
    monkeypatch.setattr(information, "_DENSE_CELLS", 40)
    assert np.allclose(pairwise_information(table), dense, atol=1e-12)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(0, 4, (10_000, 9)), columns=list("abdefghic"))
    table = Table.from_frame(frame, "c", rng.random(10_000) + 0.5)
    assert (pairwise_information(table, n_jobs=1) == pairwise_information(table, n_jobs=2)).all()


def test_ties_go_to_the_lowest_feature():
    values = np.array([0.5, 0.3, 0.5 + 1e-12, 0.7])
    assert first_largest(values, [2, 0]) == 0
    assert by_falling(values, [0, 1, 2, 3]) == [3, 0, 2, 1]
    assert by_falling(values, [2, 1, 0], most=2) == [0, 2]
    assert by_falling(values, []) == []
    assert by_falling(values, [1], most=0) == []


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(0, 14), st.randoms())
def test_an_order_takes_the_first_largest_of_those_left(steps, most, random):
    # Steps of half a tie: chains of values that are tied with the next, and not with the one after.
    values = np.array(steps) * information.INFORMATION_TIE / 2
    left = random.sample(range(len(values)), random.randint(1, len(values)))
    candidates, expected = list(left), []
    while left:
        largest = max(values[v] for v in left)
        expected.append(min(v for v in left if values[v] >= largest - information.INFORMATION_TIE))
        left.remove(expected[-1])
    assert first_largest(values, candidates) == expected[0]
    assert by_falling(values, candidates) == expected
    assert by_falling(values, candidates, most) == expected[:most]


def test_a_process_backend_asked_for_from_outside_changes_nothing():
    from joblib import parallel_config

    rng = np.random.default_rng(3)
    table = Table.from_frame(pd.DataFrame(rng.integers(0, 4, (500, 5)), columns=list("abdec")), "c")
    expected = pairwise_information(table)
    with parallel_config(backend="loky", n_jobs=2):
        assert (pairwise_information(table) == expected).all()


@given(tables(missing=True, weighted=True), st.sampled_from(["expected", 0.9]))
def test_a_correction_subtracts_chance_and_counts_the_rows_that_know(table, correction):
    c, n_classes = table.target_index, len(table.states[table.target])
    plain, found = pairwise_information(table), pairwise_information(table, correction=correction)
    to_class = class_information(table, correction)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    known = table.codes != table.missing

    def occurring(v, rows):
        return len(set(table.codes[v, rows & known[v]].tolist()))

    def corrected(information, degrees, rows, mean=0.0):
        chance = max(degrees, 0) if correction == "expected" or degrees <= 0 else stats.chi2.ppf(0.9, degrees)
        return max(rows * information - chance / 2 * max(mean / max(degrees, 1), 1), 0) / weights.sum()

    everywhere = np.ones(table.n_rows, dtype=bool)
    sparse = SparseTables(table.counts([(v, c) for v in table.features]), table.counts([(c,)])[0])
    for a in table.features:
        degrees = (occurring(a, everywhere) - 1) * (len(set(table.codes[c, known[a]].tolist())) - 1)
        expected = corrected(class_information(table)[a], degrees, weights[known[a]].sum())
        assert to_class[a] == pytest.approx(expected, abs=1e-10)
        for b in (b for b in table.features if b != a):
            of_class = [table.codes[c] == k for k in range(n_classes)]
            degrees = sum(max(occurring(a, own) - 1, 0) * max(occurring(b, own) - 1, 0) for own in of_class)
            later, earlier = sorted(map(table.features.index, (a, b)), reverse=True)
            mean = sparse.mean(later)[earlier]
            expected = corrected(plain[a, b], degrees, weights[known[a] & known[b]].sum(), mean)
            assert found[a, b] == pytest.approx(expected, abs=1e-10)
    assert (np.diag(found) == 0).all()
    assert (found[c] == 0).all()


def test_known_rows_are_counted_in_parts(monkeypatch):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 3, (100, 4)), columns=list("abde")).mask(rng.random((100, 4)) < 0.3)
    table = Table.from_frame(frame.assign(c=rng.integers(0, 2, 100)), "c", rng.random(100))
    whole = pairwise_information(table, correction="expected")
    monkeypatch.setattr(information, "_ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(pairwise_information(table, correction="expected"), whole, atol=1e-12)


def test_chance_is_what_permuted_columns_reach():
    """If one feature is shuffled within classes, the measure stays below the quantile in 95 of 100 cases."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 6, 3000), "b": rng.integers(0, 4, 3000), "c": rng.integers(0, 3, 3000)})
    degrees, rows = np.array([3 * 5 * 3.0]), np.array([3000.0])
    reached = []
    for _ in range(400):
        frame["a"] = frame.groupby("c")["a"].transform(rng.permutation)
        reached.append(pairwise_information(Table.from_frame(frame, "c"))[0, 1])
    assert np.mean(np.array(reached) < chance_information(degrees, rows, 0.95)[0]) == pytest.approx(0.95, abs=0.03)
    assert np.mean(reached) == pytest.approx(chance_information(degrees, rows, "expected")[0], rel=0.03)


def test_the_mean_of_sparse_tables_sums_deviances_of_poisson_variables():
    rng = np.random.default_rng(1)
    counts = [rng.poisson(4.0, (5, 2)).astype(float), rng.poisson(8.0, (3, 2)).astype(float)]
    counts[1][2, 0] = 0.0  # a state that does not occur
    of_class = np.array([30.0, 26.0])  # some cells are missing

    def deviance(expected):
        x = np.arange(200)
        terms = 2 * (x * np.log(np.maximum(x, 1) / expected) - x + expected)
        return (stats.poisson.pmf(x, expected) * terms).sum()

    mean = 0.0
    for c in range(2):
        of_a, of_b = ([*column[column > 0], -column.sum()] for column in (counts[0][:, c], counts[1][:, c]))
        mean += sum(np.sign(a * b) * deviance(abs(a * b) / of_class[c]) for a in of_a for b in of_b)
    assert SparseTables(counts, of_class).mean(1)[0] == pytest.approx(mean, rel=1e-3)
    assert SparseTables([100 * table for table in counts], 100 * of_class).mean(1)[0] == 0.0


def test_permuted_columns_with_many_states_seldom_reach_the_correction():
    """Of 300 shuffled columns of 60 codes and of 11 bins, 40% exceed the quantile 0.999 without the factor."""
    rng = np.random.default_rng(2)
    codes = np.tile(np.arange(60), 50)
    bins = pd.DataFrame({f"x{i}": rng.integers(0, 11, 3000) for i in range(300)})
    table = Table.from_frame(bins.assign(codes=codes, c=rng.integers(0, 3, 3000)), "c")
    between = pairwise_information(table, correction=0.999)[table.index("codes"), table.features[:300]]
    assert np.count_nonzero(between) <= 3
    plain = pairwise_information(table)[table.index("codes"), table.features[:300]]
    below = chance_information(np.array([59 * 10 * 3.0]), np.array([3000.0]), 0.999)
    assert np.count_nonzero(plain > below) > 60


@pytest.mark.parametrize("correction", [0, 1.0, 1.5, "high", True, -0.5])
def test_what_is_not_a_correction_is_refused(correction):
    table = Table.from_frame(pd.DataFrame({"a": [0, 1], "b": [0, 1], "c": [0, 1]}), "c")
    for function in (pairwise_information, class_information):
        with pytest.raises(ValueError, match=r"correction=.*'expected' or a probability above 0 and below 1"):
            function(table, correction=correction)
