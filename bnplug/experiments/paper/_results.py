"""The results of a reproduction: one record for each task, read from a file, and looked at part by part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from bnplug.experiments.paper._tasks import Task
from bnplug.experiments.reproduction import Page
from bnplug.experiments.storage import Record

#: The part of what is known of a run itself, not of a task.
RUN = "run"

_DIGITS = 6


class Results:
    """What the tasks of a paper gave, in an order that does not depend on when each was done.

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
        How many tasks each part has when it is whole.
    lacking : list of str
        Data sets that were not there.

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
        """The parts that are wanted, then those that only have results."""
        return list(dict.fromkeys([*self.wanted, *(record["part"] for record in self._records)]))

    def records(self, part: str) -> list[Record]:
        """Return the records of a part."""
        return [record for record in self._records if record["part"] == part]

    def frame(self, part: str) -> pd.DataFrame:
        """Return a part as a frame: the keys, what was measured, and ``seconds`` where that has none of its own.

        A task that gave several dicts has a row for each.
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
        """Return how many tasks of some parts have a result, and how many there are when they are whole."""
        done = sum(len(self.records(part)) for part in parts)
        return done, max(done, sum(self.wanted.get(part, 0) for part in parts))

    def seconds(self, part: str) -> float:
        """Return how many seconds of the processor a part took."""
        return float(sum(record["seconds"] for record in self.records(part)))

    def what_was_run(self) -> pd.DataFrame:
        """Return a row for each part: tasks done and wanted, data sets, processor time in minutes."""
        rows = []
        for part in self.parts:
            done, wanted = self.coverage(part)
            sets = {record["key"].get("dataset") for record in self.records(part)} - {None}
            rows.append((part, f"{done} of {wanted}", str(len(sets) or "–"), self.seconds(part) / 60))
        return pd.DataFrame(rows, columns=["part", "tasks", "data sets", "minutes"])


def add_what_was_run(page: Page, results: Results, note: str) -> None:
    """Begin a page with the tasks that were done, the version that did them, and a `note` on what a task is."""
    page.section("What was run")
    version = f"Version {', '.join(results.versions)} of bnplug; minutes of one processor."
    page.table(results.what_was_run(), f"{version} {note}")


def record_name(record: Record) -> tuple[Any, ...]:
    """Return the `Task.name` of the task whose record this is."""
    return (record["part"], *sorted(record["key"].items()))


def to_record(task: Task, value: Any, seconds: float) -> Record:
    """Return the record of a task, as it is read back from a file."""
    record = {"part": task.part, "key": dict(task.key), "seconds": seconds, "value": value}
    return dict(json.loads(json.dumps(rounded(record))))


def rounded(value: Any) -> Any:
    """Return a value with numbers of six digits, which is more than any page shows; NaN becomes None.

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
