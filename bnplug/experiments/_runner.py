"""Running the folds of a comparison in parallel, and reporting progress."""

from __future__ import annotations

import signal
import sys
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from threadpoolctl import threadpool_limits

from bnplug.errors import BnplugWarning, SearchInterruptedWarning, UnseenValueWarning, one_line
from bnplug.experiments._inputs import SplitData, fitted_network, prepare
from bnplug.experiments._tables import FOLD_METRICS
from bnplug.experiments.storage import Record
from bnplug.show.evaluation import area_under_curve
from bnplug.typing import FloatArray, IntArray

# Seconds between two lines of progress.
_PAUSE = 1.0

# Rows of each class, and columns, of a first run that keeps compilation out of the measured times.
_WARM_ROWS, _WARM_COLUMNS = 50, 5

# The data sets and methods that this process has run.
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
    def kind(self) -> tuple[str, str]:
        """The names of the data set and the method."""
        return self.data.name, self.method


def run_jobs(jobs: Sequence[Job], n_jobs: int | None) -> Generator[Record]:
    """Run jobs in parallel; yield each record as soon as it is ready."""
    sequential = joblib.effective_n_jobs(n_jobs) > 1
    return run_unordered((joblib.delayed(run_job)(job, sequential) for job in jobs), n_jobs)


def run_unordered(calls: Iterable[Any], n_jobs: int | None, **options: Any) -> Generator[Any]:
    """Run calls in parallel processes, or as joblib is configured; yield each result as soon as it is ready.

    An interrupt is raised in this process alone. Closing the generator stops the workers. `calls` are made by
    ``joblib.delayed``; `options` are further arguments of ``joblib.Parallel``.
    """
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", **options)
    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            # The workers that start here inherit this: they ignore interrupts, and this process stops them quietly.
            stack.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.SIG_IGN))
        running = parallel(calls)
    yield from running


def run_fold(data: SplitData, estimator: Any, fold: int, missing: str = "ignore", random_state: int = 0) -> Record:
    """Fit an estimator on the training rows of one fold, and measure it on the test rows.

    `data` comes from :func:`split_data`; `missing` is as for :func:`compare`. The result has ``values``, the metrics by
    name, ``n_train``, ``n_test``, and ``error``, text if the fit failed.
    """
    seed = seed_of_fold(random_state, fold)
    return run_job(Job(data.only(fold), repr(estimator), estimator, fold, missing, seed, False), sequential=True)


