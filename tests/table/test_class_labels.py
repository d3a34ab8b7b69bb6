"""Labels of every kind are refused by name, or come back from files with their values and their types."""

from __future__ import annotations

import datetime
import enum
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, Table
from bnplug.io.network_files import format_network, formats
from bnplug.table.class_labels import _among_classes, class_labels
from bnplug.table.coding import as_array, code_column, match_column, plain_label

ROWS = [0, 1, 1, 0, 1, 0, 0, 1]
X = pd.DataFrame({"x": ROWS})


class Colour(str, enum.Enum):  # noqa: UP042 - unlike a StrEnum, its str() is not its value
    RED = "red"
    GREEN = "green"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


def objects(*labels):
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def assert_comes_back(model, rows, folder):
    """Saved and loaded, the model predicts the same, in the same type; through exchange files its states stay."""
    predicted = model.predict(rows)
    model.save(folder / "model")
    loaded = bnplug.load(folder / "model")
    again = loaded.predict(rows)
    assert (again.dtype, repr(again.tolist())) == (predicted.dtype, repr(predicted.tolist()))
    assert (loaded.predict_proba(rows) == model.predict_proba(rows)).all()
    assert repr(loaded.tables_.states) == repr(model.tables_.states)
    for suffix in ("bif", "xmlbif"):
        getattr(model, f"to_{suffix}")(folder / "file")
        read = getattr(bnplug, f"read_{suffix}")(folder / "file")
        assert repr(read.tables_.states) == repr(model.tables_.states)
        assert read.classes_.tolist() == model.classes_.tolist()
        assert [repr(label) for label in read.predict(rows).tolist()] == [repr(label) for label in predicted.tolist()]


CLASSES = {
    "truth values": np.array([False, True]),
    "small numbers": np.array([3, 4], dtype=np.int8),
    "the largest numbers": np.array([-(2**63), 2**63 - 1]),
    "above 2**63 and below": np.array([5, 2**63 + 1], dtype=np.uint64),
    "2**63 and below": np.array([0, 2**63], dtype=np.uint64),
    "above 2**63": np.array([2**63 + 1, 2**64 - 1], dtype=np.uint64),
    "another byte order": np.array([1, 2], dtype=">i4"),
    "half floats": np.array([1, 2], dtype=np.float16),
    "floats": np.array([-0.0, 2.0**60], dtype=np.float32),
    "text": np.array(["no", "yes"]),
    "text of objects": objects("1", "True"),
    "text that ends in NUL": objects("a", "a\0"),
    "lone surrogates": objects("\ud800", "b"),
    "text of numpy": np.array(["no", "yes"], dtype=np.dtypes.StringDType()),
    "text of pandas": pd.array(["no", "yes"], dtype="string"),
    "numbers that may be missing": pd.array([2**53, 2**53 + 1], dtype="Int64"),
    "truth values that may be missing": pd.array([True, False], dtype="boolean"),
    "categories": pd.Categorical(["b", "a"], categories=["b", "a"]),
}


@pytest.mark.parametrize("labels", CLASSES.values(), ids=CLASSES)
def test_classes_come_back(labels, tmp_path):
    model = BayesianNetworkClassifier("nb").fit(X, labels[ROWS])
    assert model.predict(X).tolist() == labels[ROWS].tolist()
    assert_comes_back(model, X, tmp_path)


def test_numbers_that_may_be_missing_stay_numbers():
    y = pd.Series([2**53, 2**53 + 1], dtype="Int64")[ROWS]
    model = BayesianNetworkClassifier("nb").fit(X, y.reset_index(drop=True))
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert model.classes_.dtype == np.int64


def test_an_enumeration_of_texts_is_its_values(tmp_path):
    model = BayesianNetworkClassifier("nb").fit(X, objects(Colour.RED, Colour.GREEN)[ROWS])
    assert [(type(label), label) for label in model.classes_] == [(str, "green"), (str, "red")]
    assert_comes_back(model, X, tmp_path)


REFUSED = {
    "datetime64": np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]"),
    "datetime64 of nanoseconds": np.array(["2026-01-01", "2026-01-02"], dtype="M8[ns]"),
    "timedelta64": np.array([1, 2], dtype="m8[s]"),
    "longdouble": np.array([1, 2], dtype=np.longdouble),
    "bytes": np.array([b"a", b"b"]),
    "records": np.array([(1,), (2,)], dtype=[("a", int)]),
    "bytes objects": objects(b"a", b"b"),
    "Timestamp": objects(pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02")),
    "Period": objects(pd.Period("2026-01"), pd.Period("2026-02")),
    "date": objects(datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)),
    "Interval": pd.cut(pd.Series([1, 5]), [0, 2, 6]).array,
    "Decimal": objects(Decimal("1.5"), Decimal("2.5")),
    "Fraction": objects(Fraction(1, 2), Fraction(1, 3)),
    "mixed types": objects(1, "a"),
    "numbers as objects": objects(1, 2),
    "huge numbers": objects(2**70, 1),
    "IntEnum": objects(Number.ONE, Number.TWO),
    "tuples": objects((1, 2), (3, 4)),
}


