"""A row is a dict, a series or a frame of one row; warnings with one message are given once."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier


@pytest.fixture(scope="module")
def model():
    X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "wind": ["no", "no", "yes"] * 2})
    return BayesianNetworkClassifier("nb").fit(X, ["go", "go", "go", "stay", "stay", "go"])


ROW = {"sky": "rain", "wind": None}


@pytest.mark.parametrize("question", ["predict", "predict_proba", "explain", "what_next", "bins", "impute"])
def test_questions_take_a_dict_a_series_and_a_frame(model, question):
    frame = pd.DataFrame([ROW], index=["day"])
    expected = getattr(model, question)(frame)
    for row in (ROW, pd.Series(ROW, name="day")):
        answer = getattr(model, question)(row)
        if isinstance(expected, np.ndarray):
            assert answer.tolist() == expected.tolist()
            continue
        same = answer.reset_index(drop=True), expected.reset_index(drop=True)
        if isinstance(row, dict) and "row" in answer:
            same = tuple(table.drop(columns="row") for table in same)
        pd.testing.assert_frame_equal(*same, check_dtype=False)


def test_conflict_takes_a_dict_a_series_and_a_frame(model):
    rows = [{"sky": "rain", "wind": "no"}, {"sky": "sun", "wind": "yes"}]
    expected = [model.conflict(row) for row in rows]
    assert [model.conflict(pd.Series(row)) for row in rows] == expected
    assert model.conflict(pd.DataFrame(rows)).tolist() == expected


def test_misspelled_names_suggest_the_nearest(model):
    with pytest.raises(ValueError, match="Did you mean 'sky'"):
        model.query("class", {"skyy": "rain"})
    with pytest.raises(ValueError, match="Did you mean 'class'"):
        model.query("clas")


def test_cross_validation_does_not_repeat_warnings():
    script = """
        import pandas as pd
        from sklearn.model_selection import cross_val_score
        from bnplug import BayesianNetworkClassifier
        X = pd.DataFrame({"id": [f"customer {i}" for i in range(200)], "x": [0, 1] * 100})
        cross_val_score(BayesianNetworkClassifier("nb"), X.assign(empty=None), [0, 1, 1, 0] * 50, cv=5)
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    lines = [line for line in result.stderr.splitlines() if "Warning" in line]
    assert lines, result.stderr
    assert len(lines) == len(set(lines))
