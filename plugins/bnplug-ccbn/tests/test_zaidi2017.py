"""The paper's protocol, and the page of its reproduction."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from bnplug_ccbn import protocol, reproduction

from bnplug import datasets
from bnplug.experiments import Page, published
from bnplug.hooks import registry


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Two small data sets, two rounds, few iterations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "MAX_ITER", 30)
        named = [datasets.load(name) for name in ("iris", "balance-scale")]
        rounds = {"iris": 2, "balance-scale": 2}
        found = protocol.run_folds(named, rounds, tmp_path_factory.mktemp("folds") / "folds.jsonl")
        return reproduction.with_figures(found, named, rounds)


def test_the_reproduction_is_registered():
    assert registry.reproduction("zaidi2017").run is reproduction.run


def test_the_data_sets_are_the_papers():
    """72 in its text and 73 in its table; of ours, poker-hand stands for one of them."""
    assert len({*protocol.SETS, *protocol.NEVER_THERE}) == 73
    named, lacking = protocol.find_sets(None, quick=True)
    assert [dataset.name for dataset in named] == list(protocol.QUICK)
    assert not lacking
    named, lacking = protocol.find_sets(None, quick=False)
    assert len(named) + len(lacking) == len(protocol.SETS)
    assert {"iris", "tic-tac-toe"} <= {dataset.name for dataset in named}


def test_more_rounds_begin_with_the_folds_of_fewer():
    iris = datasets.load("iris")
    for (train, test), (same, other) in zip(protocol.split(iris, 1), protocol.split(iris, 3), strict=False):
        assert (train == same).all()
        assert (test == other).all()
        assert sorted([*train, *test]) == list(range(150))


def test_classifiers_stop_where_the_paper_does():
    made = protocol.classifiers("NB")
    assert all(made[name].tol == 1e-32 and made[name].max_iter == 10_000 for name in ("NBw", "NBw(I)", "NBe(I)"))
    assert made["NBd"].max_iter == made["NBe"].max_iter == 100
    assert {name: learner.init for name, learner in made.items() if name != "NB"} == {
        name: "generative" if name.endswith("(I)") else "zeros" for name in made if name != "NB"
    }


def test_a_fold_is_measured(measured):
    methods = {name for structure in protocol.STRUCTURES for name in protocol.classifiers(structure)}
    assert len(measured) == 2 * 4 * len(methods)
    iris = measured[measured["dataset"] == "iris"]
    assert (iris.groupby("method")["zero_one"].mean() < 0.2).all()
    assert (measured["seconds"] > 0).all()
    path = iris[iris["method"] == "NBw"]["nll"].iloc[0]
    assert path[0] == pytest.approx(np.log(3))
    assert path[-1] == min(path)
    generative = iris[(iris["method"] == "NB") & (iris["fold"] == 0)].iloc[0]
    started = iris[(iris["method"] == "NBw(I)") & (iris["fold"] == 0)].iloc[0]
    assert started["nll"][0] < np.log(3)
    assert np.isnan(generative["nll_5"])


def test_bias_and_variance_add_up_to_the_loss(measured):
    for method in ("NB", "TANw"):
        own = measured[measured["method"] == method].groupby("dataset")[["bias", "variance", "zero_one"]].mean()
        np.testing.assert_allclose(own["bias"] + own["variance"], own["zero_one"], atol=1e-4)
    assert measured[measured["method"] == "NBd"]["bias"].isna().all()


def test_folds_that_are_there_are_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_ITER", 5)
    iris = datasets.load("iris")
    file = tmp_path / "folds.jsonl"
    first = protocol.run_folds([iris], {"iris": 1}, file, ["NB"])
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["fold"] for line in lines[1:]] == [0, 1]
    monkeypatch.setattr(protocol, "measure_fold", None)
    again = protocol.run_folds([iris], {"iris": 1}, file, ["NB"])
    pd.testing.assert_frame_equal(first, again)


def test_features_that_name_rows_or_have_no_value_are_left_out():
    X = pd.DataFrame({"id": [f"r{i}" for i in range(100)], "x": ["a", "b"] * 50, "z": np.arange(100) / 7, "n": np.nan})
    own = datasets.Dataset("d", X, pd.Series([0, 1] * 50), ("id", "x"), "")
    kept = protocol.with_usable_features(own)
    assert list(kept.X.columns) == ["x", "z"]
    assert kept.categorical_features == ("x",)


def test_a_class_that_training_did_not_see_is_an_error_of_one():
    zero_one, rmse, predicted = protocol.judge(np.array([[1.0, 0.0]]), np.array([0, 1]), np.array([2]))
    assert (zero_one, rmse, predicted.tolist()) == (1.0, 1.0, [0])


def test_tables_count_who_is_lower():
    rows = [(name, method, value) for name, pair in {"a": (0.1, 0.2), "b": (0.3, 0.3), "c": (0.5, 0.4)}.items()
            for method, value in zip(("NBw", "NBd"), pair, strict=True)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["dataset", "method", "nll_5"])
    won = protocol.count_wins(found, "nll_5", "NBw", "NBd")
    assert (won.win, won.draw, won.loss) == (1, 1, 1)
    found.loc[found["dataset"] == "a", "nll_5"] = np.nan
    assert protocol.count_wins(found, "nll_5", "NBw", "NBd").win == 0


def test_every_published_row_has_ours_where_it_can(measured):
    counts = reproduction.win_draw_loss_table(measured)
    theirs = published("zaidi2017-win-draw-loss")
    assert len(counts) == (theirs["datasets"] == "All").sum()
    assert (counts[["win", "draw", "loss"]].sum(axis=1) == 2).all()
    assert counts.iloc[0]["published"] == "62/3/7"


def test_further_iterations_are_those_of_the_one_behind():
    ahead, behind = [9.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 1.0, 1.0]
    assert reproduction.count_further(ahead, behind) == 1
    assert reproduction.count_further(behind, ahead) == -1
    assert reproduction.count_further(ahead, ahead) == 0
    never = [9.0] * 8
    assert reproduction.count_further(ahead, never) == 95


def test_times_are_compared_by_geometric_means():
    rows = [("a", 1.0, 2.0, 4.0), ("b", 1.0, 8.0, 4.0)]
    found = pd.DataFrame([
        (name, f"{structure}{letter}(I)", value)
        for name, *values in rows for structure in protocol.STRUCTURES
        for letter, value in zip("wde", values, strict=True)
    ], columns=["dataset", "method", "seconds"])  # fmt: skip
    times = reproduction.relative_means(found, "seconds", "w(I)").set_index("method")["times"]
    assert times["TANd(I)"] == pytest.approx(4.0)
    assert times["NBw(I)"] == pytest.approx(1.0)
    tests = reproduction.rank_tests(found.assign(n_iter=found["seconds"]))
    assert tests["NB", "seconds"][0].average_ranks.to_dict() == {"NBw(I)": 1.0, "NBd(I)": 2.5, "NBe(I)": 2.5}
    assert reproduction._judge_ranks(tests)[0] is True


def test_claims_on_big_data_sets_need_big_data_sets(measured):
    counts = reproduction.win_draw_loss_table(measured)
    assert reproduction._judge(counts, "RMSE", "Big")[0] is None
    assert reproduction._judge_accuracy(measured)[0] is None
    big = measured.assign(rows=20_000)
    holds, evidence = reproduction._judge_accuracy(big)
    assert isinstance(holds, bool)
    assert "KDB-1" in evidence
    assert reproduction._judge(reproduction.win_draw_loss_table(big), "RMSE", "Big")[0] is False


def test_a_run_writes_its_page(tmp_path, monkeypatch):
    """The whole of it, on two small sets, with few iterations."""
    monkeypatch.setattr(protocol, "QUICK", ("iris", "balance-scale"))
    monkeypatch.setattr(protocol, "MAX_ITER", 10)
    reproduction.run(None, tmp_path, quick=True)
    text = (tmp_path / "zaidi2017.md").read_text(encoding="utf-8")
    for heading in (
        "Table 4",
        "Table 5",
        "Table 6",
        "Figures 13",
        "Figures 15",
        "Training times",
        "Figures 20",
        "Claims",
    ):
        assert f"\n## {heading}" in text
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert [name for name in pictures if f"({name})" not in text] == []
    assert len(pictures) == 9
    assert str(tmp_path) not in text


def test_the_page_says_what_is_not_the_papers(measured):
    page = Page("p", "t", "r")
    reproduction.add_times(page, measured, reproduction.rank_tests(measured))
    assert "| NBd(I) |" in page.to_markdown()
