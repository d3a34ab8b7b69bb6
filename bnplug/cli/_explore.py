"""The command of ``bnplug`` that writes a page to click through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bnplug.cli._errors import one_line_errors
from bnplug.cli._models import is_apart, load_network, model_argument, na_option, read_rows


@click.command("explore")
@model_argument
@click.argument("data", type=click.Path(path_type=Path), required=False)
@na_option
@click.option("--features", type=int, help="Show only so many features, those that tell most of the class.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file.")
@one_line_errors
def explore_command(model_dir: Path, data: Path | None, na: Sequence[str], features: int | None, output: Path) -> None:
    """Write one self-contained HTML page that answers click by click; rows of DATA can be loaded in it."""
    model = load_network(model_dir)
    rows = None if data is None else read_rows(model, data, na)
    truth = None if rows is None or model.target_ not in rows.columns else rows.pop(model.target_)
    model.explore(output, rows, truth, features)
    if is_apart(output):
        click.echo(f"{output}: {output.stat().st_size:,} bytes")


COMMANDS = [explore_command]
