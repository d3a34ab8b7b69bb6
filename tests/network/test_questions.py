"""Questions to a fitted classifier."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import marginal, queried_network, weighted
from strategies import seeds

from bnplug import BayesianNetworkClassifier, LogTables, MissingFeatureWarning
from bnplug.datasets import iris, tic_tac_toe, wine
from bnplug.hooks import registry
from bnplug.inference.marginals import Marginalizer


@pytest.fixture(scope="module")
def grown():
    X, y = wine()
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.4)
    return BayesianNetworkClassifier("kdb", random_state=0).fit(X, y), holes.iloc[::10]


def labelled(tables, evidence):
    """Evidence by codes as evidence by labels."""
    return {
        name: tables.states[name][finding]
        if isinstance(finding, int)
        else dict(zip(tables.states[name], finding.tolist(), strict=True))
        for name, finding in evidence.items()
    }


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_labels_come_back_from_every_question(seed):
    tables, evidence = queried_network(seed)
    names = {name: tuple(f"{name}={state}" for state in own) for name, own in tables.states.items()}
    tables = LogTables(tables.names, names, tables.tables, tables.target)
    model = BayesianNetworkClassifier.from_tables(tables)
    known = labelled(tables, evidence)
    answer = model.query(tables.target, known)
    assert answer[tables.target].tolist() == list(names[tables.target])
    wanted = marginal(tables, weighted(tables, evidence), [tables.target])
    np.testing.assert_allclose(answer["probability"], wanted, rtol=0, atol=1e-10)
    best = model.most_probable(known)
    assert [*best] == [name for name in tables.names if not isinstance(evidence.get(name), int)]
    assert all(label in names[name] for name, label in best.items())
    moved = model.sensitivity(known)
    assert moved.groupby("target")["probability"].first().to_dict() == pytest.approx(
        dict(zip(names[tables.target], wanted, strict=True)), abs=1e-10
    )


@pytest.mark.parametrize("variables", ["cultivar", "proline", ["ash", "cultivar"]])
def test_a_frame_of_evidence_is_asked_row_by_row(grown, variables):
    model, X = grown
    asked = [variables] if isinstance(variables, str) else variables
    frame = model.query(variables, X.drop(columns=asked, errors="ignore"))
    assert frame.columns.tolist() == ["row", *asked, "probability"]
    assert frame["row"].unique().tolist() == X.index.tolist()
    for label, row in X.iterrows():
        alone = model.query(variables, row.drop(asked, errors="ignore").dropna().to_dict())
        own = frame[frame["row"] == label].drop(columns="row").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone, check_exact=False, atol=1e-10, rtol=0)


def test_rows_may_say_softly_what_they_know(grown):
    model, X = grown
    bins = model.schema_.states["proline"]
    softly = dict.fromkeys(bins, 1.0) | {bins[0]: 3.0}
    rows = X.head(2).drop(columns="proline").assign(proline=[softly, None])
    frame = model.query("cultivar", rows)
    first = {**rows.iloc[0].drop("proline").dropna().to_dict(), "proline": softly}
    np.testing.assert_allclose(frame["probability"][:3], model.query("cultivar", first)["probability"], atol=1e-12)
    np.testing.assert_allclose(frame["probability"][3:], model.predict_proba(X.iloc[[1]].assign(proline=None))[0])


@pytest.mark.parametrize("engine", ["elimination", "junction-tree", ("sampling", {"n_samples": 20_000})])
def test_of_rows_of_soft_evidence_only_the_impossible_have_no_answer(engine):
    with np.errstate(divide="ignore"):
        logs = {
            "c": ((), np.log([0.4, 0.6])),
            "x": (("c",), np.log([[1.0, 1.0], [0.0, 0.0]])),
            "y": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])),
        }
    tables = LogTables(["c", "x", "y"], {"c": [0, 1], "x": [0, 1], "y": [0, 1]}, logs, "c")
    model = BayesianNetworkClassifier.from_tables(tables, engine=engine, random_state=0)
    doubtful = {0: 1.0, 1: 3.0}
    rows = pd.DataFrame(
        {
            "x": pd.Series([0, 1, {0: 0.0, 1: 0.0}, {0: 0.0, 1: 1.0}, {0: 2.0, 1: 1.0}], dtype=object),
            "y": pd.Series([doubtful, doubtful, doubtful, 1, 1], dtype=object),
        }
    )
    found = model.query("c", rows)["probability"].to_numpy().reshape(5, 2)
    # P(c) P(y softly | c): 0.4 (0.9 + 3 x 0.1) and 0.6 (0.2 + 3 x 0.8); and P(c) P(y=1 | c): 0.04 and 0.48.
    wanted = np.array(
        [[0.48 / 2.04, 1.56 / 2.04], [np.nan] * 2, [np.nan] * 2, [np.nan] * 2, [0.04 / 0.52, 0.48 / 0.52]]
    )
    np.testing.assert_allclose(found, wanted, atol=1e-12 if engine != ("sampling", {"n_samples": 20_000}) else 0.02)
    with pytest.raises(ValueError, match="impossible"):
        model.query("c", {"x": 1, "y": doubtful})


def test_soft_evidence_that_takes_too_large_a_table_is_an_error():
    parents = ["v1", "v2", "v3"]
    logs = {name: ((), np.log([0.5, 0.5])) for name in parents}
    tables = LogTables(
        ["c", *parents],
        dict.fromkeys(["c", *parents], range(2)),
        {"c": (parents, np.full((2, 2, 2, 2), np.log(0.5))), **logs},
        "c",
    )
    model = BayesianNetworkClassifier.from_tables(tables, max_clique_size=4)
    with pytest.raises(ValueError, match="more than max_clique_size=4"):
        model.query("c", pd.DataFrame({"v1": [{0: 1.0, 1: 2.0}]}))


def test_what_rows_say_is_not_asked_about(grown):
    model, X = grown
    known = X["ash"].first_valid_index()
    with pytest.raises(ValueError, match=f"'ash' is asked about, and row {known} says what it is; leave it out"):
        model.query("ash", X)
    with pytest.raises(ValueError, match="ask about at least one variable"):
        model.query([], X)
    with pytest.raises(ValueError, match=r"no variable 'ashes' in the network\. Did you mean 'ash'"):
        model.query("ashes", X)


def test_rows_that_are_impossible_have_no_probability():
    X = pd.DataFrame({"x": [0, 0, 1, 1] * 5, "z": [0, 0, 1, 1] * 5})
    model = BayesianNetworkClassifier([("x", "z"), ("z", "class")], parameters="ml", random_state=0)
    model = model.set_params(parameters__alpha=0).fit(X, [0, 1] * 10)
    rows = pd.DataFrame({"x": [0, 0], "z": [0, 1]})
    assert model.query("class", rows)["probability"].isna().tolist() == [False, False, True, True]
    assert model.what_next(rows.assign(z=[None, None]))["information"].notna().all()


def test_the_most_probable_state_of_a_missing_cell_is_none():
    X = pd.DataFrame({"answer": ["yes", None, None, "no", None], "other": ["u", "v", "v", "u", "v"]})
    model = BayesianNetworkClassifier("nb", missing="value").fit(X, [0, 1, 1, 0, 1])
    best = model.most_probable({"class": 1})
    assert best == {"answer": None, "other": "v"}
    assert model.most_probable(best) == {"class": 1}


def test_what_next_is_the_expected_fall_of_the_entropy(grown):
    model, X = grown
    frame = model.what_next(X)
    assert frame.columns.tolist() == ["row", "feature", "information"]
    assert frame["row"].unique().tolist() == X.index.tolist()
    for label, row in X.head(4).iterrows():
        own = frame[frame["row"] == label]
        assert set(own["feature"]) == set(X.columns[row.isna()])
        assert own["information"].is_monotonic_decreasing
        known = row.dropna().to_dict()
        for feature, found in zip(own["feature"], own["information"], strict=True):
            joint = model.query(["cultivar", feature], known)["probability"].to_numpy().reshape(3, -1)
            apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
            assert found == pytest.approx((joint * np.log(joint / apart)).sum(), abs=1e-10)


def test_costs_change_what_comes_first(grown):
    model, X = grown
    nothing = X.head(1).mask(np.ones((1, 13), dtype=bool))
    first = model.what_next(nothing)["feature"].iloc[0]
    costs = dict.fromkeys(X.columns, 1.0) | {first: 100.0}
    frame = model.what_next(nothing, costs)
    assert frame["feature"].iloc[0] != first
    assert frame["per_cost"].is_monotonic_decreasing
    np.testing.assert_allclose(frame["per_cost"], frame["information"] / frame["cost"])
    with pytest.raises(ValueError, match=r"costs: each feature needs a cost; .*'ash'"):
        model.what_next(nothing, {"alcohol": 2.0})


def test_it_is_the_same_for_any_number_of_threads_and_for_arrays(grown):
    model, X = grown
    wanted = model.what_next(X)
    other = BayesianNetworkClassifier.from_tables(model.tables_, model.encoder_, n_jobs=2)
    pd.testing.assert_frame_equal(other.what_next(X), wanted, check_exact=True)
    array = BayesianNetworkClassifier("nb").fit(*(part.to_numpy() for part in wine()))
    assert array.what_next(X.head(3).to_numpy())["row"].unique().tolist() == [0, 1, 2]


def test_nothing_is_unknown():
    X, y = tic_tac_toe()
    model = BayesianNetworkClassifier("nb").fit(X, y)
    assert model.what_next(X.head(3)).columns.tolist() == ["row", "feature", "information"]
    assert len(model.what_next(X.head(3))) == 0


def test_discriminative_parameters_are_asked_as_one_measure():
    for seed in seeds(20):
        tables, evidence = queried_network([7, seed], soft=False)
        for table in tables.tables.values():
            table.values[:] += np.random.default_rng(seed).normal(size=table.values.shape)
        model = BayesianNetworkClassifier.from_tables(tables)
        known = {name: tables.states[name][code] for name, code in evidence.items()}
        rows = pd.DataFrame({name: pd.Series([known.get(name)], dtype=object) for name in model.encoder_.names})
        joint = weighted(tables, evidence)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingFeatureWarning)
            frame = model.what_next(rows)
        for feature, found in zip(frame["feature"], frame["information"], strict=True):
            both = marginal(tables, joint, [tables.target, feature])
            apart = np.outer(both.sum(axis=1), both.sum(axis=0))
            seen = both > 0
            assert found == pytest.approx((both[seen] * np.log(both[seen] / apart[seen])).sum(), abs=1e-10)


def test_a_measure_that_is_no_network_is_warned_of():
    tables, _ = queried_network(3)
    for table in tables.tables.values():
        table.values[:] += 0.5
    model = BayesianNetworkClassifier.from_tables(tables)
    rows = pd.DataFrame({name: [None] for name in model.encoder_.names}, dtype=object)
    with pytest.warns(MissingFeatureWarning, match="do not define a Bayesian network"):
        model.what_next(rows)


def test_evidence_may_be_a_row_of_a_frame(grown):
    model, X = grown
    row = X.iloc[0].dropna()
    pd.testing.assert_frame_equal(model.query("cultivar", row), model.query("cultivar", row.to_dict()))
    assert model.most_probable(row) == model.most_probable(row.to_dict())
    assert model.conflict(row) == model.conflict(row.to_dict())
    with pytest.raises(ValueError, match="evidence: expected a frame"):
        model.query("cultivar", [1.0, 2.0])


@pytest.mark.parametrize("engine", [m.name for m in registry.methods("engine") if m.exact])
def test_every_exact_engine_gives_the_same_answers(engine):
    X, y = iris()
    first = BayesianNetworkClassifier("tan", discretizer="mdl").fit(X, y)
    other = BayesianNetworkClassifier.from_tables(first.tables_, first.encoder_, engine=engine)
    bins = first.schema_.states["petal width (cm)"]
    known = {"petal length (cm)": 4.8, "petal width (cm)": dict(zip(bins, (0.1, 0.7, 0.3), strict=True))}
    rows = X.iloc[[0, 70]].mask(np.array([[True, False, True, False], [False, True, True, True]]))
    for ask in (
        lambda model: model.query(["species", "sepal width (cm)"], known)["probability"],
        lambda model: model.query("species", rows)["probability"],
        lambda model: model.what_next(rows).sort_values(["row", "feature"])["information"],
        lambda model: [model.conflict(known)],
    ):
        np.testing.assert_allclose(ask(other), ask(first), rtol=0, atol=1e-9)


class Counting(Marginalizer):
    asked = 0

    def query(self, variables, evidence):
        Counting.asked += 1
        return super().query(variables, evidence)


def test_the_engine_of_the_classifier_answers(grown, monkeypatch):
    model, _ = grown
    monkeypatch.setattr(model, "_marginalizer", Counting(model.tables_, model.target_))
    Counting.asked = 0
    model.query("cultivar", {"ash": 2.0})
    assert Counting.asked == 1
    assert model.conflict({"ash": 2.0, "proline": 700.0}) == pytest.approx(
        -np.log(
            pair(model, {"ash": 2.0, "proline": 700.0}) / (pair(model, {"ash": 2.0}) * pair(model, {"proline": 700.0}))
        )
    )
    assert Counting.asked > 3


def pair(model, findings):
    """The probability of findings, by a query for their joint distribution."""
    bins = model.bins(pd.DataFrame([findings]).reindex(columns=model.feature_names_in_)).iloc[0]
    frame = model.query(list(findings))
    return frame[np.logical_and.reduce([frame[name] == bins[name] for name in findings])]["probability"].sum()


def test_evidence_that_is_no_state_is_refused_with_the_states():
    model = BayesianNetworkClassifier("nb").fit(pd.DataFrame({"g": ["u", "v"] * 4}), [0, 1, 1, 0] * 2)
    with pytest.raises(ValueError, match=r"column 'g': 'U' not seen in training; the states are 'u', 'v'$"):
        model.query("class", {"g": "U"})


class TestFramesForAModelOfAnArray:
    ROWS = np.column_stack([np.arange(200) % 4, np.linspace(-1, 1, 200)])
    MODEL = BayesianNetworkClassifier("nb", "ml").fit(ROWS, np.where(np.arange(200) % 3 == 0, "a", "b"))
    FRAME = pd.DataFrame(ROWS, columns=["x0", "x1"])

    def test_its_own_names_are_matched_in_any_order(self):
        turned = self.FRAME[["x1", "x0"]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = self.MODEL.predict_proba(self.ROWS)
            assert (self.MODEL.predict_proba(self.FRAME) == expected).all()
            assert (self.MODEL.predict_proba(turned) == expected).all()
            assert np.allclose(self.MODEL.query("class", turned)["probability"], expected.ravel())
            assert self.MODEL.impute(turned.mask(turned == 2)).equals(
                self.MODEL.impute(self.FRAME.mask(self.FRAME == 2))[["x1", "x0"]]
            )

    def test_other_names_are_matched_by_position_with_a_warning(self):
        other = self.FRAME.set_axis(["u", "v"], axis=1)
        for ask in (self.MODEL.predict_proba, self.MODEL.bins, self.MODEL.impute):
            with pytest.warns(UserWarning, match=r"X has feature names, but .* was fitted without") as told:
                answer = ask(other)
            assert len(told) == 1
            assert np.array_equal(answer, ask(self.FRAME))
        with pytest.raises(ValueError, match="X has 1 features"):
            self.MODEL.predict(other[["u"]])

    @pytest.mark.parametrize("page", ["report", "explore"])
    def test_pages_show_the_same_rows_for_every_form_of_them(self, page, tmp_path):
        def written(X):
            getattr(self.MODEL, page)(tmp_path / "page.html", X, rows=5)
            return (tmp_path / "page.html").read_text()

        expected = written(self.ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert written(self.FRAME) == written(self.FRAME[["x1", "x0"]]) == expected
        with pytest.warns(UserWarning, match=r"X has feature names, but .* was fitted without") as told:
            assert written(self.FRAME.set_axis(["u", "v"], axis=1)) == expected
        assert len(told) == 1


class TestJointQuestions:
    X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain", "sun"] * 4, "wind": ["no", "no", "no", "yes", "yes"] * 4})
    MODEL = BayesianNetworkClassifier("tan", "ml").fit(
        X, ["go", "go", "stay", "stay", "go"] * 3 + ["go", "stay", "stay", "go", "go"]
    )

    def test_a_conditional_table_is_the_joint_one_divided_by_its_condition(self):
        joint = self.MODEL.query(["wind", "class"])["probability"].to_numpy().reshape(2, 2)
        table = self.MODEL.query("class", given="wind")
        assert list(table.columns) == ["wind", "class", "probability"]
        expected = joint / joint.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(table["probability"].to_numpy().reshape(2, 2), expected, atol=1e-12)

    def test_many_cases_are_answered_as_each_of_them(self):
        cases = [{"sky": "sun"}, None, {"sky": {"sun": 0.2, "rain": 0.8}, "wind": "no"}]
        frame = self.MODEL.query_many("class", cases)
        for i, case in enumerate(cases):
            alone = self.MODEL.query("class", case)["probability"].to_numpy()
            np.testing.assert_array_equal(frame.loc[frame["row"] == i, "probability"], alone)

    def test_a_changed_answer_does_not_change_the_next_one(self):
        first = self.MODEL.query("class", {"sky": "sun"})
        before = first.copy()
        first.loc[:, "class"] = "changed"
        pd.testing.assert_frame_equal(self.MODEL.query("class", {"sky": "sun"}), before)

    def test_explanations_add_up_to_one_and_begin_with_the_most_probable(self):
        found = self.MODEL.explanations({"sky": "rain"}, n=10)
        assert found["probability"].sum() == pytest.approx(1.0)
        assert found.iloc[0][["wind", "class"]].to_dict() == self.MODEL.most_probable({"sky": "rain"})
        joint = self.MODEL.probability({"sky": "rain", **self.MODEL.most_probable({"sky": "rain"})})
        assert joint / self.MODEL.probability({"sky": "rain"}) == pytest.approx(found["probability"][0])
        assert self.MODEL.most_probable({"sky": "sun"}, variables=["class"]) == {"class": "go"}
