"""Impossible numbers in a model folder: loading refuses them, or the model answers with finite probabilities."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, encode_training
from bnplug._json import sealed
from bnplug.experiments.storage import ResultsFile

N = 80
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "height": RNG.normal(size=N),
        "color": RNG.choice(list("abcdefgh"), N),
        "count": RNG.integers(0, 6, N),
        "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
    }
)
X.loc[3, "color"] = None
Y = pd.Series(np.where(X["height"] + RNG.normal(size=N) > 0, 1, 0), name="class")

HUGE = 10**400
NUMBERS = (HUGE, -HUGE, 10**300, 1e308, -1e308, float("nan"), float("inf"), -(10**30), 2**63, "x", None)


def rich_model():
    """Return a model whose folder has numbers in many fields."""
    return BayesianNetworkClassifier(
        ("kdb", {"k": 1}),
        discretizer=("quantile", {"n_bins": 3}),
        costs=[[0, 1.5], [2, 0]],
        class_weight={0: 1.5, 1: 2.0},
        max_categories=6,
        min_frequency=2,
        missing={"color": "value"},
        random_state=3,
        n_jobs=1,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers") / "model"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rich_model().fit(X, Y).save(folder)
    return folder


def leaves(value, place=()):
    """Yield the place and the value of everything in a JSON document that is neither a list nor an object."""
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, (*place, key))
    else:
        yield place, value


def with_value(document, place, value):
    """Return a copy of a JSON document with another value at a place."""
    changed = copy.deepcopy(document)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return changed


def outcome(folder, document):
    """Seal and load a document, and query the model; return "refused", "answers" or what went wrong."""
    (folder / "model.json").write_bytes(sealed(document))
    try:
        model = bnplug.load(folder)
    except bnplug.ModelFileError as error:
        return "refused" if str(error) else "an error without a message"
    except BaseException as error:
        return f"load: {error!r}"
    try:
        rows = X.head(4)
        answers = [model.predict_proba(rows), model.predict_proba(rows.assign(color=None, height=np.nan))]
        model.predict(rows)
    except BaseException as error:
        return f"predict: {error!r}"
    return "answers" if all(np.isfinite(found).all() for found in answers) else "probabilities are not finite"


@pytest.mark.filterwarnings("ignore")
def test_every_number_of_a_folder_may_be_impossible(folder):
    document = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    document.pop("checksum")
    cases = [
        (place, number)
        for place, value in leaves(document)
        for number in (NUMBERS if type(value) in (int, float) else (HUGE,))
    ]
    assert len(cases) > 400
    found = {(place, str(number)[:9]): outcome(folder, with_value(document, place, number)) for place, number in cases}
    assert {case: said for case, said in found.items() if said not in ("refused", "answers")} == {}
    assert outcome(folder, document) == "answers"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [HUGE, float("inf"), "x", None])
def test_the_folder_of_a_plugins_classifier_is_damaged_by_them_too(tmp_path, number):
    bnplug.save(bnplug.make_classifier("aode").fit(X[["height", "count"]], Y), tmp_path / "model")
    document = json.loads((tmp_path / "model" / "model.json").read_text(encoding="utf-8"))
    document.pop("checksum")
    place = next(place for place, _ in leaves(document) if "cut_points" in place)
    (tmp_path / "model" / "model.json").write_bytes(sealed(with_value(document, place, number)))
    with pytest.raises(bnplug.ModelFileError, match=r"cut points|out of range"):
        bnplug.load(tmp_path / "model")


def tables_of(parameter):
    values = {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.array([[parameter, -1.0], [0.0, -2.0]]))}
    return LogTables(["c", "x"], {"c": ["n", "y"], "x": [0, 1]}, values, "c")


@pytest.mark.parametrize("parameter", [1e308, -1e308, 1e101, float("inf"), float("nan")])
def test_log_parameters_whose_sums_could_overflow_are_refused(parameter):
    with pytest.raises(ValueError, match=r"node 'x': log parameters must be finite numbers from -1e\+100"):
        tables_of(parameter)


@pytest.mark.filterwarnings("ignore::bnplug.errors.MissingFeatureWarning")
@pytest.mark.parametrize("parameter", [1e100, -1e100, -np.inf, 1e5])
def test_log_parameters_within_the_bound_answer_finite_probabilities(parameter):
    model = BayesianNetworkClassifier.from_tables(tables_of(parameter))
    rows = pd.DataFrame({"x": [0, 1, None]})
    assert np.isfinite(model.predict_proba(rows)).all()
    assert np.isfinite(model.query(["c"])["probability"]).all()


@pytest.mark.parametrize("parameter", [1e308, -1e308, float("inf"), float("nan")])
def test_a_folder_with_such_log_parameters_is_damaged(tmp_path, parameter):
    model = BayesianNetworkClassifier("nb").fit(X[["count"]], Y)
    model.tables_.tables["count"].values[0, 0] = parameter
    model.save(tmp_path / "model")
    with pytest.raises(bnplug.ModelFileError, match="log parameters must be finite numbers"):
        bnplug.load(tmp_path / "model")


def test_huge_numbers_in_a_cache_of_codes_are_damage(tmp_path):
    rows = tmp_path / "rows.csv"
    X[["color"]].assign(y=Y).to_csv(rows, index=False)
    expected = encode_training(rows, "y", cache=tmp_path / "cache")[0].counts([[0, 1]])[0]
    (index,) = (tmp_path / "cache").glob("table-*.json")
    document = json.loads(index.read_text(encoding="utf-8"))
    document.pop("checksum")
    for key in ("n_variables", "weighted", "dtype"):
        index.write_bytes(sealed(with_value(document, (key,), HUGE)))
        found, _ = encode_training(rows, "y", cache=tmp_path / "cache")
        assert (found.counts([[0, 1]])[0] == expected).all()


def test_huge_numbers_in_a_results_file_are_a_damaged_line(tmp_path):
    settings = {"cv": "2"}
    ResultsFile(tmp_path / "r.jsonl", settings).append({"fold": 0, "accuracy": 0.5})
    with open(tmp_path / "r.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"fold": 1, "accuracy": HUGE}) + "\n")
    with pytest.raises(ValueError, match="line 3 is damaged"):
        ResultsFile(tmp_path / "r.jsonl", settings)
