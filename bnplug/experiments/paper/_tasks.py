"""Tasks: what a reproduction measures, each with a key by which its result is found again, and how they are run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from bnplug.experiments._runner import Progress, interrupts_raised, told, workers_deaf_to_interrupts

#: What numbers tasks that are otherwise alike: they take about the same time.
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
        What tells it from the other tasks of its part, as text and numbers: data set, method, repetition. A setting
        that decides the result belongs in it, so that another setting is another task.
    run : callable
        A function of a module. ``run(*arguments)`` returns a dict of what JSON holds, or a list of such dicts; numbers
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
        """Part and key, as a results file is searched by."""
        return (self.part, *sorted(self.key.items()))

    @property
    def group(self) -> tuple[Any, ...]:
        """Part and key without repetitions and the like."""
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
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    with workers_deaf_to_interrupts():
        running = parallel(joblib.delayed(_run)(number, tasks[number]) for number in begun)
    # Closing stops the workers where the caller is interrupted.
    with closing(running):
        for number, result, seconds in running:
            yield tasks[number], result, seconds


def _run(number: int, task: Task) -> tuple[int, Any, float]:
    started = time.process_time()
    try:
        # The number of threads of BLAS and OpenMP changes last bits, and times.
        with threadpool_limits(1), interrupts_raised(), warnings.catch_warnings():
            # Of classes with fewer rows than folds, values that no training row has, and steps that ran out.
            warnings.simplefilter("ignore", UserWarning)
            result = task.run(*task.arguments)
    except Exception as error:
        result = RuntimeError(told(error))
    return number, result, time.process_time() - started


class TaskProgress(Progress):
    """Tells how many tasks are done and how long the others will take, on the standard error stream.

    Parameters
    ----------
    name : str
        The paper.
    left : sequence of Task
    done : sequence of (group, seconds)
        Those that were run before: they tell how long others of their group take.
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
