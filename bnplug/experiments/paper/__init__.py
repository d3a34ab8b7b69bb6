"""The kit of a reproduction: a paper is tasks, a file of their results, and a page made of that file alone.

A plugin's ``paper/`` holds what is that paper's own: which tasks there are, what each measures, and what the page says.
Finding data, running what is left, going on from a file, the time that is left, putting figures beside published ones,
marking those that are off and saying why, are here.
"""

from bnplug.experiments.paper._coding import CodedSplit, code_split
from bnplug.experiments.paper._differences import (
    AVERAGE,
    MARKED,
    MARKS,
    NOT_EXPLAINED,
    Way,
    averaged,
    compare_cells,
    explain,
    off,
    side_by_side,
    telling,
    with_averages,
)
from bnplug.experiments.paper._folds import Folds, comparison, fold_tasks
from bnplug.experiments.paper._index import index_of
from bnplug.experiments.paper._missing import hide_draws, read_draws
from bnplug.experiments.paper._protocol import Paper
from bnplug.experiments.paper._results import Results, add_what_was_run
from bnplug.experiments.paper._sources import find_data, load_data
from bnplug.experiments.paper._tasks import Task, timed

__all__ = [
    "AVERAGE",
    "MARKED",
    "MARKS",
    "NOT_EXPLAINED",
    "CodedSplit",
    "Folds",
    "Paper",
    "Results",
    "Task",
    "Way",
    "add_what_was_run",
    "averaged",
    "code_split",
    "compare_cells",
    "comparison",
    "explain",
    "find_data",
    "fold_tasks",
    "hide_draws",
    "index_of",
    "load_data",
    "off",
    "read_draws",
    "side_by_side",
    "telling",
    "timed",
    "with_averages",
]
