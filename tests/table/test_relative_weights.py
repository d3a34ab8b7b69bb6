"""Only the ratios of weights remain."""

import numpy as np
import pandas as pd
import pytest
from blocked import mapped

from bnplug import Table

FRAME = pd.DataFrame({"x": [*"aabba"], "c": [*"nnyyy"]})
WEIGHTS = np.array([1.0, 3.0, 2.0, 4.0, 10.0])


def test_weights_are_divided_by_their_mean():
    table = Table.from_frame(FRAME, "c", WEIGHTS)
    assert table.mean_weight == 4.0
    assert table.with_relative_weights().weights.tolist() == [0.25, 0.75, 0.5, 1.0, 2.5]


def test_weights_are_divided_by_the_mean_of_their_class():
    relative = Table.from_frame(FRAME, "c", WEIGHTS).with_relative_weights(by_class=True)
    np.testing.assert_allclose(relative.weights, [0.5, 1.5, 0.375, 0.75, 1.875], rtol=1e-7)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("factor", [3.7, 1e-5, 1 / 3])
def test_a_constant_factor_changes_no_bit_in_memory_or_in_blocks(factor, by_class, tmp_path):
    tables = [Table.from_frame(FRAME, "c", scale * WEIGHTS) for scale in (1.0, factor)]
    one, other = (table.with_relative_weights(by_class).weights for table in tables)
    assert one.tolist() == other.tolist()
    assert mapped(tables[1], tmp_path, 2).with_relative_weights(by_class).gather().weights.tolist() == one.tolist()


def test_equal_weights_are_none():
    assert Table.from_frame(FRAME, "c", np.full(5, 2.5)).with_relative_weights().weights is None
    by_class = np.array([2.0, 2.0, 7.0, 7.0, 7.0])
    assert Table.from_frame(FRAME, "c", by_class).with_relative_weights(by_class=True).weights is None
    assert Table.from_frame(FRAME, "c").with_relative_weights().weights is None
