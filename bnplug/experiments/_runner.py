"""Running the folds: each fits and measures one method once; they run in parallel and come as they are done."""

from __future__ import annotations

import signal
import sys
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from threadpoolctl import threadpool_limits

from bnplug.arrays import IntArray
from bnplug.errors import BnplugWarning, SearchInterruptedWarning, UnseenValueWarning, one_line
from bnplug.experiments._data import SplitData
from bnplug.experiments._estimators import fitted_network, prepare
from bnplug.experiments._metrics import FOLD_METRICS, answers, measure
from bnplug.experiments.storage import Record

# Seconds between two lines of progress.
_PAUSE = 1.0

# Rows of each class and columns that a method first runs on, so that compilation is in no measured time.
_WARM_ROWS, _WARM_COLUMNS = 50, 5

# What was run before in this process.
_warmed: set[tuple[str, str]] = set()


@dataclass(frozen=True, eq=False)
class Job:
    """One fold of one method on one data set."""

    data: SplitData
    method: str
    estimator: Any
    fold: int
    missing: str
    seed: int
    keep_predictions: bool

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.data.name


def run_jobs(jobs: Sequence[Job], n_jobs: int | None) -> Generator[Record]:
    """Run jobs in parallel processes, or whatever joblib is configured to; yield records as they come."""
    sequential = joblib.effective_n_jobs(n_jobs) > 1
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    with workers_deaf_to_interrupts():
        running = parallel(joblib.delayed(run_job)(job, sequential) for job in jobs)
    yield from running


