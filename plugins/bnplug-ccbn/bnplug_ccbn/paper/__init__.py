"""Zaidi et al. (2017), reproduced: what is measured, and the page that is made of it."""

from __future__ import annotations

from bnplug.experiments.paper import Paper
from bnplug_ccbn.paper.page import fill
from bnplug_ccbn.paper.protocol import tasks

PAPER = Paper(
    name="zaidi2017",
    title="Weighted class-conditional Bayesian networks",
    reference=(
        "N. A. Zaidi, G. I. Webb, M. J. Carman, F. Petitjean, W. Buntine, M. Hynes, H. De Sterck: Efficient parameter "
        "learning of Bayesian network classifiers. Machine Learning 106 (2017)."
    ),
    tasks=tasks,
    fill=fill,
    package="bnplug_ccbn.paper",
)
