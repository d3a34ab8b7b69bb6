"""What a user says is known, as codes and likelihoods."""

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier
from bnplug.network._evidence import encode_evidence, encode_rows

# The table of `mixed` declares a category that no row has.
pytestmark = pytest.mark.filterwarnings("ignore:Column 'grade' has categories:bnplug.UnseenValueWarning")


@pytest.fixture(scope="module")
def model(mixed):
    return BayesianNetworkClassifier("nb").fit(*mixed)


def encoded(model, evidence):
    return encode_evidence(evidence, model.encoder_, model.schema_)


def test_values_become_codes_and_dicts_likelihoods(model):
    states = model.schema_.states
    found = encoded(model, {"city": {"oslo": 2, "rome": 0.5, "lima": 0}, "member": True, "risk": "low"})
    assert list(found) == ["city", "member", "risk"]
    assert found["city"].tolist() == [{"oslo": 2.0, "rome": 0.5, "lima": 0.0}[state] for state in states["city"]]
    assert found["member"] == states["member"].index(True)
    assert found["risk"] == states["risk"].index("low")
    assert encoded(model, None) == {}


def test_numbers_stand_for_their_bins(model):
    cuts, bins = model.encoder_.cut_points["age"], model.schema_.states["age"]
    inside = [cuts[0] - 1, *(cuts[1:] + cuts[:-1]) / 2, cuts[-1] + 1]
    wanted = np.arange(1.0, 1 + len(bins))
    for values in (inside, bins):
        given = dict(zip(values, wanted, strict=True))
        assert encoded(model, {"age": given})["age"].tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"city": {"oslo": 1, "rome": 1}}, r"'city': no likelihood of \['lima'\]; say 0"),
        ({"city": {"oslo": 1, "rome": 1, "lima": -1}}, "the likelihood of 'lima' is -1; give a number of at least 0"),
        ({"city": {"oslo": 1, "rome": 1, "lima": "much"}}, "the likelihood of 'lima' is 'much'"),
        ({"city": {"oslo": 0, "rome": 0, "lima": 0}}, "every likelihood is 0"),
        ({"city": {"oslo": 1, "paris": 1}}, "'paris'"),
        ({"age": {20.0: 1, 21.0: 1}}, "is given two likelihoods, one as 21.0"),
        ({"town": {"oslo": 1}}, "no variable 'town'"),
    ],
)
def test_what_is_no_likelihood(model, evidence, message):
    with pytest.raises(ValueError, match=message):
        encoded(model, evidence)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_a_likelihood_is_not_of_a_point_in_time():
    X = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=60, freq="20D"), "x": [0, 1] * 30})
    model = BayesianNetworkClassifier("nb").fit(X, ["a", "b"] * 30)
    with pytest.raises(ValueError, match=r"'when': a likelihood must be of one feature: one of \['when.year'"):
        encoded(model, {"when": {pd.Timestamp("2024-01-01"): 1}})
    assert set(encoded(model, {"when": pd.Timestamp("2024-01-01")})) <= set(model.schema_.names)
    assert encoded(model, {"when": pd.Timestamp("2024-01-01")})


def test_cells_of_rows_may_be_likelihoods(model):
    likelihood = {"oslo": 1, "rome": 2, "lima": 3}
    frame = pd.DataFrame({"city": ["rome", likelihood, None], "age": [30.0, None, 30.0]}, index=[5, 6, 7])
    codes, soft = encode_rows(frame, model.encoder_, model.schema_, "error")
    missing = model.schema_.missing
    city, age = codes[model.schema_.index("city")], codes[model.schema_.index("age")]
    assert city.tolist() == [model.schema_.states["city"].index("rome"), missing, missing]
    assert age.tolist() == [0, missing, 0]
    assert list(soft) == [1]
    np.testing.assert_array_equal(soft[1]["city"], encoded(model, {"city": likelihood})["city"])
    with pytest.raises(ValueError, match="no variable 'town'"):
        encode_rows(pd.DataFrame({"town": ["rome"]}), model.encoder_, model.schema_, "error")
