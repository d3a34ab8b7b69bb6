"""Tables as text, and the frames of a comparison, by hand."""

import numpy as np
import pandas as pd
import pytest

from bnplug.experiments._tables import FOLD_METRICS, TextTable, frame_table
from bnplug.experiments.compare import Comparison


def comparison(values, errors=()):
    """Make one of {(data set, method): accuracies of folds}; `errors` are (data set, method, fold)."""
    rows = []
    for (dataset, method), folds in values.items():
        for fold, accuracy in enumerate(folds):
            figures = dict.fromkeys(FOLD_METRICS, np.nan) | {"accuracy": accuracy, "zero_one_loss": 1 - accuracy}
            error = "ValueError: no" if (dataset, method, fold) in errors else ""
            rows.append({"dataset": dataset, "method": method, "fold": fold, "n_train": 8, "n_test": 2, **figures,
                         "error": error, "warnings": ""})  # fmt: skip
    datasets, methods = (list(dict.fromkeys(pair[place] for pair in values)) for place in (0, 1))
    return Comparison(pd.DataFrame(rows), datasets, methods)


@pytest.fixture
def two():
    return comparison({
        ("iris", "tan"): [0.9, 1.0], ("iris", "nb_1"): [0.9, 0.9],
        ("a|b", "tan"): [0.5, 0.7], ("a|b", "nb_1"): [0.6, 0.6],
    })  # fmt: skip


def test_means_and_spreads(two):
    assert two.table().to_dict() == {"tan": {"iris": 0.95, "a|b": 0.6}, "nb_1": {"iris": 0.9, "a|b": 0.6}}
    assert two.spread().loc["iris", "tan"] == pytest.approx(np.std([0.9, 1.0], ddof=1))


def test_text(two):
    assert two.to_text().splitlines() == [
        "accuracy (%)            tan          nb_1",
        "------------------------------------------",
        "iris           95.00 ± 7.07* 90.00 ± 0.00",
        "a|b           60.00 ± 14.14* 60.00 ± 0.00*",
        "------------------------------------------",
        "average               77.50         75.00",
        "average rank           1.25          1.75",
    ]
    assert repr(two) == two.to_text()


def test_markdown(two):
    assert two.to_markdown().splitlines() == [
        "| accuracy (%) | tan | nb_1 |",
        "| --- | ---: | ---: |",
        "| iris | **95.00 ± 7.07** | 90.00 ± 0.00 |",
        r"| a\|b | **60.00 ± 14.14** | **60.00 ± 0.00** |",
        "| average | 77.50 | 75.00 |",
        "| average rank | 1.25 | 1.75 |",
    ]


def test_latex(two):
    assert two.to_latex().splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"accuracy (\%) & tan & nb\_1 \\",
        r"\midrule",
        r"iris & \textbf{95.00 $\pm$ 7.07} & 90.00 $\pm$ 0.00 \\",
        r"a|b & \textbf{60.00 $\pm$ 14.14} & \textbf{60.00 $\pm$ 0.00} \\",
        r"\midrule",
        r"average & 77.50 & 75.00 \\",
        r"average rank & 1.25 & 1.75 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert TextTable(["a"], [["~^\\&"]]).to_latex().splitlines()[4] == (
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}\& \\"
    )


def test_lower_is_better_for_losses(two):
    assert "**0.0500" in two.to_markdown("zero_one_loss")


def test_csv_has_every_figure(two):
    rows = two.to_csv().splitlines()
    assert rows[0].startswith("dataset,method,folds,failed,accuracy_mean,accuracy_std,zero_one_loss_mean")
    assert rows[1].startswith("iris,tan,2,0,0.95,")
    assert len(rows) == 5


def test_a_failed_fold_takes_its_cell_and_its_data_set_out():
    values = {("a", "x"): [0.5, 0.6], ("a", "y"): [0.7, 0.7]}
    values |= {(name, method): [0.5, 0.5 + k / 10] for name in "bc" for k, method in enumerate("xy")}
    found = comparison(values, errors={("a", "y", 1)})
    assert np.isnan(found.table().loc["a", "y"])
    text = found.to_text()
    assert "1 failed" in text
    assert "average of 2" in text
    assert found.complete().index.tolist() == ["b", "c"]
    assert found.failures.to_dict("records") == [{"dataset": "a", "method": "y", "fold": 1, "error": "ValueError: no"}]


def test_one_data_set_has_no_averages():
    assert "average" not in comparison({("a", "x"): [0.5], ("a", "y"): [0.6]}).to_text()


def test_a_figure_that_nobody_has(two):
    assert two.to_text("auc").count("–") == 4
    with pytest.raises(ValueError, match="no metric 'f1'"):
        two.table("f1")


def test_any_frame():
    frame = pd.DataFrame({"k": [1], "ours": [1 / 3], "theirs": [np.nan]}, index=pd.Index(["a"], name="data"))
    assert frame_table(frame, digits=3).to_markdown().splitlines()[2] == "| a | 1 | 0.333 | – |"