def run_job(job: Job, sequential: bool) -> Record:
    """Fit a method on the training rows of a fold and measure it on the test rows; the record contains errors."""
    train, test = job.data.splits[job.fold]
    record: Record = {"dataset": job.data.name, "method": job.method, "fold": job.fold}
    record |= {"n_train": len(train), "n_test": len(test), "error": None}
    figures: dict[str, float] = {}
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Unseen values are normal in a fold.
        for category in (UnseenValueWarning, DeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        try:
            # The number of threads of BLAS and OpenMP changes last bits, and times.
            with threadpool_limits(1), interrupts_raised():
                figures, predicted = _run(job, sequential)
            if job.keep_predictions:
                record["predicted"] = predicted.tolist()
        except Exception as error:
            record["error"] = _described(error)
    values = {name: figures.get(name, np.nan) for name in FOLD_METRICS}
    record["values"] = {name: None if np.isnan(value) else value for name, value in values.items()}
    record["warnings"] = sorted({_described(warning.message) for warning in caught})
    record["seconds"] = time.perf_counter() - started
    return record


def _run(job: Job, sequential: bool) -> tuple[dict[str, float], IntArray]:
    data = job.data
    train, test = data.splits[job.fold]
    X_train, y_train, X_test = data.X.iloc[train], data.y.iloc[train], data.X.iloc[test]
    if y_train.nunique() == 1:
        warnings.warn(f"the training rows have only one class, {y_train.iloc[0]!r}", BnplugWarning, stacklevel=2)
        model = DummyClassifier()
    else:
        model = prepare(job.estimator, X_train, data.categorical_features, job.missing, job.seed, sequential)
        _warm(job, X_train, y_train, sequential)
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


def measure(truth: IntArray, predicted: IntArray, probabilities: FloatArray | None, scores: Any) -> dict[str, float]:
    """Return the metrics of one fold by positions of classes; ``rmse`` is over rows and classes, as in Weka."""
    accuracy = float(np.mean(truth == predicted))
    figures = {"accuracy": accuracy, "zero_one_loss": 1.0 - accuracy, "rmse": np.nan, "auc": np.nan, "cll": np.nan}
    if probabilities is not None:
        true_class = probabilities[np.arange(len(truth)), truth]
        errors = probabilities - np.eye(probabilities.shape[1])[truth]
        figures["rmse"] = float(np.sqrt(np.mean(errors**2)))
        figures["cll"] = float(np.mean(np.log(np.maximum(true_class, np.finfo(np.float64).eps))))
    if scores is not None:
        area = area_under_curve(truth, scores, None)
        figures["auc"] = np.nan if area is None else area
    return figures


def answers(model: Any, X: pd.DataFrame, classes: Sequence[Any]) -> tuple[FloatArray | None, FloatArray | None]:
    """Return a fitted model's probabilities and ranking scores, with a column for each of `classes`."""
    if hasattr(model, "predict_proba"):
        probabilities = _spread(model.predict_proba(X), model.classes_, classes, 0.0)
        return probabilities, probabilities
    if not hasattr(model, "decision_function"):
        return None, None
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    if scores.shape[1] != len(model.classes_):
        return None, None
    return None, _spread(scores, model.classes_, classes, scores.min() - 1.0)


def _spread(values: Any, trained: Any, classes: Sequence[Any], absent: float) -> FloatArray:
    """Place a model's columns, one for each class in `trained`, among the columns of all `classes`."""
    placed = np.full((len(values), len(classes)), absent)
    placed[:, pd.Index(classes).get_indexer(list(trained))] = values
    return placed


def _warm(job: Job, X: pd.DataFrame, y: pd.Series[Any], sequential: bool) -> None:
    """Run a method on a few rows and columns, unless this process has run it before."""
    if job.kind in _warmed:
        return
    _warmed.add(job.kind)
    first = np.flatnonzero(y.groupby(y.to_numpy()).cumcount() < _WARM_ROWS)
    few, labels = X.iloc[first, :_WARM_COLUMNS], y.iloc[first]
    # The fold itself reports errors and warnings; a given structure, for example, needs all columns.
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        with interrupts_raised():
            model = prepare(job.estimator, few, "auto", job.missing, job.seed, sequential)
            model.fit(few, labels).predict(few)


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Let an interrupt end the run; a structure search would return its best graph so far, which is not a result."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchInterruptedWarning)
        try:
            yield
        except SearchInterruptedWarning:
            raise KeyboardInterrupt from None


def _described(problem: Exception | Warning | str) -> str:
    """Return the type and message of an exception or a warning on one line."""
    return f"{type(problem).__name__}: {one_line(problem)}"


def seed_of_fold(random_state: int, fold: int) -> int:
    """Return the seed of a fold, independent of what ran before it."""
    return int(np.random.SeedSequence([random_state, fold]).generate_state(1)[0] >> 1)


class Progress:
    """Progress of some work; the remaining time is estimated from finished pieces of the same kind.

    `left` has the kind of each remaining piece of work; `done` is the number of pieces done before.
    """

    def __init__(self, left: Iterable[Hashable], done: int) -> None:
        self.left = Counter(left)
        self.done, self.total = done, done + self.left.total()
        self.seconds: dict[Hashable, list[float]] = defaultdict(list)
        self.worked = 0.0
        self.started = self._last = time.monotonic()

    def count(self, kind: Hashable, seconds: float) -> None:
        """Count a finished piece of work."""
        self.left[kind] -= 1
        self.done += 1
        self.worked += seconds
        self.seconds[kind].append(seconds)

    def is_due(self, now: float, pause: float) -> bool:
        """Return whether to write a line: `pause` seconds after the last line, or at the end."""
        return now - self._last >= pause or self.done == self.total

    def say(self, line: str, now: float) -> None:
        """Write a line to the standard error stream."""
        self._last = now
        print(line, file=sys.stderr, flush=True)

    def times(self, elapsed: float) -> str:
        """Return the elapsed and the remaining time as text."""
        return f"{clock(elapsed)} so far, about {clock(self.seconds_left(elapsed))} left"

    def seconds_left(self, elapsed: float) -> float:
        """Estimate the remaining time; kinds without a finished piece count as the average of the others."""
        means = {kind: sum(seconds) / len(seconds) for kind, seconds in self.seconds.items()}
        usual = sum(means.values()) / len(means) if means else 0.0
        work = sum(count * means.get(kind, usual) for kind, count in self.left.items())
        return work * elapsed / max(self.worked, 1e-9)


class FoldProgress(Progress):
    """Reports finished folds and the remaining time: with ``verbose=1`` about every second, with 2 for every fold."""

    def __init__(self, left: Sequence[tuple[str, str]], done: int, verbose: int) -> None:
        super().__init__(left, done)
        self.verbose = verbose
        self.failed = 0

    def report(self, record: Record) -> None:
        """Count a fold, and write a line if one is due."""
        self.count((record["dataset"], record["method"]), record["seconds"])
        self.failed += record["error"] is not None
        now = time.monotonic()
        if self.verbose > 1 or (self.verbose and self.is_due(now, _PAUSE)):
            failed = f", {self.failed} failed" if self.failed else ""
            fold = f"{record['dataset']}, {record['method']}, fold {record['fold']}"
            outcome = f": {record['error']}" if record["error"] and self.verbose > 1 else ""
            times = self.times(now - self.started)
            self.say(f"compare: {self.done} of {self.total} folds{failed}, {times} ({fold}{outcome})", now)


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds, such as 1:01:40."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
