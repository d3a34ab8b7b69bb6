"""What training decides about columns: which are of no use, what rare states become, and that one message says all."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

import bnplug
from bnplug import BayesianNetworkClassifier, ColumnRules, PooledStatesWarning, UnseenValueWarning, UselessColumnWarning
from bnplug.datasets import tic_tac_toe
from bnplug.table._columns import EMPTY, IDENTIFIER, NUMBERED, plan_columns

N = 120
RNG = np.random.default_rng(0)
Y = pd.Series(np.where(np.arange(N) % 2, "p", "q"), name="y")
GOOD = pd.DataFrame({"a": np.where(RNG.random(N) < 0.8, Y, "p"), "b": RNG.choice(list("uvw"), N)})


def quiet(function, *arguments, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **parameters)


def fitted(X, **parameters):
    return quiet(BayesianNetworkClassifier("tan", **parameters).fit, X, Y)


EMPTIES = {
    "none": [None] * N,
    "nan": [np.nan] * N,
    "nat": pd.to_datetime([None] * N),
    "nullable": pd.array([None] * N, dtype="Int64"),
    "text": pd.array([None] * N, dtype="str"),
    "categories": pd.Categorical([None] * N, categories=["u", "v"]),
}


@pytest.mark.parametrize("features", ["auto", None, []], ids=str)
@pytest.mark.parametrize("kind", EMPTIES)
def test_a_column_without_any_value_is_left_out_with_one_warning(kind, features):
    X = GOOD.assign(x=EMPTIES[kind])
    with pytest.warns(UselessColumnWarning, match=r"columns \['x'\], which have no value at all") as caught:
        model = BayesianNetworkClassifier("tan", categorical_features=features).fit(X, Y)
    assert len(caught) == 1
    assert model.encoder_.left_out == {"x": EMPTY}
    assert model.n_features_in_ == 3
    expected = fitted(GOOD).predict_proba(GOOD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (model.predict_proba(X) == expected).all()
        assert (model.predict_proba(X.assign(x="anything")) == expected).all()
        assert (model.predict_proba(GOOD) == expected).all()


def test_a_column_may_be_empty_in_these_rows_only():
    X = GOOD.assign(x=np.where(np.arange(N) < N / 2, None, "k"))
    model = quiet(BayesianNetworkClassifier("nb").fit, X[: N // 2], Y[: N // 2])
    assert list(model.encoder_.left_out) == ["x"]
    assert model.predict(X).shape == (N,)
    weighted = quiet(BayesianNetworkClassifier("nb").fit, X, Y, (np.arange(N) < N / 2).astype(float))
    assert weighted.predict_proba(X).tolist() == model.predict_proba(X).tolist()


@pytest.mark.parametrize("missing", ["drop", "error", "value", "ignore"])
def test_a_column_without_any_value_makes_no_row_incomplete(missing):
    assert fitted(GOOD.assign(x=np.nan), missing=missing).schema_.names == ("a", "b", "y")


IDENTIFIERS = {
    "text": ("key", [f"n{i}" for i in range(N)], IDENTIFIER),
    "nearly all": ("who", [f"n{i // 2 * 2 if i < 40 else i}" for i in range(N)], IDENTIFIER),
    "category": ("who", pd.Categorical([f"n{i}" for i in range(N)]), IDENTIFIER),
    "mostly missing": ("who", [f"n{i}" if i < 30 else None for i in range(N)], IDENTIFIER),
    **{name: (name, np.arange(N), NUMBERED) for name in ("id", "ID", "customer_id", "customerId", "id_2", "ticket no")},
    "unnamed": ("Unnamed: 0", np.arange(N)[::-1], NUMBERED),
    "floats": ("id", np.where(np.arange(N) == 7, np.nan, np.arange(N)), NUMBERED),
}


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_an_identifier_is_left_out_unless_it_is_named_as_categorical(case):
    name, values, reason = IDENTIFIERS[case]
    X = GOOD.assign(**{name: values})
    with pytest.warns(UselessColumnWarning, match="like an identifier") as caught:
        model = BayesianNetworkClassifier("tan").fit(X, Y)
    assert len(caught) == 1
    assert model.encoder_.left_out == {name: reason}
    assert (model.predict_proba(X) == fitted(GOOD).predict_proba(GOOD)).all()
    with pytest.raises(ValueError, match=r"no such feature, these columns were left out"):
        model.query("y", {name: values[0]})
    taken = BayesianNetworkClassifier("nb", categorical_features=[name]).fit(X, Y)
    assert taken.encoder_.left_out == {}
    assert len(taken.schema_.states[name]) == pd.Series(values).nunique()


@pytest.mark.parametrize(
    "values", [np.arange(N) // 4, np.arange(N) / 7, np.arange(N) % 10], ids=["repeated", "x", "few"]
)
def test_numbers_that_repeat_or_are_not_whole_are_no_identifier(values):
    assert fitted(GOOD.assign(id=values)).encoder_.left_out == {}


def test_the_name_makes_numbers_an_identifier():
    for name in ("income", "paid", "number of rooms", "idle", "keyboard", "width"):
        assert fitted(GOOD.assign(**{name: np.arange(N)})).encoder_.left_out == {}


def test_one_message_tells_all_that_is_wrong():
    X = GOOD.assign(
        empty=None, who=[f"n{i}" for i in range(N)], when=pd.date_range("2026", periods=N), z=1j, id=np.arange(N),
        far=np.where(np.arange(N) == 3, np.inf, 0.5), box=[[1]] * N, huge=pd.Series([10**400] * N, dtype=object),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"\['empty'\]") as caught:
        bnplug.encode_training(X, Y, on_useless="error", dates="error")
    message = str(caught.value)
    for part in (
        "['who'] have more states",
        "['when'] hold points in time",
        "['z'] hold complex",
        "['id'] are named like",
        "infinite numbers in columns ['far']",
        "['box'] hold lists",
        "'huge' holds whole numbers too large",
    ):
        assert part in message
    assert all(name not in message for name in ("'a'", "'b'"))


def test_one_warning_tells_all_that_is_left_out():
    X = GOOD.assign(empty=None, void=np.nan, who=[f"n{i}" for i in range(N)])
    with pytest.warns(UselessColumnWarning, match=r"\['empty', 'void'\], which .*\['who'\], which") as caught:
        bnplug.encode_training(X, Y)
    assert len(caught) == 1


def test_where_nothing_is_left_there_is_nothing_to_learn():
    with pytest.raises(ValueError, match=r"columns \['x'\] have no value at all; drop them"):
        BayesianNetworkClassifier().fit(pd.DataFrame({"x": [None] * 4}), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="leaves no column"):
        bnplug.encode_training(pd.DataFrame({"x": pd.date_range("2026", periods=4)}), [0, 1, 0, 1], dates="drop")


def test_arrays_keep_their_width():
    X = np.column_stack([np.full(N, np.nan), (Y == "p") * 1.0, RNG.normal(size=N)])
    model = quiet(BayesianNetworkClassifier("nb").fit, X, Y)
    assert model.n_features_in_ == 3
    assert model.schema_.names == ("x1", "x2", "y")
    assert model.score(X, Y) == 1
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, 1:])


RULES = {
    "on_useless": ("hide", "on_useless='hide' is not 'drop' or 'error'"),
    "dates": ("year", "dates='year' is not"),
    "max_categories": (1, "max_categories=1: expected a whole number of at least 2"),
    "min_frequency": (1.5, "min_frequency=1.5: expected a number of rows, a share"),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_that_there_are_not(name):
    value, message = RULES[name]
    with pytest.raises(ValueError, match=message):
        BayesianNetworkClassifier(**{name: value}).fit(GOOD, Y)


def test_a_given_structure_may_name_a_column_that_is_left_out():
    edges = [("y", "a"), ("y", "void"), ("void", "b")]
    model = quiet(BayesianNetworkClassifier(edges).fit, GOOD.assign(void=None), Y)
    assert model.tables_.edges == [("y", "a")]
    with pytest.raises(ValueError, match="structure: the graph has the node 'void'"):
        BayesianNetworkClassifier(edges).fit(GOOD, Y)


# Rare states.


@pytest.fixture(scope="module")
def codes():
    """A column of 40 codes, of which "c0" tells the class and the others are rare."""
    rng = np.random.default_rng(1)
    return GOOD.assign(code=np.where(rng.random(N) < 0.4, "c0", [f"c{i}" for i in rng.integers(1, 60, N)]))


def test_rare_states_of_a_column_with_many_are_pooled_with_a_warning(codes):
    with pytest.warns(PooledStatesWarning, match="states of 'code' are 'other'") as caught:
        model = BayesianNetworkClassifier("nb").fit(codes, Y)
    assert len(caught) == 1
    assert model.schema_.states["code"] == ("c0", "other")
    rare = (codes["code"] != "c0").to_numpy()
    assert (model.encode(codes)[2] == rare).all()
    share = np.exp(model.tables_.tables["code"].values[1])
    for k, label in enumerate(model.classes_):
        n = (label == Y).sum()
        assert share[k] == pytest.approx((rare[label == Y].sum()) / n, abs=0.02)


def test_codes_that_tell_nothing_do_not_cost_the_default_anything():
    """Without pooling, and without correction for chance, the accuracy of the same folds falls from 0.77 to 0.70."""
    X, y = tic_tac_toe()
    noise = [f"c{code}" for code in np.random.default_rng(0).integers(300, size=len(X))]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model, noisy = BayesianNetworkClassifier(calibrate=None), X.assign(code=noise)
    plain = quiet(cross_val_score, model, X, y, cv=folds)
    assert quiet(cross_val_score, model, noisy, y, cv=folds).tolist() == plain.tolist()
    model.set_params(structure=("tan", {"correction": None}), min_frequency=None)
    assert quiet(cross_val_score, model, noisy, y, cv=folds).mean() < plain.mean() - 0.05


def test_a_value_never_seen_is_among_the_rare_ones(codes):
    model = fitted(codes, unseen="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_proba(codes[:3].assign(code=["never", "other", "c17"]).assign(a="p", b="u"))
    assert (found == found[0]).all()
    assert quiet(model.query, "y", {"code": "never"}).equals(model.query("y", {"code": "other"}))


def test_limits_are_those_of_scikit_learn(codes):
    from sklearn.preprocessing import OneHotEncoder

    for limits in (
        {"max_categories": 3},
        {"min_frequency": 5},
        {"min_frequency": 0.05},
        {"max_categories": 5, "min_frequency": 2},
    ):
        encoder = OneHotEncoder(**limits).fit(codes[["code"]])
        rare = set(encoder.infrequent_categories_[0])
        states = fitted(codes, **limits).schema_.states["code"]
        if "max_categories" not in limits:
            assert set(states[:-1]) == set(codes["code"]) - rare
        assert len(states) == len(encoder.get_feature_names_out())
    for limits in ({"max_categories": 1000, "min_frequency": None}, {"min_frequency": 1}):
        assert fitted(codes, **limits).schema_.states["code"] == tuple(sorted(set(codes["code"])))


def test_a_weight_of_two_is_a_row_twice(codes):
    twice = pd.concat([codes, codes], ignore_index=True)
    for least in (2, 4, 6):
        once = quiet(bnplug.encode_training, codes, Y, np.full(N, 2.0), min_frequency=least)[0]
        assert once.states == quiet(bnplug.encode_training, twice, pd.concat([Y, Y]), min_frequency=least)[0].states
        thin = quiet(bnplug.encode_training, codes, Y, np.full(N, 1e-3), min_frequency=least)[0]
        assert thin.states == quiet(bnplug.encode_training, codes, Y, min_frequency=least)[0].states


def test_columns_that_are_named_or_of_numbers_without_bins_keep_their_states(codes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = BayesianNetworkClassifier("nb", categorical_features=["code"]).fit(codes, Y)
        numbers = GOOD.assign(x=np.arange(N) // 3)
        plain = BayesianNetworkClassifier("nb", discretizer="none").fit(numbers, Y)
    assert len(named.schema_.states["code"]) == codes["code"].nunique()
    assert len(plain.schema_.states["x"]) == 40
    assert fitted(codes, categorical_features=["code"], max_categories=4).schema_.states["code"][-1] == "other"


def test_a_state_that_is_called_other_stays_apart():
    values = ["other"] * 50 + ["red"] * 40 + [f"c{i}" for i in range(30)]
    model = fitted(GOOD.assign(x=values), min_frequency=10)
    assert model.schema_.states["x"] == ("other", "red", "other_")
    rows = pd.DataFrame({"a": ["p"] * 3, "b": ["u"] * 3, "x": ["other", "c5", "new"]})
    assert model.encode(rows)[2].tolist() == [0, 2, 2]
    rare = fitted(GOOD.assign(x=["other", *["red"] * (N - 1)]), min_frequency=10)
    assert rare.schema_.states["x"] == ("red", "other")


@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_pooled_states_live_through_files_and_answers(codes, tmp_path, missing):
    X = codes.assign(code=codes["code"].where(np.arange(N) % 9 > 0), n=np.arange(N) % 4 * 2)
    model = fitted(X, missing=missing, min_frequency=8)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    asked = X.assign(code=[None, "c0", "new", "c17", "other"] * 24, n=[-1, 0, 3, 7, 99] * 24)
    assert (loaded.encode(asked) == model.encode(asked)).all()
    assert loaded.encoder_.pooled == model.encoder_.pooled
    assert loaded.encoder_.whole == model.encoder_.whole == {"n": (0, 2, 4, 6)}
    assert loaded.explain(asked[:5]).equals(model.explain(asked[:5]))
    assert loaded.query("y", {"code": "c17"}).equals(model.query("y", {"code": "other"}))
    model.to_bif(tmp_path / "net.bif")
    back = bnplug.read_bif(tmp_path / "net.bif")
    assert back.tables_.states["code"] == model.tables_.states["code"]
    drawn = model.sample(50, random_state=0)
    assert set(drawn["code"].dropna()) == {"c0", "other"}
    assert (
        model.encode(drawn.drop(columns="y"))[2] == back.encode(drawn.drop(columns="y"))[2]
    ).all() or missing == "value"
    assert model.bins(asked)["code"].tolist()[1:5] == ["c0", "other", "other", "other"]
    assert (model.encode(model.bins(asked))[:4] == model.encode(asked)[:4]).all()


def test_numbers_may_be_pooled_too(tmp_path):
    model = fitted(
        GOOD.assign(zip=[5, 7, 9] * 30 + list(range(100, 130))), categorical_features=["zip"], min_frequency=10
    )
    assert model.schema_.states["zip"] == (5, 7, 9, "other")
    model.save(tmp_path / "model")
    row = GOOD[:1].assign(zip=7.0), GOOD[:1].assign(zip=111), GOOD[:1].assign(zip=-3)
    assert [int(bnplug.load(tmp_path / "model").encode(own)[2, 0]) for own in row] == [1, 3, 3]


# Whole numbers.


def test_a_number_that_training_did_not_see_is_in_the_state_of_the_nearest(tmp_path):
    X = GOOD.assign(rooms=[1, 2, 5] * 40)
    model = fitted(X, unseen="error")
    model.save(tmp_path / "model")
    rows = pd.concat([GOOD[:1]] * 8, ignore_index=True).assign(rooms=[-9, 0, 2.4, 3, 4, 99, 3.5, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (model, bnplug.load(tmp_path / "model")):
            assert one.encode(rows)[2].tolist() == [0, 0, 1, 1, 2, 2, 1, 255]
            assert one.query("y", {"rooms": 77}).equals(one.query("y", {"rooms": 5}))
    table, encoder = bnplug.encode_training(X, Y)
    assert encoder.encode(rows, table)[2].tolist() == [0, 0, 1, 1, 2, 2, 1, 255]
    assert model.bins(rows)["rooms"].tolist()[:7] == [1, 1, 2, 2, 5, 5, 2]
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['rooms'\]"):
        model.predict(rows.assign(rooms=np.inf))


def test_text_in_a_column_of_whole_numbers_is_unseen_and_named_numbers_have_no_order():
    model = fitted(GOOD.assign(rooms=[1, 2, 5] * 40))
    rows = GOOD[:2].assign(rooms=pd.Series(["many", 2], dtype=object))
    with pytest.warns(UnseenValueWarning, match="'many' not seen"):
        assert model.encode(rows)[2].tolist() == [255, 1]
    named = fitted(GOOD.assign(rooms=[1, 2, 5] * 40), categorical_features=["rooms"])
    with pytest.warns(UnseenValueWarning, match="4 not seen"):
        assert named.encode(GOOD[:1].assign(rooms=4))[2].tolist() == [255]


def test_what_is_settled_about_columns():
    X = GOOD.assign(when=pd.date_range("2026-01-01", periods=N), rooms=[1, 2, 5] * 40, void=np.nan)
    found = quiet(plan_columns, X, ColumnRules())
    assert found.names == ("a", "b", "when.month", "when.day", "when.weekday", "rooms")
    assert list(found.numbers) == ["when.day"]
    assert set(found.coded) == {"a", "b", "when.month", "when.weekday", "rooms"}
    assert set(found.whole) == {"when.month", "when.weekday", "rooms"}
    assert found.left_out == {"void": EMPTY}


def test_rare_states_that_tell_the_class_stay():
    codes = np.arange(1000) % 50
    X = pd.DataFrame({"code": [f"c{i}" for i in codes]})
    model = BayesianNetworkClassifier("nb").fit(X, codes % 2)
    assert model.encoder_.pooled == {}
    assert model.score(X, codes % 2) == 1.0
    with pytest.warns(PooledStatesWarning, match="50 of the 50 states of 'code'"):
        BayesianNetworkClassifier("nb").fit(X, np.arange(1000) // 500)


def test_text_of_which_half_is_distinct_is_pooled_and_not_left_out():
    X = GOOD.assign(note=["none" if i % 5 < 2 else f"n{i}" for i in range(N)])
    with pytest.warns(PooledStatesWarning, match="'note'"):
        model = BayesianNetworkClassifier("nb").fit(X, Y)
    assert model.schema_.states["note"] == ("none", "other")
    with pytest.raises(ValueError, match=r"\['note'\] have more states than half the rows"):
        BayesianNetworkClassifier("nb", on_useless="error").fit(X, Y)


def test_missing_cells_that_are_refused_are_told_with_all_the_rest():
    X = GOOD.assign(m=[None, "a"] * (N // 2), z=1j, far=np.inf)
    with pytest.raises(ValueError, match=r"\['m'\] have missing cells") as caught:
        BayesianNetworkClassifier("nb", missing="error").fit(X, Y)
    assert "['z'] hold complex" in str(caught.value)
    assert "infinite numbers in columns ['far']" in str(caught.value)


@pytest.mark.parametrize("cells", [[1, "1", "a"], [2.0, "2", 1], [True, "True", "x"]], ids=str)
def test_a_warning_names_columns_whose_values_differ_only_in_type(cells):
    X = pd.DataFrame({"branch": pd.Series(cells * 20, dtype=object), "mixed": pd.Series([1, "b", "c"] * 20)})
    with pytest.warns(
        bnplug.AmbiguousValueWarning, match=r"columns \['branch'\] have values that differ only in type"
    ) as caught:
        BayesianNetworkClassifier("nb").fit(X, ["p", "q"] * 30)
    assert len(caught) == 1
    assert "low_memory=False" in str(caught[0].message)


@pytest.mark.parametrize("way", ["memory", "file"])
@pytest.mark.parametrize(("cells", "similar"), [(["no", "No"], True), (["a b", " a  b"], True), (["a", "A"], False)])
def test_a_warning_names_values_and_classes_that_differ_only_in_spaces_or_case(tmp_path, way, cells, similar):
    cells = [*cells, "other"]
    X, y = pd.DataFrame({"smoker": cells * 20, "sex": ["f", "m"] * 30}), pd.Series(np.repeat(cells, 20), name="y")
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    model = BayesianNetworkClassifier("nb", "ml")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", bnplug.AmbiguousValueWarning)
        if way == "memory":
            model.fit(X, y)
        else:
            model.fit_files(tmp_path / "rows.csv", "y")
    messages = sorted(str(own.message) for own in caught if own.category is bnplug.AmbiguousValueWarning)
    assert len(messages) == 2 * similar
    if similar:
        assert messages[0].startswith("columns ['smoker'] have values that differ only in spaces or letter case")
        assert messages[1].startswith("y has the classes ")


NUMERALS = [f"{i / 10}" for i in range(360, 375)]


@pytest.mark.parametrize("way", ["memory", "file"])
@pytest.mark.parametrize(
    ("cells", "odd"),
    [
        (
            [*NUMERALS[:14], "-"],
            "93% of the cells of 'temp' are numbers; the others: '-' (4 rows). Each value is a separate state. If they "
            "mean that the value is missing, pass na_values=['-'] (--na '-')",
        ),
        (
            [numeral.replace(".", ",") for numeral in NUMERALS],
            "100% of the cells of 'temp' are numbers, some with decimal commas, such as '36,0': pass decimal=',' "
            "(--decimal ,). Each value is a separate state",
        ),
        ([f"0{i}" for i in range(14)] + ["1A"], "93% of the cells of 'temp' are numbers; the others: '1A' (4 rows). "),
        ([f"0{i}" for i in range(15)], None),
        (["1", "2", "3", "4", "more"] * 3, None),
        ([f"{i} kg" for i in range(15)], None),
    ],
)
def test_a_warning_names_columns_of_text_whose_values_are_mostly_numbers(tmp_path, way, cells, odd):
    X, y = pd.DataFrame({"temp": cells * 4}), pd.Series([*"pqpp"] * 15, name="y")
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    model = BayesianNetworkClassifier("nb")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", bnplug.AmbiguousValueWarning)
        if way == "memory":
            model.fit(X, y)
        else:
            model.fit_files(tmp_path / "rows.csv", "y", csv={"text": ["temp"]})
    messages = [str(own.message) for own in caught if own.category is bnplug.AmbiguousValueWarning]
    assert len(messages) == (odd is not None)
    if odd is not None:
        assert messages[0].startswith(odd)


@pytest.mark.parametrize("way", ["memory", "file"])
def test_a_warning_names_columns_with_empty_text(tmp_path, way):
    X = pd.DataFrame({"phone": ["", "mobile", "fixed"] * 20, "sex": ["f", "m"] * 30})
    y = pd.Series(["p", "q", "q", "p"] * 15, name="y")
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = BayesianNetworkClassifier("nb")
    fit = partial(model.fit, X, y) if way == "memory" else partial(model.fit_files, tmp_path / "rows.parquet", "y")
    with pytest.warns(
        bnplug.AmbiguousValueWarning, match=r"columns \['phone'\] have states .* missing cell: \[''\]"
    ) as caught:
        fit()
    assert len(caught) == 1


@pytest.mark.parametrize("text", ["?", "NA", "N/A", "null", "nan", " ", None])
def test_a_warning_names_columns_with_text_that_stands_for_a_missing_cell(tmp_path, text):
    """pandas.read_csv makes most of these texts missing; CSV files that bnplug reads and frames of polars keep them."""
    cells = [str(text), "low", "high"] * 20
    X = pd.DataFrame({"grade": cells, "few": [str(text), "1", "2"] * 20, "sex": ["f", "m"] * 30})
    y = pd.Series(["p", "q", "q", "p"] * 15, name="y")
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    model = BayesianNetworkClassifier("nb")
    for fit in (partial(model.fit, X, y), partial(model.fit_files, tmp_path / "rows.csv", "y", csv={"text": ["few"]})):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", bnplug.AmbiguousValueWarning)
            fit()
        messages = [str(own.message) for own in caught]
        assert len(messages) == (text is not None)
        if text is not None:
            start = f"columns ['grade', 'few'] have states that usually stand for a missing cell: [{text!r}]. "
            assert messages[0].startswith(start)
            assert f"csv={{'missing': [{text!r}]}}" in messages[0]
