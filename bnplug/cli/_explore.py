"""The command of ``bnplug`` that writes a page to click through."""

from __future__ import annotations

from pathlib import Path

import click

from bnplug.cli._errors import one_line_errors
from bnplug.cli._opening import (
    check_rows_option,
    model_argument,
    open_network,
    rows_option,
    target_option,
    write_output,
)
from bnplug.cli._reading import Reading, read_rows, reading_options


@click.command("explore")
@model_argument
@click.argument("data", type=click.Path(path_type=Path), required=False)
@reading_options
@target_option
@click.option("--features", type=int, help="Show only so many features, those that tell most of the class.")
@rows_option("from the first")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file.")
@one_line_errors
def explore_command(
    model_path: Path,
    data: Path | None,
    reading: Reading,
    target: str | None,
    features: int | None,
    rows: int,
    output: Path,
) -> None:
    """Write one self-contained, interactive HTML page; --rows adds rows of DATA that can be loaded in it."""
    from bnplug.classifier._rows import Rows
    from bnplug.show import explorer

    check_rows_option(rows, data)
    model = open_network(model_path, target)
    given = Rows() if data is None else read_rows(model, data, reading, target)
    write_output(output, explorer.to_html(model, given.X, given.y, features, rows))
    if data is not None and not rows:
        click.echo("The page contains no rows of DATA. Pass --rows 20 to add the first 20.", err=True)


COMMANDS = [explore_command]
