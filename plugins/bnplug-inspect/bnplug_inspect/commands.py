"""The command ``bnplug check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

import click

from bnplug.cli import names_option
from bnplug.errors import printable
from bnplug_inspect.checking import check
from bnplug_inspect.report import CheckReport

_STANDARD = Path("-")
_PATH = click.Path(path_type=Path)
_SEPARATORS = {"\\t": "\t", "tab": "\t"}


@click.command("check")
@click.argument("data", metavar="DATA...", type=_PATH, nargs=-1, required=True)
@click.option("--target", help="The column that holds the class. Without it, checks of the class are omitted.")
@names_option("--drop", "drop", "Columns to leave out, such as an identifier: id,name.")
@click.option("--na", multiple=True, help="Text that stands for a missing value, besides an empty field.")
@click.option("--sep", default=",", show_default=True, help="What separates the fields of a CSV file, or tab.")
@click.option("--encoding", help="The encoding of a CSV file.  [default: UTF-8]")
@click.option("--decimal", default=".", show_default=True, help="The decimal separator of a CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=_PATH, help="Write the report to an HTML page.")
@click.option("--fail-on", type=click.Choice(["high", "medium", "low"]), help="Exit with 3 from this severity on.")
def check_command(
    data: tuple[Path, ...],
    target: str | None,
    drop: Sequence[str],
    as_json: bool,
    html: Path | None,
    fail_on: str | None,
    **csv: Any,
) -> None:
    """Check DATA before learning: leaks, copies, disguised numbers, spellings, missing values and more.

    DATA is CSV or Parquet. Several files, such as a.csv b.csv or 'rows/*.parquet', are one data set. Files are read in
    batches and need not fit into memory. - is standard input, which is CSV.
    """
    csv["missing"] = tuple(csv.pop("na"))
    csv["sep"] = _SEPARATORS.get(csv["sep"], csv["sep"])
    report = (
        _check_standard_input(target, drop, csv)
        if data == (_STANDARD,)
        else check(list(data), target, drop=drop, csv=csv)
    )
    if html is not None:
        report.to_html(html)
    if as_json:
        click.echo(report.to_json())
    else:
        click.echo(str(report))
    if html is not None:
        click.echo(f"\n{printable(html)}: written", err=True)
    order = ["high", "medium", "low"]
    if fail_on is not None and any(order.index(f.severity) <= order.index(fail_on) for f in report.findings):
        raise SystemExit(3)


def _check_standard_input(target: str | None, drop: Sequence[str], csv: dict[str, Any]) -> CheckReport:
    """Check standard input, which is read more than once, as a temporary file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        with path.open("wb") as file:
            copyfileobj(sys.stdin.buffer, file)
        try:
            report = check(path, target, drop=drop, csv=csv)
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), "standard input")) from None
        return replace(report, source=(str(_STANDARD),))