@pytest.mark.parametrize("labels", REFUSED.values(), ids=REFUSED)
def test_classes_that_would_not_come_back_are_refused(labels):
    y = pd.Series(labels[ROWS], name="play") if np.ndim(labels) == 1 and labels.dtype.names is None else labels[ROWS]
    with pytest.raises(ValueError, match=r"type: y( \('play'\))? has labels of type.*; class labels are text, or"):
        BayesianNetworkClassifier("nb").fit(X, y)
    with pytest.raises(ValueError, match="y has labels of type"):
        BayesianNetworkClassifier("nb").fit(X, labels[ROWS])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a\0", "a"], "end in a NUL character"),
        ([1, "a"], r"types \['int', 'str'\]"),
        ([True, "True"], r"types \['bool', 'str'\]"),
        (["a", np.nan], "Input y contains NaN"),
        (["a", None], "Input y contains NaN"),
        (["a", pd.NA], "Input y contains NaN"),
        ([2**70, 1], r"types \['int'\]"),
    ],
    ids=str,
)
def test_a_list_of_which_numpy_would_change_a_label_is_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        BayesianNetworkClassifier("nb").fit(X, [labels[i] for i in ROWS])


def test_a_pair_of_surrogates_is_refused_when_saved(tmp_path):
    y = pd.Series(objects("\ud83d\ude00", "\U0001f600")[ROWS], name="face", dtype=object)
    model = BayesianNetworkClassifier("nb").fit(X, y)
    with pytest.raises(ValueError, match=r"variable 'face': the label .* is a pair of surrogates"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


FEATURES = {
    "text that ends in NUL": objects("a", "a\0"),
    "lone surrogates": objects("\ud800", "b"),
    "bytes": objects(b"a", b"b"),
    "intervals": pd.cut(pd.Series([1, 5]), [0, 2, 6]).array,
    "Decimal": objects(Decimal("1.50"), "a"),
    "mixed types": objects(1, "1"),
    "truth values and text": objects(True, "True"),
    "enumerations": objects(Number.ONE, "1"),
    "enumerations of texts": objects(Colour.RED, Colour.GREEN),
    "neighbours above 2**63": np.array([2**63 + 1, 2**63 + 3], dtype=np.uint64),
    "longdouble": np.array([0.5, 1.5], dtype=np.longdouble),
    "longdouble of more digits": np.array([1, 2], dtype=np.longdouble) / 3,
    "tuples": objects((1, 2), (3, 4)),
}


@pytest.mark.filterwarnings("ignore::bnplug.AmbiguousValueWarning")
@pytest.mark.parametrize("labels", FEATURES.values(), ids=FEATURES)
def test_states_of_features_come_back(labels, tmp_path):
    dtype = object if labels.dtype == object else None
    rows = pd.DataFrame({"f": pd.Series(labels[ROWS], dtype=dtype)})
    model = BayesianNetworkClassifier("nb", discretizer="none").fit(rows, ROWS)
    assert model.predict(rows).tolist() == ROWS
    assert all(type(label) in (str, int, float, bool) for label in model.tables_.states["f"])
    assert_comes_back(model, rows, tmp_path)


@pytest.mark.parametrize(
    "labels", [objects(b"a", "b'a'"), objects(Fraction(1, 2), "1/2"), objects((1, 2), "(1, 2)")], ids=str
)
def test_values_with_the_same_text_are_refused(labels):
    message = "column 'f' has two values that both have the text"
    for column in (pd.Series(labels[ROWS], dtype=object), pd.Series(pd.Categorical(labels[ROWS], categories=labels))):
        with pytest.raises(ValueError, match=message):
            BayesianNetworkClassifier("nb").fit(pd.DataFrame({"f": column}), ROWS)
        with pytest.raises(ValueError, match=message):
            Table.from_frame(pd.DataFrame({"f": column, "c": ROWS}), "c")


def test_points_in_time_are_states_by_their_text():
    column = pd.Series(np.array(["2026-01-02", "2026-01-01"], dtype="M8[ns]"))
    codes, states = code_column(column)
    assert states == tuple(str(value) for value in sorted(column.array))
    assert codes.tolist() == match_column(column, states).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.bool_(True), True),
        (np.uint64(2**63 + 1), 2**63 + 1),
        (np.float16(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.str_("a"), "a"),
        (Colour.RED, "red"),
        (Number.TWO, 2),
        (np.datetime64(1, "ns"), None),
        (np.timedelta64(1, "ns"), None),
        (np.complex128(1), None),
        (np.bytes_(b"a"), None),
        (b"a", None),
        (Decimal(1), None),
        (None, None),
    ],
    ids=repr,
)
def test_plain_labels_have_the_same_worth(value, expected):
    plain = plain_label(value)
    assert (type(plain), plain) == (type(expected), expected)


@pytest.mark.parametrize(
    "labels", [[1, 2**63], [0, 2**64 - 1], [-1, 2**63], [2**64, 1], ["a\0", "a"], ["a", 1], [True]]
)
def test_arrays_give_labels_back(labels):
    assert repr(as_array(labels).tolist()) == repr(labels)


