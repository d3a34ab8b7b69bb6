"""The commands of ``bnplug`` that run experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bnplug.cli import _reading
from bnplug.cli._reading import PATH, STANDARD, Reading
from bnplug.cli._terminal import draw_table, is_drawn
from bnplug.errors import UnknownMethodError, one_line

if TYPE_CHECKING:
    import pandas as pd

    from bnplug.datasets import Dataset

# The distribution of the reproductions of this project.
_PAPERS = "bnplug-papers"
_INSTALL = f"The reproductions of five papers are a plugin: pip install {_PAPERS}"


@click.command("compare")
@click.option(
    "--methods",
    required=True,
    help="Recipes, classifiers, structure learners, compositions such as tan+ccbn-w or "
    "hill-climb[cr], or baselines, separated by commas.",
    shell_complete=_reading.complete_methods("recipe", "classifier", "structure learner", listed=True),
)
@click.option(
    "--datasets",
    required=True,
    help="Names of data sets, or data files, separated by commas.",
    shell_complete=_reading.complete_datasets(listed=True),
)
@click.option("--data-dir", type=PATH, help="A folder of data files.")
@click.option("--target", help="The column of the class in a data file.  [default: class, or else the last one]")
@_reading.names_option("--drop", "drop", "Columns to leave out where they are: id,name.")
@_reading.names_option("--keep", "keep", "The columns that are features, where they are.")
@_reading.reading_options
@click.option("--cv", default="10x5", show_default=True, help="Repetitions x folds; folds; or split.")
@click.option("--missing", type=click.Choice(["ignore", "em", "drop", "value"]), default="ignore", show_default=True)
@click.option("--metric", default="accuracy", show_default=True, help="What the tables and pictures show.")
@click.option("--bias-variance", is_flag=True, help="Split the 0-1 loss into bias and variance.")
@click.option("--random-state", type=int, default=0, show_default=True, help="The seed of folds and methods.")
@click.option("--n-jobs", type=int, help="Folds in parallel.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option("--html", "page", type=PATH, metavar="FILE", help="Also write one HTML page.")
@click.option("-o", "--output", required=True, type=PATH, help="The folder of the results.")
def compare_command(
    methods: str,
    datasets: str,
    data_dir: Path | None,
    target: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    reading: Reading,
    cv: str,
    metric: str,
    bias_variance: bool,
    quiet: bool,
    page: Path | None,
    output: Path,
    **options: Any,
) -> None:
    """Compare methods over data sets by cross-validation.

    All methods use the same folds. Run the command again to resume an interrupted run.
    """
    from bnplug.experiments import compare, to_html, write_report
    from bnplug.experiments._report import describe_failures
    from bnplug.experiments._tables import find_metric
    from bnplug.hooks import expressions

    find_metric(metric)
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file; the results go to a folder")
    output.mkdir(parents=True, exist_ok=True)
    comparison = compare(
        expressions.split(methods),
        [_load(name, data_dir, target, reading, keep, drop) for name in _reading.listed([datasets])],
        int(cv) if cv.isdigit() else cv,
        bias_variance=bias_variance or metric in ("bias", "variance"),
        output=output / "results.jsonl",
        verbose=0 if quiet else 1,
        **options,
    )
    # What stands on standard output is the page alone, where it goes there.
    say = partial(click.echo, err=page == STANDARD)
    if is_drawn() and page != STANDARD:
        draw_table(comparison.text_table(metric))
    else:
        say(comparison.to_text(metric))
    for failure in describe_failures(comparison):
        click.echo(f"failed: {failure}", err=True)
    files = [output / "results.jsonl", *write_report(comparison, output, metric)]
    say(f"\nwritten: {', '.join(map(str, files))}")
    if page is not None:
        _reading.write_output(page, to_html(comparison, metric))


@click.command("reproduce")
@click.argument("paper", required=False, shell_complete=_reading.complete_methods("reproduction"))
@click.option("--all", "every", is_flag=True, help="All papers, one after the other.")
@click.option("--data-dir", type=PATH, help="A folder of data files.")
@click.option("--quick", is_flag=True, help="A run of at most three minutes, on less data.")
@click.option("--page-only", is_flag=True, help="Write the page from the results that are there, or that ship.")
@click.option("--resume", is_flag=True, help="Begin with the results that ship, where the folder has none.")
@click.option("--minutes", type=float, help="Begin nothing new after that time, and write the page of what is done.")
@click.option("--n-jobs", type=int, help="Tasks in parallel.")
@click.option("-o", "--output", default="reproduction", show_default=True, type=PATH, help="The folder.")
def reproduce_command(
    paper: str | None, every: bool, data_dir: Path | None, quick: bool, n_jobs: int | None, output: Path, **wishes: Any
) -> None:
    """Repeat the experiments of PAPER on the available data.

    The result is a page with the figures of the paper and ours. The protocols are in the plugin bnplug-papers. Run the
    command again to resume an interrupted run.
    """
    import joblib

    from bnplug.files import write_atomically
    from bnplug.hooks import registry

    if every == (paper is not None):
        raise click.UsageError("name a paper, or take --all")
    if data_dir is not None and not data_dir.is_dir():
        raise ValueError(f"{data_dir}: there is no such folder")
    names = [method.name for method in registry.methods("reproduction")] if paper is None else [paper]
    if not names:
        raise ValueError(f"no reproduction is registered. {_INSTALL}")
    output.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    pages: list[Any] = []
    for name in names:
        # Not a parameter of every `run`: whatever runs through joblib there takes it from here.
        with joblib.parallel_config(n_jobs=n_jobs):
            try:
                _reproduce(name, data_dir, output, quick, wishes, pages)
            except Exception as error:
                if not every:
                    raise
                failures.append(f"{name}: {one_line(error)}")
                click.echo(failures[-1], err=True)
    if every and pages:
        write_atomically(output / "index.md", pages[0].index(pages))
    click.echo(f"written to {output}")
    if failures:
        raise RuntimeError(f"{len(failures)} of {len(names)} papers failed: {'; '.join(failures)}")


def _reproduce(
    name: str, data_dir: Path | None, output: Path, quick: bool, wishes: Mapping[str, Any], pages: list[Any]
) -> None:
    """Run one paper, and append its page to `pages`; a plain function takes no `wishes`, and has no page to list."""
    protocol = _find_protocol(name)
    if hasattr(protocol, "run"):
        page, failure = protocol.run(data_dir, output, quick, **wishes)
        pages.append(page)
        if failure:
            raise RuntimeError(failure)
        return
    refused = [f"--{wish.replace('_', '-')}" for wish in ("page_only", "resume", "minutes") if wishes[wish]]
    if refused:
        raise ValueError(f"the reproduction {name!r} is a plain function, which does not take {', '.join(refused)}")
    protocol(data_dir, output, quick)


def _find_protocol(name: str) -> Any:
    """Return the callable of a reproduction; if none has this name, the error may suggest a distribution to install."""
    from bnplug.hooks import registry

    try:
        return registry.reproduction(name).run
    except UnknownMethodError as error:
        if any(plugin.distribution == _PAPERS for plugin in registry.plugins()):
            raise
        raise UnknownMethodError(f"{error} {_INSTALL}") from None


def _load(
    name: str, data_dir: Path | None, target: str | None, reading: Reading, keep: Sequence[str], drop: Sequence[str]
) -> Dataset:
    """Load a data set by name, or from a file; of its columns those that are wanted, where they are."""
    from bnplug import datasets

    path = Path(name)
    if path == STANDARD or path.is_file():
        frame = reading.frame(path)
        X, y = _reading.take_target(frame, target or ("class" if "class" in frame else str(frame.columns[-1])), path)
        data = datasets.Dataset("data" if path == STANDARD else path.name.split(".")[0], X, y, "auto", name)
    elif any(one.name == name and one.origin == str(data_dir) for one in datasets.entries(data_dir)):
        data = _with_target(datasets.load(name, data_dir, **reading.options()), target)
        data = replace(data, X=reading.converted(data.X))
    else:
        data = datasets.load(name, data_dir)
    kept, dropped = ([name for name in wanted if name in data.X] for wanted in (keep, drop))
    return _with_features(data, _reading.chosen_columns(data.X, kept, dropped, path))


def _with_target(data: Dataset, target: str | None) -> Dataset:
    """Return a data set whose class is the column `target`, if it has another one."""
    if target is None or target == data.y.name:
        return data
    X, y = _reading.take_target(data.X, target, Path(data.source))
    return _with_features(replace(data, y=y), X.assign(**{str(data.y.name): data.y}))


def _with_features(data: Dataset, X: pd.DataFrame) -> Dataset:
    kinds = data.categorical_features
    left = kinds if isinstance(kinds, str) else tuple(name for name in kinds if name in X)
    return replace(data, X=X, categorical_features=left)


COMMANDS = [compare_command, reproduce_command]
