"""The reproduction of Peharz, Tschiatschek and Pernkopf (2013)."""

from bnplug_papers.kit import Paper
from bnplug_papers.peharz2013.page import fill
from bnplug_papers.peharz2013.protocol import tasks

PAPER = Paper(
    name="peharz2013",
    title="The maximum-likelihood BN-SVM",
    reference="R. Peharz, S. Tschiatschek, F. Pernkopf: The most generative maximum margin Bayesian networks. ICML "
    "2013.",
    tasks=tasks,
    fill=fill,
    package="bnplug_papers.peharz2013",
)
