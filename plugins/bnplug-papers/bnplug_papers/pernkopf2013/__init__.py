"""The reproduction of Pernkopf and Wohlmayr (2013)."""

from bnplug_papers.kit import Paper
from bnplug_papers.pernkopf2013.page import fill
from bnplug_papers.pernkopf2013.protocol import further, tasks

PAPER = Paper(
    name="pernkopf2013",
    title="Stochastic margin-based structure learning",
    reference="F. Pernkopf, M. Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers. "
    "Pattern Recognition 46 (2013).",
    tasks=tasks,
    fill=fill,
    package="bnplug_papers.pernkopf2013",
    further=further,
)
