"""A comparison: the same folds for all, whatever a method is, and nothing lost when one fails."""

import warnings

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from bnplug import BayesianNetworkClassifier, BnplugWarning
from bnplug.datasets import Dataset, iris, load
from bnplug.experiments import compare

TIMES = ["fit_seconds", "predict_seconds"]


class Witness(ClassifierMixin, BaseEstimator):
    """Predicts the first class, and remembers what it was given; a Pipeline hands it frames as they are."""

    seen: list = []  # noqa: RUF012

    def __init__(self, name="", random_state=None, n_jobs=None):
        self.name = name
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen.append((self.name, tuple(X.index), self.random_state))
        return self

    def predict(self, X):
        self.seen.append((self.name, tuple(X.index), None))
        return np.full(len(X), self.classes_[0])


class Fails(ClassifierMixin, BaseEstimator):
    """Fails where row 0 is not among the training rows; warns otherwise."""

    def fit(self, X, y):
        if 0 not in X.index:
            raise RuntimeError("row 0 is\nmissing")
        warnings.warn("not quite", UserWarning, stacklevel=1)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def as_is(estimator):
    return make_pipeline(FunctionTransformer(), estimator)


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": list("xyz") * 10, "b": rng.normal(size=30)})
    return Dataset("toy", X, pd.Series(["p", "q"] * 15, name="c"), "auto", "made up")


def test_every_method_gets_the_same_folds_and_every_row_is_tested_once_a_repetition(toy):
    Witness.seen.clear()
    found = compare([("one", as_is(Witness("one"))), ("two", as_is(Witness("two")))], [toy], cv="2x3")
    rows = {name: [given[1] for given in Witness.seen if given[0] == name] for name in ("one", "two")}
    # Before it is timed, a method runs on few columns of the first fold: two calls.
    one, two = rows["one"][2:], rows["two"][2:]
    assert one == two
    train, test = one[::2], one[1::2]
    assert len(train) == 6
    assert all(set(a) | set(b) == set(range(30)) and not set(a) & set(b) for a, b in zip(train, test, strict=True))
    assert sorted(sum(test[:3], ())) == sorted(sum(test[3:], ())) == list(range(30))
    assert test[:3] != test[3:]
    assert (found.results["n_train"] == 20).all()
    assert (found.results["accuracy"] == 0.5).all()


def test_seeds_differ_between_folds_and_are_the_same_for_all_methods(toy):
    Witness.seen.clear()
    methods = [as_is(Witness("free")), ("own", as_is(Witness("own", random_state=7))), ("b", as_is(Witness("b")))]
    compare(methods, [toy], cv=3)
    seeds = {
        name: [seed for seen, rows, seed in Witness.seen if seen == name and seed is not None and len(rows) == 20]
        for name in ("free", "own", "b")
    }
    assert len(set(seeds["free"])) == 3
    assert seeds["free"] == seeds["b"]
    assert set(seeds["own"]) == {7}


def test_a_fold_is_what_fitting_on_its_training_rows_gives():
    X, y = iris()
    rows = np.random.default_rng(1).permutation(150)
    train, test = rows[:100], rows[100:]
    model = BayesianNetworkClassifier("tan", random_state=0)
    found = compare([("tan", model)], [(X, y)], cv=[(train, test)], random_state=0).results.iloc[0]
    model.fit(X.iloc[train], y.iloc[train])
    assert found["dataset"] == "data1"
    assert found["accuracy"] == model.score(X.iloc[test], y.iloc[test])
    probabilities = model.predict_log_proba(X.iloc[test])
    picked = probabilities[np.arange(50), pd.Index(model.classes_).get_indexer(y.iloc[test])]
    assert found["cll"] == pytest.approx(picked.mean())
    assert found["n_parameters"] == model.tables_.n_parameters
    assert found["markov_blanket"] == len(model.markov_blanket())


def test_results_do_not_depend_on_the_number_of_jobs(toy):
    methods = ["nb", "decision-tree", ("fails", as_is(Fails()))]
    alone, together = (compare(methods, [toy], cv=2, n_jobs=n_jobs).results for n_jobs in (1, 2))
    assert_frame_equal(alone.drop(columns=TIMES), together.drop(columns=TIMES), check_exact=True)


