"""From generative to discriminative: what a growing lam does to likelihood, slack and accuracy, with its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import bnplug
from bnplug.experiments import hide_features, pictures
from bnplug.gradient import Objective, classified
from bnplug.show.drawing import new_axes
from bnplug.show.palette import COLOURS, INK, PALE
from bnplug_mlbnsvm.grid import GAMMAS, LAMS
from bnplug_mlbnsvm.learners import MaximumLikelihoodSVM, grid
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug.data.table import Table
    from bnplug.model.log_tables import LogTables
    from bnplug.typing import DAG

_LIKELIHOOD, _SLACK, _RATE = COLOURS[:3]


def path(
    table: Table,
    dag: DAG,
    lams: Iterable[float] = LAMS,
    gamma: float = 1.0,
    *,
    test: Table | None = None,
    eta: float = 10.0,
    refine: bool = False,
    alpha: float = 1.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Return likelihood, slack and accuracy along growing `lam`; each fit starts where the one before ended.

    Parameters
    ----------
    table : Table
        The training rows.
    dag : DAG
        The structure.
    lams : iterable of float
        Taken in ascending order.
    gamma : float
        The margin.
    test : Table, optional
        Rows for the accuracy, coded as `table`; by default the training rows.
    eta, refine, alpha, tol, max_iter, n_jobs
        As for ``ml-bn-svm``.

    Returns
    -------
    frame
        ``lam``; ``negative_log_likelihood`` and ``slack`` of a training row; ``likelihood_ratio``, relative to maximum
        likelihood; ``accuracy``; and ``n_iter``, the number of steps.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [0, 0, 1, 1, 1], "z": [0, 1, 0, 1, 1], "c": ["n", "n", "y", "y", "n"]})
    >>> table = bnplug.Table.from_frame(frame, "c")
    >>> found = path(table, table.dag([[2], [2], []]), lams=[0, 1, 8])
    >>> found["slack"].round(2).tolist()
    [0.42, 0.4, 0.4]
    """
    MaximumLikelihoodSVM(eta=eta, alpha=alpha, tol=tol, max_iter=max_iter).check()
    values_of_lam, (gamma, *others) = grid("lam", list(lams), LAMS), grid("gamma", gamma, GAMMAS)
    if others:
        raise ValueError("a path has one gamma")
    problem = LargeMarginProblem(table, dag, alpha, n_jobs=n_jobs)
    tested = table if test is None else test
    rows = Objective(problem.terms, tested, n_jobs)
    setting = Setting(0.0, gamma, eta, refine, tol, max_iter)
    start, found = None, []
    for lam in values_of_lam:
        solution = problem.solve(replace(setting, lam=lam), start)
        start = solution.point
        tables = problem.network(start)
        right = rows(problem.values(tables), classified)[0]
        measured = _measure(problem, table, tables, gamma)
        found.append(
            {"lam": lam, **measured, "accuracy": right / tested.total_weight, "n_iter": len(solution.path) - 1}
        )
    return pd.DataFrame(found)


def _measure(problem: LargeMarginProblem, table: Table, tables: LogTables, gamma: float) -> dict[str, float]:
    """Return likelihood and slack of the training rows under `tables`."""
    best, own = (each.log_likelihood(table, incomplete=True) for each in (problem.generative, tables))
    return {
        "negative_log_likelihood": -own / table.total_weight,
        "slack": problem.slack(problem.values(tables), gamma) / table.total_weight,
        "likelihood_ratio": best / own,
    }


def draw_path(found: pd.DataFrame) -> Axes:
    """Draw the paper's Figure 1: negative log-likelihood and slack a row above, the classification rate below.

    Parameters
    ----------
    found : frame
        As :func:`path` returns.

    Returns
    -------
    Axes
        The upper ones; the lower are ``ax.figure.axes[1]``.

    Examples
    --------
    >>> rows = {"lam": [0, 1], "negative_log_likelihood": [3, 4], "slack": [2, 1], "accuracy": [0.8, 0.9]}
    >>> draw_path(pd.DataFrame(rows)).figure.axes[1].get_xlabel()
    'lam'
    """
    figure = new_axes((6.5, 5.2)).figure
    figure.clear()
    upper, lower = figure.subplots(2, 1, sharex=True)
    places = np.arange(len(found))
    slack = upper.twinx()
    for ax, column, colour, mark, label in (
        (upper, "negative_log_likelihood", _LIKELIHOOD, "o", "negative log-likelihood"),
        (slack, "slack", _SLACK, "s", "sum of slacks"),
    ):
        ax.plot(places, found[column], color=colour, marker=mark, markersize=5, linewidth=1.6)
        ax.set_ylabel(f"{label} / M", color=colour)
    lower.plot(places, 100 * found["accuracy"], color=_RATE, marker="^", markersize=5, linewidth=1.6)
    lower.set(xlabel="lam", ylabel="classification rate (%)")
    lower.set_xticks(places, [f"{lam:g}" for lam in found["lam"]])
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
    """Measure accuracy with features missing at random, for several `lam`: what the paper's Figure 2 shows.

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
        models[f"lam={lam:g}"] = bnplug.BayesianNetworkClassifier(structure, learner, "mdl").fit(*train)
    return hide_features(models, *test, counts, draws, random_state)


def draw_missing(found: pd.DataFrame) -> Axes:
    """Draw the paper's Figure 2: accuracy against missing features, a curve for each `lam`.

    Examples
    --------
    >>> rows = [("lam=0", n, 0, 0.9 - n / 10) for n in (0, 1, 2)]
    >>> draw_missing(pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])).get_ylabel()
    'accuracy (%)'
    """
    return pictures.missing_features(found)
