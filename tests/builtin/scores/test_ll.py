"""The log-likelihood of the maximum-likelihood parameters, by hand."""

from __future__ import annotations

from math import log

import pandas as pd
import pytest

from bnplug import Structure, Table, score_function


@pytest.fixture
def table():
    return Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": list("nnyyyy")}), "c")


def test_hand_computed(table):
    of_class = 2 * log(2 / 6) + 4 * log(4 / 6)
    score = score_function("ll")
    assert score.score(table, Structure(table.names, [[], []])) == pytest.approx(of_class + 6 * log(1 / 2))
    # Under n, x is 0; under y it is 0 in one of four rows.
    assert score.score(table, Structure(table.names, [[1], []])) == pytest.approx(
        of_class + log(1 / 4) + 3 * log(3 / 4)
    )


def test_equivalent_graphs_are_equally_likely(table):
    score = score_function("ll")
    assert score.score(table, Structure(table.names, [[1], []])) == pytest.approx(
        score.score(table, Structure(table.names, [[], [0]]))
    )
