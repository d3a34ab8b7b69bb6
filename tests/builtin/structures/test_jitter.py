"""Structures that differ a little: the noise is that of the seed, and none without it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnplug import Table, structure_learner
from bnplug.builtin.structures.augmented import _jittered


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, 300)
    frame = pd.DataFrame({f"x{i}": np.where(rng.random(300) < 0.6, hidden, rng.integers(0, 3, 300)) for i in range(8)})
    return Table.from_frame(frame.assign(c=hidden % 2), "c")


@pytest.mark.parametrize("name", ["tan", "kdb"])
def test_structures_differ_by_the_seed_alone(table, name):
    plain = structure_learner(name).learn(table).parents
    assert structure_learner(name, jitter=0.0, random_state=3).learn(table).parents == plain
    found = [structure_learner(name, jitter=0.5, random_state=s).learn(table).parents for s in (0, 0, 1, 2, 3)]
    assert found[0] == found[1]
    assert len({str(parents) for parents in found}) > 1
    assert all(sum(map(len, parents)) == sum(map(len, plain)) for parents in found)
    with pytest.raises(ValueError, match="jitter=-1"):
        structure_learner(name, jitter=-1.0).learn(table)


def test_each_measure_has_its_own_normal_factor():
    size = 200
    between, to_class = _jittered(np.ones((size, size)), np.ones(size), SimpleNamespace(jitter=0.3, random_state=0))
    logs = np.log(between[np.tril_indices(size, -1)])
    assert (between == between.T).all()
    assert (logs.mean(), logs.std()) == pytest.approx((0.0, 0.3), abs=0.01)
    assert (np.log(to_class).mean(), np.log(to_class).std()) == pytest.approx((0.0, 0.3), abs=0.06)
