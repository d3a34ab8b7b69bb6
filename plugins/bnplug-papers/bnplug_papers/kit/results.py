"""The results of a reproduction: one record per task, read from a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from bnplug.experiments.storage import Record
from bnplug_papers.kit.page import Page
from bnplug_papers.kit.tasks import Task

#: The part of records about a run, not a task.
RUN = "run"

_DIGITS = 6


class Results:
    """The results of the tasks of a paper, in an order that does not depend on when each was run.

    Parameters
    ----------
    records : iterable of Record
        The lines of a results file: ``part``, ``key``, ``seconds`` and ``value`` of each task; and lines of the part
        ``"run"``, one for each time that the command ran, with ``version``, ``wanted`` and ``lacking``.

    Attributes
    ----------
    versions : list of str
        The versions of bnplug that the results come from.
    wanted : dict of str to int
        The number of tasks of each part.
    lacking : list of str
        Data sets that were not available.

    Examples
    --------
    >>> key = {"dataset": "iris", "repetition": 0}
    >>> lines = [
    ...     {"part": "run", "version": "0.2.0", "wanted": {"table 1": 10}, "lacking": ["timit"]},
    ...     {"part": "table 1", "key": key, "seconds": 0.2, "value": {"accuracy": 94.0}},
    ... ]
    >>> results = Results(lines)
    >>> results.coverage("table 1"), results.lacking
    ((1, 10), ['timit'])
    >>> results.frame("table 1")
      dataset  repetition  accuracy  seconds
    0    iris           0      94.0      0.2
    """

    def __init__(self, records: Iterable[Record]) -> None:
        every = list(records)
        runs = [record for record in every if record["part"] == RUN]
        last: Mapping[str, Any] = runs[-1] if runs else {}
        self.versions = sorted({str(run["version"]) for run in runs})
        self.wanted: dict[str, int] = dict(last.get("wanted", {}))
        self.lacking: list[str] = list(last.get("lacking", []))
        named = {record_name(record): record for record in every if record["part"] != RUN}
        self._records = [named[name] for name in sorted(named, key=json.dumps)]

    @property
    def parts(self) -> list[str]:
        """The planned parts, then parts that only have results."""
        return list(dict.fromkeys([*self.wanted, *(record["part"] for record in self._records)]))

    def records(self, part: str) -> list[Record]:
        """Return the records of a part."""
        return [record for record in self._records if record["part"] == part]

    def frame(self, part: str) -> pd.DataFrame:
        """Return a part as a frame: the keys, the measurements, and ``seconds`` unless it was measured by the task.

        A task that returned several dicts has a row for each.
        """
        rows = []
        for record in self.records(part):
            values = record["value"] if isinstance(record["value"], list) else [record["value"]]
            rows += [{**record["key"], "seconds": record["seconds"], **value} for value in values]
        frame = pd.DataFrame(rows)
        if "seconds" in frame:
            frame = frame[[*(name for name in frame.columns if name != "seconds"), "seconds"]]
        return frame

    def coverage(self, *parts: str) -> tuple[int, int]:
        """Return how many tasks of some parts have a result, and how many are planned."""
        done = sum(len(self.records(part)) for part in parts)
        return done, max(done, sum(self.wanted.get(part, 0) for part in parts))

    def seconds(self, part: str) -> float:
        """Return the processor time of a part in seconds."""
        return float(sum(record["seconds"] for record in self.records(part)))

    def what_was_run(self) -> pd.DataFrame:
        """Return a row for each part: finished and planned tasks, data sets, processor time in minutes."""
        rows = []
        for part in self.parts:
            done, wanted = self.coverage(part)
            sets = {record["key"].get("dataset") for record in self.records(part)} - {None}
            rows.append((part, f"{done} of {wanted}", str(len(sets) or "–"), self.seconds(part) / 60))
        return pd.DataFrame(rows, columns=["part", "tasks", "data sets", "minutes"])


def add_what_was_run(page: Page, results: Results, note: str) -> None:
    """Add the table of finished tasks to a page, with the version that ran them and a `note` on what a task is."""
    page.section("What was run")
    version = f"Version {', '.join(results.versions)} of bnplug; minutes of one processor."
    page.table(results.what_was_run(), f"{version} {note}")


def record_name(record: Record) -> tuple[Any, ...]:
    """Return the `Task.name` of the task of a record."""
    return (record["part"], *sorted(record["key"].items()))


def to_record(task: Task, value: Any, seconds: float) -> Record:
    """Return the record of a task, in the form read back from a file."""
    record = {"part": task.part, "key": dict(task.key), "seconds": seconds, "value": value}
    return dict(json.loads(json.dumps(rounded(record))))


def rounded(value: Any) -> Any:
    """Round all numbers in a value to six digits, more than any page shows; NaN becomes None.

    Examples
    --------
    >>> rounded({"accuracy": 2 / 3, "folds": [1e7 / 3, 5], "auc": float("nan")})
    {'accuracy': 0.666667, 'folds': [3333330.0, 5], 'auc': None}
    """
    if isinstance(value, Mapping):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [rounded(one) for one in value]
    if isinstance(value, float):
        return None if value != value else float(f"{value:.{_DIGITS}g}")
    return value
