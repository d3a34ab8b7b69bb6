"""What is wrong with columns is told before anything is made of them, and what is unseen in new ones."""

import numpy as np
import pandas as pd
import pytest

from bnplug import UnseenValueWarning
from bnplug.data._table_checks import check_frame, check_states, report_unseen
from bnplug.data.coding import Coded


def test_a_frame_needs_its_target_rows_features_and_finite_numbers():
    frame = pd.DataFrame({"x": [1.0, np.inf], "c": [0, 1]})
    with pytest.raises(ValueError, match="'d' is not a column; there are"):
        check_frame(frame, "d")
    with pytest.raises(ValueError, match="no rows"):
        check_frame(frame[:0], "c")
    with pytest.raises(ValueError, match="no feature: 'c'"):
        check_frame(frame[["c"]], "c")
    with pytest.raises(ValueError, match="'x'"):
        check_frame(frame, "c")
    check_frame(frame[:1], "c")


def test_columns_need_values_and_rows_a_class():
    with pytest.raises(ValueError, match=r"\['x'\] have no value"):
        check_states({"x": (), "c": (1,)}, np.array([0]), "c")
    with pytest.raises(ValueError, match="'c' is missing in 2 row"):
        check_states({"x": (0,), "c": (1,)}, np.array([-1, 0, -1]), "c")
    check_states({"x": (0,), "c": (1,)}, np.array([0]), "c")


@pytest.mark.parametrize("column", [pd.Series([7, 8, 7]), Coded(np.array([0, 1, 0]), (7, 8))])
def test_unseen_values_are_named(column):
    codes = np.array([-2, 0, -2])
    with pytest.warns(UnseenValueWarning, match="column 'x': 7 not seen in training; treated as missing"):
        report_unseen("x", column, codes, "missing")
    with pytest.raises(ValueError, match="column 'x': 7 not seen in training; unseen=\"missing\""):
        report_unseen("x", column, codes, "error")
    report_unseen("x", column, np.array([0, 1, 0]), "error")
