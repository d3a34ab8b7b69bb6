"""The ``bnplug`` command.

An error in what the user gave is one line on standard error and exit code 1; a mistake in the command line itself exits
with 2, an interrupt with 130. Where nobody reads on, a command ends without a word, and with 1. Heavy
imports happen inside the commands that need them.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

import bnplug
from bnplug.cli import _doctor, _experiments, _models, _plugins, _questions
from bnplug.cli._reading import PATH
from bnplug.cli._terminal import one_line_errors
from bnplug.errors import one_line, printable

# The commands, in the order of the help.
_SECTIONS = {
    "Build and query models": (
        "fit", "predict", "query", "next", "evaluate", "show", "report", "explore", "export", "import",
    ),
    "Experiments": ("demo", "compare", "datasets", "reproduce"),
    "Methods and plugins": ("methods", "plugins", "formats", "new-plugin"),
    "This installation": ("doctor", "warm", "completion"),
}  # fmt: skip

_FIRST_STEPS = """\
First steps:
  bnplug demo
  bnplug fit data.csv --target class --drop id -o model
  bnplug predict model new.csv --id id -o predictions.csv
  bnplug COMMAND --help"""


class _Page(click.Group):
    """The group of all commands, those of plugins included, whose help is a page in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        built_in = super().get_command(ctx, cmd_name)
        if built_in or cmd_name not in _plugin_commands():
            return built_in
        from bnplug.hooks import registry

        try:
            return registry.command(cmd_name)
        except (bnplug.PluginError, bnplug.ContractError):
            if not ctx.resilient_parsing:  # no error during shell completion
                raise
            return None

    def invoke(self, ctx: click.Context) -> Any:
        with one_line_errors():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<10}", self.commands[name].get_short_help_str(64)) for name in section])
        if listed := _plugin_commands():
            with formatter.section("From plugins"):
                formatter.write_dl([(f"{name:<10}", text) for name, text in listed.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{_FIRST_STEPS}\n")


def _plugin_commands() -> dict[str, str]:
    """Return the summaries of the commands of plugins; none if the search for plugins fails."""
    from bnplug.hooks import discovery

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bnplug.PluginWarning)
        try:
            methods = discovery.discovered().methods.items()
            return {name: method.summary for (kind, name), method in methods if kind == "command"}
        except bnplug.PluginError:
            return {}


def _load_files(context: click.Context, option: click.Parameter, files: Sequence[Path]) -> None:
    """Load the one-file plugins of ``--plugin``; workers find them in the environment."""
    if files:
        from bnplug.hooks.discovery import load_files

        with one_line_errors():
            load_files(files)


@click.group(cls=_Page, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--plugin",
    multiple=True,
    type=PATH,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load_files,
    help="Load a one-file plugin first; may be given several times.",
)
@click.version_option(bnplug.__version__, prog_name="bnplug")
@click.pass_context
def cli(context: click.Context) -> None:
    """Learn, compare and use Bayesian-network classifiers."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for module in (_doctor, _experiments, _models, _plugins, _questions):
    for command in module.COMMANDS:
        cli.add_command(command)


@cli.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print a script that makes the shell complete commands and names.

    bash: eval "$(bnplug completion bash)" in ~/.bashrc.  zsh: eval "$(bnplug completion zsh)" in ~/.zshrc.
    fish: bnplug completion fish > ~/.config/fish/completions/bnplug.fish.
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {}, "bnplug", "_BNPLUG_COMPLETE").source())


@cli.command("demo")
@click.option("--all", "everything", is_flag=True, help="Run every method that registers: minutes, and many lines.")
@click.option("--n-jobs", type=int, default=-1, show_default=True, help="Methods in parallel; -1: one per processor.")
@click.option("-o", "--output", type=PATH, default=Path("demo-output"), show_default=True)
def demo_command(everything: bool, n_jobs: int, output: Path) -> None:
    """Compare methods on data that ships with bnplug. The best network is drawn, reported and saved."""
    from bnplug.cli._demo import run

    run(output, click.echo, everything, n_jobs)


@cli.command("warm")
def warm_command() -> None:
    """Compile everything once: later runs start at full speed."""
    from bnplug.cli._warm import run

    run(click.echo)


def main() -> None:
    """Run the command."""
    # Libraries that are loaded make many objects and little garbage: to look for it takes a tenth of a short command.
    gc.set_threshold(100_000, 20, 20)
    try:
        cli.main(prog_name="bnplug", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("bnplug: interrupted", err=True)
        sys.exit(130)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "bnplug"
        click.echo(f"bnplug: {printable(one_line(error.format_message()))} (see {command} --help)", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    finally:
        _end_output()


def _end_output() -> None:
    """Send to the error output what is printed from now on, such as by a plugin when the process ends."""
    stream = sys.__stdout__
    with suppress(OSError, ValueError):  # either may be closed
        if stream is not None and sys.__stderr__ is not None:
            elsewhere = sys.__stderr__.fileno()
            try:
                stream.flush()
            except OSError:
                elsewhere = os.open(os.devnull, os.O_WRONLY)  # what cannot be written is not written there
            os.dup2(elsewhere, stream.fileno())
