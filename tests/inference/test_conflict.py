"""Jensen's measure of conflict, against enumeration."""

import numpy as np
import pytest
from asked_networks import asked_network, weighted
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import seeds

from bnplug import LogTables
from bnplug.inference import Marginalizer
from bnplug.inference.conflict import conflict


def enumerated(tables, evidence):
    nothing = weighted(tables, {}).sum()
    together = weighted(tables, evidence).sum() / nothing
    apart = [weighted(tables, {name: finding}).sum() / nothing for name, finding in evidence.items()]
    return np.log(apart).sum() - np.log(together)


@pytest.mark.parametrize("block", range(4))
def test_it_is_that_of_enumeration(block):
    for seed in seeds(50):
        tables, evidence = asked_network([block, seed])
        found = conflict(Marginalizer(tables, tables.target), evidence)
        assert found == pytest.approx(enumerated(tables, evidence), abs=1e-10), (block, seed)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_the_order_of_findings_does_not_matter(seed, data):
    tables, evidence = asked_network(seed)
    other = {name: evidence[name] for name in data.draw(st.permutations(list(evidence)))}
    marginals = Marginalizer(tables, tables.target)
    assert conflict(marginals, other) == pytest.approx(conflict(marginals, evidence), abs=1e-10)


def test_one_finding_or_none_has_no_conflict():
    tables, _ = asked_network(1)
    assert conflict(Marginalizer(tables, tables.target), {}) == 0
    assert conflict(Marginalizer(tables, tables.target), {tables.names[0]: 0}) == 0


def test_the_impossible_is_an_error():
    with np.errstate(divide="ignore"):
        tables = LogTables(
            ["c", "x"],
            {"c": [0, 1], "x": [0, 1]},
            {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[1.0, 0.2], [0.0, 0.8]]))},
        )
    with pytest.raises(ValueError, match="is impossible: it has probability 0"):
        conflict(Marginalizer(tables, "c"), {"c": 0, "x": 1})
