"""Figures 1 and 2: likelihood, slack and accuracy along growing lam, and accuracy with features missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import bnplug
from bnplug import Structure
from bnplug.experiments import hide_features
from bnplug.gradient import Objective, classified
from bnplug.show.drawing import new_axes
from bnplug.show.palette import COLOURS, INK, PALE
from bnplug_papers.kit.pictures import missing_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug import Structure
    from bnplug.model.log_tables import LogTables
    from bnplug.table.table import Table

#: The paper's grids.
GAMMAS = (0.1, 1.0, 5.0, 10.0, 15.0, 20.0)
LAMS = (0.0, *(2.0**exponent for exponent in range(-2, 11)))

_LIKELIHOOD, _SLACK, _RATE = COLOURS[:3]


def path(
    table: Table,
    structure: Structure,
    lams: Iterable[float] = LAMS,
    gamma: float = 1.0,
    *,
    test: Table | None = None,
    n_jobs: int | None = None,
    **params: Any,
) -> pd.DataFrame:
    """Return likelihood, slack and accuracy along growing `lam`; each fit starts from the previous solution.

    Parameters
    ----------
    table : Table
        The training rows.
    structure : Structure
        The structure.
    lams : iterable of float
        Fitted in ascending order.
    gamma : float
        The margin.
    test : Table, optional
        Rows for the accuracy, encoded like `table`; by default the training rows.
    n_jobs : int, optional
    **params
        Further parameters of ``ml-bn-svm``.

    Returns
    -------
    frame
        ``lam``; ``negative_log_likelihood`` and ``slack`` per training row; ``likelihood_ratio``, relative to maximum
        likelihood; ``accuracy``; and ``n_iter``, the number of steps.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [0, 0, 1, 1, 1], "z": [0, 1, 0, 1, 1], "c": ["n", "n", "y", "y", "n"]})
    >>> table = bnplug.Table.from_frame(frame, "c")
    >>> path(table, Structure(table.names, [[2], [2], []]), lams=[0, 1, 8])["slack"].round(2).tolist()
    [0.42, 0.4, 0.4]
    """
    learner: Any = bnplug.parameter_learner("ml-bn-svm", n_jobs=n_jobs, **params)
    settings = [learner.setting(lam, gamma) for lam in sorted(set(lams))]
    problem = learner.problem(table, structure)
    tested = table if test is None else test
    rows = Objective(problem.terms, tested, n_jobs)
    start, records = None, []
    for setting in settings:
        solution = problem.solve(setting, start)
        start = solution.point
        tables = problem.network(start)
        right = rows(problem.values(tables), classified)[0]
        measured = _measure(problem, table, tables, setting.gamma)
        accuracy = right / tested.total_weight
        records.append({"lam": setting.lam, **measured, "accuracy": accuracy, "n_iter": len(solution.path) - 1})
    return pd.DataFrame(records)


def _measure(problem: Any, table: Table, tables: LogTables, gamma: float) -> dict[str, float]:
    """Return likelihood and slack of the training rows under `tables`."""
    best, reached = (each.log_likelihood(table, incomplete=True) for each in (problem.generative, tables))
    return {
        "negative_log_likelihood": -reached / table.total_weight,
        "slack": problem.slack(problem.values(tables), gamma) / table.total_weight,
        "likelihood_ratio": best / reached,
    }


def draw_path(steps: pd.DataFrame) -> Axes:
    """Draw Figure 1: negative log-likelihood and slack per row above, the classification rate below.

    Parameters
    ----------
    steps : frame
        As :func:`path` returns.

    Returns
    -------
    Axes
        The upper axes; the lower axes are ``ax.figure.axes[1]``.

    Examples
    --------
    >>> rows = {"lam": [0, 1], "negative_log_likelihood": [3, 4], "slack": [2, 1], "accuracy": [0.8, 0.9]}
    >>> draw_path(pd.DataFrame(rows)).figure.axes[1].get_xlabel()
    'lam'
    """
    figure = new_axes((6.5, 5.2)).figure
    figure.clear()
    upper, lower = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(steps))
    slack = upper.twinx()
    for ax, column, colour, mark, label in (
        (upper, "negative_log_likelihood", _LIKELIHOOD, "o", "negative log-likelihood"),
        (slack, "slack", _SLACK, "s", "sum of slacks"),
    ):
        ax.plot(places, steps[column], color=colour, marker=mark, markersize=5, linewidth=1.6)
        ax.set_ylabel(f"{label} / M", color=colour)
    lower.plot(places, 100 * steps["accuracy"], color=_RATE, marker="^", markersize=5, linewidth=1.6)
    lower.set(xlabel="lam", ylabel="classification rate (%)")
    lower.set_xticks(places, [f"{lam:g}" for lam in steps["lam"]])
    for ax in (upper, lower):
        ax.grid(color=PALE, alpha=0.35, linewidth=0.7)
        ax.spines[["top"]].set_visible(False)
        ax.tick_params(colors=INK)
    slack.spines[["top"]].set_visible(False)
    return upper  # type: ignore[no-any-return]


def missing_path(
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    lams: Sequence[float],
    counts: Iterable[int],
    draws: int = 10,
    structure: Any = ("tan", {"correction": None}),
    random_state: int = 0,
    **params: Any,
) -> pd.DataFrame:
    """Measure accuracy with features missing at random for several `lam`, as in Figure 2.

    Parameters
    ----------
    train, test : pairs of features and class
    lams : sequence of float
    counts : iterable of int
        How many features are missing in a row.
    draws : int
        How often they are drawn for each count.
    structure : structure learner
    random_state : int
        The seed of the draws.
    **params
        More for ``ml-bn-svm``; `gamma` is chosen by cross-validation unless it is given.

    Returns
    -------
    frame
        ``method``, which is "lam=...", ``missing``, ``draw`` and ``accuracy``.

    Examples
    --------
    >>> from bnplug import datasets
    >>> X, y = datasets.iris()
    >>> found = missing_path((X, y), (X, y), lams=[0, 1], counts=[0, 2], draws=1, gamma=1.0)
    >>> list(found["method"].unique())
    ['lam=0', 'lam=1']
    """
    models = {}
    for lam in lams:
        learner = bnplug.parameter_learner("ml-bn-svm", **{"lam": lam, "gamma": "cv", **params})
        models[f"lam={lam:g}"] = bnplug.BayesianNetworkClassifier(structure, learner, "mdl", calibrate=None).fit(*train)
    return hide_features(models, *test, counts, draws, random_state)


def draw_missing(accuracies: pd.DataFrame) -> Axes:
    """Draw Figure 2: accuracy against missing features, a curve for each `lam`.

    Examples
    --------
    >>> rows = [("lam=0", n, 0, 0.9 - n / 10) for n in (0, 1, 2)]
    >>> draw_missing(pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])).get_ylabel()
    'accuracy (%)'
    """
    return missing_features(accuracies)
