"""The reproduction of Peharz, Tschiatschek and Pernkopf (2013)."""

from bnplug.experiments.paper import Paper
from bnplug_mlbnsvm.paper.page import fill
from bnplug_mlbnsvm.paper.protocol import tasks

PAPER = Paper(
    name="peharz2013",
    title="The maximum-likelihood BN-SVM",
    reference="R. Peharz, S. Tschiatschek, F. Pernkopf: The most generative maximum margin Bayesian networks. ICML "
    "2013.",
    tasks=tasks,
    fill=fill,
    package="bnplug_mlbnsvm.paper",
)
