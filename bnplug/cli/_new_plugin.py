"""The command of ``bnplug`` that starts a plugin: a copy of a template, under the author's own name.

The template is ``plugins/_template`` of the repository; a wheel carries it as ``bnplug/_template``.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import click

import bnplug
from bnplug.cli._errors import one_line_errors
from bnplug.hooks import registry
from bnplug.hooks.names import normalize

#: What a kind is called on the command line and in the registry.
KINDS = {
    "score": "score function",
    "structure": "structure learner",
    "parameters": "parameter learner",
    "engine": "inference engine",
    "classifier": "classifier",
    "discretizer": "discretizer",
}

#: What every plugin has, whatever its kind.
_COMMON = "common"

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@click.command("new-plugin")
@click.argument("name")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(list(KINDS)), default="score", show_default=True, help="What it brings.")
@one_line_errors
def new_plugin_command(name: str, directory: Path | None, kind: str) -> None:
    """Start a plugin: a complete distribution bnplug-NAME in DIR (default: ./bnplug-NAME), to fill with your method."""
    made = new_plugin(name, kind, directory)
    click.echo(f"{made}: {'an' if kind == 'engine' else 'a'} {KINDS[kind]}, working and tested; next:")
    click.echo(f'  cd {made} && pip install --editable ".[test]" && python -m pytest')


def new_plugin(name: str, kind: str = "score", directory: Path | None = None) -> Path:
    """Write a plugin that works as it is, and return its folder.

    Parameters
    ----------
    name : str
        What the method and, with ``bnplug-`` in front, the distribution will be called.
    kind : str
        What the plugin brings: a key of ``KINDS``, such as ``"classifier"``.
    directory : path, optional
        The folder to make; by default ``bnplug-NAME`` here. An existing one must be empty.

    Raises
    ------
    ValueError
        If the name is no name, or a plugin or method has it already.
    FileExistsError
        If the folder is there, and not empty.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = new_plugin("cost", "score", Path(folder, "mine"))
    ...     sorted(path.name for path in made.iterdir())
    ['.github', '.gitignore', 'LICENSE', 'README.md', 'bnplug_cost', 'examples', 'pyproject.toml', 'tests']
    """
    name = _checked_name(name, kind)
    target = Path(f"bnplug-{name}") if directory is None else directory
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} is there already, and not empty; give another DIR, or remove it")
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
    name = normalize(re.sub(r"\s+", "-", given.strip())).removeprefix("bnplug-")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{given!r} cannot be the name of a plugin; use letters a-z, digits and single hyphens, a letter first, "
            "such as cost-matrix"
        )
    for found in registry.methods(KINDS[kind]):
        if normalize(found.name) == name:
            raise ValueError(
                f"there is a {found.kind} {found.name!r} already, from {registry.provider(found)}; take another name"
            )
    for info in registry.plugins():
        if normalize(info.distribution) == f"bnplug-{name}":
            raise ValueError(f"a plugin of that name is installed already: {info}; take another name")
    return name


def _replacements(name: str, kind: str) -> dict[str, str]:
    """Return what stands in the template, with what takes its place: names, modules, classes."""
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
    """Copy what is in a folder, replacing words in names and text; what Python compiled there is left out."""
    for path in sorted(source.iterdir()):
        copy = target / _replaced(path.name, replacements)
        if path.is_dir() and path.name != "__pycache__":
            copy.mkdir()
            _copy(path, copy, replacements)
        elif path.is_file():
            copy.write_text(_replaced(path.read_text(encoding="utf-8"), replacements), encoding="utf-8", newline="\n")


def _replaced(text: str, replacements: dict[str, str]) -> str:
    for word, own in replacements.items():
        text = text.replace(word, own)
    return text


COMMANDS = [new_plugin_command]
