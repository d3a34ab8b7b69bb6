"""The protocol of the paper, and its page, on a small scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_rmcv import differences, protocol, reproduction

from bnplug import datasets
from bnplug.experiments import Comparison, compare, published, statistics

WAYS = [f"{name}, {way}" for way in ("cut beforehand", "10 equal bins", "alpha = 1") for name in ("NBC", "TAN")]
WAYS += ["MDL (NBC), one climb", "RMCV (empty), last of ties"]


def test_the_published_names_are_ours():
    for number in (2, 6):
        table = published(f"kelner2012-table{number}-accuracy")
        assert set(table["dataset"]) - {"Average"} == set(protocol.DATASETS)
        every = {*protocol.HEADLINE, *protocol.RIVALS, *protocol.HOLD_OUT, *protocol.OTHERS}
        assert set(table["method"]) <= every


@pytest.mark.parametrize(("number", "ranks"), [(2, reproduction.TABLE_3), (6, reproduction.TABLE_8B)])
def test_the_published_ranks_follow_from_the_published_accuracies(number, ranks):
    table = published(f"kelner2012-table{number}-accuracy").pivot(index="dataset", columns="method", values="mean")
    found = statistics.average_ranks(table.drop("Average")[list(ranks)])
    for method, (rank, _, _) in ranks.items():
        assert found[method] == pytest.approx(rank, abs=0.06), method


def test_shuttle_is_a_sample_that_is_always_the_same(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 9000), "class": rng.choice(["p", "q"], 9000, p=[0.9, 0.1])})
    frame.to_csv(tmp_path / "shuttle.csv", index=False)
    first, lacking = protocol.find(tmp_path, quick=False)
    shuttle = next(dataset for dataset in first if dataset.name == "Shuttle")
    assert len(shuttle.X) == protocol.SHUTTLE_ROWS
    assert shuttle.y.value_counts()["q"] == round(protocol.SHUTTLE_ROWS * (frame["class"] == "q").mean())
    again = next(d for d in protocol.find(tmp_path, quick=False)[0] if d.name == "Shuttle")
    pd.testing.assert_frame_equal(shuttle.X, again.X)
    assert "Chess" in lacking


def test_large_data_sets_are_repeated_less(tmp_path):
    corral = datasets.load("corral")
    named = [datasets.Dataset(name, corral.X, corral.y, "auto", "") for name in ("Chess", "Corral")]
    found = protocol.run_folds(protocol.networks({"NBC": "nb"}), named, 4, tmp_path / "results.jsonl")
    assert found.results.groupby("dataset").size().to_dict() == {"Chess": 15, "Corral": 20}


def test_checks_change_one_thing_each():
    found = protocol.run_checks([datasets.load("iris")])
    assert set(found.columns) == set(WAYS)
    assert ((found > 50) & (found < 100)).all(axis=None)
    assert found.iloc[0].nunique() > 2


def random_comparison(seed=0):
    """Figures of all classifiers on three data sets, three folds each; RMCV (NBC) is the best by far."""
    rng = np.random.default_rng(seed)
    methods = [*protocol.HEADLINE, *protocol.RIVALS, *protocol.HOLD_OUT, *protocol.OTHERS]
    names = ["Corral", "Tic-Tac-Toe", "Voting", "Hayes", "Crx", "Heart", "Chess"]
    rows = [
        {
            "dataset": name, "method": method, "fold": fold, "n_train": 80, "n_test": 20, "error": "", "warnings": "",
            "accuracy": 0.6 + 0.3 * (method == protocol.CONTROL) + 0.05 * rng.random(),
            "auc": rng.random(), "fit_seconds": 0.1 + rng.random(),
        }
        for name in names for method in methods for fold in range(3)
    ]  # fmt: skip
    return Comparison(pd.DataFrame(rows), names, methods)


def test_the_page_has_every_table_and_judges_every_claim():
    found = random_comparison()
    times = pd.DataFrame(
        [("Corral", 128, 6, 2, 6, 272, 0.5)],
        columns=["dataset", "rows", "features", "classes", "moves", "evaluations", "seconds"],
    )
    named = [datasets.load("tic-tac-toe")]
    checks = pd.DataFrame(50.5, index=found.datasets, columns=WAYS)
    text = reproduction.write_page(found, times, checks, named, ["Letter"]).to_markdown()
    for title in ("Table 2", "Table 3", "Table 6", "Table 8 (a)", "Table 8 (b)", "Table 9", "Run times"):
        assert f"## {title}" in text
    assert "- **yes**: RMCV (NBC) is the most accurate of the Bayesian networks on average." in text
    assert "- **yes**: It is significantly better than each of them" in text
    ours = 100 * found.table().loc["Corral", "TAN"]
    assert f"{ours:.2f} (98.14)" in text
    assert "| Corral | 128 | 6 | 2 | 6 | 272 | 0.500 | 1.090 | 2 |" in text
    assert "| Corral | 87.00 |" in text
    assert "50.50" in text
    assert text.endswith("Letter: no file of that name was given\n")


def test_differences_are_shown_with_their_reasons(monkeypatch):
    from bnplug.experiments import Page

    monkeypatch.setattr(differences, "REASONS", {"Iris": "a cold summer."})
    theirs = differences.published_accuracy()
    ours = theirs.loc[["Iris", "Vehicle", "Heart"]].copy()
    ours.loc["Iris", "TAN"] += 5
    ours.loc["Vehicle", "NBC"] -= 4.1
    ours.loc["Heart", "NBC"] += 3.9
    page = Page("a", "b", "c")
    differences.add_differences(page, ours, None)
    text = page.to_markdown()
    assert "**Iris**: a cold summer." in text
    assert "**Vehicle**: the reason was not found out." in text
    assert "-4.10" in text
    assert "Heart" not in text


def test_a_quick_run_needs_no_data(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "QUICK", {"Corral": "corral", "Iris": "iris"})
    monkeypatch.setattr(
        protocol, "run_folds", lambda methods, named, _, output: compare(methods, named, 2, output=output)
    )
    reproduction.run(None, tmp_path, quick=True)
    text = (tmp_path / "kelner2012.md").read_text()
    assert "This was a quick run" in text
    assert "Table 8 (b)" not in text
    assert (tmp_path / "kelner2012-ranks.png").exists()
