"""Data that an attacker and an analyst found: handled, or refused in a sentence that names the column."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from attack.hostile import N, X, Y, learn

import bnplug
from bnplug import NotRepresentableError, Structure, StructureLearner, UselessColumnWarning


def frame(names, *columns):
    made = pd.DataFrame(dict(enumerate(columns)))
    made.columns = pd.Index(names, dtype=object)
    return made


# Names


@pytest.mark.parametrize("name", ["self", "probability", "class", "index", "frame"])
def test_columns_and_targets_of_any_name(name):
    model = learn(pd.DataFrame({name: np.linspace(0, 1, N), "o": X}), missing="value")
    applied = model.bins(pd.DataFrame({name: [0.5, None], "o": [0, 1]}))
    assert applied.columns.tolist() == [name, "o"]
    assert learn(pd.DataFrame({"x": X, "o": X}), pd.Series(Y, name=name)).target_ == name


def test_a_variable_called_probability_keeps_its_name():
    model = learn(pd.DataFrame({"probability": X, "o": X[::-1]}))
    found = model.query("probability")
    assert found.columns.tolist() == ["probability", "probability_"]
    assert found["probability_"].sum() == pytest.approx(1.0)


def test_half_a_character_in_a_name_is_refused():
    with pytest.raises(ValueError, match=r"X: the name 'x\\ud800' has half of a character"):
        learn(frame(["x\ud800", "o"], X, X))
    with pytest.raises(ValueError, match=r"y: the name '\\ud800' has half of a character"):
        learn(pd.DataFrame({"x": X, "o": X}), pd.Series(Y, name="\ud800"))


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_half_a_character_in_a_label_is_kept(tmp_path):
    odd = np.where(X == 0, "\ud800", "z").astype(object)
    for columns, y in (
        (frame(["x", "o"], pd.Series(odd, dtype=object), X), Y),
        (np.array([odd, X], dtype=object).T, Y),
        (frame(["x", "o"], X, X), odd),
        (frame(["x", "o"], X, X), odd.tolist()),
    ):
        model = learn(columns, y)
        for name in model.schema_.names:
            assert model.query(name)["probability"].sum() == pytest.approx(1.0)
        model.sample(3, random_state=0)
        model.explain(columns[:2])
        model.report(tmp_path / "report.html", columns, y)
        model.save(tmp_path / "model")
        assert bnplug.load(tmp_path / "model").classes_.tolist() == model.classes_.tolist()


# Types


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@pytest.mark.parametrize("dtype", [">i4", ">u2", ">f8", ">i8"])
def test_arrays_of_the_other_byte_order(dtype):
    plain = np.c_[X, X[::-1]]
    expected = learn(plain).predict_proba(plain)
    model = learn(plain.astype(dtype))
    assert np.array_equal(model.predict_proba(plain.astype(dtype)), expected)
    named = pd.DataFrame({"x": X.astype(dtype), "o": X[::-1]})
    assert np.array_equal(learn(named).predict_proba(named), expected)
    labels = (X > 0).astype(dtype)
    assert learn(plain, labels).classes_.tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_whole_numbers_near_2_to_the_64_stay_what_they_are():
    big = np.array([2**64 - 1, 2**64 - 2, 5], dtype=np.uint64)[X]
    model = learn(pd.DataFrame({"x": big, "o": X}), categorical_features=["x"])
    assert model.schema_.states["x"] == (5, 2**64 - 2, 2**64 - 1)
    assert learn(pd.DataFrame({"x": X, "o": X}), big).classes_.tolist() == [5, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("values", [[10**400 + int(x) for x in X], [10**400 if x else 2.5 for x in X]])
def test_whole_numbers_of_400_digits_are_refused_by_name(values):
    with pytest.raises(ValueError, match="column 'x' holds whole numbers too large for a float"):
        learn(pd.DataFrame({"x": pd.Series(values, dtype=object), "o": X}))


def test_containers_of_arrow_are_refused_by_name():
    arrow = pytest.importorskip("pyarrow")
    kinds = {
        arrow.list_(arrow.int64()): [[int(x)] for x in X],
        arrow.struct([("a", arrow.int64())]): [{"a": int(x)} for x in X],
        arrow.map_(arrow.string(), arrow.int64()): [[("k", int(x))] for x in X],
    }
    for kind, values in kinds.items():
        with pytest.raises(ValueError, match=r"columns \['x'\] hold lists or other containers"):
            learn(pd.DataFrame({"x": pd.array(values, dtype=pd.ArrowDtype(kind)), "o": X}))
    plain = pd.DataFrame({"x": pd.array([str(x) for x in X], dtype=pd.ArrowDtype(arrow.string())), "o": X})
    assert learn(plain).schema_.states["x"] == ("0", "1", "2")


def test_containers_of_polars_are_refused_by_name():
    polars = pytest.importorskip("polars")
    for values, dtype in (
        ([{"a": int(x)} for x in X], None),
        ([[int(x)] for x in X], None),
        ([[int(x), 1] for x in X], polars.Array(polars.Int64, 2)),
    ):
        with pytest.raises(ValueError, match=r"columns \['x'\] hold lists or other containers"):
            learn(polars.DataFrame({"x": polars.Series(values, dtype=dtype), "o": X}))


def test_polars_numbers_of_128_bits():
    polars = pytest.importorskip("polars")
    small = polars.DataFrame({"x": polars.Series(X.tolist(), dtype=polars.Int128), "o": X})
    assert learn(small).schema_.states["x"] == (0, 1, 2)
    large = polars.DataFrame(
        {"x": polars.Series([None if x == 1 else 2**100 + int(x) for x in X], dtype=polars.Int128)}
    )
    assert learn(large.with_columns(o=X)).predict(large.with_columns(o=X)).shape == (N,)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_labels_of_numpys_text_and_of_bytes():
    text = np.dtypes.StringDType()
    assert learn(np.c_[X, X], Y.astype(text)).classes_.tolist() == ["a", "b"]
    assert learn(np.c_[Y, Y[::-1]].astype(text)).schema_.states["x0"] == ("a", "b")
    with pytest.raises(ValueError, match=r"y has labels of type \|S1; class labels are text"):
        learn(np.c_[X, X], Y.astype("S"))


@pytest.mark.parametrize("columns", [pd.DataFrame({"x": X, "o": X}), np.c_[X, X], np.c_[X, X].tolist()])
def test_odd_labels_are_refused_alike_in_fit_score_and_evaluation(columns):
    """polars' own error, a struct that was taken for its field, and scikit-learn's errors without a name."""
    polars = pytest.importorskip("polars")
    model = learn(columns)
    for y, kind in (
        (polars.Series("k", X.tolist(), dtype=polars.Int128), r"y \('k'\) has labels of type Int128"),
        (polars.DataFrame({"k": polars.Series(X.tolist(), dtype=polars.Int128)}), "y has labels of type Int128"),
        (polars.Series("k", [{"a": int(x)} for x in X]), r"y \('k'\) has labels of type Struct.*"),
        (Y.astype("S"), r"y has labels of type \|S1"),
        (X + 1j, "y has labels of type complex128"),
        ((X + 1j).tolist(), "y has labels of type complex128"),
        (pd.Series(X + 1j, name="k"), r"y \('k'\) has labels of type complex128"),
    ):
        for use in (model.fit, model.score):
            with pytest.raises(ValueError, match=f"{kind}; class labels are text"):
                use(columns, y)


def test_scores_on_numpys_text():
    model = learn(np.c_[X, X])
    assert model.score(np.c_[X, X], Y.astype(np.dtypes.StringDType())) == model.score(np.c_[X, X], Y)


def test_complex_numbers_and_records_are_refused_by_name():
    model = learn(np.c_[X, X])
    records = np.array([[(1,)], [(2,)]] * (N // 2), dtype=[("a", "i4")])
    for use in (learn, model.predict):
        for cells in (np.c_[X, X] + 1j, (np.c_[X, X] + 1j).tolist()):
            with pytest.raises(ValueError, match=r"columns \['x0', 'x1'\] hold complex numbers"):
                use(cells)
        with pytest.raises(ValueError, match=r"columns \['x0'\] hold records"):
            use(records)
    with pytest.raises(ValueError, match=r"columns \['x'\] hold lists or other containers"):
        learn(pd.DataFrame({"x": records[:, 0], "o": X}))


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_complex_numbers_among_new_rows_are_refused_by_name():
    """The imaginary part was dropped, with a warning of numpy."""
    columns = pd.DataFrame({"x": np.linspace(0, 9, N), "o": X, "s": Y})
    model = learn(columns)
    for name in columns:
        odd = columns.assign(**{name: X + 2j})
        for use in (learn, model.predict, lambda frame: model.score(frame, Y)):
            with pytest.raises(ValueError, match=rf"columns \['{name}'\] hold complex numbers"):
                use(odd)


def test_categories_that_are_complex_are_refused_as_labels():
    labels = pd.Categorical(np.where(Y == "a", 1 + 1j, 2 + 0j))
    model = learn(np.c_[X, X])
    for use in (learn, model.score):
        with pytest.raises(ValueError, match=r"y has labels of type complex128"):
            use(np.c_[X, X], labels)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.full(N, 1 + 1j), "sample_weight contains complex numbers"),
        ([1 + 1j] * N, "sample_weight contains complex numbers"),
        (["heavy"] * N, "sample_weight contains text"),
        (np.array(["1"] * N, dtype=object), "sample_weight contains text"),
        ([10**400] * N, "sample_weight contains numbers too large for a float"),
        ([None, object()] * (N // 2), "sample_weight contains values that are not numbers"),
    ],
)
def test_what_no_weights_are_is_said_of_sample_weight(weights, said):
    model = learn(np.c_[X, X])
    for use in (lambda: learn(np.c_[X, X], sample_weight=weights), lambda: model.score(np.c_[X, X], Y, weights)):
        with pytest.raises(ValueError, match=said):
            use()


def test_scores_with_weights_that_cannot_be_added_up():
    model = learn(np.c_[X, X])
    for weights in (1e308, np.full(N, 1e308)):
        with pytest.raises(ValueError, match=r"the sum of sample_weight is inf, above 1e.290; divide"):
            model.score(np.c_[X, X], Y, weights)
    assert model.score(np.c_[X, X], Y, 2.0) == model.score(np.c_[X, X], Y)


def test_what_a_mask_hides_is_missing():
    """The mask was ignored: hidden values counted."""
    cells = np.ma.array(np.c_[X, X], mask=np.c_[X == 0, X < 0])
    assert learn(cells).schema_.states["x0"] == (1, 2)
    model = learn(np.c_[X, X])
    assert (model.encode(cells)[0] == model.schema_.missing).tolist() == (X == 0).tolist()
    with pytest.raises(ValueError, match="the class is missing in some rows"):
        learn(np.c_[X, X], np.ma.array(X, mask=X == 0))


def test_containers_among_new_rows_are_refused_by_name():
    arrow = pytest.importorskip("pyarrow")
    model = learn(pd.DataFrame({"x": X, "o": X}))
    lists = pd.ArrowDtype(arrow.list_(arrow.int64()))
    for values in ([[1]] * N, [{"a": 1}] * N, pd.Series([[1]] * N, dtype=lists)):
        with pytest.raises(ValueError, match=r"columns \['x'\] hold lists or other containers"):
            model.predict(pd.DataFrame({"x": values, "o": X}))


# Numbers


@pytest.mark.parametrize("parameters", ["ml", "mm", "ccbn-d"])
def test_weights_of_any_size(parameters):
    columns = pd.DataFrame({"x": X, "f": np.linspace(0, 1, N)})
    with pytest.raises(ValueError, match=r"the sum of the row weights is 4e.306, above 1e.290; divide"):
        learn(columns, sample_weight=np.full(N, 1e305), parameters=parameters)
    for weights in (np.full(N, 1e-310), np.full(N, 5e-324), np.where(X == 0, 1e285, 1e-310)):
        learn(columns, sample_weight=weights, parameters=parameters)


class LastTakesAll(StructureLearner):
    """The last feature has all others for parents."""

    def learn(self, table):
        c = table.target_index
        *others, last = table.features
        return Structure(
            table.names, [[] if v == c else [c, *others] if v == last else [c] for v in range(len(table.names))]
        )


def test_more_parents_than_a_table_has_axes():
    columns = pd.DataFrame({f"v{i}": ["only"] * N for i in range(70)} | {"last": X})
    with pytest.raises(ValueError, match="'last' has 71 parents, more than 63"):
        learn(columns, structure=LastTakesAll())


def test_parents_of_one_state_in_a_bif_file(tmp_path):
    columns = pd.DataFrame({f"v{i}": ["only"] * N for i in range(60)} | {"last": X})
    model = learn(columns, structure=LastTakesAll())
    with pytest.raises(NotRepresentableError, match=r"'last' and its parents have 60 variables of one state.* XMLBIF"):
        model.to_bif(tmp_path / "model.bif")
    model.to_xmlbif(tmp_path / "model.xml")
    read = bnplug.read_xmlbif(tmp_path / "model.xml")
    assert np.allclose(read.predict_proba(columns), model.predict_proba(columns))
    with pytest.raises(NotRepresentableError, match="'last' has 61 parents; pgmpy takes tables of up to 51"):
        model.network_  # noqa: B018


class EachTakesAll(StructureLearner):
    """Every feature has all before it for parents."""

    def learn(self, table):
        c, features = table.target_index, table.features
        parents = {int(v): [c, *features[:i]] for i, v in enumerate(features)}
        return Structure(table.names, [parents.get(v, []) for v in range(len(table.names))])


def test_tables_of_one_state_parents_are_measured_before_any_is_written(tmp_path):
    """It took 18 s and gigabytes: tables were written up to the one that was too large."""
    columns = pd.DataFrame({f"v{i}": ["only"] * N for i in range(40)} | {"last": X})
    model = learn(columns, structure=EachTakesAll())
    tracemalloc.start()
    try:
        with pytest.raises(NotRepresentableError, match=r"'last' and its parents have 40 variables of one state"):
            model.to_bif(tmp_path / "model.bif")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("parameters", ["ml", "ccbn-d", "ccbn-e", "ccbn-w", "mm", "ml-bn-svm"])
def test_floating_point_errors_may_raise(parameters):
    columns = pd.DataFrame({"x": X, "f": np.linspace(0, 1, N), "m": [None, 1.0, 2.5, 3.0] * (N // 4)})
    with np.errstate(all="raise"):
        model = learn(columns, parameters=parameters)
        answers = model.predict_proba(columns)
    np.testing.assert_array_equal(answers, learn(columns, parameters=parameters).predict_proba(columns))


@pytest.mark.parametrize("kind", [np.uint64, object])
def test_whole_numbers_that_floats_cannot_tell_apart_are_refused_by_name(kind):
    """Forty of them were two numbers, without a word, and a class that they decide was guessed."""
    numbers = np.array([2**64 - 1 - i for i in range(N)], dtype=kind)
    with pytest.raises(
        ValueError, match=r"column 'far' contains whole numbers that are too large for floats to tell apart"
    ):
        learn(pd.DataFrame({"x": X, "far": numbers}))
    # An identifier is left out all the same, and numbers that differ as floats are taken.
    with pytest.warns(UselessColumnWarning):
        learn(pd.DataFrame({"x": X, "id": numbers}))
    learn(pd.DataFrame({"x": X, "far": np.array([2**60 + (i << 20) for i in range(N)], dtype=kind)}))
