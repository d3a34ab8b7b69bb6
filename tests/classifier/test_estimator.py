import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer
from sklearn.utils.estimator_checks import check_estimator

import bnplug
from bnplug import BayesianNetworkClassifier, BnplugWarning, MissingColumnWarning, UnseenValueWarning
from bnplug.datasets import iris, tic_tac_toe
from bnplug.model.log_tables import LogTables

# The table of `mixed` declares a category that no row has.
pytestmark = pytest.mark.filterwarnings("ignore:Column 'grade' has categories:bnplug.UnseenValueWarning")


@pytest.fixture(scope="module")
def boards():
    return tic_tac_toe()


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # scikit-learn's simple tables
@pytest.mark.parametrize(
    "classifier",
    [
        BayesianNetworkClassifier(),
        BayesianNetworkClassifier(structure="kdb"),
        BayesianNetworkClassifier(structure="nb", discretizer="uniform"),
        BayesianNetworkClassifier(parameters="ml", calibrate=None),
    ],
    ids=["default", "kdb", "nb-uniform", "ml"],
)
def test_scikit_learns_own_checks(classifier):
    leaves_rows_out = classifier.parameters == "backoff"
    expected = {
        "check_sample_weight_equivalence_on_dense_data": "a row of weight 2 is left out as a whole, but of two equal "
        "rows one remains"
    }
    results = check_estimator(classifier, on_fail=None, expected_failed_checks=expected if leaves_rows_out else None)
    failed = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped", "xfail")] == []
    assert failed == (set(expected) if leaves_rows_out else set())
    assert sum(r["status"] == "passed" for r in results) >= 40


def test_grid_search_reaches_into_a_component_given_by_name(boards):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(BayesianNetworkClassifier(structure="kdb"), {"structure__k": [1, 2]}, cv=folds)
    search.fit(*boards)
    assert search.best_params_ == {"structure__k": 2}
    assert search.best_estimator_.structure_.k == 2


def test_set_params_reaches_every_component():
    model = BayesianNetworkClassifier(parameters="ml")
    model.set_params(structure="kdb", structure__k=3, parameters__alpha=0.5, discretizer__categorical_features=None)
    assert (model.structure.k, model.parameters.alpha) == (3, 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'kk'"):
        model.set_params(structure__kk=3)


def test_components_are_cloned_never_changed(boards):
    learner = bnplug.structure_learner("kdb", k=1)
    model = BayesianNetworkClassifier(structure=learner, n_jobs=2).fit(*boards)
    assert learner.n_jobs is None
    assert not hasattr(learner, "order_")
    assert model.structure_.n_jobs == 2
    assert model.structure_.order_
    assert clone(model).get_params()["structure"].k == 1


def test_naive_bayes_agrees_with_scikit_learn_where_the_smoothing_coincides():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 4, (300, 6)), rng.integers(0, 3, 300)
    # alpha / (states * classes) virtual rows a cell here; alpha rows a cell there, and none for the prior.
    ours = BayesianNetworkClassifier("nb", bnplug.parameter_learner("ml", alpha=0), calibrate=None).fit(X, y)
    theirs = CategoricalNB(alpha=1e-12, force_alpha=True).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_every_kind_of_frame_gives_the_same_model(mixed):
    X, y = mixed
    reference = BayesianNetworkClassifier().fit(X, y)
    polars = pl.DataFrame(
        {
            "age": X["age"].to_numpy(),
            "city": X["city"].tolist(),
            "grade": pl.Series(X["grade"].tolist(), dtype=pl.Enum(["b", "a", "z"])),
            "member": X["member"].to_numpy(),
            "children": X["children"].to_numpy(),
        }
    )
    other = BayesianNetworkClassifier().fit(polars, y)
    assert (other.predict_proba(polars) == reference.predict_proba(X)).all()
    assert list(other.feature_names_in_) == list(X.columns)


def test_auto_takes_text_categories_booleans_and_few_whole_numbers_as_discrete(mixed):
    X, y = mixed
    model = BayesianNetworkClassifier().fit(X, y)
    assert model.encoder_.numeric == ("age",)
    assert model.tables_.states["grade"] == ("b", "a", "z")
    assert model.tables_.states["children"] == (0, 1, 2, 3)
    assert model.tables_.states["member"] == (False, True)
    assert model.target_ == "risk"


