"""The command of ``bnplug`` that lists data sets."""

from __future__ import annotations

from pathlib import Path

import click

from bnplug.cli._errors import one_line_errors


@click.command("datasets")
@click.option("--data-dir", type=click.Path(path_type=Path), help="A folder of CSV or Parquet files to list too.")
@one_line_errors
def datasets_command(data_dir: Path | None) -> None:
    """List the data sets that can be asked for by name; openml:NAME asks OpenML for one more."""
    from bnplug import datasets

    listed = datasets.entries(data_dir)
    name_width = max(len(entry.name) for entry in listed)
    origin_width = max(len(entry.origin) for entry in listed)
    for entry in listed:
        click.echo(f"{entry.name:<{name_width}}  {entry.origin:<{origin_width}}  {entry.summary}")


COMMANDS = [datasets_command]
