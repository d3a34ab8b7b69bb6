"""The ``bnplug`` command.

An error in what the user gave is one line on standard error and exit code 1; a mistake in the command
line itself exits with 2, an interrupt with 130. Heavy imports happen inside the commands that need them.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

import bnplug
from bnplug.cli import _datasets as cli_datasets
from bnplug.cli import _doctor as cli_doctor
from bnplug.cli import _experiments as cli_experiments
from bnplug.cli import _models as cli_models
from bnplug.cli import _new_plugin as cli_new_plugin
from bnplug.cli._errors import one_line_errors
from bnplug.errors import one_line


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bnplug.__version__, prog_name="bnplug")
def cli() -> None:
    """Learn, compare and use Bayesian-network classifiers."""


for module in (cli_datasets, cli_doctor, cli_experiments, cli_models, cli_new_plugin):
    for command in module.COMMANDS:
        cli.add_command(command)


@cli.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_line_errors
def plugins_command(as_json: bool) -> None:
    """List the plugins that are installed, what they bring, and what failed."""
    with warnings.catch_warnings():
        # The listing itself says what the warning would.
        warnings.simplefilter("ignore", bnplug.PluginWarning)
        found = bnplug.plugins()
    if as_json:
        click.echo(json.dumps([plugin.to_dict() for plugin in found], indent=2))
        return
    for plugin in found:
        click.echo(f"{plugin.distribution} {plugin.version} ({plugin.name}): {plugin.status}")
        if plugin.cause:
            click.echo(f"  cause: {plugin.cause}")
        if plugin.hooks:
            click.echo(f"  hooks: {', '.join(plugin.hooks)}")
        for kind, names in plugin.names.items():
            click.echo(f"  {kind}s: {', '.join(names)}")


@cli.command("methods")
@click.argument("name", required=False)
@one_line_errors
def methods_command(name: str | None) -> None:
    """List all methods, or tell about one: summary, reference, parameters with defaults."""
    from bnplug.errors import did_you_mean
    from bnplug.hooks import registry
    from bnplug.hooks.descriptors import Kind

    if name is None:
        for kind in Kind:
            described = registry.methods(kind)
            if described:
                click.echo(f"{kind}s:")
                _print_columns((f"  {method.name}", method.summary) for method in described)
        return
    found = [method for method in registry.methods() if method.name == name]
    if not found:
        hint = did_you_mean(name, [method.name for method in registry.methods()])
        raise bnplug.UnknownMethodError(f"there is no method {name!r}.{hint} `bnplug methods` lists them")
    for method in found:
        _describe(method)


def _describe(method: Any) -> None:
    from bnplug.hooks import recipes, registry

    click.echo(f"{method.name}: {method.kind}, from {registry.provider(method)}")
    click.echo(f"  {method.summary}")
    click.echo(f"  reference: {method.reference}")
    if hasattr(method, "factory"):
        capabilities = [name for name, has in method.capabilities().items() if has]
        if capabilities:
            click.echo(f"  capabilities: {', '.join(capabilities)}")
        _print_columns((f"  {parameter}", repr(default)) for parameter, default in registry.signature(method))
    if method.kind == "recipe":
        _print_columns(
            (f"  {part}", repr(getattr(method, part))) for part in ("structure", "parameters", "discretizer")
        )
        click.echo(f"  {recipes.availability(method).reason or 'available'}")


@cli.command("demo")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("demo-output"), show_default=True)
@one_line_errors
def demo_command(output: Path) -> None:
    """Learn, compare, draw and save classifiers on data that ships; one row per registered method."""
    from bnplug.cli._demo import run

    run(output, click.echo)


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


def _print_columns(rows: Iterable[tuple[str, str]]) -> None:
    """Print rows of two columns, aligned."""
    listed = list(rows)
    width = max((len(left) for left, _ in listed), default=0)
    for left, right in listed:
        click.echo(f"{left:<{width}}  {right}")
