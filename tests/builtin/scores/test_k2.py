"""The marginal likelihood under uniform priors, by hand."""

from __future__ import annotations

from math import log

import pandas as pd
import pytest

from bnplug import Structure, Table, score_function


def test_hand_computed():
    table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": list("nnyyyy")}), "c")
    # 2! 4! / 7! for the class; 3! 3! / 7! for x alone; 2! 0! / 3! and 1! 3! / 5! for x under n and y.
    of_class = log(2 * 24 / 5040)
    score = score_function("k2")
    assert score.score(table, Structure(table.names, [[], []])) == pytest.approx(of_class + log(36 / 5040))
    assert score.score(table, Structure(table.names, [[1], []])) == pytest.approx(of_class + log(2 / 6) + log(6 / 120))
