"""The commands of ``bnplug`` that list plugins, methods and data sets, and that start a plugin.

The template of a plugin is ``plugins/_template`` of the repository; a wheel contains it as ``bnplug/_template``.
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
import warnings
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import bnplug
from bnplug.cli import _reading
from bnplug.cli._reading import PATH, STANDARD, write_output
from bnplug.cli._terminal import print_columns, print_paragraph, print_title
from bnplug.errors import article, one_line

if TYPE_CHECKING:
    from bnplug.hooks.descriptors import Descriptor
    from bnplug.hooks.discovery import PluginInfo


_ROLE = re.compile(r":\w+:`~?([^`]+)`")

# The components of a recipe.
_COMPONENTS = ("structure", "parameters", "discretizer")

#: The kinds of methods that have a template.
KINDS = ("score", "structure", "parameters", "engine", "classifier", "discretizer")

#: What every plugin has, whatever its kind.
_COMMON = "common"

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def installed_plugins() -> list[PluginInfo]:
    """Return every plugin without a warning of those that failed: a listing says what that would."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bnplug.PluginWarning)
        return [_with_failed_commands(plugin) for plugin in bnplug.plugins()]


def _with_failed_commands(plugin: PluginInfo) -> PluginInfo:
    """Import the commands of a plugin, and add failures to its cause."""
    from bnplug.hooks import registry

    causes = [plugin.cause] if plugin.cause else []
    for name in plugin.names.get("command", ()):
        try:
            registry.command(name)
        except (bnplug.PluginError, bnplug.ContractError) as error:
            causes.append(one_line(error))
    return replace(plugin, status="partial", cause="; ".join(causes)) if len(causes) > bool(plugin.cause) else plugin


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plugins_command(as_json: bool) -> None:
    """List the installed plugins, their methods, and what failed."""
    if as_json:
        click.echo(json.dumps([plugin.to_dict() for plugin in installed_plugins()], indent=2))
        return
    for plugin in installed_plugins():
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
@click.argument("name", required=False, shell_complete=_reading.complete_methods())
@click.option("--kind", help="Only methods of this kind, such as score, structure or parameters.")
@click.option(
    "--that", "flags", multiple=True, help="Only those with this flag, such as decomposable; not-... inverts."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods_command(name: str | None, kind: str | None, flags: tuple[str, ...], as_json: bool) -> None:
    """List all methods, or describe one with its parameters.

    With --json, everything about all of them, or about one.
    """
    from bnplug.hooks import registry

    words = [flag.replace("-", "_") for flag in flags]
    methods = registry.methods(kind, **{flag.removeprefix("not_"): not flag.startswith("not_") for flag in words})
    if name is not None:
        called, methods = _called(name), [method for method in _called(name) if method in methods]
        if not methods:
            kinds = " and ".join(f"a {method.kind}" for method in called)
            raise ValueError(f"{name!r} is {kinds}, but does not match --kind and --that")
    if as_json:
        click.echo(json.dumps([_details(method) for method in methods], indent=2))
    elif name is not None:
        for method in methods:
            _describe(method)
    elif not methods:
        click.echo("no installed method matches --kind and --that", err=True)
    else:
        for listed, group in groupby(methods, key=lambda method: method.kind):
            print_title(f"{listed}s:")
            print_columns((f"  {registry.name_of(method)}", method.summary) for method in group)


def _details(method: Any) -> dict[str, Any]:
    """Return everything about a method, for JSON; a default that JSON cannot represent is its Python text."""
    from bnplug.hooks import recipes, registry

    provider = registry.provider(method)
    details = {
        "kind": method.kind.value,
        "name": str(registry.name_of(method)),
        "summary": method.summary,
        "reference": method.reference,
        "aliases": list(method.aliases),
        "distribution": provider.distribution,
        "version": provider.version,
    }
    if hasattr(method, "max_variables"):
        details["max_variables"] = method.max_variables
    if hasattr(method, "factory"):
        details["capabilities"] = _capabilities(method)
        details["parameter_aliases"] = dict(method.parameter_aliases)
        try:
            details["parameters"] = {
                each.name: {"default": _as_json(each.default), "type": each.type, "description": each.text}
                for each in described_parameters(registry._factory(method))
            }
        except bnplug.PluginError as error:  # one method that fails does not hide the others
            details["failed"] = one_line(error)
    if method.kind == "recipe":
        details["components"] = {part: _as_json(getattr(method, part)) for part in _COMPONENTS}
        details["unavailable"] = recipes.availability(method).reason
    return details


def _capabilities(method: Any) -> list[str]:
    return [name for name, has in method.capabilities().items() if has]


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
    methods = [claim.method for kind in Kind for claim in names.claims(kind, name)]
    if not methods:
        hint = did_you_mean(name, [str(registry.name_of(method)) for method in registry.methods()])
        raise bnplug.UnknownMethodError(f"there is no method {name!r}.{hint} `bnplug methods` lists them")
    return methods


def _describe(method: Any) -> None:
    from bnplug.hooks import recipes, registry

    print_title(f"{registry.name_of(method)}: {method.kind}, from {registry.provider(method)}")
    click.echo(f"  {method.summary}")
    if method.reference:
        click.echo(f"  reference: {method.reference}")
    if method.aliases:
        click.echo(f"  older names: {', '.join(method.aliases)}")
    if hasattr(method, "factory"):
        if _capabilities(method):
            click.echo(f"  capabilities: {', '.join(_capabilities(method))}")
        if getattr(method, "max_variables", None):
            click.echo(f"  variables: at most {method.max_variables}")
        for parameter in described_parameters(registry._factory(method)):
            kind = f" ({parameter.type})" if parameter.type else ""
            print_title(f"  {parameter.name} = {parameter.default!r}{kind}")
            print_paragraph(parameter.text, "      ")
        for old, new in method.parameter_aliases.items():
            click.echo(f"  {old} is an older name of {new}")
    if method.kind == "recipe":
        print_columns((f"  {part}", repr(getattr(method, part))) for part in _COMPONENTS)
        click.echo(f"  {recipes.availability(method).reason or 'available'}")


@click.command("formats")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def formats_command(as_json: bool) -> None:
    """List the formats of network files, and their endings. `bnplug export` and `bnplug import` use them."""
    from bnplug.hooks import registry
    from bnplug.io.network_files import formats

    listed: list[dict[str, Any]] = [
        {
            "name": str(registry.name_of(each)),
            "endings": list(each.endings),
            "uses": [use for use, function in (("export", each.write), ("import", each.read)) if function is not None],
            "graph": each.graph,
            "summary": each.summary,
            "distribution": registry.provider(each).distribution,
        }
        for each in formats()
    ]
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    rows = [(f["name"], " ".join(f["endings"]), ", ".join(f["uses"]), f["distribution"], f["summary"]) for f in listed]
    print_columns(rows, ("name", "endings", "for", "from", ""))


@click.command("datasets")
@click.argument("name", required=False, shell_complete=_reading.complete_datasets())
@click.option("--data-dir", type=PATH, help="A folder of CSV or Parquet files to list too.")
@click.option("-o", "--output", type=PATH, help="A CSV file; by default standard output.")
def datasets_command(name: str | None, data_dir: Path | None, output: Path | None) -> None:
    """List the data sets that have a name, or write one as CSV.

    The class is the last column of the CSV file. openml:NAME asks OpenML for one more data set.
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


@click.command("new-plugin")
@click.argument("name")
@click.argument("directory", metavar="[DIR]", required=False, type=PATH)
@click.option("--kind", type=click.Choice(KINDS), default="score", show_default=True, help="The kind of its method.")
def new_plugin_command(name: str, directory: Path | None, kind: str) -> None:
    """Start a plugin: a complete, working distribution. It is bnplug-NAME, in DIR (default: ./bnplug-NAME)."""
    from bnplug.hooks.descriptors import Kind

    made = new_plugin(name, kind, directory)
    click.echo(f"{made}: {article(Kind(kind))}, working and tested; next:")
    click.echo(f'  cd {made} && pip install --editable ".[test]" && python -m pytest')


def new_plugin(name: str, kind: str = "score", directory: Path | None = None) -> Path:
    """Write a working plugin of a `kind` in ``KINDS`` to `directory`, by default ``bnplug-NAME``; return the folder."""
    name = _checked_name(name, kind)
    target = Path(f"bnplug-{name}") if directory is None else directory
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} exists and is not empty; choose another DIR, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Written elsewhere and renamed, so that there is a whole plugin or none.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-plugin-") as scratch:
        whole = Path(scratch, "plugin")
        whole.mkdir()
        for part in (_COMMON, kind):
            _copy(template() / part, whole, _replacements(name, kind))
        if target.exists():
            for path in whole.iterdir():
                path.rename(target / path.name)
        else:
            whole.rename(target)
    return target


def template() -> Path:
    """Return the folder of templates, in an installed bnplug or in a checkout."""
    package = Path(bnplug.__file__).parent
    for folder in (package / "_template", package.parent / "plugins" / "_template"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the templates that come with bnplug are not in {package}; install bnplug again")


def _checked_name(given: str, kind: str) -> str:
    """Return the name in its normal form, without the prefix of distributions."""
    from bnplug.hooks import registry
    from bnplug.hooks.names import normalize

    name = normalize(re.sub(r"\s+", "-", given.strip())).removeprefix("bnplug-")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{given!r} cannot be the name of a plugin; use letters a-z, digits and single hyphens, a letter first, "
            "such as cost-matrix"
        )
    for method in registry.methods(kind):
        if normalize(method.name) == name:
            origin = f"{method.kind} {method.name!r} already, from {registry.provider(method)}"
            raise ValueError(f"there is a {origin}; choose another name")
    for info in registry.plugins():
        if normalize(info.distribution) == f"bnplug-{name}":
            raise ValueError(f"a plugin of that name is installed already: {info}; choose another name")
    return name


def _replacements(name: str, kind: str) -> dict[str, str]:
    """Return the replacements for the names, modules and classes of the template."""
    title = "".join(word.capitalize() for word in name.split("-"))
    # The kind at its end keeps a class from being called None or True.
    title = title.removesuffix(kind.capitalize()) + kind.capitalize()
    return {
        "my-plugin": name,
        f"my-{kind}": name,
        f"my_{kind}": name.replace("-", "_"),
        f"My{kind.capitalize()}": title,
    }


def _copy(source: Path, target: Path, replacements: dict[str, str]) -> None:
    """Copy the files of a folder, replacing words in names and text; what Python compiled there is left out."""
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = target / _replaced(path.relative_to(source).as_posix(), replacements)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(_replaced(path.read_text(encoding="utf-8"), replacements), encoding="utf-8", newline="\n")


def _replaced(text: str, replacements: dict[str, str]) -> str:
    for word, replacement in replacements.items():
        text = text.replace(word, replacement)
    return text


class Item(NamedTuple):
    """An entry of a section of a docstring, or a parameter with its default and its documentation in plain text."""

    name: str
    type: str
    text: str
    default: Any = None


def described_parameters(cls: type) -> list[Item]:
    """Return every parameter of a constructor; the type is the docstring's, or else the annotation."""
    parameters = []
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        item = described(cls, "Parameters", name)
        kind = item.type if item and item.type else _annotation(parameter)
        parameters.append(Item(name, plain(kind), plain(item.text) if item else "", parameter.default))
    return parameters


def described(cls: type, title: str, name: str) -> Item | None:
    """Return the entry of the nearest class that does not only refer to another class."""
    for base in cls.__mro__:
        for item in section(base, title):
            if item.name == name and (item.text or item.type) and not item.text.startswith("See :class:"):
                return item
    return None


def section(cls: type, title: str) -> list[Item]:
    """Return the entries of a section of a class's own docstring, one for each name."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    # A section ends at the underlined title of the next one.
    section = re.search(rf"^{title}\n-{{3,}}$(.*?)(?=^[^\n]*\n-{{3,}}$|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\S.*)((?:\n(?: .*)?$)*)", section[1], re.MULTILINE) if section else []
    return [
        Item(name.strip("* "), kind.strip(), " ".join(map(str.strip, words.splitlines())).strip())
        for head, words in entries
        for names, _, kind in [head.partition(" : ")]
        for name in names.split(",")
    ]


def plain(text: str) -> str:
    """Return a docstring without markup."""
    return _ROLE.sub(r"\1", text).replace("``", "").replace("`", "")


def _annotation(parameter: inspect.Parameter) -> str:
    if parameter.annotation in (parameter.empty, Any, "Any"):
        return ""
    annotation = parameter.annotation
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


COMMANDS = [plugins_command, methods_command, formats_command, datasets_command, new_plugin_command]
