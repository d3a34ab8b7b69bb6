"""Our figures and the published ones: which run counts, and what compares with what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bnplug_papers.kit import Results, published_table
from bnplug_papers.pernkopf2013 import protocol
from bnplug_papers.pernkopf2013.protocol import ANNEALED, FEWER_ROWS, RUNS, SETS, TEN_DIGITS

RECIPES_WAY = next(iter(protocol.WAYS))
#: The paper's data sets; of DCMall we have no rows.
PAPERS_SETS = ("MNIST", "USPS", "Spambase", "DCMall")
_TABLES = "pernkopf2013-tables1-2-accuracy"


def title(name: str) -> str:
    """Return what the paper calls a data set."""
    return SETS.get(name, (name, 0.0))[0]


def read_runs(results: Results) -> pd.DataFrame:
    """Return a row for each search: ``file``, the paper's name as ``dataset``, ``rows`` (0: all), what it gave."""
    runs = results.frame("structures")
    return runs.assign(file=runs["dataset"], dataset=runs["dataset"].map(title))


def chosen(runs: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return one run for each data set, structure and number of rows: that of the largest `by`, score or accuracy."""
    order = runs.assign(by=runs[by].astype(float).fillna(0.0)).sort_values(["by", "seed"], ascending=[False, True])
    return order.groupby(["dataset", "structure", "rows"], sort=False).head(1)


def accuracies(results: Results, runs: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return accuracies (%) on the test rows, data sets by methods, of searches on all rows; of several runs one."""
    best = chosen(runs[runs["rows"] == 0], by)
    rows = [(row.dataset, f"{row.structure}-ML", row.accuracy) for row in best.itertuples()]
    rows += [(row.dataset, f"{row.structure}-MM", row.accuracy) for row in margins(results, best).itertuples()]
    svm = results.frame("SVM")
    rows += [(title(str(row.dataset)), "SVM", row.accuracy) for row in svm.itertuples()]
    return _wide(rows)


def margins(results: Results, best: pd.DataFrame, way: str = RECIPES_WAY) -> pd.DataFrame:
    """Return what maximum-margin parameters, learned in some way, give on the trees of some runs."""
    frame = results.frame("parameters")
    if frame.empty:
        return frame
    keys = ["dataset", "structure", "seed", "rows"]
    return frame[frame["way"] == way].assign(dataset=frame["dataset"].map(title)).merge(best[keys], on=keys)


def _wide(rows: list[Any]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["dataset", "method", "mean"])
    return table.pivot(index="dataset", columns="method", values="mean").rename_axis(index=None, columns=None)


def other_ways(results: Results, runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return accuracies with maximum-margin parameters that were learned otherwise, on the same trees, by the way."""
    best = chosen(runs[runs["rows"] == 0], "score")
    tables = {}
    for way in list(protocol.WAYS)[1:]:
        rows = margins(results, best, way)
        tables[way] = _wide([(row.dataset, f"{row.structure}-MM", row.accuracy) for row in rows.itertuples()])
    return tables


def split_figures(results: Results, which: str) -> pd.DataFrame:
    """Return accuracies on the given rows of a data set, or on drawn ones, by the tasks that compare the two."""
    records = [record for record in results.records("split") if record["key"]["split"] == which]
    return _wide([
        (title(record["key"]["dataset"]), method, value)
        for record in records for method, value in record["value"].items()
    ])  # fmt: skip


def published_accuracy() -> pd.DataFrame:
    """Return Tables 1 and 2; the other selection of USPS stands beside the same figures."""
    return _with_ten_digits(published_table(_TABLES))


def published_deviations() -> pd.DataFrame:
    """Return the standard deviations of Tables 1 and 2."""
    return _with_ten_digits(published_table(_TABLES, "std"))


def _with_ten_digits(theirs: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([theirs, theirs.loc[["USPS"]].rename(index={"USPS": title(TEN_DIGITS)})])


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Return hill climbing and annealing from the same rows: all, or on MNIST the fewer ones until all were climbed."""
    searched = runs[runs["structure"].str.contains("-HC-|-SA-")]
    climbed = searched[searched["structure"].str.contains("-HC-")]
    least = climbed.groupby(["dataset", "structure"])["rows"].min().groupby(level=0).max()
    # 0 stands for all rows.
    wanted = searched["dataset"].map(least).gt(0) * FEWER_ROWS
    return searched[searched["rows"] == wanted]


def on_same_rows(runs: pd.DataFrame, first: str, second: str, value: str = "accuracy") -> pd.DataFrame:
    """Return what two structures give from the same rows: all, or as many as both were learned from.

    Parameters
    ----------
    runs : frame
        From `read_runs`.
    first, second : str
        Structures.
    value : {"accuracy", "evaluations"}
        Accuracies are of the run of the best score in training, evaluations are medians over runs.

    Returns
    -------
    frame
        By data set: ``low`` of the first, ``high`` of the second, and ``rows`` (0: all).
    """
    some = chosen(runs, "score") if value == "accuracy" else runs
    wide = some.pivot_table(value, ["dataset", "rows"], "structure", aggfunc="median")
    both = wide.reindex(columns=[first, second]).dropna().set_axis(["low", "high"], axis=1).reset_index("rows")
    order = both.assign(order=both["rows"].replace(0, np.iinfo(np.int64).max)).sort_values("order", kind="stable")
    return order.groupby(level=0).tail(1).drop(columns="order").rename_axis(index=None).sort_index()


def fewer_runs(runs: pd.DataFrame) -> str:
    """Say which searches by annealing have fewer runs than the paper's, or nothing."""
    counts: Any = runs[runs["structure"].isin(ANNEALED)].groupby(["dataset", "structure", "rows"], sort=False).size()
    return ", ".join(
        f"{name} {structure}{f' from {rows} rows' if rows else ''} {n} of {RUNS}"
        for (name, structure, rows), n in counts.items() if n < RUNS
    )  # fmt: skip