@pytest.mark.parametrize("label", [np.datetime64(1, "ns"), np.timedelta64(1), b"a", Decimal(1), (1, 2)], ids=repr)
def test_states_that_are_no_labels_are_refused_by_name(label, tmp_path):
    tables = LogTables(["c"], {"c": [label, "b"]}, {"c": ((), np.log([0.5, 0.5]))}, target="c")
    for kind in [known.name for known in formats("read")]:
        with pytest.raises(TypeError, match=r"variable 'c': state label .* not text, number or truth value"):
            format_network(tables, kind)


AWKWARD = ["a\0", "\0", "\ud800", "\ud83d\ude00", "1", "True", "nan", "", " a", "a,b"]
TEXT = st.text(st.characters(exclude_categories=()), max_size=4) | st.sampled_from(AWKWARD)
WHOLE = {
    np.dtype(code): st.integers(int(np.iinfo(code).min), int(np.iinfo(code).max))
    for code in ("i1", "u1", "i2", "u4", "i8", "u8", ">i8", ">u2")
}


@st.composite
def class_arrays(draw):
    """Two to four distinct class labels, as an array of one of many types."""
    kind = draw(st.sampled_from(["text", "objects", "whole", "float"]))
    if kind in ("text", "objects"):
        labels = draw(st.lists(TEXT, min_size=2, max_size=4, unique=True))
        return np.array(labels) if kind == "text" else objects(*labels)
    dtype = draw(
        st.sampled_from(sorted(WHOLE, key=str) if kind == "whole" else [np.dtype("f2"), np.dtype("f4"), float])
    )
    numbers = WHOLE[dtype] if kind == "whole" else st.integers(-1000, 1000).map(float)
    return np.array(draw(st.lists(numbers, min_size=2, max_size=4, unique=True)), dtype=dtype)


ANYTHING = (
    TEXT
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.binary(max_size=3)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.fractions()
    | st.tuples(st.integers(0, 3))
)
THOROUGH = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def has_a_pair(labels):
    texts = [label for label in labels if isinstance(label, str)]
    return any(re.search("[\ud800-\udbff][\udc00-\udfff]", text) for text in texts)


def refusal(action):
    """What an action says when it refuses, None where it does not."""
    try:
        action()
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("ignore::bnplug.AmbiguousValueWarning")
@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")
@THOROUGH
@given(class_arrays())
def test_classes_of_any_kind_come_back(tmp_path_factory, labels):
    rows = np.arange(3 * len(labels)) % len(labels)
    features, model, folder = pd.DataFrame({"x": rows}), BayesianNetworkClassifier("nb"), tmp_path_factory.mktemp("x")
    # numpy's own text has no NUL at its end, so that two labels may be one.
    if len(np.unique(labels)) == 1:
        return
    model.fit(features, labels[rows])
    assert model.classes_.dtype == labels.dtype
    if has_a_pair(labels.tolist()):
        assert "variable 'class'" in refusal(lambda: model.save(folder / "model"))
    else:
        assert_comes_back(model, features, folder)


@pytest.mark.filterwarnings("ignore:Columns .* hold whole numbers")
@pytest.mark.filterwarnings("ignore::bnplug.AmbiguousValueWarning")
@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@THOROUGH
@given(st.lists(ANYTHING, min_size=1, max_size=4))
def test_states_of_any_kind_come_back(tmp_path_factory, values):
    column = pd.Series(objects(*values)[np.arange(12) % len(values)], dtype=object)
    rows = pd.DataFrame({"my feature": column, "other": np.arange(12) % 3})
    model, folder = BayesianNetworkClassifier("nb", discretizer="none"), tmp_path_factory.mktemp("x")
    refused = refusal(lambda: model.fit(rows, np.arange(12) % 2))
    if refused is not None:
        assert "my feature" in refused
    elif has_a_pair(values):
        assert "variable 'my feature'" in refusal(lambda: model.save(folder / "model"))
    else:
        assert_comes_back(model, rows, folder)


@pytest.mark.parametrize("labels", [[2**53, 2**53 + 1, 1.0], [True, 2, 3], [np.True_, 2], [Colour.RED, Colour.GREEN]])
def test_a_list_of_several_types_is_refused(labels):
    with pytest.raises(ValueError, match=r"y has labels of types \['"):
        class_labels(labels)


@pytest.mark.parametrize("labels", [[1, 2.0, 3], [True, False], ["a", "b"], [np.int8(1), 2], [2**63, 2**63 + 1]])
def test_a_list_that_numpy_keeps_is_taken(labels):
    assert class_labels(labels).tolist() == labels


def test_labels_among_given_classes():
    classes, codes = _among_classes(np.array(["q", "q"], dtype=object), ["r", "q", "p"])
    assert classes.tolist() == ["p", "q", "r"]
    assert codes.tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"labels \['z'\], which are not among the classes \['p', 'q'\]"):
        _among_classes(np.array(["z", "p"], dtype=object), ["p", "q"])
