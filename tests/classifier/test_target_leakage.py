"""The class among the features is refused, and a feature that determines the class is named in one warning."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, TargetLeakageWarning

RNG = np.random.default_rng(0)
N = 120
PATIENTS = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, N).round(1),
        "sex": RNG.choice(["f", "m"], N),
        "diagnosis": RNG.choice(["benign", "malignant"], N),
    }
)
FEATURES, DIAGNOSIS = PATIENTS[["age", "sex"]], PATIENTS["diagnosis"]
CODED = DIAGNOSIS.map({"benign": 0, "malignant": 1})
REFUSED = r"X contains the class: column 'diagnosis'.*fit\(X\.drop\(columns='diagnosis'\), y\)"


def leaks(fit, *args, **params):
    """Return the messages about leakage that a call gives; other warnings are errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", TargetLeakageWarning)
        fit(*args, **params)
    return [str(own.message) for own in caught]


@pytest.mark.parametrize(
    "y",
    [DIAGNOSIS, CODED, PATIENTS[["diagnosis"]], DIAGNOSIS.astype("category"), CODED == 1],
    ids=["series", "coded", "frame", "category", "bool"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")  # of a frame
def test_the_class_among_the_features_is_refused(y):
    with pytest.raises(ValueError, match=REFUSED):
        BayesianNetworkClassifier("nb").fit(PATIENTS, y)


def test_polars_and_code_refuse_it_too():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(PATIENTS.to_dict("list"))
    with pytest.raises(ValueError, match=REFUSED):
        BayesianNetworkClassifier("nb").fit(frame, frame["diagnosis"])
    with pytest.raises(ValueError, match=REFUSED):
        bnplug.encode_training(PATIENTS, DIAGNOSIS)


def test_it_is_refused_where_rows_have_no_class():
    y = DIAGNOSIS.mask(np.arange(N) % 3 == 0)
    with pytest.raises(ValueError, match=REFUSED):
        BayesianNetworkClassifier("nb", "ml", missing="em").fit(PATIENTS, y)


def test_it_is_refused_in_parts():
    model = BayesianNetworkClassifier("nb")
    with pytest.raises(ValueError, match=REFUSED):
        model.partial_fit(PATIENTS, DIAGNOSIS, classes=["benign", "malignant"])


def test_another_column_may_have_the_name_of_the_class():
    earlier = DIAGNOSIS.sample(frac=1, random_state=0).to_numpy()
    model = BayesianNetworkClassifier("nb").fit(FEATURES.assign(diagnosis=earlier), DIAGNOSIS)
    assert model.target_ == "diagnosis_"


@pytest.mark.parametrize("y", [DIAGNOSIS.to_numpy(), CODED.rename("ill")], ids=["array", "renamed"])
def test_under_another_name_it_is_warned_of(y):
    found = leaks(BayesianNetworkClassifier("nb").fit, PATIENTS, y)
    assert len(found) == 1
    assert "feature 'diagnosis' determines the class" in found[0]


def test_arrays_are_warned_of_by_position():
    found = leaks(BayesianNetworkClassifier("nb").fit, PATIENTS[["sex", "diagnosis"]].to_numpy(), CODED)
    assert ["feature 'x1' determines" in own for own in found] == [True]


LEAKING = FEATURES.assign(ward=np.where(CODED == 1, "oncology", "surgery"), fee=CODED * 900.0 + RNG.normal(100, 9, N))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"calibrate": "evidence"},
        {"parameters": "ccbn-loo"},
        {"missing": "em"},
        {"class_weight": "balanced"},
        {"structure": [("diagnosis", "ward"), ("diagnosis", "fee")]},
    ],
    ids=str,
)
def test_one_warning_names_all_features_once(params):
    model = BayesianNetworkClassifier(**{"structure": "nb", "discretizer": "mdl", **params})
    found = leaks(model.fit, LEAKING.mask(RNG.random(LEAKING.shape) < 0.1), DIAGNOSIS)
    assert len(found) == 1
    assert "features ['ward', 'fee'] determine the class 'diagnosis'" in found[0]


def test_missing_as_a_state_may_determine_the_class():
    stage = pd.Series(np.where(CODED == 1, "II", None))
    assert leaks(BayesianNetworkClassifier("nb").fit, FEATURES.assign(stage=stage), DIAGNOSIS) == []
    found = leaks(BayesianNetworkClassifier("nb", missing="value").fit, FEATURES.assign(stage=stage), DIAGNOSIS)
    assert ["'stage' determines" in own for own in found] == [True]


def test_files_and_parts_are_warned_of(tmp_path):
    LEAKING.assign(diagnosis=DIAGNOSIS).to_csv(tmp_path / "rows.csv", index=False)
    model = BayesianNetworkClassifier("nb", discretizer="mdl")
    found = leaks(model.fit_files, tmp_path / "rows.csv", "diagnosis")
    assert ["features ['ward', 'fee'] determine" in own for own in found] == [True]
    found = leaks(
        BayesianNetworkClassifier("nb", discretizer="mdl").partial_fit, LEAKING, DIAGNOSIS, np.unique(DIAGNOSIS)
    )
    assert ["features ['ward', 'fee'] determine" in own for own in found] == [True]


def test_the_warning_is_given_at_the_users_line():
    with pytest.warns(TargetLeakageWarning) as caught:
        BayesianNetworkClassifier("nb").fit(LEAKING, DIAGNOSIS)
    assert caught[0].filename == __file__