@pytest.mark.parametrize("features", [["city", "grade", "member"], [1, 2, 3], [False, True, True, True, False]])
def test_categorical_features_by_name_index_or_mask(mixed, features):
    X, y = mixed
    model = BayesianNetworkClassifier(categorical_features=features).fit(X, y)
    assert model.encoder_.numeric == ("age", "children")


def test_integer_weights_equal_repeated_rows(mixed):
    X, y = mixed
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    for structure in ("nb", "tan", "kdb"):
        weighted = BayesianNetworkClassifier(structure, "ml", calibrate=None).fit(X, y, sample_weight=weights)
        repeated = BayesianNetworkClassifier(structure, "ml", calibrate=None).fit(X.iloc[rows], y.iloc[rows])
        assert weighted.tables_.edges == repeated.tables_.edges
        assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-12)


def test_class_weight_is_sample_weight(mixed):
    X, y = mixed
    by_class = BayesianNetworkClassifier(class_weight={"low": 3, "high": 1}).fit(X, y)
    by_row = BayesianNetworkClassifier().fit(X, y, sample_weight=np.where(y == "low", 3, 1))
    assert (by_class.predict_proba(X) == by_row.predict_proba(X)).all()


def test_a_given_structure_is_kept(mixed):
    X, y = mixed
    edges = [("risk", "age"), ("risk", "city"), ("member", "city"), ("children", "risk")]
    model = BayesianNetworkClassifier(structure=edges).fit(X, y)
    assert set(model.dag_.edges) == set(edges)
    assert set(model.dag_.nodes) == {*X.columns, "risk"}
    again = BayesianNetworkClassifier(structure=model.dag_).fit(X, y)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert model.markov_blanket() == ["age", "city", "member", "children"]
    for bad, message in [
        ([("risk", "nobody")], "the graph has the node 'nobody', which is not a variable"),
        ([("risk", "age"), ("age", "risk")], "cycle"),
        ([("risk", "age", "city")], "an edge is a pair"),
    ]:
        with pytest.raises(ValueError, match=message):
            BayesianNetworkClassifier(structure=bad).fit(X, y)
    with pytest.raises(TypeError, match="a list of edges"):
        BayesianNetworkClassifier(structure=None).fit(X, y)


def test_columns_are_matched_by_name(mixed):
    X, y = mixed
    model = BayesianNetworkClassifier().fit(X, y)
    expected = model.predict_proba(X)
    assert (model.predict_proba(X[X.columns[::-1]]) == expected).all()
    with pytest.warns(MissingColumnWarning, match=r"\['city'\] are absent"):
        absent = model.predict_proba(X.drop(columns="city"))
    assert absent == pytest.approx(model.predict_proba(X.assign(city=None)))
    with pytest.warns(BnplugWarning, match=r"\['shoe'\] were not in the training data; they are ignored"):
        assert (model.predict_proba(X.assign(shoe=42)) == expected).all()
    with pytest.warns(BnplugWarning, match="'risk' is the class"):
        assert (model.predict_proba(X.assign(risk=y)) == expected).all()
    with pytest.raises(ValueError, match=r"\['shoe'\] were not in the training data, which had"):
        model.predict(pd.DataFrame({"shoe": [42, 43]}))


def test_an_array_must_have_the_width_of_training():
    X, y = load_iris(return_X_y=True)
    model = BayesianNetworkClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but BayesianNetworkClassifier is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="expecting 4"):
        model.predict(pd.DataFrame(X[:, :3]))
    assert (model.predict(pd.DataFrame(X)) == model.predict(X)).all()


def test_an_unseen_value_is_missing_or_an_error(mixed):
    X, y = mixed
    strange = X.head(1).assign(city="atlantis")
    model = BayesianNetworkClassifier().fit(X, y)
    with pytest.warns(UnseenValueWarning, match="'city': 'atlantis'"):
        assert model.predict_proba(strange) == pytest.approx(model.predict_proba(strange.assign(city=None)))
    with pytest.raises(ValueError, match="'city': 'atlantis'"):
        BayesianNetworkClassifier(unseen="error").fit(X, y).predict(strange)


