"""The logarithm of the posterior of the classes, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pandas as pd
import pytest

from bnplug import Structure, Table
from bnplug.builtin.scores import ConditionalLogLikelihood
from bnplug.builtin.scores.cll import _log_posterior_of_class
from bnplug.scoring._gains import evaluate


def test_hand_computed():
    table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": list("nnyyyy")}), "c")
    score = ConditionalLogLikelihood(alpha=1.0)
    # One virtual row: P(y) = 4.5 / 7.
    assert score.score(table, Structure(table.names, [[], []])) == pytest.approx(2 * log(2.5 / 7) + 4 * log(4.5 / 7))


def test_far_apart_log_joints_do_not_overflow():
    L = np.array([[-1e5, -1e5 + log(3)], [0.0, -1e5], [-1e5, 0.0]])
    found = evaluate(_log_posterior_of_class, L, np.array([1, 0, 0]), np.empty(0))
    assert found == pytest.approx([log(3 / 4), 0.0, -1e5])
