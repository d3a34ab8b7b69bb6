"""Zaidi et al. (2017), reproduced: what is measured, and the page that is made of it."""

from __future__ import annotations

from bnplug_papers.kit import Paper
from bnplug_papers.zaidi2017.page import fill
from bnplug_papers.zaidi2017.protocol import tasks

PAPER = Paper(
    name="zaidi2017",
    title="Weighted class-conditional Bayesian networks",
    reference=(
        "N. A. Zaidi, G. I. Webb, M. J. Carman, F. Petitjean, W. Buntine, M. Hynes, H. De Sterck: Efficient parameter "
        "learning of Bayesian network classifiers. Machine Learning 106 (2017)."
    ),
    tasks=tasks,
    fill=fill,
    package="bnplug_papers.zaidi2017",
)