def test_tied_classes_are_equal_and_the_first_is_predicted():
    X, y = pd.DataFrame({"x": ["a", "b"] * 10}), ["p", "q", "q", "p"] * 5
    model = BayesianNetworkClassifier("nb").fit(X, y)
    assert (model.predict_proba(X) == 0.5).all()
    assert set(model.predict(X)) == {"p"}


@pytest.mark.filterwarnings('ignore:missing="drop" keeps:bnplug.errors.BnplugWarning')
def test_missing_cells_in_training(mixed):
    X, y = mixed
    rng = np.random.default_rng(5)
    holes = X.astype(object).mask(rng.random(X.shape) < 0.2).astype({"age": float})
    complete = holes.notna().all(axis=1)
    dropped = BayesianNetworkClassifier(missing="drop").fit(holes, y)
    alone = BayesianNetworkClassifier().fit(holes[complete].astype({"children": int}), y[complete])
    assert dropped.predict_proba(X) == pytest.approx(alone.predict_proba(X))
    as_value = BayesianNetworkClassifier(missing="value").fit(holes, y)
    assert as_value.tables_.states["city"] == ("lima", "oslo", "rome", "missing")
    assert as_value.tables_.states["age"][-1] == "missing"
    assert as_value.predict_proba(holes).shape == (200, 2)
    assert BayesianNetworkClassifier(missing="ignore").fit(holes, y).score(holes, y) > 0.7
    with pytest.raises(ValueError, match=r"\['age', 'city', .*missing cells"):
        BayesianNetworkClassifier(missing="error").fit(holes, y)
    with pytest.raises(ValueError, match="missing='guess'"):
        BayesianNetworkClassifier(missing="guess").fit(holes, y)


BAD = {
    "no rows": (pd.DataFrame({"x": []}), [], "no rows"),
    "no feature": (pd.DataFrame(index=range(4)), [0, 1, 0, 1], "no columns"),
    "one class": (pd.DataFrame({"x": [0, 1, 1, 0]}), [1, 1, 1, 1], "only one class"),
    "duplicate names": (
        pd.DataFrame([[0, 1]] * 4, columns=["x", "x"]),
        [0, 1, 0, 1],
        r"duplicate column names \['x'\]",
    ),
    "infinite": (pd.DataFrame({"x": [0.0, np.inf, 1, 2]}), [0, 1, 0, 1], r"infinite numbers in columns \['x'\]"),
    "infinite array": (np.array([[0.0], [np.inf]]), [0, 1], "infinity"),
    "all missing": (pd.DataFrame({"x": [None] * 4, "z": [0, 1, 0, 1]}), [0, 1, 0, 1], r"\['x'\] have no value"),
    "identifier": (pd.DataFrame({"id": [f"n{i}" for i in range(50)]}), [0, 1] * 25, r"\['id'\].*identifier"),
    "datetime": (pd.DataFrame({"day": pd.date_range("2026-01-01", periods=4)}), [0, 1, 0, 1], "day"),
    "lists": (pd.DataFrame({"x": [[1], [2], [1], [2]]}), [0, 1, 0, 1], r"\['x'\] hold lists"),
    "missing class": (pd.DataFrame({"x": [0, 1, 0, 1]}), ["a", "b", None, "a"], "class is missing"),
    "lengths": (pd.DataFrame({"x": [0, 1, 0, 1]}), [0, 1], "inconsistent numbers of samples"),
    "one class of text": (pd.DataFrame({"x": [0, 1]}), np.array(["a", "a"]), "only one class, 'a';"),
    "mixed labels": (
        pd.DataFrame({"x": [0, 1, 0, 1]}),
        np.array(["a", 1, "a", 1], dtype=object),
        r"types \['int', 'str'\]",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_named(case):
    X, y, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        BayesianNetworkClassifier(on_useless="error", dates="error").fit(X, y)


def test_no_rows_to_predict_and_an_undirected_structure(mixed):
    X, y = mixed
    with pytest.raises(ValueError, match="X has no rows"):
        BayesianNetworkClassifier("nb").fit(X, y).predict(X.head(0))
    with pytest.raises(ValueError, match="undirected"):
        BayesianNetworkClassifier(nx.Graph([("risk", "age")])).fit(X, y)


def test_text_in_a_numeric_column_is_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = BayesianNetworkClassifier("nb").fit(X, y)
    with pytest.raises(ValueError, match=r"column 'petal width \(cm\)' is numeric"):
        model.predict(X.head(1).assign(**{"petal width (cm)": "wide"}))


def test_size_is_forecast_before_tables_are_made():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (100, 12)), columns=[f"x{i}" for i in range(12)]).astype(str)
    y = rng.integers(0, 2, 100)
    edges = [("class", "x0"), *((f"x{i}", "x0") for i in range(1, 11))]
    with pytest.raises(
        ValueError, match=r"more than max_parameters=50,000,000; the largest is that of 'x0' with parents"
    ):
        BayesianNetworkClassifier(edges).fit(X, y)
    with pytest.raises(
        ValueError, match=r"more than max_parameters=50,000,000; .* most states is 'x\d+': 9\. Use fewer"
    ):
        BayesianNetworkClassifier(bnplug.structure_learner("kdb", k=10, correction=None)).fit(X, y)


