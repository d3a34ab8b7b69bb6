"""The commands of ``bnplug`` that run experiments."""

from __future__ import annotations

from pathlib import Path

import click

from bnplug.cli._errors import one_line_errors


@click.command("compare")
@click.option(
    "--methods",
    required=True,
    help="Recipes, classifiers, structure learners, compositions such as tan+ccbn-w or "
    "hill-climb[cr], or baselines, separated by commas.",
)
@click.option("--datasets", required=True, help="Names of data sets, separated by commas.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="A folder of data files.")
@click.option("--cv", default="10x5", show_default=True, help="Repetitions x folds; folds; or split.")
@click.option("--missing", type=click.Choice(["ignore", "drop", "value"]), default="ignore", show_default=True)
@click.option("--metric", default="accuracy", show_default=True, help="What the tables and pictures show.")
@click.option("--bias-variance", is_flag=True, help="Split the 0-1 loss into bias and variance.")
@click.option("--random-state", type=int, default=0, show_default=True, help="The seed of folds and methods.")
@click.option("--n-jobs", type=int, help="Folds in parallel.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the results.")
@one_line_errors
def compare_command(
    methods: str,
    datasets: str,
    data_dir: Path | None,
    cv: str,
    missing: str,
    metric: str,
    bias_variance: bool,
    random_state: int,
    n_jobs: int | None,
    quiet: bool,
    output: Path,
) -> None:
    """Compare methods over data sets by cross validation, on the same folds.

    A command that was interrupted goes on where it stopped when it is given again.
    """
    from bnplug.experiments import compare, write_report
    from bnplug.experiments._metrics import find_metric
    from bnplug.experiments._report import told_failures
    from bnplug.hooks import expressions

    find_metric(metric)
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file; the results go to a folder")
    output.mkdir(parents=True, exist_ok=True)
    found = compare(
        expressions.split(methods),
        _names(datasets),
        int(cv) if cv.isdigit() else cv,
        missing=missing,
        bias_variance=bias_variance or metric in ("bias", "variance"),
        n_jobs=n_jobs,
        random_state=random_state,
        data_dir=data_dir,
        output=output / "results.jsonl",
        verbose=0 if quiet else 1,
    )
    click.echo(found.to_text(metric))
    for failure in told_failures(found):
        click.echo(f"failed: {failure}", err=True)
    files = [output / "results.jsonl", *write_report(found, output, metric)]
    click.echo(f"\nwritten: {', '.join(map(str, files))}")


@click.command("reproduce")
@click.argument("paper")
@click.option("--data-dir", type=click.Path(path_type=Path), help="A folder of data files.")
@click.option("--quick", is_flag=True, help="A run of a few minutes, on less data.")
@click.option("--n-jobs", type=int, help="Folds in parallel.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the page.")
@one_line_errors
def reproduce_command(paper: str, data_dir: Path | None, quick: bool, n_jobs: int | None, output: Path) -> None:
    """Run the protocol of PAPER on what data there are, and write a page with its figures and ours."""
    import joblib

    from bnplug.hooks import registry

    protocol = registry.reproduction(paper)
    if data_dir is not None and not data_dir.is_dir():
        raise ValueError(f"{data_dir}: there is no such folder")
    output.mkdir(parents=True, exist_ok=True)
    # Not a parameter of `run`: whatever runs through joblib there takes it from here.
    with joblib.parallel_config(n_jobs=n_jobs):
        protocol.run(data_dir, output, quick)  # type: ignore[operator]
    click.echo(f"written to {output}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


COMMANDS = [compare_command, reproduce_command]
