"""A paper: its tasks, the file of their results, and the page made from that file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import bnplug
from bnplug.experiments.storage import Record, ResultsFile
from bnplug.files import write_atomically
from bnplug_papers.kit.page import Page
from bnplug_papers.kit.results import RUN, Results, record_name, to_record
from bnplug_papers.kit.tasks import Task, TaskProgress, run_tasks

# The file of results that ships with the package of a paper.
_SHIPPED = "results.jsonl"


@dataclass(frozen=True)
class Paper:
    """The reproduction of a paper, for the hook ``bnplug_reproductions``.

    Parameters
    ----------
    name : str
        The name of the reproduction (``bnplug reproduce NAME``), of the page and of the results file.
    title : str
        The heading of the page.
    reference : str
        The paper.
    tasks : callable
        ``tasks(data, quick)`` returns a list of `Task`, the most important first, and the names of data sets that
        the folder `data` lacks.
    fill : callable
        ``fill(page, results)`` fills the page. It reads nothing but the results, and the same results give the same
        page.
    package : str
        The package that ships ``results.jsonl``, the results so far.
    protocol : int
        The version of the tasks; raise it if a change makes earlier results useless.
    further : callable, optional
        ``further(results, data, quick)`` returns tasks that depend on the results of `tasks`, such as measurements of
        the best of several searches. It is called after `tasks` have run.
    """

    name: str
    title: str
    reference: str
    tasks: Callable[[Path | None, bool], tuple[Iterable[Task], list[str]]]
    fill: Callable[[Page, Results], None]
    package: str
    protocol: int = 1
    further: Callable[[Results, Path | None, bool], Iterable[Task]] | None = None

    def __call__(
        self, data: str | os.PathLike[str] | None, out: str | os.PathLike[str], quick: bool = False, **wishes: Any
    ) -> Path:
        """Call :meth:`run`, and return the path of the page.

        Raises
        ------
        RuntimeError
            If tasks failed. The page of the other tasks is written first.
        """
        _, failure = self.run(data, out, quick, **wishes)
        if failure:
            raise RuntimeError(failure)
        return Path(out) / f"{self.name}.md"

    def run(
        self,
        data: str | os.PathLike[str] | None,
        out: str | os.PathLike[str],
        quick: bool = False,
        *,
        page_only: bool = False,
        resume: bool = False,
        n_jobs: int | None = None,
        minutes: float | None = None,
    ) -> tuple[Page, str]:
        """Run the tasks without a result, and write the page.

        Parameters
        ----------
        data : path or None
            A folder of data files.
        out : path
            The folder of the page, its pictures and the results. An interrupted run resumes from it.
        quick : bool
            Run for a few minutes, on data that ship or are generated.
        page_only : bool
            Write the page from the results in `out`, or else from the results that ship, and run nothing.
        resume : bool
            Start from the results that ship if `out` has none.
        n_jobs : int, optional
            Tasks in parallel.
        minutes : float, optional
            Start no task after this time.

        Returns
        -------
        page : Page
            The page as written.
        failure : str
            The number of failed tasks, which the page lacks, and the first error; empty if none failed.
        """
        folder, failures = Path(out), []
        folder.mkdir(parents=True, exist_ok=True)
        if not page_only:
            file = self._open(folder / self._file(quick), resume and not quick)
            failures = self._run(file, None if data is None else Path(data), quick, n_jobs, minutes)
        page = self.page(folder, quick)
        page.write(folder)
        count = f"{self.name}: {len(failures)} tasks failed, and are not on the page"
        return page, f"{count}; the first: {failures[0]}" if failures else ""

    def _open(self, path: Path, resume: bool) -> ResultsFile:
        shipped = self.shipped() if resume and not path.exists() else None
        if shipped is not None:
            write_atomically(path, shipped)
        return ResultsFile(path, self._settings())

    def shipped(self) -> str | None:
        """Return the text of the results that ship, or None."""
        file = files(self.package) / _SHIPPED
        return file.read_text(encoding="utf-8") if file.is_file() else None

    def page(self, folder: str | os.PathLike[str], quick: bool = False) -> Page:
        """Return the page of the results in a folder, or else of the results that ship.

        Parameters
        ----------
        folder : path
            Where a run kept its results.
        quick : bool
            Whether it was a quick run, of which none ship.
        """
        results = self._kept(Path(folder) / self._file(quick), quick)
        page = Page(self.name, self.title, f"{self.reference} Written by `bnplug reproduce {self.name}`.")
        if quick:
            page.text(
                "This was a quick run, on data that ship or are generated: it shows that everything runs. Its figures "
                "do not compare with the published ones."
            )
        self.fill(page, results)
        return page

    def _file(self, quick: bool) -> str:
        return f"{self.name}{'-quick' if quick else ''}.jsonl"

    def _settings(self) -> dict[str, Any]:
        return {"paper": self.name, "protocol": self.protocol}

    def _kept(self, path: Path, quick: bool) -> Results:
        """Return the results of a file, or those that ship."""
        if path.exists():
            return Results(ResultsFile(path, self._settings()).records)
        text = None if quick else self.shipped()
        if text is None:
            raise ValueError(f"there are no results of {self.name} yet, neither {path} nor shipped: run it first")
        return Results(ResultsFile.parse(text, self._settings(), f"the results that ship of {self.name}"))

    def _run(
        self, file: ResultsFile, data: Path | None, quick: bool, n_jobs: int | None, minutes: float | None
    ) -> list[str]:
        """Run the tasks without a result, appending to the file; return the failures."""
        ends = float("inf") if minutes is None else time.monotonic() + 60 * minutes
        planned, lacking = self.tasks(data, quick)
        tasks = list(planned)
        failures = self._run_left(file, tasks, tasks, lacking, n_jobs, ends)
        if self.further is not None:
            more = list(self.further(Results(file.records), data, quick))
            failures += self._run_left(file, more, [*tasks, *more], lacking, n_jobs, ends)
        return failures

    def _run_left(
        self,
        file: ResultsFile,
        tasks: list[Task],
        planned: list[Task],
        lacking: list[str],
        n_jobs: int | None,
        ends: float,
    ) -> list[str]:
        """Run the tasks without a result; `planned` are all tasks of a complete file."""
        _check_names(planned)
        wanted: dict[str, int] = {}
        for task in planned:
            wanted[task.part] = wanted.get(task.part, 0) + 1
        _keep(file, {"part": RUN, "key": {}, "version": bnplug.__version__, "wanted": wanted, "lacking": lacking})
        seconds = {record_name(record): record["seconds"] for record in file.records if record["part"] != RUN}
        left = [task for task in tasks if task.name not in seconds]
        done = [(task.group, seconds[task.name]) for task in planned if task.name in seconds]
        progress, failures = TaskProgress(self.name, left, done), []
        for task, result, taken in run_tasks(left, n_jobs, ends):
            failed = result if isinstance(result, Exception) else None
            if failed is None:
                _keep(file, to_record(task, result, taken))
            else:
                failures.append(f"{task.part}, {', '.join(map(str, task.key.values()))}: {failed}")
            progress.tell(task, taken, failed)
        if progress.done < progress.total:
            print(f"{self.name}: {progress.total - progress.done} tasks are left", file=sys.stderr, flush=True)
        return failures


def _keep(file: ResultsFile, record: Record) -> None:
    file.append(record)
    file.records.append(record)


def _check_names(tasks: list[Task]) -> None:
    seen = set()
    for task in tasks:
        if task.name in seen:
            raise ValueError(f"two tasks of part {task.part!r} have the key {dict(task.key)}")
        seen.add(task.name)
