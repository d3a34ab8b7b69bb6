import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from strategies import tables

from bnplug.counts import information
from bnplug.counts.information import by_falling, class_information, first_largest, pairwise_information
from bnplug.data.table import Table


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


def test_a_process_backend_asked_for_from_outside_changes_nothing():
    from joblib import parallel_config

    rng = np.random.default_rng(3)
    table = Table.from_frame(pd.DataFrame(rng.integers(0, 4, (500, 5)), columns=list("abdec")), "c")
    expected = pairwise_information(table)
    with parallel_config(backend="loky", n_jobs=2):
        assert (pairwise_information(table) == expected).all()
