"""The tasks of a reproduction: single measurements, identified by a key, run in parallel."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from bnplug.errors import one_line
from bnplug.experiments import Progress, interrupts_raised, run_unordered

#: Keys that only number tasks; tasks that differ in nothing else take about the same time.
_NUMBERS = ("draw", "fold", "repetition", "round", "seed")

# Seconds between two lines of progress.
_PAUSE = 2.0


@dataclass(frozen=True)
class Task:
    """One measurement of a reproduction.

    Attributes
    ----------
    part : str
        The experiment that it belongs to, such as ``"table 6"``.
    key : dict
        Identifies it within its part, by text and numbers: data set, method, repetition. Every setting that affects
        the result belongs in it.
    run : callable
        A function of a module. ``run(*arguments)`` returns a dict that JSON can hold, or a list of these; numbers
        are kept to six digits. It gets names of data, not rows, since it may run in another process. Its warnings
        are not shown.
    arguments : tuple
    """

    part: str
    key: Mapping[str, Any]
    run: Callable[..., Any]
    arguments: tuple[Any, ...] = field(default=())

    @property
    def name(self) -> tuple[Any, ...]:
        """Part and key, which identify the result in a file."""
        return (self.part, *sorted(self.key.items()))

    @property
    def group(self) -> tuple[Any, ...]:
        """Part and key without the numbers of repetitions, folds and draws."""
        return (self.part, *(item for item in sorted(self.key.items()) if item[0] not in _NUMBERS))


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what a call returns, and how many seconds of the processor it took.

    Examples
    --------
    >>> value, seconds = timed(sum, [1, 2])
    >>> value, seconds >= 0
    (3, True)
    """
    started = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - started


def run_tasks(
    tasks: Sequence[Task], n_jobs: int | None, ends: float = float("inf")
) -> Generator[tuple[Task, Any, float]]:
    """Run tasks in parallel processes, or as joblib is configured; yield each with its result and its seconds.

    The result of a task that failed is its exception. No task begins when the monotonic clock is past `ends`.
    """
    begun = (number for number in range(len(tasks)) if time.monotonic() < ends)
    calls = (joblib.delayed(_run)(number, tasks[number]) for number in begun)
    # Closing stops the workers if the caller is interrupted.
    with closing(run_unordered(calls, n_jobs, pre_dispatch="n_jobs", batch_size=1)) as running:
        for number, result, seconds in running:
            yield tasks[number], result, seconds


def _run(number: int, task: Task) -> tuple[int, Any, float]:
    started = time.process_time()
    try:
        # The number of threads of BLAS and OpenMP changes last bits, and times.
        with threadpool_limits(1), interrupts_raised(), warnings.catch_warnings():
            # Rare classes, values that no training row has, and descents that ran out of steps.
            warnings.simplefilter("ignore", UserWarning)
            result = task.run(*task.arguments)
    except Exception as error:
        result = RuntimeError(f"{type(error).__name__}: {one_line(error)}")
    return number, result, time.process_time() - started


class TaskProgress(Progress):
    """Reports on the standard error stream how many tasks are done and how long the others will take.

    Parameters
    ----------
    name : str
        The paper.
    left : sequence of Task
    done : sequence of (group, seconds)
        Tasks that ran before, for estimating the time of others of their group.
    """

    def __init__(self, name: str, left: Sequence[Task], done: Sequence[tuple[tuple[Any, ...], float]]) -> None:
        super().__init__((task.group for task in left), len(done))
        self.name = name
        for group, seconds in done:
            self.seconds[group].append(seconds)

    def tell(self, task: Task, seconds: float, error: Exception | None) -> None:
        """Count a task, and write a line if it failed or if it is time."""
        self.count(task.group, seconds)
        now = time.monotonic()
        if error is None and not self.is_due(now, _PAUSE):
            return
        what = ", ".join([task.part, *(str(value) for value in task.key.values())])
        failed = f" failed: {error}" if error is not None else ""
        times = self.times(now - self.started)
        self.say(f"{self.name}: {self.done} of {self.total} tasks, {times} ({what}{failed})", now)
