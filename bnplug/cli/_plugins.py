"""The commands of ``bnplug`` that say which plugins and methods there are."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import click

import bnplug
from bnplug.cli import _completion
from bnplug.cli._errors import one_line_errors
from bnplug.cli._terminal import print_columns, print_paragraph, print_title
from bnplug.errors import one_line

if TYPE_CHECKING:
    from bnplug.hooks._docstrings import Described
    from bnplug.hooks.descriptors import Descriptor
    from bnplug.hooks.discovery import PluginInfo


# What a recipe is made of.
_COMPONENTS = ("structure", "parameters", "discretizer")


def installed_plugins() -> list[PluginInfo]:
    """Return every plugin without a warning of those that failed: a listing says what that would."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bnplug.PluginWarning)
        return bnplug.plugins()


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_line_errors
def plugins_command(as_json: bool) -> None:
    """List the plugins that are installed, what they bring, and what failed."""
    found = installed_plugins()
    if as_json:
        click.echo(json.dumps([plugin.to_dict() for plugin in found], indent=2))
        return
    for plugin in found:
        print_title(f"{plugin}: {plugin.status}")
        if plugin.cause:
            click.echo(f"  cause: {plugin.cause}")
        for clash in plugin.clashes:
            click.echo(f"  clash: {clash}")
        if plugin.hooks:
            click.echo(f"  hooks: {', '.join(plugin.hooks)}")
        for kind, names in plugin.names.items():
            click.echo(f"  {kind}s: {', '.join(names)}")


@click.command("methods")
@click.argument("name", required=False, shell_complete=_completion.methods())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_line_errors
def methods_command(name: str | None, as_json: bool) -> None:
    """List all methods, or tell about one: summary, reference, parameters with defaults, and what its author says.

    With --json, everything about all of them, or about one.
    """
    from bnplug.hooks import registry

    if as_json:
        told = map(_details, registry.methods() if name is None else _called(name))
        click.echo(json.dumps(list(told), indent=2))
    elif name is None:
        _list_methods()
    else:
        for method in _called(name):
            _describe(method)


def _list_methods() -> None:
    from bnplug.hooks import registry
    from bnplug.hooks.descriptors import Kind

    for kind in Kind:
        described = registry.methods(kind)
        if described:
            print_title(f"{kind}s:")
            print_columns((f"  {registry.name_of(method)}", method.summary) for method in described)


def _basics(method: Any) -> dict[str, Any]:
    """Return what a method says without its code being imported, for JSON."""
    from bnplug.hooks import registry

    brought_by = registry.provider(method)
    return {
        "kind": method.kind.value,
        "name": str(registry.name_of(method)),
        "summary": method.summary,
        "reference": method.reference,
        "aliases": list(method.aliases),
        "distribution": brought_by.distribution,
        "version": brought_by.version,
    }


def _details(method: Any) -> dict[str, Any]:
    """Return everything about a method, for JSON: a default that JSON does not hold is its text in Python."""
    from bnplug.hooks import recipes

    told = _basics(method)
    if hasattr(method, "factory"):
        told["capabilities"] = [name for name, has in method.capabilities().items() if has]
        told["parameter_aliases"] = dict(method.parameter_aliases)
        try:
            told["parameters"] = {
                own.name: {"default": _as_json(own.default), "type": own.type, "description": own.text}
                for own in _parameters(method)
            }
        except bnplug.PluginError as error:  # of one method that fails, the others are told all the same
            told["failed"] = one_line(error)
    if method.kind == "recipe":
        told["components"] = {part: _as_json(getattr(method, part)) for part in _COMPONENTS}
        told["unavailable"] = recipes.availability(method).reason
    return told


def _parameters(method: Any) -> list[Described]:
    from bnplug.hooks import registry
    from bnplug.hooks._docstrings import described_parameters

    return described_parameters(registry._factory(method))


def _as_json(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)


def _called(name: str) -> list[Descriptor]:
    """Return the methods of any kind that a name means, all of those that share it."""
    from bnplug.errors import did_you_mean
    from bnplug.hooks import discovery, registry
    from bnplug.hooks.descriptors import Kind

    names = discovery.discovered().names
    found = [claim.method for kind in Kind for claim in names.claims(kind, name)]
    if not found:
        hint = did_you_mean(name, [str(registry.name_of(method)) for method in registry.methods()])
        raise bnplug.UnknownMethodError(f"there is no method {name!r}.{hint} `bnplug methods` lists them")
    return found


def _describe(method: Any) -> None:
    from bnplug.hooks import recipes, registry

    print_title(f"{registry.name_of(method)}: {method.kind}, from {registry.provider(method)}")
    click.echo(f"  {method.summary}")
    click.echo(f"  reference: {method.reference}")
    if method.aliases:
        click.echo(f"  older names: {', '.join(method.aliases)}")
    if hasattr(method, "factory"):
        capabilities = [name for name, has in method.capabilities().items() if has]
        if capabilities:
            click.echo(f"  capabilities: {', '.join(capabilities)}")
        for parameter in _parameters(method):
            kind = f" ({parameter.type})" if parameter.type else ""
            print_title(f"  {parameter.name} = {parameter.default!r}{kind}")
            print_paragraph(parameter.text, "      ")
        for old, new in method.parameter_aliases.items():
            click.echo(f"  {old} is an older name of {new}")
    if method.kind == "recipe":
        print_columns((f"  {part}", repr(getattr(method, part))) for part in _COMPONENTS)
        click.echo(f"  {recipes.availability(method).reason or 'available'}")


COMMANDS = [plugins_command, methods_command]
