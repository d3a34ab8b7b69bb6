import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from strategies import frames

from bnplug import UnseenValueWarning
from bnplug.table.coding import Coded
from bnplug.table.table import Table


@pytest.fixture
def mixed():
    return pd.DataFrame(
        {
            "text": ["b", "a", None, "b"],
            "ordered": pd.Categorical(["low", "high", "low", None], categories=["low", "mid", "high"]),
            "flag": [True, False, True, True],
            "number": [3, 1, 1, 3],
            "gaps": [1.0, np.nan, 2.0, 1.0],
            "class": ["no", "yes", "no", "yes"],
        }
    )


def test_states_keep_their_types_and_order(mixed):
    table = Table.from_frame(mixed, "class")
    assert table.states == {
        "text": ("a", "b"),
        "ordered": ("low", "mid", "high"),
        "flag": (False, True),
        "number": (1, 3),
        "gaps": (1.0, 2.0),
        "class": ("no", "yes"),
    }
    assert [type(state) for state in table.states["number"]] == [int, int]
    assert [type(state) for state in table.states["flag"]] == [bool, bool]


def test_codes_are_variables_by_rows_with_missing_as_the_largest_value(mixed):
    table = Table.from_frame(mixed, "class")
    assert table.codes.dtype == np.uint8
    assert table.codes.flags.c_contiguous
    assert table.missing == 255
    assert table.codes.tolist() == [
        [1, 0, 255, 1],
        [0, 2, 0, 255],
        [1, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 255, 1, 0],
        [0, 1, 0, 1],
    ]
    assert table.cards.tolist() == [2, 3, 2, 2, 2, 2]
    assert (table.target, table.target_index, table.index("flag")) == ("class", 5, 2)
    assert table.features == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("n_states", "dtype"), [(255, np.uint8), (256, np.uint16), (65535, np.uint16), (65536, np.uint32)]
)
def test_the_smallest_dtype_leaves_room_for_missing(n_states, dtype):
    frame = pd.DataFrame({"x": np.arange(n_states), "c": np.arange(n_states) % 2})
    table = Table.from_frame(frame, "c")
    assert table.codes.dtype == dtype
    assert table.codes[0].max() == n_states - 1 < table.missing


def test_polars_and_pandas_agree(mixed):
    polars = pl.DataFrame(
        {
            "text": ["b", "a", None, "b"],
            "ordered": pl.Series(["low", "high", "low", None], dtype=pl.Enum(["low", "mid", "high"])),
            "flag": mixed["flag"].tolist(),
            "number": mixed["number"].tolist(),
            "gaps": [1.0, None, 2.0, 1.0],
            "class": pl.Series(mixed["class"].tolist(), dtype=pl.Categorical),
        }
    )
    ours, theirs = Table.from_frame(mixed, "class"), Table.from_frame(polars, "class")
    assert ours.states == theirs.states
    assert (ours.codes == theirs.codes).all()


@given(frames(missing=True))
def test_encoding_the_training_frame_gives_its_codes(frame):
    table = Table.from_frame(frame, "c")
    assert (table.encode(frame) == table.codes).all()


@given(frames(missing=True))
def test_labels_and_codes_say_the_same(frame):
    table = Table.from_frame(frame, "c")
    for name, codes in zip(table.names, table.codes, strict=True):
        back = [None if code == table.missing else table.states[name][code] for code in codes]
        assert back == [None if pd.isna(value) else value for value in frame[name]]


def test_encode_matches_by_name_and_leaves_absent_columns_missing(mixed):
    table = Table.from_frame(mixed, "class")
    codes = table.encode(pd.DataFrame({"number": [1, 3], "text": ["a", pd.NA]}))
    assert codes[table.index("number")].tolist() == [0, 1]
    assert codes[table.index("text")].tolist() == [0, 255]
    assert (codes[[table.index("flag"), table.target_index]] == 255).all()


