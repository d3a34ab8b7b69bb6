"""The reproduction of Pernkopf and Bilmes (2008)."""

from bnplug_papers.kit import Paper
from bnplug_papers.pernkopf2008.page import fill
from bnplug_papers.pernkopf2008.protocol import tasks

PAPER = Paper(
    name="pernkopf2008",
    title="Order-based discriminative structure learning",
    reference="F. Pernkopf, J. Bilmes: Order-based discriminative structure learning for Bayesian network classifiers. "
    "ISAIM 2008.",
    tasks=tasks,
    fill=fill,
    package="bnplug_papers.pernkopf2008",
)
