"""Writing a comparison to a folder: tables, statistics and pictures."""

from __future__ import annotations

from pathlib import Path

from bnplug.exchange.files import write_atomically
from bnplug.experiments import pictures
from bnplug.experiments._metrics import FOLD_METRICS, find_metric
from bnplug.experiments._tables import frame_table, to_markdown
from bnplug.experiments.comparison import Comparison


def write_report(comparison: Comparison, folder: Path, metric: str = "accuracy") -> list[Path]:
    """Write what a comparison found to a folder that exists.

    ``table.md`` (with the tests that the comparison allows), ``table.csv`` (all figures), ``table.tex``,
    and where matplotlib is installed ``time.png``, ``scatter.png`` of the first two methods and
    ``critical-difference.png``.

    Returns
    -------
    list of path
        The files.
    """
    texts = {
        "table.md": to_page(comparison, metric),
        "table.csv": comparison.to_csv(),
        "table.tex": comparison.to_latex(metric) + "\n",
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts] + _write_pictures(comparison, folder, metric)


def to_page(comparison: Comparison, metric: str = "accuracy") -> str:
    """Return the table with its statistics and failures as a Markdown page."""
    parts = [f"# Comparison: {find_metric(metric).label}", comparison.to_markdown(metric), *_tests(comparison, metric)]
    parts += _tests_within(comparison, metric)
    failures = told_failures(comparison)
    if failures:
        parts += ["## Folds that failed", "\n".join(f"- {to_markdown(line)}" for line in failures)]
    return "\n\n".join(parts) + "\n"


def told_failures(comparison: Comparison) -> list[str]:
    """Return a line for each data set and method that failed on it, with the number of folds and the first error."""
    return [
        f"{row['dataset']}, {row['method']}, {row['folds']} of {row['of']} folds: {row['error']}"
        + (f" (and {row['others']} other errors)" if row["others"] else "")
        for row in comparison.failed_methods.to_dict("records")
    ]


def _tests(comparison: Comparison, metric: str) -> list[str]:
    """Return what the tests over data sets say, those that there are enough data sets and methods for."""
    n_datasets, n_methods = comparison.complete(metric).shape
    parts: list[str] = []
    if n_datasets >= 2 and n_methods >= 3:
        test, post_hoc = comparison.friedman(metric), comparison.nemenyi(metric)
        parts.append(
            f"Friedman test over {test.n_datasets} data sets: chi-square {test.chi_square:.3f} with "
            f"{test.degrees_of_freedom} degrees of freedom, p = {test.p_value:.3g} (Iman and Davenport: "
            f"F = {test.f_statistic:.3f}, p = {test.f_p_value:.3g}). Nemenyi's critical difference of average ranks "
            f"at {post_hoc.alpha}: {post_hoc.critical_difference:.3f}."
        )
    if n_datasets >= 2 and n_methods >= 2:
        pairs = comparison.pairs(metric).rename(columns={"sign": "sign test", "t_test": "paired t-test"})
        parts += [
            "## Every two methods",
            "Data sets that the first wins, draws and loses; two-sided p-values.",
            frame_table(pairs.set_index("first"), digits=4).to_markdown(),
        ]
    return parts


def _tests_within(comparison: Comparison, metric: str) -> list[str]:
    """Return how the first method differs from the others on each data set, where there are folds to tell."""
    if metric not in FOLD_METRICS or len(comparison.methods) < 2:
        return []
    first = comparison.methods[0]
    p_values = comparison.corrected_t_tests(first, metric).dropna(how="all")
    if not len(p_values):
        return []
    return [
        f"## {to_markdown(first)} against the others, on each data set",
        "Two-sided p-values of the corrected repeated k-fold t-test.",
        frame_table(p_values.rename_axis("data set"), digits=4).to_markdown(),
    ]


def _write_pictures(comparison: Comparison, folder: Path, metric: str) -> list[Path]:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    n_datasets, n_methods = comparison.complete(metric).shape
    drawn = {}
    if n_datasets:
        drawn["time.png"] = pictures.time_accuracy(comparison, metric)
    if n_datasets and n_methods >= 2:
        first, second = comparison.complete(metric).columns[:2]
        drawn["scatter.png"] = pictures.scatter(comparison, first, second, metric)
    if n_datasets >= 2 and n_methods >= 3:
        drawn["critical-difference.png"] = pictures.critical_difference(comparison.nemenyi(metric))
    for name, ax in drawn.items():
        pictures.save_figure(ax, folder / name)
    return [folder / name for name in drawn]