def test_numbers_match_across_types(mixed):
    table = Table.from_frame(mixed, "class")
    frame = pd.DataFrame({"number": [1.0, np.nan, 3.0], "flag": [0, 1, 1], "gaps": [2, 1, 1]})
    codes = table.encode(frame)
    assert codes[table.index("number")].tolist() == [0, 255, 1]
    assert codes[table.index("flag")].tolist() == [0, 1, 1]
    assert codes[table.index("gaps")].tolist() == [1, 0, 0]


def test_categories_in_another_order_match_by_label(mixed):
    table = Table.from_frame(mixed, "class")
    other = pd.DataFrame({"ordered": pd.Categorical(["high", "low"], categories=["high", "low"])})
    assert table.encode(other)[table.index("ordered")].tolist() == [2, 0]


def test_an_unseen_value_is_missing_with_a_warning_that_names_it(mixed):
    table = Table.from_frame(mixed, "class")
    with pytest.warns(UnseenValueWarning, match=r"'number': 7 not seen"):
        codes = table.encode(pd.DataFrame({"number": [1, 7]}))
    assert codes[table.index("number")].tolist() == [0, 255]
    with pytest.raises(ValueError, match="'text': 'z' not seen"):
        table.encode(pd.DataFrame({"text": ["z"]}), unseen="error")


def test_far_apart_whole_numbers_are_found_without_a_lookup_array():
    table = Table.from_frame(pd.DataFrame({"x": [-(10**12), 0, 10**12], "c": [0, 1, 0]}), "c")
    assert table.encode(pd.DataFrame({"x": [10**12, -(10**12)]}))[0].tolist() == [2, 0]


def test_weight_zero_is_absence(mixed):
    weighted = Table.from_frame(mixed, "class", weights=[1, 0, 2, 1])
    absent = Table.from_frame(mixed.iloc[[0, 2, 3]], "class")
    assert weighted.states == absent.states
    assert (weighted.codes == absent.codes).all()
    assert weighted.weights.tolist() == [1, 2, 1]
    assert weighted.total_weight == 4


def test_take(mixed):
    table = Table.from_frame(mixed, "class", weights=[1, 2, 3, 4])
    part = table.take([3, 0])
    assert (part.codes == table.codes[:, [3, 0]]).all()
    assert part.weights.tolist() == [4, 1]
    assert part.states == table.states
    assert (table.take(np.array([True, False, False, True])).codes == table.codes[:, [0, 3]]).all()


def test_missing_becomes_one_more_state(mixed):
    table = Table.from_frame(mixed, "class")
    codes, sizes = table.padded()
    missing = table.codes == table.missing
    assert missing.any()
    assert missing.any(axis=1).tolist() == (sizes - table.cards).astype(bool).tolist()
    assert (codes[~missing] == table.codes[~missing]).all()
    assert (codes == table.cards[:, None]).tolist() == missing.tolist()
    assert (codes < sizes[:, None]).all()
    assert not codes.flags.writeable


def test_a_complete_table_is_padded_already(mixed):
    table = Table.from_frame(mixed[["class"]].assign(x=range(len(mixed))), "class")
    codes, sizes = table.padded()
    assert codes is table.codes
    assert (sizes == table.cards).all()
    sizes[:] = 0
    assert (table.cards > 0).all()


BAD = {
    "empty": (pd.DataFrame({"x": [], "c": []}), "no rows"),
    "no feature": (pd.DataFrame({"c": [0, 1]}), "no feature"),
    "no target": (pd.DataFrame({"x": [0, 1], "y": [0, 1]}), "'c' is not a column"),
    "duplicates": (pd.DataFrame([[0, 1, 2]], columns=["x", "x", "c"]), r"duplicate column names \['x'\]"),
    "infinite": (pd.DataFrame({"x": [0, np.inf], "c": [0, 1]}), r"infinite numbers in columns \['x'\]"),
    "all missing": (pd.DataFrame({"x": [None, None], "c": [0, 1]}), r"\['x'\] have no value"),
    "class missing": (pd.DataFrame({"x": [0, 1], "c": [0, None]}), "'c' is missing in 1 row"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_frames_are_named(case):
    frame, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        Table.from_frame(frame, "c")


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1], "shape"), ([1, -1], "negative"), ([1, np.nan], "finite"), ([0, 0], "no rows")],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        Table.from_frame(pd.DataFrame({"x": [0, 1], "c": [0, 1]}), "c", weights)


