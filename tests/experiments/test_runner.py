"""Folds are run, and what is told of them adds up."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from bnplug.errors import SearchInterruptedWarning
from bnplug.experiments._inputs import resolve_methods, split_data
from bnplug.experiments._runner import FoldProgress, Job, interrupts_raised, run_jobs


def record(fold=0, seconds=2.0, error=None, method="nb"):
    return {"dataset": "iris", "method": method, "fold": fold, "seconds": seconds, "error": error}


def test_progress_estimates_each_fold_by_the_same_method_on_the_same_data():
    left = [("iris", "nb")] * 3 + [("iris", "tan")] * 2
    progress = FoldProgress(left, done=4, verbose=0)
    progress.report(record(seconds=2.0))
    progress.report(record(seconds=10.0, method="tan"))
    assert (progress.done, progress.total) == (6, 9)
    # Two folds of 2 s and one of 10 s, in one thread: 12 s of work took 12 s.
    assert progress.seconds_left(12.0) == pytest.approx(14.0)
    assert progress.seconds_left(6.0) == pytest.approx(7.0)


def test_progress_is_silent_or_a_line_a_fold_and_counts_failures(capfd):
    for verbose, n_lines in ((0, 0), (2, 2)):
        progress = FoldProgress([("iris", "nb")] * 2, 0, verbose)
        progress.report(record())
        progress.report(record(1, error="ValueError: no"))
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == n_lines
    assert lines[1].startswith("compare: 2 of 2 folds, 1 failed, ")
    assert lines[1].endswith("(iris, nb, fold 1: ValueError: no)")


def test_an_interrupted_search_is_an_interrupt():
    import warnings

    with pytest.raises(KeyboardInterrupt), interrupts_raised():
        warnings.warn("stopped", SearchInterruptedWarning, stacklevel=1)
    with interrupts_raised():
        pass


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ArithmeticError("no\nway")

    def predict(self, X):
        raise NotImplementedError


def test_records_hold_the_figures_or_the_error():
    data = split_data(["iris"], 2, "ignore", 0, None)[0]
    methods = resolve_methods(["nb", ("broken", Broken())])
    jobs = [Job(data.only(0), name, made, 0, "ignore", 0, False) for name, made in methods.items()]
    good, bad = sorted(run_jobs(jobs, 1), key=lambda found: found["error"] is not None)
    assert good["error"] is None
    assert 0.8 < good["values"]["accuracy"] <= 1.0
    assert np.isfinite(good["values"]["cll"])
    assert set(bad["values"].values()) == {None}
    assert bad["error"] == "ArithmeticError: no way"
    assert (good["dataset"], bad["method"]) == ("iris", "broken")


# Started in the background, a process ignores interrupts from the beginning.
_ASKED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from sklearn.base import BaseEstimator, ClassifierMixin
from bnplug.experiments import compare

class Asking(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError(f"{signal.getsignal(signal.SIGINT)!r}")

    def predict(self, X):
        pass

print(*compare([("asking", Asking())], ["iris"], cv=2, n_jobs=2).failures["error"].unique())
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_workers_leave_an_interrupt_to_the_process_that_started_them():
    done = subprocess.run([sys.executable, "-c", _ASKED], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "ValueError: <Handlers.SIG_IGN: 1>\nTrue\n"
