import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, LogTables, NotRepresentableError
from bnplug.datasets import iris, tic_tac_toe
from bnplug.inference.sample import sample


@pytest.fixture(scope="module")
def boards():
    X, y = tic_tac_toe()
    return BayesianNetworkClassifier("tan").fit(X, y)


def test_frequencies_are_those_of_the_network(boards):
    rows = boards.sample(50_000, random_state=0)
    assert list(rows.columns) == list(boards.tables_.names)
    for name in ("class", "top-left"):
        share = rows[name].value_counts(normalize=True)
        expected = boards.query(name).set_index(name)["probability"]
        for state in boards.tables_.states[name]:
            assert share[state] == pytest.approx(expected[state], abs=0.01)
    joint = rows.groupby(["class", "middle-middle"], observed=False).size() / len(rows)
    asked = boards.query(["class", "middle-middle"]).set_index(["class", "middle-middle"])["probability"]
    assert np.abs(joint - asked).max() < 0.01


def test_a_sample_can_be_learned_from(boards):
    rows = boards.sample(500, random_state=1)
    again = BayesianNetworkClassifier("tan").fit(rows.drop(columns="class"), rows["class"])
    assert set(again.classes_) == set(boards.classes_)


def test_same_seed_same_rows(boards):
    pd.testing.assert_frame_equal(boards.sample(20, random_state=3), boards.sample(20, random_state=3))
    assert not boards.sample(20, random_state=3).equals(boards.sample(20, random_state=4))
    assert len(boards.sample(0)) == 0
    with pytest.raises(ValueError, match="negative"):
        boards.sample(-1)


def test_labels_keep_their_types():
    tables = LogTables(
        ["n", "c"], {"n": [3, 7], "c": [False, True]}, {"n": ((), np.log([0.5, 0.5])), "c": ((), np.log([0.5, 0.5]))}
    )
    rows = sample(tables, 10, random_state=0)
    assert set(rows["n"]) <= {3, 7}
    assert rows["c"].dtype == bool


def test_what_is_no_network_cannot_be_sampled():
    tables = LogTables(["c"], {"c": [0, 1]}, {"c": ((), [0.0, 0.0])})
    with pytest.raises(NotRepresentableError, match="'c'"):
        sample(tables, 1)


def test_query_takes_numbers_labels_and_the_class(boards):
    X, y = iris()
    model = BayesianNetworkClassifier("tan").fit(X, y)
    one = model.query("species", {"petal length (cm)": 1.4})
    row = pd.DataFrame({"petal length (cm)": [1.4]}).reindex(columns=X.columns)
    assert one["probability"].tolist() == pytest.approx(model.predict_proba(row)[0].tolist())
    both = model.query(["petal width (cm)", "species"], {"petal length (cm)": 1.4})
    assert both.groupby("species")["probability"].sum().tolist() == pytest.approx(one["probability"].tolist())
    given_class = model.query("petal width (cm)", {"species": "setosa"})
    assert given_class["probability"].sum() == pytest.approx(1)
    for evidence, message in [
        ({"colour": 1}, "no variable 'colour'"),
        ({"species": "tulip"}, "'tulip' not seen"),
        ({"petal length (cm)": None}, "is missing"),
        ({"petal length (cm)": np.inf}, "infinite"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.query("sepal width (cm)", evidence)


@pytest.mark.parametrize(
    "labels", [(1, "a", True, 2.5), (1, 2.5), (True, 2), (False, "no"), (2**63, -1), (2**70, 1), ("a\0", "b")]
)
def test_mixed_labels_keep_their_types(labels):
    tables = LogTables(["c"], {"c": labels}, {"c": ((), np.log(np.full(len(labels), 1 / len(labels))))})
    drawn = sample(tables, 200, random_state=0)["c"].tolist()
    assert {(type(label), label) for label in drawn} == {(type(label), label) for label in labels}
    assert sample(tables, 0)["c"].tolist() == []
