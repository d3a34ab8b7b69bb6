"""The reproduction of Pernkopf and Wohlmayr (2013)."""

from bnplug.experiments.paper import Paper
from bnplug_annealing.paper.page import fill
from bnplug_annealing.paper.protocol import further, tasks

PAPER = Paper(
    name="pernkopf2013",
    title="Stochastic margin-based structure learning",
    reference="F. Pernkopf, M. Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers. "
    "Pattern Recognition 46 (2013).",
    tasks=tasks,
    fill=fill,
    package="bnplug_annealing.paper",
    further=further,
)
