"""The example that writes, installs, checks and uses somebody's classifier runs, and its methods do what they say."""

import importlib
import runpy
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "aode_plugin.py"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The two classes that the example installs, when everything in it has run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("example")))
        patch.syspath_prepend(str(runpy.run_path(str(EXAMPLE))["site"]))
        classifier, discretizer = map(importlib.import_module, ("bnplug_aode.classifier", "bnplug_aode.discretizer"))
    return classifier.AODE, discretizer.Proportional


def by_hand(X, y, row, min_count):
    """Return the formulas of Webb, Boughton and Wang (2005), one row and one count at a time."""
    classes, known = np.unique(y), [name for name in X if pd.notna(row[name])]
    joint = np.zeros(len(classes))
    for i in known:
        if (X[i] == row[i]).sum() < min_count:
            continue
        for k, c in enumerate(classes):
            together = (y == c) & (X[i] == row[i])
            term = (together.sum() + 1) / (X[i].notna().sum() + len(classes) * X[i].nunique())
            for j in known:
                if j != i:
                    counted = (together & (X[j] == row[j])).sum() + 1
                    term *= counted / ((together & X[j].notna()).sum() + X[j].nunique())
            joint[k] += term
    return joint / joint.sum()


def test_aode_is_the_mean_of_its_estimators(installed):
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.randint(0, 3, (80, 4)), columns=list("abcd")).map(lambda value: "xyz"[value])
    y = np.where((X["a"] == X["b"]) ^ (random.random_sample(80) < 0.2), "no", "yes")
    X = X.mask(random.random_sample(X.shape) < 0.1)
    model = installed[0](min_count=20).fit(X, y)
    found = model.predict_proba(X)
    for m in range(0, 80, 7):
        assert found[m] == pytest.approx(by_hand(X, y, X.iloc[m], 20), abs=1e-12)


def test_without_a_frequent_value_aode_is_naive_bayes(installed):
    X, y = pd.DataFrame({"a": ["x", "y"] * 5, "b": ["u"] * 5 + ["v"] * 5}), ["no", "yes", "yes", "yes", "no"] * 2
    model = installed[0](min_count=6).fit(X, y)
    assert (model.predict_proba(X) == model.coder_.predict_proba(X)).all()


def test_proportional_bins_are_as_many_as_the_rows_in_each(installed):
    values = np.random.RandomState(0).permutation(100.0 * np.arange(100))[:, None]
    bins = installed[1]().fit_transform(values)
    assert np.bincount(bins[:, 0].astype(int)).tolist() == [10] * 10
