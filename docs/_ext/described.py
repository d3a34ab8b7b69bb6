"""What is documented from the code itself: the registered methods, with the words of their docstrings.

Nothing here needs Sphinx, so that the tests ask the same questions as the build.
"""

from __future__ import annotations

import inspect
import re
from importlib.metadata import metadata
from typing import Any

from bnplug.cli._plugins import Item, described, section
from bnplug.hooks import recipes, registry
from bnplug.hooks.descriptors import Method
from bnplug.hooks.discovery import PluginInfo
from bnplug.testing import CHECKS
from bnplug.testing._common_checks import Check

#: The folder under ``methods/`` for each kind of method that has pages.
FOLDERS = {
    "structure learner": "structure",
    "score function": "score",
    "parameter learner": "parameters",
    "classifier": "classifier",
}

#: What a user calls to make a method of a kind.
MAKERS = {kind: kind.replace(" ", "_") for kind in FOLDERS} | {"classifier": "make_classifier"}

_ROLE = re.compile(r":\w+:`~?([^`]+)`")


def pages() -> dict[str, Method]:
    """Return the page of every registered method, as a document's name, with its descriptor."""
    return {page_of(method): method for kind in FOLDERS for method in registry.methods(kind)}  # type: ignore[misc]


def page_of(method: Method) -> str:
    """Return the document in which a method is described.

    Examples
    --------
    >>> page_of(registry.find("structure learner", "tan"))
    'methods/structure/tan'
    """
    return f"methods/{FOLDERS[method.kind]}/{method.name}"


def class_of(method: Method) -> type:
    """Return the class that a descriptor's factory stands for."""
    return type(registry.build(method.kind, method.name))


def parameters(cls: type) -> list[tuple[str, Any, Item | None]]:
    """Return every constructor parameter with its default and what the docstrings of its class, or a base, say."""
    return [
        (name, parameter.default, described(cls, "Parameters", name))
        for name, parameter in inspect.signature(cls).parameters.items()
    ]


def attributes(cls: type) -> list[Item]:
    """Return what a class, or a base, says about attributes that end in an underscore."""
    names = dict.fromkeys(
        item.name for base in cls.__mro__ for item in section(base, "Attributes") if item.name.endswith("_")
    )
    return [item for name in names if (item := described(cls, "Attributes", name))]


def to_markdown(text: str) -> str:
    """Return a docstring's markup as Markdown, fit for a cell of a table."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`").replace("|", "\\|")


def recipes_with(method: Method) -> list[str]:
    """Return the names of the recipes that a method is part of."""
    wanted = (method.kind, method.name)
    return [found.recipe.name for found in recipes.availabilities() if wanted in recipes.components(found.recipe)]


def brought(plugin: PluginInfo) -> list[Method]:
    """Return the methods that a plugin brings, of every kind that a user composes, in the order of the kinds."""
    names = [(kind, name) for kind in registry.CONTRACTS for name in plugin.names.get(kind, ())]
    return [registry.find(kind, name) for kind, name in names]  # type: ignore[misc]


def checks() -> list[str]:
    """Return the table of all checks of the conformance kit, in lines of Markdown.

    ``docs/plugins/conformance.md`` contains it, and a test keeps it up to date.
    """
    kinds: dict[Check, list[str]] = {}
    for kind, of_kind in CHECKS.items():
        for check in of_kind:
            kinds.setdefault(check, []).append(kind.split()[0])
    lines = ["| checked of | check | |", "|---|---|---|"]
    for check, names in kinds.items():
        subjects = "all" if len(names) == len(CHECKS) else ", ".join(names)
        lines.append(f"| {subjects} | `{check.__name__}` | {to_markdown(inspect.getdoc(check) or '')} |")
    return lines


def about(plugin: PluginInfo) -> str:
    """Return the line that the distribution of a plugin says of itself."""
    return metadata(plugin.distribution)["Summary"] or ""


if __name__ == "__main__":
    # To update docs/plugins/conformance.md.
    print("\n".join(checks()))
