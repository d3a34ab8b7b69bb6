"""Comparing methods over data sets: folds, statistics, tables and pictures."""

from bnplug.experiments._inputs import BASELINES, SplitData, split_data
from bnplug.experiments._report import to_html, write_report
from bnplug.experiments._runner import Progress, interrupts_raised, run_fold, run_unordered
from bnplug.experiments._tables import frame_table
from bnplug.experiments.compare import Comparison, compare, hide_features

__all__ = [
    "BASELINES",
    "Comparison",
    "Progress",
    "SplitData",
    "compare",
    "frame_table",
    "hide_features",
    "interrupts_raised",
    "run_fold",
    "run_unordered",
    "split_data",
    "to_html",
    "write_report",
]
