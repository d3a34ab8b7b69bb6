"""The command of ``bnplug`` that lists data sets, and writes them."""

from __future__ import annotations

from pathlib import Path

import click

from bnplug.cli import _completion
from bnplug.cli._errors import one_line_errors
from bnplug.cli._opening import STANDARD, write_output
from bnplug.cli._terminal import print_columns


@click.command("datasets")
@click.argument("name", required=False, shell_complete=_completion.datasets())
@click.option("--data-dir", type=click.Path(path_type=Path), help="A folder of CSV or Parquet files to list too.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A CSV file; by default standard output.")
@one_line_errors
def datasets_command(name: str | None, data_dir: Path | None, output: Path | None) -> None:
    """List the data sets that can be asked for by name, or write the one called NAME as CSV, its class last.

    openml:NAME asks OpenML for one more.
    """
    from bnplug import datasets

    if name is not None:
        data = datasets.load(name, data_dir)
        write_output(output or STANDARD, data.X.assign(**{str(data.y.name): data.y}).to_csv(index=False))
        return
    if output is not None:
        raise click.UsageError("-o takes a data set: bnplug datasets NAME -o FILE", click.get_current_context())
    listed = datasets.entries(data_dir)
    print_columns([(entry.name, entry.origin, entry.summary) for entry in listed], ("name", "from", ""))


COMMANDS = [datasets_command]
