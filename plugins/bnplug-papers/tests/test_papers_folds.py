"""Repeated cross-validation as tasks."""

import pandas as pd
import pytest
from bnplug_papers.kit import Folds, Paper, Results, comparison, fold_tasks
from bnplug_papers.kit.results import rounded

import bnplug
from bnplug.experiments.storage import ResultsFile


def folds_paper(methods, names, folds):
    def planned(data, quick):
        return fold_tasks("t", methods, names, data, folds), []

    return Paper("me2026", "", "Me.", planned, lambda page, results: None, "bnplug_papers.kit")


def test_repeated_folds_are_those_of_compare(tmp_path):
    from bnplug.experiments import compare

    model = bnplug.recipe("TAN")
    folds_paper({"TAN": model}, {"Iris": "iris"}, Folds(3, 2))(None, tmp_path)
    results = Results(ResultsFile(tmp_path / "me2026.jsonl", {"paper": "me2026", "protocol": 1}).records)
    found = comparison(results, ["t"])
    usual = compare([("TAN", model)], ["iris"], "2x3", categorical_features="declared")
    pd.testing.assert_series_equal(found.results["accuracy"], usual.results["accuracy"].map(rounded))
    assert found.results["fold"].tolist() == list(range(6))
    assert found.table().loc["Iris", "TAN"] == pytest.approx(usual.table().loc["iris", "TAN"], abs=1e-6)


def test_only_the_figures_that_a_page_shows_are_kept(tmp_path):
    folds_paper({"TAN": bnplug.recipe("TAN")}, ["iris"], Folds(3, 1, figures=("accuracy",)))(None, tmp_path)
    results = Results(ResultsFile(tmp_path / "me2026.jsonl", {"paper": "me2026", "protocol": 1}).records)
    (record,) = results.records("t")
    assert set(record["value"]) == {"n_train", "n_test", "accuracy"}
    assert comparison(results, ["t"]).results["auc"].isna().all()


def test_a_repetition_with_a_fold_that_failed_is_no_result(tmp_path):
    broken = bnplug.BayesianNetworkClassifier("tan", max_parameters=2)
    with pytest.raises(RuntimeError, match="3 of 3 folds failed"):
        folds_paper({"TAN": broken}, ["iris"], Folds(3, 1))(None, tmp_path)
