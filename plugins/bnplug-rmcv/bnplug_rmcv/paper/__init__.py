"""The reproduction of Kelner and Lerner (2012)."""

from __future__ import annotations

from bnplug.experiments.paper import Paper
from bnplug_rmcv.paper.page import fill
from bnplug_rmcv.paper.protocol import tasks

PAPER = Paper(
    name="kelner2012",
    title="Learning Bayesian network classifiers by risk minimization",
    reference=(
        "R. Kelner, B. Lerner: Learning Bayesian network classifiers by risk minimization. International Journal of "
        "Approximate Reasoning 53 (2012)."
    ),
    tasks=tasks,
    fill=fill,
    package="bnplug_rmcv.paper",
)
