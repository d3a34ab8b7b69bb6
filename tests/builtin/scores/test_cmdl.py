"""`cll` less half of log M for each free parameter of the whole graph."""

from __future__ import annotations

from math import log

import pandas as pd
import pytest

from bnplug import Structure, Table, score_function


@pytest.mark.parametrize(
    ("parents", "dimension"), [([[], [], []], 1 + 2 + 1), ([[2], [0, 2], []], 2 + 8 + 1), ([[], [0], []], 1 + 4 + 1)]
)
def test_every_family_pays_also_one_that_cannot_change_the_likelihood(parents, dimension):
    frame = pd.DataFrame({"x": [0, 1, 0, 1, 1, 1], "y": [0, 1, 2, 0, 1, 2], "c": list("nnyyyy")})
    table = Table.from_frame(frame, "c")
    dag = Structure(table.names, parents)
    difference = score_function("cll").score(table, dag) - score_function("cmdl").score(table, dag)
    assert difference == pytest.approx(0.5 * log(6) * dimension)