@pytest.mark.parametrize(
    ("codes", "weights", "message"),
    [
        ([[9, 0], [0, 1]], None, "codes of 'a' must be below 2"),
        ([[0, 1]], None, "2 variables need one row each"),
        ([[0, 255], [0, 1]], [1.0], "weights have shape"),
    ],
)
def test_codes_that_kernels_would_stumble_over_are_refused(codes, weights, message):
    with pytest.raises(ValueError, match=message):
        Table(np.array(codes, dtype=np.uint8), ["a", "y"], {"a": [0, 1], "y": [0, 1]}, "y", weights)


def test_encode_knows_two_ways_with_unseen_values(mixed):
    with pytest.raises(ValueError, match="unseen='eror'"):
        Table.from_frame(mixed, "class").encode(mixed, unseen="eror")


def test_whole_numbers_of_polars_stay_whole_beside_missing_ones():
    frame = pl.DataFrame({"n": [1, None, 3], "big": pl.Series([2**63, None, 1], dtype=pl.UInt64), "y": ["a", "b", "a"]})
    states = Table.from_frame(frame, "y").states
    assert states["n"] == (1, 3)
    assert states["big"] == (1, 2**63)
    assert type(states["n"][0]) is int


def test_columns_that_are_no_variables_are_remembered():
    table = Table.from_coded({"x": Coded(np.array([0, 1]), (0, 1)), "c": Coded(np.array([1, 0]), ("n", "y"))}, "c")
    assert table.left_out == ()
    with_some = Table(table.codes, table.names, table.states, "c", left_out=["id"])
    assert with_some.take([0]).left_out == ("id",)


def test_a_frame_needs_its_target_rows_features_and_finite_numbers():
    frame = pd.DataFrame({"x": [1.0, np.inf], "c": [0, 1]})
    with pytest.raises(ValueError, match="'d' is not a column; the columns are"):
        Table.from_frame(frame, "d")
    with pytest.raises(ValueError, match="no rows"):
        Table.from_frame(frame[:0], "c")
    with pytest.raises(ValueError, match="no feature: 'c'"):
        Table.from_frame(frame[["c"]], "c")
    with pytest.raises(ValueError, match="'x'"):
        Table.from_frame(frame, "c")
    assert Table.from_frame(frame[:1], "c").n_rows == 1


def test_columns_need_values_and_rows_a_class():
    x, c = Coded(np.array([0, 0, 0]), (0,)), Coded(np.array([-1, 0, -1]), (1,))
    with pytest.raises(ValueError, match=r"\['x'\] have no value"):
        Table.from_coded({"x": x._replace(states=()), "c": x}, "c")
    with pytest.raises(ValueError, match="'c' is missing in 2 row"):
        Table.from_coded({"x": x, "c": c}, "c")
    assert Table.from_coded({"x": x, "c": c}, "c", missing_policy="em").n_rows == 3


def test_unseen_values_are_named():
    table = Table.empty(["x", "c"], {"x": [8, 9], "c": [0]}, "c")
    rows = pd.DataFrame({"x": [7, 8, 7]})
    with pytest.warns(UnseenValueWarning, match="column 'x': 7 not seen in training; treated as missing"):
        table.encode(rows)
    with pytest.raises(ValueError, match=r"column 'x': 7 not seen in training; the states are 8, 9$"):
        table.encode(rows, unseen="error")
    assert table.encode(rows[1:2], unseen="error")[0].tolist() == [0]