def test_a_fold_that_fails_is_recorded_and_the_others_go_on(toy):
    found = compare([("fails", as_is(Fails())), "nb"], [toy, (toy.X, toy.y)], cv=3)
    assert len(found.results) == 12
    assert found.failures["error"].tolist() == ["RuntimeError: row 0 is missing"] * 2
    assert found.failures["method"].unique().tolist() == ["fails"]
    assert found.failed().to_numpy().tolist() == [[1, 0], [1, 0]]
    assert found.table()["fails"].isna().all()
    assert found.table()["nb"].notna().all()
    assert "1 failed" in found.to_text()
    worked = found.results[(found.results["method"] == "fails") & (found.results["error"] == "")]
    assert worked["warnings"].tolist() == ["UserWarning: not quite"] * 4
    assert found.complete().columns.tolist() == ["nb"]


@pytest.mark.parametrize(
    ("methods", "error", "message"),
    [
        (["tann"], LookupError, "no method 'tann'. Did you mean 'tan'?"),
        (["nb", "nb"], ValueError, "two methods are called 'nb'"),
        ([], ValueError, "no method"),
        ("nb", TypeError, "not the text 'nb'"),
        ({"nb": SVC()}, TypeError, "not a dict"),
        ([SVC], TypeError, "a method is a name"),
        ([("kdb", {"kk": 1})], TypeError, "no parameter 'kk'"),
    ],
)
def test_what_is_no_method_is_told_before_anything_runs(methods, error, message):
    with pytest.raises(error) as raised:
        compare(methods, ["iris"])
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("datasets", "options", "message"),
    [
        (["iriss"], {}, "Did you mean 'iris'"),
        ([], {}, "no data set"),
        (["iris", "iris"], {}, "two data sets are called 'iris'"),
        (["iris"], {"cv": "5"}, "data set 'iris': cv='5'"),
        (["iris"], {"cv": "0x5"}, "at least one repetition"),
        (["iris"], {"cv": 1}, "at least two folds"),
        (["iris"], {"cv": "split"}, "without training and test rows of its own"),
        (["iris"], {"cv": {"wine": 3}}, "cv has nothing for it"),
        (["iris"], {"cv": [([0, 1], [1, 2])]}, "fold 0 has 1 of 150 rows both in training and in test"),
        (["iris"], {"cv": [([0, 1], [150])]}, "rows are numbered 0 to 149"),
        (["iris"], {"cv": [([0, 1], [])]}, "fold 0 has no test rows"),
        (["iris"], {"cv": []}, "no fold"),
        (["iris"], {"missing": "impute"}, "missing='impute'"),
        (["iris"], {"random_state": None}, "random_state=None"),
        ([([[1], [2]], [1, 2, 3])], {}, "X has 2 rows and y has 3"),
    ],
)
def test_bad_data_and_folds_are_told_before_anything_runs(datasets, options, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        compare(["nb"], datasets, **options)
    assert message in str(raised.value)


def test_folds_by_splitter_by_data_set_and_as_the_data_set_comes(toy):
    split = (np.arange(20), np.arange(20, 30))
    own = Dataset("own", toy.X, toy.y, "auto", "made up", split=split)
    cv = {"toy": KFold(5), "own": "split"}
    sizes = compare(["nb"], [toy, own], cv=cv).results.groupby("dataset")["n_test"].apply(list).to_dict()
    assert sizes == {"toy": [6] * 5, "own": [10]}
    random = ShuffleSplit(3, test_size=0.3)
    first, second = (compare(["nb"], [toy], cv=random).results["cll"].tolist() for _ in range(2))
    assert first == second
    assert random.random_state is None


def test_missing_cells_are_dropped_or_a_value_or_ignored_by_all_methods(toy):
    X = toy.X.copy()
    X.loc[[1, 5, 9], "b"] = np.nan
    X.loc[[2, 5], "a"] = None
    data = Dataset("holes", X, toy.y, "auto", "made up")
    methods = ["nb", "logistic-regression", "gradient-boosting"]
    found = {missing: compare(methods, [data], cv=2, missing=missing) for missing in ("drop", "value", "ignore")}
    assert all(len(one.failures) == 0 for one in found.values())
    rows = {missing: one.results.groupby("method")["n_test"].sum().unique().tolist() for missing, one in found.items()}
    assert rows == {"drop": [26], "value": [30], "ignore": [30]}
    more_states = found["value"].table("n_parameters") > found["ignore"].table("n_parameters")
    assert more_states.loc["holes", "nb"]
    given = compare(["nb"], [data], cv=[(range(3, 30), range(3))], missing="drop").results.iloc[0]
    assert (given["n_train"], given["n_test"]) == (25, 1)


def test_no_complete_row_is_told():
    data = (pd.DataFrame({"a": [None] * 4, "b": [1, 2, 3, 4]}), list("ppqq"))
    with pytest.raises(ValueError, match="data set 'data1': no row is left"):
        compare(["nb"], [data], missing="drop")


def test_a_class_that_training_did_not_see_counts_as_wrong():
    X = pd.DataFrame({"a": list("xyxyxz")})
    y = list("pqpqpr")
    found = compare(["nb", "svm"], [(X, y)], cv=[(range(4), [4, 5])])
    assert found.results["accuracy"].tolist() == [0.5, 0.5]
    assert found.results["cll"].iloc[0] < np.log(np.finfo(float).eps) / 2
    assert np.isfinite(found.results["auc"]).all()


def test_bias_and_variance_add_up_to_the_loss():
    found = compare(["nb", "decision-tree"], ["corral"], cv="3x2", bias_variance=True)
    total = found.table("bias") + found.table("variance")
    np.testing.assert_allclose(total, found.table("zero_one_loss"))
    assert (found.table("variance") > 0).all(axis=None)
    plain = compare(["nb"], ["corral"], cv=2)
    with pytest.raises(ValueError, match="bias_variance=True"):
        plain.table("bias")
    with pytest.raises(ValueError, match="not of a fold"):
        found.fold_values("bias")


def test_progress_tells_the_folds_and_the_time_left(toy, capfd):
    compare(["nb"], [toy], cv=2, verbose=2)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("compare: 1 of 2 folds, 0:")
    assert "about 0:00 left (toy, nb, fold 1)" in lines[1]


@pytest.mark.parametrize("name", ["balance-scale", "monks-1", "iris"])
def test_columns_are_taken_as_the_classifier_takes_them_by_default(name):
    data = load(name)
    rows = np.random.default_rng(0).permutation(len(data.X))
    folds = [(rows[::2], rows[1::2])]
    plain = [(name, BayesianNetworkClassifier(name, calibrate=None)) for name in ("nb", "tan")]
    found = compare(plain, [data], cv=folds, random_state=0).table()
    (train, test), expected = folds[0], {}
    for structure in ("nb", "tan"):
        model = BayesianNetworkClassifier(structure, calibrate=None).fit(data.X.iloc[train], data.y.iloc[train])
        expected[structure] = model.score(data.X.iloc[test], data.y.iloc[test])
    assert found.loc[name].to_dict() == expected


def test_whole_numbers_of_few_values_are_states_unless_a_protocol_has_it_otherwise():
    as_states = compare(["nb+ml"], ["balance-scale"], cv=5).table().iloc[0, 0]
    cut = compare(["nb+ml"], ["balance-scale"], cv=5, categorical_features="declared").table().iloc[0, 0]
    assert as_states > 0.9
    assert cut < 0.75
    with pytest.raises(ValueError, match="categorical_features='all' is not one of"):
        compare(["nb"], ["iris"], categorical_features="all")


@pytest.mark.parametrize("labels", [["p"] * 20 + ["q"], ["p"] * 12 + ["q"] * 7 + ["r", "s"], list("pqrs") * 5 + ["t"]])
def test_a_class_with_fewer_rows_than_folds_is_a_warning(labels):
    X = pd.DataFrame({"a": list("xyz") * 7, "b": np.random.default_rng(0).normal(size=21)})
    rare = {label: labels.count(label) for label in set(labels) if labels.count(label) < 6}
    with pytest.warns(BnplugWarning, match="classes with fewer rows than there are folds") as caught:
        found = compare(["nb", "tan", "svm", "gradient-boosting"], [(X, labels)], cv="2x6")
    assert len(caught) == 1
    assert all(f"{label!r} ({n})" in str(caught[0].message) for label, n in rare.items())
    assert found.failures.empty
    assert found.results["n_test"].sum() == 4 * 2 * 21


def test_a_fold_whose_training_rows_have_one_class_is_answered_with_it():
    X = pd.DataFrame({"a": list("xyxyxy")})
    found = compare(["nb", "svm"], [(X, list("pppppq"))], cv=[(range(4), [4, 5])]).results
    assert found["accuracy"].tolist() == [0.5, 0.5]
    assert found["warnings"].str.contains("only one class, 'p'").all()
