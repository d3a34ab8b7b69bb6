"""The marginal likelihood of counts is the product of what each row is predicted with."""

from __future__ import annotations

import numpy as np
import pytest

from bnplug.builtin.scores._marginal import log_marginal


@pytest.mark.parametrize("cell", [1.0, 0.5, 2.5])
def test_it_is_a_product_of_predictions(cell):
    rng = np.random.default_rng(0)
    states, columns = rng.integers(0, 3, 30), rng.integers(0, 4, 30)
    seen, total = np.zeros((3, 4)), 0.0
    for k, j in zip(states, columns, strict=True):
        total += np.log((seen[k, j] + cell) / (seen[:, j].sum() + 3 * cell))
        seen[k, j] += 1
    assert log_marginal(seen, cell, 3 * cell) == pytest.approx(total)


def test_configurations_that_do_not_occur_add_nothing():
    counts = np.array([[2.0, 0.0, 1.0], [3.0, 0.0, 4.0]])
    assert log_marginal(counts, 1.0, 2.0) == pytest.approx(log_marginal(counts[:, [0, 2]], 1.0, 2.0))
