"""The reproduction of Pernkopf and Bilmes (2008)."""

from bnplug.experiments.paper import Paper
from bnplug_cmi_order.paper.page import fill
from bnplug_cmi_order.paper.protocol import tasks

PAPER = Paper(
    name="pernkopf2008",
    title="Order-based discriminative structure learning",
    reference="F. Pernkopf, J. Bilmes: Order-based discriminative structure learning for Bayesian network classifiers. "
    "ISAIM 2008.",
    tasks=tasks,
    fill=fill,
    package="bnplug_cmi_order.paper",
)
