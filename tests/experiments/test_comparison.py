"""The result of a comparison: means, spreads, failures and tests over data sets."""

import numpy as np
import pandas as pd
import pytest
from html_page import Page

from bnplug.experiments import compare
from bnplug.experiments._report import describe_failures
from bnplug.experiments._tables import FOLD_METRICS
from bnplug.experiments.compare import Comparison


def test_statistics_of_a_comparison():
    found = compare(["nb", "tan", "kdb"], ["corral", "iris", "monks-1"], cv="2x3")
    table = found.table()
    assert found.friedman().n_datasets == 3
    assert set(found.nemenyi().average_ranks.index) == {"nb", "tan", "kdb"}
    assert found.bonferroni_dunn("nb").control == "nb"
    pair = found.pairs().set_index(["first", "second"]).loc[("nb", "tan")]
    assert pair["win"] == (table["nb"] > table["tan"]).sum()
    p_values = found.corrected_t_tests("nb")
    assert p_values.shape == (3, 2)
    from bnplug.experiments.statistics import corrected_t_test

    folds = found.fold_values().loc["corral"]
    expected = corrected_t_test(folds["nb"], folds["tan"], 0.5)
    assert p_values.loc["corral", "tan"] == pytest.approx(expected.p_value)
    with pytest.raises(ValueError, match="none of the methods"):
        found.corrected_t_tests("svm")


@pytest.fixture
def found():
    """Two data sets, two methods, two folds each; one fold failed."""
    accuracies = {
        ("a", "nb"): [0.5, 0.7],
        ("a", "tan"): [0.9, 0.7],
        ("b", "nb"): [1.0, np.nan],
        ("b", "tan"): [0.8, 0.8],
    }
    rows = []
    for (dataset, method), folds in accuracies.items():
        for fold, accuracy in enumerate(folds):
            figures = dict.fromkeys(FOLD_METRICS, np.nan) | {"accuracy": accuracy}
            error = "ValueError: no" if np.isnan(accuracy) else ""
            rows.append({"dataset": dataset, "method": method, "fold": fold, "n_train": 8, "n_test": 2, **figures})
            rows[-1] |= {"error": error, "warnings": ""}
    return Comparison(pd.DataFrame(rows), ["a", "b"], ["nb", "tan"])


def test_means_and_spreads_are_those_of_the_folds_and_none_where_one_failed(found):
    assert found.table().loc["a"].tolist() == pytest.approx([0.6, 0.8])
    assert found.spread().loc["a"].tolist() == pytest.approx([np.sqrt(0.02)] * 2)
    assert np.isnan(found.table().loc["b", "nb"])
    assert found.table().loc["b", "tan"] == pytest.approx(0.8)


def test_failures_are_counted_and_named(found):
    assert found.failed().to_numpy().tolist() == [[0, 0], [1, 0]]
    assert found.failures.to_numpy().tolist() == [["b", "nb", 1, "ValueError: no"]]
    assert found.complete().index.tolist() == ["a"]


def test_the_summary_has_a_row_for_each_data_set_and_method(found):
    summary = found.summary().set_index(["dataset", "method"])
    assert summary.loc[("b", "nb"), ["folds", "failed"]].tolist() == [2, 1]
    assert summary.loc[("a", "tan"), "accuracy_mean"] == pytest.approx(0.8)
    assert found.to_csv().splitlines()[0].startswith("dataset,method,folds,failed,accuracy_mean")


def test_folds_stand_side_by_side(found):
    assert found.fold_values().loc[("a", 0)].tolist() == [0.5, 0.9]
    with pytest.raises(ValueError, match="no metric 'acc'"):
        found.table("acc")
    with pytest.raises(ValueError, match="were not asked for"):
        found.table("bias")


def test_a_method_that_failed_on_a_data_set_is_told_once_with_its_count():
    errors = {"nb": ["ValueError: 3 rows", "ValueError: 4 rows", ""], "tan": ["", "", ""]}
    rows = [
        {"dataset": "b", "method": m, "fold": f, "error": e} for m, own in errors.items() for f, e in enumerate(own)
    ]
    found = Comparison(pd.DataFrame(rows), ["b"], ["nb", "tan"])
    assert found.failed_methods.to_dict("records") == [
        {"dataset": "b", "method": "nb", "folds": 2, "of": 3, "error": "ValueError: 3 rows", "others": 1}
    ]
    assert describe_failures(found) == ["b, nb, 2 of 3 folds: ValueError: 3 rows (and 1 other errors)"]


def test_a_notebook_shows_the_table_with_the_best_in_bold_and_what_failed():
    results = pd.DataFrame({
        "dataset": ["<iris>"] * 4, "method": ["nb", "nb", "b&d", "b&d"], "fold": [0, 1, 0, 1], "n_train": 100,
        "n_test": 50, "accuracy": [0.5, 1.0, 0.5, np.nan], "error": ["", "", "", "ValueError: <x>"],
    })  # fmt: skip
    page = Page(Comparison(results, ["<iris>"], ["nb", "b&d"])._repr_html_())
    assert "<iris>, b&d, 1 of 2 folds: ValueError " in page.text
    assert "<x>" not in page.text
    assert [cell for cell in page.all("td") if cell.get("class") == "best"] == [{"class": "best"}]
    assert not page.all("iris")
    assert "75.00 ± 35.36" in page.text