def test_a_discretizer_of_ones_own(mixed):
    X, y = load_iris(return_X_y=True, as_frame=True)
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform", quantile_method="averaged_inverted_cdf")
    assert cross_val_score(BayesianNetworkClassifier(discretizer=bins), X, y, cv=3).mean() > 0.85


def test_it_works_at_the_end_of_a_pipeline(mixed):
    pipeline = make_pipeline(FunctionTransformer(), BayesianNetworkClassifier("nb"))
    assert cross_val_score(pipeline, *mixed, cv=3).mean() > 0.7


def test_same_data_same_model_whatever_n_jobs(mixed):
    one, two = (BayesianNetworkClassifier(n_jobs=n).fit(*mixed) for n in (1, 2))
    assert all((one.tables_.tables[n].values == two.tables_.tables[n].values).all() for n in one.tables_.names)


def test_a_network_becomes_a_classifier(mixed):
    X, y = mixed
    model = BayesianNetworkClassifier(discretizer="quantile", calibrate=None).fit(X, y)
    binned = model.bins(X)
    network = BayesianNetworkClassifier.from_network(model.network_, "risk")
    assert network.predict_proba(binned) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert list(network.classes_) == ["high", "low"]
    with pytest.raises(ValueError, match="'nobody' is not among"):
        BayesianNetworkClassifier.from_network(model.network_, "nobody")
    with pytest.raises(TypeError, match="got a DAG"):
        BayesianNetworkClassifier.from_network(model.dag_, "risk")


class Rubbish(bnplug.StructureLearner):
    def __init__(self, answer="text"):
        self.answer = answer

    def learn(self, table):
        if self.answer == "text":
            return "a dag"
        first, second = table.names[:2]
        return [(first, "stranger")] if self.answer == "nodes" else [(first, second), (second, first)]


@pytest.mark.parametrize(("answer", "message"), [("text", "a str"), ("nodes", "stranger"), ("cycle", "cycle")])
def test_what_a_structure_learner_returns_is_checked(mixed, answer, message):
    with pytest.raises(bnplug.ContractError, match=rf"Rubbish.*{message}"):
        BayesianNetworkClassifier(Rubbish(answer)).fit(*mixed)


class Unnormalized(bnplug.ParameterLearner):
    """Log tables that sum to anything, as discriminative learners make them."""

    def fit(self, table, dag):
        fitted = bnplug.parameter_learner("ml").fit(table, dag)
        doubled = {name: (parents, 2 * values) for name, (parents, values) in fitted.tables.items()}
        return bnplug.LogTables(table.names, table.states, doubled)


