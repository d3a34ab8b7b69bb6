"""A comparison in a folder: the tables, and the tests that there are enough data sets for."""

import pandas as pd
import pytest

from bnplug.experiments import compare, write_report
from bnplug.experiments._report import to_page


@pytest.fixture(scope="module")
def three():
    return compare(["nb", "tan", "kdb"], ["corral", "iris"], cv=2)


def test_files_are_whole_and_returned(three, tmp_path):
    written = write_report(three, tmp_path)
    assert sorted(path.name for path in written) == sorted(path.name for path in tmp_path.iterdir())
    assert {"table.md", "table.csv", "table.tex", "time.png", "scatter.png", "critical-difference.png"} == {
        path.name for path in written
    }
    assert (tmp_path / "table.md").read_text() == to_page(three)
    assert len(pd.read_csv(tmp_path / "table.csv")) == 6
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written if path.suffix == ".png")


def test_the_page_has_the_tests_that_the_comparison_allows(three):
    page = to_page(three)
    assert page.startswith("# Comparison: accuracy (%)\n")
    assert f"chi-square {three.friedman().chi_square:.3f}" in page
    assert "## Every two methods" in page
    assert "## nb against the others, on each data set" in page
    single = to_page(compare(["nb"], ["corral"], cv=2))
    assert "Friedman" not in single
    assert "##" not in single.removeprefix("# ")


def test_folds_that_failed_are_listed(three):
    failed = three.results.assign(error=["ArithmeticError: no", *[""] * (len(three.results) - 1)])
    page = to_page(type(three)(failed, three.datasets, three.methods))
    assert "## Folds that failed\n\nThe error messages may quote" in page
    assert "\n\n- corral, nb, 1 of 2 folds: ArithmeticError\n" in page
