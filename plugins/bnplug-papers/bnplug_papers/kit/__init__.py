"""The kit of a reproduction: a paper is a list of tasks, a file of their results, and a page made from that file alone.

The package of a paper defines which tasks exist, what each measures, and what the page says. The kit finds data, runs
the remaining tasks, resumes from a file, keeps to a time limit, compares results with published figures, marks
deviations and tests explanations for them.
"""

from bnplug_papers.kit.data import CodedSplit, code_split, find_data, hide_draws, is_copy, load_data, read_draws
from bnplug_papers.kit.differences import (
    AVERAGE,
    MARKED,
    MARKS,
    NOT_EXPLAINED,
    Variant,
    averaged,
    compare_cells,
    deviation,
    explain,
    side_by_side,
    variant_effect,
    with_averages,
)
from bnplug_papers.kit.folds import Folds, comparison, fold_tasks
from bnplug_papers.kit.literature import published, published_names, published_table
from bnplug_papers.kit.page import Page, beside
from bnplug_papers.kit.paper import Paper
from bnplug_papers.kit.results import Results, add_what_was_run
from bnplug_papers.kit.tasks import Task, timed

__all__ = [
    "AVERAGE",
    "MARKED",
    "MARKS",
    "NOT_EXPLAINED",
    "CodedSplit",
    "Folds",
    "Page",
    "Paper",
    "Results",
    "Task",
    "Variant",
    "add_what_was_run",
    "averaged",
    "beside",
    "code_split",
    "compare_cells",
    "comparison",
    "deviation",
    "explain",
    "find_data",
    "fold_tasks",
    "hide_draws",
    "is_copy",
    "load_data",
    "published",
    "published_names",
    "published_table",
    "read_draws",
    "side_by_side",
    "timed",
    "variant_effect",
    "with_averages",
]
