"""The reproduction: a quick run gives a whole page; its parts say what they should."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from bnplug_mlbnsvm import protocol, reproduction
from bnplug_mlbnsvm.figures import draw_likelihoods
from bnplug_mlbnsvm.paths import draw_path, missing_path, path
from bnplug_mlbnsvm.summary import hidden_curve, likelihoods, mean_accuracy

import bnplug
from bnplug import datasets

SMALL = ("corral", "iris")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "QUICK", SMALL)
        patch.setattr(reproduction, "_MISSING", ("vehicle", "corral"))
        reproduction.run(None, out, quick=True)
    return out


def test_a_quick_run_writes_the_page_and_its_pictures(page):
    text = (page / "peharz2013.md").read_text()
    for part in ("Figure 1", "Figure 2", "Table 1", "Figure 3", "Figure 4", "Claims", "91.09", "ML-BN-SVM"):
        assert part in text
    pictures = {path.name for path in page.glob("*.png")}
    assert pictures == {f"peharz2013-{name}.png" for name in ("trade-off", "missing-lam", "likelihoods", "missing")}
    assert "nan" not in text.lower().split("claims")[0].replace("finance", "")


def test_results_are_kept_and_not_run_again(page, monkeypatch):
    file = page / "peharz2013-quick.jsonl"
    before = file.read_text()
    monkeypatch.setattr(protocol, "run_job", lambda *_: pytest.fail("a result was there"))
    todo = protocol.jobs([datasets.load(name) for name in SMALL], ("TAN", "NB"), quick=True)
    # A run that was killed leaves half a line.
    with file.open("a") as stream:
        stream.write('{"key": ["corral", 0')
    records = list(protocol.run(todo, file))
    _, *lines = before.splitlines()
    assert len(records) == len(lines)
    assert file.read_text() == before
    # JSON as other programs read it: no NaN.
    assert all(np.isfinite(json.loads(line)["accuracy"]) for line in lines)


def test_splits():
    for dataset in (datasets.load("iris"), datasets.load("corral")):
        parts = protocol.splits(dataset)
        assert len(parts) == 5
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(len(dataset.X)))
    rows = pd.DataFrame({"x": np.arange(11_000)})
    large = datasets.Dataset("large", rows, pd.Series(np.repeat(np.arange(10), 1100), name="class"), ("x",), "")
    ((train, test),) = protocol.splits(large)
    assert (len(train), len(test)) == (8000, 3000)
    # Rows whose features occur in two classes count in the first.
    copied = dataclasses.replace(large, X=pd.DataFrame({"x": np.arange(11_000) % 9_900}))
    ((train, test),) = protocol.splits(copied)
    assert (len(train), len(test)) == (7200, 2700)
    assert (np.bincount(large.y.iloc[train]) == 800).all()


def test_the_grids_are_the_papers():
    fine, coarse = (protocol.networks("TAN", coarse)["ML-BN-SVM"].parameters for coarse in (False, True))
    assert (len(fine.lam), len(fine.gamma), fine.cv.get_n_splits()) == (14, 6, 5)
    assert (coarse.lam, coarse.gamma, coarse.cv.get_n_splits()) == ((0.0, 1.0, 8.0, 64.0), (1.0, 10.0), 1)
    search = protocol.rivals(False, one=False)["SVM"]["classifier"]
    assert [len(values) for values in search.param_grid.values()] == [13, 11]
    assert [len(values) for values in protocol.rivals(True, one=True)["SVM"]["classifier"].param_grid.values()] == [
        3,
        3,
    ]


def test_bins_are_those_of_networks_and_missing_cells_stay_missing():
    X, y = datasets.iris()
    bins = protocol.Bins().fit(X, y)
    holes = X.copy()
    holes.iloc[0, 1] = np.nan
    found = bins.transform(holes)
    model = bnplug.BayesianNetworkClassifier("nb", "ml").fit(X, y)
    n_states = [len(model.tables_.states[name]) for name in X.columns]
    assert found.shape == (len(X), sum(n_states))
    own = slice(n_states[0], n_states[0] + n_states[1])
    assert np.isnan(found[0, own]).all()
    assert np.isnan(found).sum() == n_states[1]
    assert (np.nansum(found, axis=1)[1:] == 4).all()


def test_a_hidden_cell_changes_no_other_bin():
    """Whole numbers become floats in a column with a missing cell, and are the same states."""
    dataset = datasets.load("corral")
    bins = protocol.Bins(dataset.categorical_features).fit(dataset.X, dataset.y)
    whole, holes = bins.transform(dataset.X), bins.transform(dataset.X.mask(np.eye(len(dataset.X), 6, dtype=bool)))
    assert np.isnan(holes).sum() == 2 * 6
    np.testing.assert_array_equal(np.where(np.isnan(holes), whole, holes), whole)


def test_summaries_by_hand():
    records = pd.DataFrame(
        [
            {"dataset": d, "structure": "TAN", "fold": f, "method": m, "accuracy": a, "train_ll": t, "test_ll": t}
            for d, f, m, a, t in [
                ("a", 0, "ML", 0.5, -1.0), ("a", 1, "ML", 0.7, -1.0), ("b", 0, "ML", 0.9, -3.0),
                ("a", 0, "MM", 0.6, -2.0), ("a", 1, "MM", 0.6, -4.0), ("b", 0, "MM", 0.8, -4.0),
            ]
        ]
    ).assign(hidden=[{"0": 0.5}, {"0": 0.7}, {"0": 0.9}, {"0": 0.6}, {"0": 0.6}, None])  # fmt: skip
    assert mean_accuracy(records).loc["a", "TAN ML"] == pytest.approx(60.0)
    # a: (50% + 25%) / 2, b: 75%.
    assert likelihoods(records).loc["MM", "train"] == pytest.approx((37.5 + 75.0) / 2)
    assert hidden_curve(records).loc[0].to_dict() == pytest.approx({"ML": 60.0, "MM": 60.0})
    assert len(draw_likelihoods(records).collections) == 1


def test_figure_1_has_two_panels():
    frame = pd.DataFrame({"x": [0, 0, 1, 1, 1], "z": [0, 1, 0, 1, 1], "c": ["n", "n", "y", "y", "n"]})
    table = bnplug.Table.from_frame(frame, "c")
    upper = draw_path(path(table, table.dag([[2], [2], []]), [0, 1, 2]))
    assert [len(ax.lines) for ax in upper.figure.axes] == [1, 1, 1]
    assert [text.get_text() for text in upper.figure.axes[1].get_xticklabels()] == ["0", "1", "2"]


def test_figure_2_has_a_curve_for_each_lam():
    X, y = datasets.iris()
    found = missing_path((X, y), (X, y), [0, 4], [0, 4], draws=2, gamma=1.0)
    assert set(found["method"]) == {"lam=0", "lam=4"}
    # With nothing known, every row is given the most frequent class.
    assert found[found["missing"] == 4]["accuracy"].to_numpy() == pytest.approx(1 / 3)
