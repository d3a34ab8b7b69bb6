"""Missing cells in training: as a state of their own, apart from every value, and what counting leaves out."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, UnseenValueWarning

Y = pd.Series(["p", "p", "p", "q", "q", "q"] * 10, name="y")


class Named:
    """A value that is no text, and looks like one."""

    def __str__(self):
        return "missing"


def frame_of(*values, dtype=object):
    return pd.DataFrame({"x": pd.Series(list(values) * 10, dtype=dtype), "z": ["u", "v", "v"] * 20})


def fitted(X, **params):
    return BayesianNetworkClassifier("nb", missing="value", **params).fit(X, Y)


@pytest.fixture
def holes():
    """`x` tells the class where it is missing, and there is no value called "missing"."""
    return frame_of("a", "a", "b", None, None, "b")


def rows(*values):
    return pd.DataFrame({"x": pd.Series(list(values), dtype=object)}).assign(z="u")


def quiet(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


SAME = {"text": "missing", "numpy": np.str_("missing"), "object": Named()}


@pytest.mark.parametrize("kind", SAME)
def test_a_value_called_like_the_missing_state_is_an_unseen_one(holes, kind):
    model = fitted(holes)
    assert model.tables_.states["x"] == ("a", "b", "missing")
    with pytest.warns(UnseenValueWarning, match="column 'x'.* not seen in training"):
        found = model.predict_proba(rows(SAME[kind], None, "a"))
    expected = quiet(model.predict_proba, rows("never", None, "a"))
    assert found.tolist() == expected.tolist()
    assert abs(found[0] - found[1]).max() > 0.1
    as_category = rows(SAME[kind]).astype({"x": "category"})
    assert quiet(model.predict_proba, as_category).tolist() == expected[:1].tolist()
    with pytest.raises(ValueError, match="not seen in training"):
        fitted(holes, unseen="error").predict(rows(SAME[kind]))


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@pytest.mark.parametrize("value", SAME.values(), ids=SAME)
def test_a_value_called_missing_and_missing_cells_are_two_states(value):
    model = fitted(frame_of(value, value, value, None, None, "b"))
    assert sorted(model.tables_.states["x"]) == ["b", "missing", "missing_"]
    assert model.tables_.states["x"][-1] == "missing_"
    p = model.predict_proba(rows("missing", None))[:, 0]
    assert p[0] > 0.8
    assert p[1] < 0.2


@pytest.mark.filterwarnings("ignore:Column 'x' has categories:bnplug.UnseenValueWarning")  # declared on purpose
def test_a_category_without_rows_is_a_value_too():
    X = frame_of("a", "a", "b", None, None, "b", dtype=pd.CategoricalDtype(["a", "missing", "b"]))
    assert fitted(X).tables_.states["x"] == ("a", "missing", "b", "missing_")


def test_numbers_keep_their_type_beside_the_missing_state():
    model = fitted(frame_of(1, 1, 2, None, None, 2, dtype=float), categorical_features=["x"])
    assert model.tables_.states["x"] == (1, 2, "missing")
    assert model.predict_proba(rows(1, None)).tolist() != model.predict_proba(rows(2, None)).tolist()


class Words(BaseEstimator):
    """A discretiser whose bins are called as one pleases."""

    def set_output(self, transform):
        return self

    def fit(self, X, y):
        return self

    def transform(self, X):
        return X.apply(lambda column: column.map(lambda v: "missing" if v > 5 else "low", na_action="ignore"))


def test_a_bin_may_be_called_missing():
    x = np.array([1.5, 2.5, np.nan, 8.5, 9.5, np.nan] * 10)
    frame = pd.DataFrame({"x": x})
    table, encoder = bnplug.encode_training(frame, Y, discretizer=Words(), categorical_features=None, missing="value")
    assert encoder.missing_states == {"x": "missing_"}
    assert table.states["x"] == ("low", "missing", "missing_")
    assert table.codes[0].tolist()[:6] == [0, 0, 2, 1, 1, 2]
    assert encoder.encode(frame, table)[0].tolist()[:6] == [0, 0, 2, 1, 1, 2]
    states = encoder.to_states(table.codes, table)["x"]
    assert [state if isinstance(state, str) else "-" for state in states[:6]] == [
        "low",
        "low",
        "-",
        "missing",
        "missing",
        "-",
    ]


# Evidence is what data hold: None is the missing state, its label is no value.


def test_evidence_of_the_missing_state_is_none(holes):
    model = fitted(holes)
    for nothing in (None, np.nan, pd.NA):
        given = model.query("y", {"x": nothing})["probability"]
        assert given.tolist() == pytest.approx(model.predict_proba(pd.DataFrame({"x": [None]}).assign(z=None))[0])
    assert given.tolist() == pytest.approx([0, 1], abs=0.05)
    with pytest.raises(ValueError, match=r"not seen the value 'missing'.* give None"):
        model.query("y", {"x": "missing"})
    with pytest.raises(ValueError, match=r"\['z'\] is missing; leave it out"):
        model.query("y", {"z": None})
    assert model.query("x")["x"].tolist() == ["a", "b", "missing"]


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_evidence_called_missing_is_the_value_where_there_is_one():
    model = fitted(frame_of("missing", "missing", "missing", None, None, "b"))
    assert model.query("y", {"x": "missing"})["probability"].tolist() == pytest.approx([1, 0], abs=0.05)
    assert model.query("y", {"x": None})["probability"].tolist() == pytest.approx([0, 1], abs=0.05)
    with pytest.raises(ValueError, match="not seen the value 'missing_'"):
        model.query("y", {"x": "missing_"})


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_a_missing_number_is_evidence_too():
    x = [1.5, 2.5, 1.7, np.nan, np.nan, 9.5] * 10
    model = fitted(pd.DataFrame({"x": x, "z": ["u", "v"] * 30}), categorical_features=None)
    assert model.encoder_.numeric == ("x",)
    assert model.query("y", {"x": None})["probability"].tolist() == pytest.approx([0, 1], abs=0.05)
    with pytest.raises(ValueError, match="give None"):
        model.query("y", {"x": "missing"})


def test_rows_drawn_from_the_model_are_missing_where_that_is_their_state(holes):
    model = fitted(holes, unseen="error")
    drawn = model.sample(500, random_state=0)
    assert drawn["x"].isna().mean() == pytest.approx(1 / 3, abs=0.1)
    assert set(drawn["x"].dropna()) == {"a", "b"}
    assert model.score(drawn.drop(columns="y"), drawn["y"]) > 0.6
    numbers = fitted(frame_of(1, 1, 2, None, None, 2, dtype=float), categorical_features=["x"], unseen="error")
    drawn = numbers.sample(500, random_state=0)
    assert set(drawn["x"].dropna()) == {1, 2}
    assert numbers.predict(drawn.drop(columns="y")).shape == (500,)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@pytest.mark.parametrize("value", ["missing", "a"])
def test_a_saved_model_keeps_the_two_apart(tmp_path, value):
    model = fitted(frame_of(value, value, value, None, None, "b"))
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.encoder_.missing_states == model.encoder_.missing_states
    asked = rows("missing", "missing_", None, "b")
    assert quiet(loaded.predict_proba, asked).tolist() == quiet(model.predict_proba, asked).tolist()
    assert loaded.query("y", {"x": None}).equals(model.query("y", {"x": None}))


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@pytest.mark.parametrize("suffix", ["bif", "xmlbif", "xdsl", "net"])
def test_a_network_file_keeps_both_states(tmp_path, suffix):
    model = fitted(frame_of("missing", "missing", "missing", None, None, "b"))
    model.write(tmp_path / f"net.{suffix}")
    back = bnplug.read_network(tmp_path / f"net.{suffix}")
    assert back.tables_.states["x"] == model.tables_.states["x"]
    assert back.encoder_.missing_states == model.encoder_.missing_states == {"x": "missing_"}
    for value in ("missing", None, "b"):
        one, other = back.query("y", {"x": value}), model.query("y", {"x": value})
        assert one["probability"].tolist() == pytest.approx(other["probability"].tolist())
    asked = rows("missing", "missing_", None, "b")
    assert quiet(back.predict_proba, asked).tolist() == quiet(model.predict_proba, asked).tolist()


def test_answers_keep_the_types_of_mixed_labels():
    states = {"x": [1, "a", True, 2.5], "w": [1, 2.5], "c": ["n", "y"]}
    own = {name: ((), np.log(np.full(len(labels), 1 / len(labels)))) for name, labels in states.items()}
    model = BayesianNetworkClassifier.from_tables(LogTables(list(states), states, own, "c"))
    for name, labels in states.items():
        found = model.query(name)[name].tolist()
        assert [(type(label), label) for label in found] == [(type(label), label) for label in labels]
    both = model.query(["w", "x"])
    assert both["x"].map(repr).tolist() == ["1", "'a'", "True", "2.5"] * 2
    assert both["w"].map(repr).tolist() == ["1"] * 4 + ["2.5"] * 4


# The case of docs/missing.md: whether a test is made depends on the symptom, which is always known.


@pytest.fixture(scope="module")
def patients():
    """1,000 patients of either sex: (symptom, infected) as often as it occurs, and as often as it is known."""
    counts = {("yes", "yes"): (225, 225), ("yes", "no"): (25, 25), ("no", "yes"): (75, 10), ("no", "no"): (675, 90)}
    cells = [
        (symptom, infected if i < known else None, infected, sex)
        for (symptom, infected), (n, known) in counts.items()
        for i in range(n)
        for sex in "fm"
    ]
    return pd.DataFrame(cells, columns=["symptom", "infected", "truth", "sex"])


@pytest.mark.parametrize(
    ("missing", "symptom_is_parent", "infected", "symptom"),
    [
        ("ignore", False, 0.67, 0.25),
        ("ignore", True, 0.30, 0.25),
        ("drop", False, 0.67, 0.71),
        ("drop", True, 0.67, 0.71),
    ],
)
@pytest.mark.filterwarnings('ignore:missing="drop" keeps:bnplug.errors.BnplugWarning')
def test_counts_of_known_cells_are_biased_unless_their_parents_decide(
    patients, missing, symptom_is_parent, infected, symptom
):
    assert (patients["truth"] == "yes").mean() == 0.30
    edges = [("sex", "symptom"), ("sex", "infected")] + [("symptom", "infected")] * symptom_is_parent
    model = BayesianNetworkClassifier(edges, "ml", missing=missing)
    model = model.fit(patients[["symptom", "infected"]], patients["sex"])
    for name, share in [("infected", infected), ("symptom", symptom)]:
        found = model.query(name).set_index(name)["probability"]["yes"]
        assert found == pytest.approx(share, abs=0.005)


def test_the_page_on_missing_features_shows_that_case(capsys):
    page = (Path(__file__).parents[2] / "docs" / "missing.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    [snippet] = [text for text in snippets if "patients" in text]
    namespace = {"BayesianNetworkClassifier": BayesianNetworkClassifier}
    exec(compile(snippet, "missing.md", "exec"), namespace)
    assert namespace["share"] == {"not a parent": 0.67, "a parent": 0.3}
    truth = namespace["patients"].groupby("infected")["rows"].sum()
    assert truth["yes"] / truth.sum() == 0.3
    for figure in ("share of the infected is 0.30", "it is 0.67: 235 of the 350", "0.71 have the symptom"):
        assert figure in page.replace("\n", " ")


# The table that fit learns on.


class Remembers(bnplug.StructureLearner):
    """Naive Bayes, and the table that it was given."""

    def learn(self, table):
        self.table_ = table
        return bnplug.structure_learner("nb").learn(table)


RNG = np.random.default_rng(0)
MIXED = pd.DataFrame(
    {
        "age": np.where(np.arange(60) % 7, RNG.normal(size=60) + 2 * (Y == "q"), np.nan),
        "city": RNG.choice(["rome", "oslo", None], 60),
        "rooms": RNG.integers(0, 3, 60),
    }
)
WEIGHTS = np.arange(60) % 3 / 2


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"missing": "value"},
        {"missing": "drop"},
        {"discretizer": ("quantile", {"n_bins": 3})},
        {"discretizer": bnplug.UniformDiscretizer(4), "categorical_features": None},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.filterwarnings('ignore:missing="drop" keeps:bnplug.errors.BnplugWarning')
def test_code_gives_what_fit_learns_on(params, weights):
    table, encoder = bnplug.encode_training(MIXED, Y, weights, **params, relative_weights=True)
    assert table.weights is None or (table.weights > 0).all()
    model = BayesianNetworkClassifier(Remembers(), **params).fit(MIXED, Y, weights)
    # The default parameters leave rows out, so only the ratios of weights matter.
    table, learned_on = table.with_relative_weights(by_class=True), model.structure_.table_
    assert (table.names, table.states, table.target) == (learned_on.names, learned_on.states, learned_on.target)
    assert (table.codes == learned_on.codes).all()
    assert (table.weights is None) == (learned_on.weights is None)
    assert table.weights is None or (table.weights == learned_on.weights).all()
    assert (encoder.encode(MIXED, table) == model.encode(MIXED)).all()


def test_the_rows_of_training_are_coded_as_new_ones_are():
    table, encoder = bnplug.encode_training(MIXED, Y, missing="value")
    assert (encoder.encode(MIXED, table)[table.features] == table.codes[table.features]).all()


def test_the_class_has_the_name_of_y_or_one_that_no_feature_has():
    assert bnplug.encode_training(MIXED, Y)[0].target == "y"
    assert bnplug.encode_training(MIXED, Y.to_numpy())[0].target == "class"
    assert bnplug.encode_training(MIXED.rename(columns={"age": "class"}), Y.to_numpy())[0].target == "class_"
    assert bnplug.encode_training(MIXED, Y, name="risk")[0].target == "risk"
    with pytest.raises(ValueError, match="name='age': a feature has the same name"):
        bnplug.encode_training(MIXED, Y, name="age")


def test_classes_keep_their_type():
    encoder = bnplug.encode_training(MIXED, (Y == "q").to_numpy().astype(np.int8))[1]
    assert (encoder.classes.dtype, encoder.classes.tolist()) == (np.int8, [0, 1])


def test_code_takes_arrays():
    table, _ = bnplug.encode_training(MIXED[["age", "rooms"]].to_numpy(), Y.to_numpy())
    assert table.names == ("x0", "x1", "class")


STRICT = {"on_useless": "error"}
BAD = {
    "rows": (MIXED[:0], Y[:0], {}, "no rows"),
    "columns": (MIXED[[]], Y, {}, "no columns"),
    "lengths": (MIXED, Y[:5], {}, "inconsistent numbers of samples"),
    "one class": (MIXED, ["p"] * 60, {}, "only one class, 'p'"),
    "infinity": (MIXED.assign(age=np.inf, rooms=-np.inf), Y, {}, r"infinite numbers in columns \['age', 'rooms'\]"),
    "empty": (MIXED.assign(age=np.nan), Y, STRICT, r"columns \['age'\] have no value at all"),
    "identifier": (MIXED.assign(city=np.arange(60).astype(str)), Y, STRICT, r"columns \['city'\] have more states"),
    "weights": (MIXED, Y, {"sample_weight": [0.0] * 60}, "no row is left|zero"),
    "missing": (MIXED, Y, {"missing": "hide"}, "missing='hide' is not one of"),
    "error": (MIXED, Y, {"missing": "error"}, r"columns \['age', 'city'\] have missing cells"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_refused_by_name(case):
    X, y, params, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        bnplug.encode_training(X, y, **params)


def test_every_number_is_looked_at_once(monkeypatch):
    from bnplug.table import kinds

    seen = []
    isinf = np.isinf
    monkeypatch.setattr(kinds.np, "isinf", lambda values: seen.append(len(values)) or isinf(values))
    table, encoder = bnplug.encode_training(MIXED, Y)
    assert seen == [60]
    seen.clear()
    encoder.encode(MIXED, table)
    assert seen == [60]
