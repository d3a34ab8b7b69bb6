"""The reproduction of Kelner and Lerner (2012)."""

from __future__ import annotations

from bnplug_papers.kelner2012.page import fill
from bnplug_papers.kelner2012.protocol import tasks
from bnplug_papers.kit import Paper

PAPER = Paper(
    name="kelner2012",
    title="Learning Bayesian network classifiers by risk minimization",
    reference=(
        "R. Kelner, B. Lerner: Learning Bayesian network classifiers by risk minimization. International Journal of "
        "Approximate Reasoning 53 (2012)."
    ),
    tasks=tasks,
    fill=fill,
    package="bnplug_papers.kelner2012",
)
