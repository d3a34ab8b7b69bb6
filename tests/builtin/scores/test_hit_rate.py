"""The share of rows whose class is predicted, by hand, and where it is the same for all gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import PredefinedSplit

from bnplug import Structure, Table
from bnplug.builtin.scores import HitRate
from bnplug.builtin.scores.hit_rate import _hit
from bnplug.scoring._gains import evaluate


def test_hand_computed():
    table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": list("nnyyyy")}), "c")
    # With x, one y looks like an n; without, all are taken for y.
    assert HitRate().score(table, Structure(table.names, [[1], []])) == pytest.approx(5 / 6)
    assert HitRate().score(table, Structure(table.names, [[], []])) == pytest.approx(4 / 6)
    # With rows 0 and 1 held out there is no n to learn from.
    held_out = HitRate(cv=PredefinedSplit([0, 0, -1, -1, -1, 1]))
    with pytest.raises(ValueError, match="same class"):
        held_out.score(table, Structure(table.names, [[1], []]))


def test_its_bounds_are_where_ties_end():
    bounds = HitRate().gain_bounds(Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c"))
    for gap in (bounds.high_gap, bounds.low_gap, 0.5, -0.5):
        L = np.array([[0.0, gap], [gap, 0.0]])
        found = evaluate(_hit, L, np.array([1, 0]), np.empty(0))
        assert found.tolist() == [float(gap > 0)] * 2
