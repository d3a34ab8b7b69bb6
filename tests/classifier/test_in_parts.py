"""Learning from files and from rows in parts: the model is that of all rows at once."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
import bnplug.sources._streaming as streaming
import bnplug.sources._table_files as table_files
from bnplug import BayesianNetworkClassifier, BnplugWarning, UnseenValueWarning, UselessColumnWarning

N = 400
RNG = np.random.default_rng(0)
Y = pd.Series(RNG.choice(["p", "q", "r"], N, p=[0.5, 0.3, 0.2]), name="y")
X = pd.DataFrame(
    {
        "t": RNG.choice(list("abc"), N),
        "x": np.where(RNG.random(N) < 0.1, np.nan, np.round(RNG.normal(size=N) + 2 * (Y == "p"), 1)),
        "k": RNG.integers(0, 4, N),
        "gaps": np.where(RNG.random(N) < 0.2, None, np.where(RNG.random(N) < 0.7, Y, "q")),
    }
)
WEIGHTS = RNG.integers(0, 3, N)


def same_tables(model, other, **tolerance):
    assert model.tables_.names == other.tables_.names
    assert model.tables_.states == other.tables_.states
    assert model.tables_.parents == other.tables_.parents
    for name in other.tables_.names:
        values, expected = model.tables_[name].values, other.tables_[name].values
        assert np.allclose(values, expected, **tolerance) if tolerance else (values == expected).all()


def quietly(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


class TestFiles:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        pytest.importorskip("pyarrow")
        monkeypatch.setattr(streaming, "BATCH_ROWS", 90)
        monkeypatch.setattr(table_files, "MOST_ROWS", 77)

    @pytest.fixture(params=["parquet", "csv"])
    def rows(self, request, tmp_path):
        folder = tmp_path / "rows"
        folder.mkdir()
        everything = X.assign(y=Y, w=WEIGHTS)
        for i, own in enumerate(np.split(np.arange(N), [10, 300])):
            path = folder / f"{i}.{request.param}"
            part = everything.iloc[own]
            part.to_parquet(path, index=False) if request.param == "parquet" else part.to_csv(path, index=False)
        return str(folder / f"*.{request.param}")

    @pytest.mark.parametrize("weighted", [False, True])
    def test_fit_files_is_fit_on_all_rows(self, rows, tmp_path, weighted):
        model = BayesianNetworkClassifier("nb").fit_files(
            rows, "y", sample_weight="w" if weighted else None, columns=list(X), cache=tmp_path / "cache"
        )
        expected = BayesianNetworkClassifier("nb").fit(X, Y, WEIGHTS if weighted else None)
        same_tables(model, expected, rtol=0, atol=1e-12)
        assert model.target_ == "y"
        assert list(model.feature_names_in_) == list(X)
        assert model.n_features_in_ == 4
        assert (model.predict_proba(X) == expected.predict_proba(X)).all()
        again = BayesianNetworkClassifier("nb").fit_files(rows, "y", columns=list(X), cache=tmp_path / "cache")
        assert again.encoder_.names == expected.encoder_.names

    @pytest.mark.parametrize("out", ["out.csv", "out.csv.gz", "out.parquet"])
    def test_predict_files_writes_what_predict_says(self, rows, tmp_path, out):
        model = BayesianNetworkClassifier("nb").fit(X, Y)
        with pytest.warns(bnplug.BnplugWarning, match=r"\['w'\] were not in the training data"):
            assert model.predict_files(rows, tmp_path / out) == N
        found = pd.read_parquet(tmp_path / out) if out.endswith("parquet") else pd.read_csv(tmp_path / out)
        assert list(found) == ["y", "P(p)", "P(q)", "P(r)"]
        assert found["y"].tolist() == model.predict(X).tolist()
        assert np.allclose(found.iloc[:, 1:], model.predict_proba(X), rtol=1e-12)

    def test_keys_are_repeated(self, rows, tmp_path):
        model = BayesianNetworkClassifier("nb").fit(X, Y)
        model.predict_files(rows, tmp_path / "out.csv", ids=["w"])
        assert pd.read_csv(tmp_path / "out.csv")["w"].tolist() == WEIGHTS.tolist()

    def test_an_error_leaves_the_former_answers(self, rows, tmp_path):
        out = tmp_path / "out.csv"
        out.write_text("former")
        model = BayesianNetworkClassifier("nb", unseen="error").fit(X.assign(t="a"), Y)
        with pytest.raises(ValueError, match="not seen in training"):
            quietly(model.predict_files, rows, out)
        assert out.read_text() == "former"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "rows"]

    def test_progress_is_told(self, rows, tmp_path):
        told = []
        model = BayesianNetworkClassifier("nb").fit_files(rows, "y", progress=lambda *own: told.append(own))
        model.predict_files(rows, tmp_path / "out.csv", progress=lambda *own: told.append(own))
        assert [own[0] for own in told if own[1:] == (N, N)] == ["states and cuts", "codes", "predictions"]

    def test_what_needs_rows_held_out_is_refused(self, rows):
        class Chooses(type(bnplug.parameter_learner("ml"))):
            n_inner_folds = 3

        with pytest.raises(ValueError, match="chosen on held-out rows"):
            BayesianNetworkClassifier("nb", Chooses()).fit_files(rows, "y")


DISCRETE = X.assign(x=np.round(X["x"]))
STATES = {"t": list("abc"), "k": [0, 1, 2, 3], "gaps": ["p", "q", "r"]}
EDGES = [("y", "t"), ("y", "k"), ("t", "k"), ("y", "gaps"), ("y", "x")]


class TestParts:
    def parts(self, model, frame, n_parts=4, weights=None, **first):
        for i, rows in enumerate(np.array_split(np.arange(N), n_parts)):
            own = None if weights is None else weights[rows]
            model.partial_fit(frame.iloc[rows], Y.iloc[rows], sample_weight=own, **(first if i == 0 else {}))
        return model

    @pytest.mark.parametrize("missing", ["ignore", "drop"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("parameters", ["ml", "backoff"])
    def test_parts_are_the_whole_to_the_last_bit(self, missing, weighted, parameters):
        frame, weights = DISCRETE[["t", "k", "gaps"]], WEIGHTS if weighted else None
        made = {"structure": EDGES[:4], "parameters": parameters, "missing": missing, "calibrate": None}
        found = self.parts(BayesianNetworkClassifier(**made), frame, 4, weights, classes=["r", "q", "p"], states=STATES)
        expected = BayesianNetworkClassifier(**made).fit(frame, Y, weights)
        same_tables(found, expected)
        assert found.classes_.tolist() == expected.classes_.tolist()
        assert (found.predict_proba(frame) == expected.predict_proba(frame)).all()

    def test_the_first_rows_settle_structure_and_cuts(self):
        model = BayesianNetworkClassifier("tan")
        model.partial_fit(X[:200], Y[:200], classes=["p", "q", "r"])
        first = BayesianNetworkClassifier("tan").fit(X[:200], Y[:200])
        same_tables(model, first)
        model.partial_fit(X[200:], Y[200:])
        assert model.tables_.parents == first.tables_.parents
        assert model.encoder_.cut_points["x"].tolist() == first.encoder_.cut_points["x"].tolist()
        assert model.parameters_.counts_[model.schema_.target_index].sum() == N

    def test_it_goes_on_where_fit_ended(self):
        model = BayesianNetworkClassifier("nb").fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
        assert model.parameters_.counts_[model.schema_.target_index].tolist() == Y.value_counts().sort_index().tolist()

    def test_one_class_is_enough_at_first(self):
        model = BayesianNetworkClassifier("nb").partial_fit(X[Y == "p"], Y[Y == "p"], classes=["p", "q"])
        model.partial_fit(X[Y == "q"], Y[Y == "q"])
        assert set(model.predict(X[["t", "x", "k"]].assign(gaps=None))) == {"p", "q"}

    @pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
    def test_a_new_state_is_unseen_unless_it_was_named(self):
        first, later = pd.DataFrame({"t": ["a", "b"] * 5}), pd.DataFrame({"t": ["z"]})
        model = BayesianNetworkClassifier("nb").partial_fit(first, ["p", "q"] * 5, classes=["p", "q"])
        with pytest.warns(UnseenValueWarning, match="'z' not seen"):
            model.partial_fit(later, ["p"])
        assert model.schema_.states["t"] == ("a", "b")
        assert model.parameters_.counts_[model.schema_.target_index].tolist() == [6, 5]
        named = BayesianNetworkClassifier("nb")
        named.partial_fit(first, ["p", "q"] * 5, classes=["p", "q"], states={"t": ["z"]}).partial_fit(later, ["p"])
        assert named.parameters_.counts_[0].sum(axis=1).tolist() == [5, 5, 1]

    @pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
    def test_states_are_named_at_first_or_not_at_all(self):
        first, classes = pd.DataFrame({"t": ["a", "b"] * 30, "id": [f"row {i}" for i in range(60)]}), ["p", "q"]
        with pytest.warns(UselessColumnWarning, match="'id'"):
            model = BayesianNetworkClassifier("nb").partial_fit(first, classes * 30, classes, states={"t": ["z"]})
        before = model.parameters_.counts_[0].copy()
        with pytest.raises(
            ValueError, match=r"'t': .*\['y'\] are not among the states .*'a', 'b', 'z'.* the first partial_fit"
        ):
            model.partial_fit(first, classes * 30, states={"t": ["z", "y"]})
        with pytest.raises(ValueError, match=r"states names 'T'.*Did you mean"):
            model.partial_fit(first, classes * 30, states={"T": ["z"]})
        assert (model.parameters_.counts_[0] == before).all()
        model.partial_fit(first, classes * 30, classes, states={"t": ["z", "a"], "id": ["row 11"]})
        assert (model.parameters_.counts_[0] == 2 * before).all()

    def test_priors_and_fixed_tables_stay(self):
        frame = DISCRETE[["t", "k"]]
        learner = bnplug.parameter_learner(
            "ml", alpha=3.0, fixed={"t": (["y"], {c: {"a": 0.5, "b": 0.25, "c": 0.25} for c in "pqr"})}
        )
        found = self.parts(
            BayesianNetworkClassifier("nb", learner), frame, classes=["p", "q", "r"], states=STATES_OF_TWO
        )
        same_tables(found, BayesianNetworkClassifier("nb", learner).fit(frame, Y))

    @pytest.mark.parametrize(
        ("change", "call", "message"),
        [
            ({}, {}, "classes must be passed on the first call"),
            (
                {"parameters": "ccbn-w"},
                {"classes": ["p", "q", "r"]},
                "do not support partial_fit; parameter learners that do: 'backoff', 'ml'",
            ),
            ({"class_weight": "balanced"}, {"classes": ["p", "q", "r"]}, "needs all rows at once"),
            ({}, {"classes": ["p", "q"]}, r"labels \['r'\], which are not among the classes"),
            ({}, {"classes": ["p", "q", "r"], "states": {"T": ["a"]}}, r"states names 'T'.*Did you mean"),
        ],
    )
    def test_what_cannot_be_learned_in_parts(self, change, call, message):
        model = BayesianNetworkClassifier("nb", **change)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X[["t", "k"]], Y, **call)
        # Nothing is left of it.
        assert not hasattr(model, "classes_")

    def test_later_rows_must_fit(self):
        model = BayesianNetworkClassifier("nb", missing="error").fit(X[["t", "k"]], Y)
        with pytest.raises(ValueError, match=r"labels \['z'\]"):
            model.partial_fit(X[["t", "k"]][:2], ["p", "z"])
        with pytest.raises(ValueError, match=r"columns \['t'\] have missing cells"):
            model.partial_fit(pd.DataFrame({"t": [None], "k": [1]}), ["p"])
        with pytest.raises(ValueError, match="is not the same as on last call"):
            model.partial_fit(X[["t", "k"]], Y, classes=["p", "q"])
        with pytest.raises(ValueError, match="X has 2 rows and y has 1"):
            model.partial_fit(X[["t", "k"]][:2], ["p"])

    def test_a_loaded_model_has_no_counts(self, tmp_path):
        BayesianNetworkClassifier("nb").fit(X, Y).save(tmp_path / "model")
        with pytest.raises(ValueError, match="no counts to add to: it was loaded"):
            bnplug.load(tmp_path / "model").partial_fit(X, Y)


STATES_OF_TWO = {name: STATES[name] for name in ("t", "k")}


def test_options_for_csv_files_add_to_the_columns_that_the_model_knows_as_text(tmp_path):
    versions = np.array(["1.10", "1.1", "beta"] * 100)
    y = np.where(versions == "1.10", "new", "old")
    y[::50] = "new"
    X = pd.DataFrame({"version": versions, "plant": ["N", "S"] * 150})
    model = BayesianNetworkClassifier("nb").fit(X, y)
    pd.DataFrame({"version": ["1.10", "1.1"], "plant": ["N", "S"]}).to_csv(tmp_path / "rows.csv", index=False)
    model.predict_files(tmp_path / "rows.csv", tmp_path / "out.csv", csv={"text": ["plant"]})
    assert pd.read_csv(tmp_path / "out.csv")["class"].tolist() == ["new", "old"]


def test_files_may_differ_in_columns_that_the_model_does_not_use(tmp_path):
    k = np.arange(300) % 2
    rows = pd.DataFrame({"note": [f"n{i}" for i in range(300)], "x": k * 3 + np.linspace(0, 4, 300)})
    model = quietly(BayesianNetworkClassifier("nb").fit, rows, k)
    assert "note" in model.encoder_.left_out
    rows[:100].assign(more="a").to_csv(tmp_path / "u1.csv", index=False)
    rows[100:].assign(note=1, more=2.5).to_csv(tmp_path / "u2.csv", index=False)
    with pytest.warns(BnplugWarning, match=r"columns \['more'\] were not in the training data"):
        model.predict_files([tmp_path / "u1.csv", tmp_path / "u2.csv"], tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["class"].tolist() == model.predict(rows[["x"]].assign(note="")).tolist()


def test_missing_cells_without_a_state_are_reported_in_later_parts():
    model = BayesianNetworkClassifier("nb", missing="value")
    first = pd.DataFrame({"s": ["p", "q"] * 10, "t": ["u", None] * 10})
    y = ["N", "Y", "Y", "N"] * 5
    model.partial_fit(first, y, classes=["N", "Y"])
    with pytest.warns(
        BnplugWarning, match=r"columns \['s'\] have missing cells, but had none in the first part"
    ) as told:
        model.partial_fit(first.assign(s=["p", None] * 10), y)
    assert len(told) == 1
    with pytest.warns(UnseenValueWarning) as told:
        model.partial_fit(first.assign(s=["p", "new"] * 10), y)
    assert len(told) == 1


def test_other_whole_numbers_are_unseen_in_later_parts_and_nearest_in_prediction():
    first = pd.DataFrame({"k": [0, 1] * 30, "t": ["a", "b", "b"] * 20})
    y = ["N", "Y", "Y", "Y"] * 15
    model = BayesianNetworkClassifier("nb", "ml").partial_fit(first, y, classes=["N", "Y"])
    before = model.cpt("k")
    with pytest.warns(UnseenValueWarning, match="column 'k': 2, 3 not seen in training") as told:
        model.partial_fit(first.assign(k=[2, 3] * 30), y)
    assert len(told) == 1
    assert model.cpt("k").equals(before)
    assert (model.predict_proba(first.assign(k=1)) == model.predict_proba(first.assign(k=3))).all()
    for numbers in ([2.0] * 60, ["2"] * 60, [2] * 60):
        with pytest.raises(ValueError, match=r"column 'k': .* not seen in training"):
            model.set_params(unseen="error").partial_fit(first.assign(k=numbers), y)
    same = BayesianNetworkClassifier("nb", "ml").partial_fit(first, y, classes=["N", "Y"])
    for column in (first.k.astype(float), first.k.astype(str), first.k.astype("Int64")):
        same.partial_fit(first.assign(k=column), y)
    same_tables(same, BayesianNetworkClassifier("nb", "ml").fit(pd.concat([first] * 4), y * 4))
