"""The ``bnplug`` command.

An error in what the user gave is one line on standard error and exit code 1; a mistake in the command
line itself exits with 2, an interrupt with 130. Heavy imports happen inside the commands that need them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

import bnplug
from bnplug.cli import _datasets, _doctor, _experiments, _explore, _models, _new_plugin, _plugins
from bnplug.cli._errors import one_line_errors
from bnplug.errors import one_line


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bnplug.__version__, prog_name="bnplug")
def cli() -> None:
    """Learn, compare and use Bayesian-network classifiers."""


for module in (_datasets, _doctor, _experiments, _explore, _models, _new_plugin, _plugins):
    for command in module.COMMANDS:
        cli.add_command(command)


@cli.command("demo")
@click.option("--all", "everything", is_flag=True, help="Run every method that registers: minutes, and many lines.")
@click.option("--n-jobs", type=int, default=-1, show_default=True, help="Methods in parallel; -1: one per processor.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("demo-output"), show_default=True)
@one_line_errors
def demo_command(everything: bool, n_jobs: int, output: Path) -> None:
    """Compare the methods that a newcomer should know on data that ships; draw, report and save the best."""
    from bnplug.cli._demo import run

    run(output, click.echo, everything, n_jobs)


@cli.command("warm")
@one_line_errors
def warm_command() -> None:
    """Compile every kernel of every registered method once, so that later runs start at full speed."""
    from bnplug.cli._warm import run

    run(click.echo)


def main() -> None:
    """Run the command."""
    try:
        cli.main(prog_name="bnplug", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("bnplug: interrupted", err=True)
        sys.exit(130)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "bnplug"
        click.echo(f"bnplug: {one_line(error.format_message())} (see {command} --help)", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
