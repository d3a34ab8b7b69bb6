"""Comparing methods over data sets: folds, statistics, tables, pictures, and pages of reproductions."""

from bnplug.experiments._estimators import BASELINES
from bnplug.experiments._html import to_html
from bnplug.experiments._report import write_report
from bnplug.experiments.compare import compare
from bnplug.experiments.comparison import Comparison
from bnplug.experiments.hiding import hide_features
from bnplug.experiments.literature import published, published_names, published_table
from bnplug.experiments.reproduction import Page, beside

__all__ = [
    "BASELINES",
    "Comparison",
    "Page",
    "beside",
    "compare",
    "hide_features",
    "published",
    "published_names",
    "published_table",
    "to_html",
    "write_report",
]