def test_parameters_leave_as_a_network_where_the_structure_allows_it(mixed):
    X, y = mixed
    model = BayesianNetworkClassifier("tan", Unnormalized()).fit(X, y)
    assert model.tables_.normalized
    squared = BayesianNetworkClassifier("tan", "ml", calibrate=None).fit(X, y).predict_proba(X) ** 2
    assert model.predict_proba(X) == pytest.approx(squared / squared.sum(axis=1, keepdims=True), abs=1e-9)
    edges = [("risk", "age"), ("city", "age"), ("member", "age")]
    other = BayesianNetworkClassifier(edges, Unnormalized()).fit(X, y)
    with pytest.raises(bnplug.NotRepresentableError, match=r"'age'|'risk'"):
        other.network_  # noqa: B018


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA], ids=str)
def test_every_way_to_say_missing_is_the_same(mixed, nothing):
    X, y = mixed
    model = BayesianNetworkClassifier().fit(X, y)
    rows = X.head(5)
    expected = model.predict_proba(rows.drop(columns=["city", "children"]).assign(city=None, children=np.nan))
    holes = rows.astype({"city": object, "children": object})
    holes[["city", "children"]] = nothing
    assert model.predict_proba(holes) == pytest.approx(expected, abs=1e-12)
    nullable = rows.assign(
        children=pd.array([nothing] * 5, dtype="Int64"), city=pd.array([nothing] * 5, dtype="string")
    )
    assert model.predict_proba(nullable) == pytest.approx(expected, abs=1e-12)


def test_all_features_missing_gives_the_class_prior(mixed):
    X, y = mixed
    for structure in ("nb", "tan", "kdb"):
        model = BayesianNetworkClassifier(structure).fit(X, y)
        nothing = X.head(1).astype(object).mask(np.ones((1, X.shape[1]), dtype=bool))
        assert model.predict_proba(nothing)[0] == pytest.approx(model.cpt("risk")["probability"].to_numpy())


def test_a_clique_too_large_is_an_error_that_names_it(boards):
    X, y = boards
    learner = bnplug.structure_learner("kdb", k=3)
    model = BayesianNetworkClassifier(learner, calibrate=None, max_clique_size=10).fit(X, y)
    last = model.structure_.order_[-1]
    with pytest.raises(ValueError, match="max_clique_size") as caught:
        model.predict(X.mask(np.ones(X.shape, dtype=bool) & (X.columns != last)))
    assert sum(name in str(caught.value) for name in X.columns) >= 2


def test_missing_features_without_a_network_are_warned_of():
    """Off C1 the posterior of complete rows does not determine that of incomplete ones."""
    rng = np.random.default_rng(0)
    shape = {"y": ((), (2,)), "a": (("y",), (2, 2)), "b": (("y",), (2, 2)), "c": (("a", "b", "y"), (2, 2, 2, 2))}
    tables = {name: (parents, rng.normal(size=size)) for name, (parents, size) in shape.items()}
    free = LogTables(("a", "b", "c", "y"), dict.fromkeys(shape, (0, 1)), tables, target="y")
    model = BayesianNetworkClassifier.from_tables(free)
    complete = pd.DataFrame({"a": [0, 1], "b": [1, 0], "c": [1, 1]})
    model.predict_proba(complete)
    with pytest.warns(bnplug.MissingFeatureWarning, match="not C1"):
        model.predict_proba(complete.assign(a=[np.nan, 1]))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"structure": "kdb"}, {"structure": "kdb", "parameters": "backoff", "discretizer": "log2-quantile"}),
        ({"structure": ("kdb", {"k": 1}), "discretizer": "none"}, {"structure": "kdb(k=1)", "discretizer": "none"}),
        ({"structure": [("species", "sepal width (cm)")]}, {"structure": "given"}),
    ],
    ids=["names", "pairs", "edges"],
)
def test_how_a_model_was_made(params, said):
    X, y = iris()
    made = BayesianNetworkClassifier(**params).fit(X, y).made_
    assert said.items() <= made.items()


def test_how_a_model_of_instances_was_made():
    X, y = iris()
    model = BayesianNetworkClassifier(bnplug.structure_learner("kdb", k=1)).fit(X, y)
    assert model.made_["structure"].endswith("(k=1)")


def test_a_model_that_was_given_says_so():
    values = np.log([[0.5, 0.1], [0.5, 0.9]])
    tables = LogTables("cx", {"c": [0, 1], "x": [0, 1]}, {"c": ((), np.log([0.5, 0.5])), "x": ("c", values)}, "c")
    model = BayesianNetworkClassifier.from_tables(tables)
    assert model.made_ == {"structure": "given", "parameters": "given", "discretizer": "none"}
