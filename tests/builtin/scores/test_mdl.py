"""The log-likelihood less half of log M for each free parameter."""

from __future__ import annotations

from math import log

import pandas as pd
import pytest

from bnplug import Structure, Table, score_function


@pytest.mark.parametrize(("parents", "dimension"), [([[], []], 3), ([[1], []], 5), ([[], [0]], 5)])
def test_each_parameter_costs_half_a_logarithm(parents, dimension):
    frame = pd.DataFrame({"x": [0, 1, 2, 0, 1, 2], "c": list("nnyyyy")})
    for weights, total in ((None, 6), ([1, 1, 1, 2, 2, 3], 10)):
        table = Table.from_frame(frame, "c", weights=weights)
        dag = Structure(table.names, parents)
        difference = score_function("ll").score(table, dag) - score_function("mdl").score(table, dag)
        assert difference == pytest.approx(0.5 * log(total) * dimension)
