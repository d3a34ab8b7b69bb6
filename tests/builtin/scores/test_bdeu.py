"""BDeu scores equivalent graphs alike."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow
from sklearn.base import clone

from bnplug.builtin.scores import K2, BDeu


def test_bdeu_scores_equivalent_graphs_alike_and_k2_does_not():
    table = slow.random_table(np.random.default_rng(1), 30, (3, 2), 1)
    forwards, backwards = [[1], []], [[], [0]]
    assert BDeu().evaluator(table).start(forwards) == pytest.approx(BDeu().evaluator(table).start(backwards))
    assert K2().evaluator(table).start(forwards) != pytest.approx(K2().evaluator(table).start(backwards))


def test_equivalent_sample_size_is_checked_and_is_a_parameter():
    table = slow.random_table(np.random.default_rng(4), 20, (3, 2), 1)
    assert clone(BDeu(equivalent_sample_size=3)).get_params() == {"equivalent_sample_size": 3}
    with pytest.raises(ValueError, match="equivalent_sample_size=0"):
        BDeu(equivalent_sample_size=0).evaluator(table).start([[], []])