@contextmanager
def workers_deaf_to_interrupts() -> Iterator[None]:
    """Let processes that start in here ignore an interrupt: this one answers it, and ends them without their traces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_job(job: Job, sequential: bool) -> Record:
    """Fit a method on the training rows of a fold and measure it on the test rows.

    What is raised becomes the ``error`` of the record. Warnings become its ``warnings``, save those for developers
    and the one about unseen values, which in a fold are to be expected.
    """
    train, test = job.data.splits[job.fold]
    record: Record = {"dataset": job.dataset, "method": job.method, "fold": job.fold}
    record |= {"n_train": len(train), "n_test": len(test), "error": None}
    figures: dict[str, float] = {}
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (UnseenValueWarning, DeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        try:
            # The number of threads of BLAS and OpenMP changes last bits, and times.
            with threadpool_limits(1), interrupts_raised():
                figures, predicted = _run(job, sequential)
            if job.keep_predictions:
                record["predicted"] = predicted.tolist()
        except Exception as error:
            record["error"] = told(error)
    values = {name: figures.get(name, np.nan) for name in FOLD_METRICS}
    record["values"] = {name: None if np.isnan(value) else value for name, value in values.items()}
    record["warnings"] = sorted({told(warning.message) for warning in caught})
    record["seconds"] = time.perf_counter() - started
    return record


def _run(job: Job, sequential: bool) -> tuple[dict[str, float], IntArray]:
    data = job.data
    train, test = data.splits[job.fold]
    X_train, y_train, X_test = data.X.iloc[train], data.y.iloc[train], data.X.iloc[test]
    model = _ready(job, X_train, y_train, sequential)
    started = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    labels = model.predict(X_test)
    seconds = {"fit_seconds": fitted - started, "predict_seconds": time.perf_counter() - fitted}
    predicted = np.asarray(pd.Index(data.classes).get_indexer(list(labels)), dtype=np.int64)
    figures = measure(data.truth[test], predicted, *answers(model, X_test, data.classes))
    network = fitted_network(model)
    if network is not None:
        figures["n_parameters"] = float(network.tables_.n_parameters)
        figures["markov_blanket"] = float(len(network.markov_blanket()))
    return figures | seconds, predicted


def _ready(job: Job, X: pd.DataFrame, y: pd.Series[Any], sequential: bool) -> Any:
    """Return the method, ready to be fitted; where the training rows have one class, what answers with that."""
    if y.nunique() == 1:
        warnings.warn(f"the training rows have but one class, {y.iloc[0]!r}", BnplugWarning, stacklevel=2)
        return DummyClassifier()
    model = prepare(job.estimator, X, job.data.categorical_features, job.missing, job.seed, sequential)
    _warm(job, X, y, sequential)
    return model


def _warm(job: Job, X: pd.DataFrame, y: pd.Series[Any], sequential: bool) -> None:
    """Run a method once on a few rows and columns, if this process has not yet."""
    if (job.dataset, job.method) in _warmed:
        return
    _warmed.add((job.dataset, job.method))
    first = np.flatnonzero(y.groupby(y.to_numpy()).cumcount() < _WARM_ROWS)
    few, labels = X.iloc[first, :_WARM_COLUMNS], y.iloc[first]
    # The fold itself will tell of errors and warnings; a given structure, for one, wants all columns.
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        with interrupts_raised():
            model = prepare(job.estimator, few, "auto", job.missing, job.seed, sequential)
            model.fit(few, labels).predict(few)


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Let an interrupt end the run: a search would answer it with the best graph so far, which is no result."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchInterruptedWarning)
        try:
            yield
        except SearchInterruptedWarning:
            raise KeyboardInterrupt from None


def told(problem: Exception | Warning | str) -> str:
    """Return what was raised or warned of, with its type, on one line."""
    return f"{type(problem).__name__}: {one_line(problem)}"


def seed_of_fold(random_state: int, fold: int) -> int:
    """Return what a method draws with in a fold, whatever ran before it."""
    return int(np.random.SeedSequence([random_state, fold]).generate_state(1)[0] >> 1)


class Progress:
    """What is done of some work, and how long the rest will take: as long as others of the same kind did on average.

    Parameters
    ----------
    left : iterable
        The kind of each piece of work that is to be done.
    done : int
        How many were done before.
    """

    def __init__(self, left: Iterable[Hashable], done: int) -> None:
        self.left = Counter(left)
        self.done, self.total = done, done + self.left.total()
        self.seconds: dict[Hashable, list[float]] = defaultdict(list)
        self.worked = 0.0
        self.started = self._last = time.monotonic()

    def count(self, kind: Hashable, seconds: float) -> None:
        """Count a piece of work that is done now."""
        self.left[kind] -= 1
        self.done += 1
        self.worked += seconds
        self.seconds[kind].append(seconds)

    def is_due(self, now: float, pause: float) -> bool:
        """Say whether it is time for a line: so many seconds after the last one, or at the end."""
        return now - self._last >= pause or self.done == self.total

    def say(self, line: str, now: float) -> None:
        """Write a line to the standard error stream."""
        self._last = now
        print(line, file=sys.stderr, flush=True)

    def times(self, elapsed: float) -> str:
        """Return the time that was taken, and that which is left."""
        return f"{clock(elapsed)} so far, about {clock(self.seconds_left(elapsed))} left"

    def seconds_left(self, elapsed: float) -> float:
        """Estimate the time of what is left, a kind that was not met yet like the others on average."""
        known = {kind: sum(own) / len(own) for kind, own in self.seconds.items()}
        usual = sum(known.values()) / len(known) if known else 0.0
        work = sum(count * known.get(kind, usual) for kind, count in self.left.items())
        return work * elapsed / max(self.worked, 1e-9)


class FoldProgress(Progress):
    """Tells how many folds are done and how long the others will take, on the standard error stream.

    Parameters
    ----------
    left : sequence of (dataset, method)
        One for each fold that is to be run.
    done : int
        How many were run before.
    verbose : int
        1: about a line a second, and one at the end; 2 and more: a line for every fold.
    """

    def __init__(self, left: Sequence[tuple[str, str]], done: int, verbose: int) -> None:
        super().__init__(left, done)
        self.verbose = verbose
        self.failed = 0

    def tell(self, record: Record) -> None:
        """Count a fold, and write a line if it is time."""
        self.count((record["dataset"], record["method"]), record["seconds"])
        self.failed += record["error"] is not None
        now = time.monotonic()
        if self.verbose > 1 or (self.verbose and self.is_due(now, _PAUSE)):
            self.say(self.line(record, now - self.started), now)

    def line(self, record: Record, elapsed: float) -> str:
        """Return what is told after a fold."""
        failed = f", {self.failed} failed" if self.failed else ""
        fold = f"{record['dataset']}, {record['method']}, fold {record['fold']}"
        outcome = f": {record['error']}" if record["error"] and self.verbose > 1 else ""
        return f"compare: {self.done} of {self.total} folds{failed}, {self.times(elapsed)} ({fold}{outcome})"


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds.

    Examples
    --------
    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
