"""Many rows at once, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import asked_rows, marginal, weighted
from strategies import seeds

from bnplug.inference import predicting
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.predicting import distinct, impossible_rows, query_rows


def check(tables, variables, known, codes):
    answers = query_rows(tables, variables, lambda name: Marginalizer(tables, name), codes)
    for row, own in zip(answers, known, strict=True):
        joint = weighted(tables, {name: code for name, code in own.items() if name not in variables})
        if joint.sum() == 0:
            assert np.isnan(row).all()
        else:
            np.testing.assert_allclose(row, marginal(tables, joint, variables).ravel(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("block", range(4))
def test_answers_are_those_of_enumeration(block):
    for seed in seeds(50):
        tables, known, codes = asked_rows([block, seed])
        rng = np.random.default_rng(seed)
        variables = rng.permutation(tables.names)[: rng.integers(1, 4)].tolist()
        check(tables, variables, known, codes)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_however_small_the_blocks(seed):
    tables, known, codes = asked_rows(seed, n_rows=9)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(predicting, "_BYTES", 1)
        check(tables, [tables.target, tables.names[0]][: 1 + (tables.names[0] != tables.target)], known, codes)


def test_rows_that_differ_only_in_what_is_hidden_are_one():
    codes = np.array([[0, 0, 1], [3, 4, 3]], dtype=np.uint8)
    rows, places = distinct(codes, 1)
    assert rows.tolist() == [[0, 1], [255, 255]]
    assert places.tolist() == [0, 0, 1]
    assert codes[1].tolist() == [3, 4, 3]


def test_a_family_that_never_occurs_is_found():
    tables, _, _ = asked_rows(2)
    name = next(name for name, table in tables.tables.items() if table.parents)
    parents, values = tables.tables[name]
    values[:] = 0.0
    codes = np.zeros((len(tables.names), 2), dtype=np.uint8)
    codes[tables.names.index(parents[0]), 1] = 255
    assert not impossible_rows(tables, codes).any()
    values[(0,) * values.ndim] = -np.inf
    assert impossible_rows(tables, codes).tolist() == [True, False]
