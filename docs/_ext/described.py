"""What is documented from the code itself: the registered methods, with the words of their docstrings.

Nothing here needs Sphinx, so that the tests ask the same questions as the build.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from bnplug.hooks import recipes, registry
from bnplug.hooks.descriptors import Method

#: The folder under ``methods/`` for each kind of method that has pages.
FOLDERS = {
    "structure learner": "structure",
    "score function": "score",
    "parameter learner": "parameters",
    "classifier": "classifier",
}

#: What a user calls to make a method of a kind.
MAKERS = {kind: kind.replace(" ", "_") for kind in FOLDERS} | {"classifier": "make_classifier"}

_UNDERLINE = re.compile(r"^-{3,}$")
_ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Item(NamedTuple):
    """One entry of a docstring's section: a name, its type, and the words about it."""

    name: str
    type: str
    text: str


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
        (name, parameter.default, _described(cls, "Parameters", name))
        for name, parameter in inspect.signature(cls).parameters.items()
    ]


def attributes(cls: type) -> list[Item]:
    """Return what a class, or a base, says about attributes that end in an underscore."""
    names = dict.fromkeys(
        item.name for base in cls.__mro__ for item in section(base, "Attributes") if item.name.endswith("_")
    )
    return [item for name in names if (item := _described(cls, "Attributes", name))]


def section(cls: type, title: str) -> list[Item]:
    """Return the entries of a section of a class's own docstring; an entry for several names becomes several."""
    lines = inspect.cleandoc(cls.__dict__.get("__doc__") or "").splitlines()
    starts = [i for i, line in enumerate(lines[:-1]) if line == title and _UNDERLINE.match(lines[i + 1])]
    if not starts:
        return []
    found: list[tuple[str, list[str]]] = []
    for i in range(starts[0] + 2, len(lines)):
        line = lines[i]
        if _UNDERLINE.match(line):
            # The line above was the title of the next section.
            found.pop()
            break
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line.strip())
    return [
        Item(name.strip("* "), kind, " ".join(words).strip())
        for head, words in found
        for names, kind in [_split(head)]
        for name in names
    ]


def to_markdown(text: str) -> str:
    """Return a docstring's markup as Markdown, fit for a cell of a table."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`").replace("|", "\\|")


def recipes_with(method: Method) -> list[str]:
    """Return the names of the recipes that a method is part of."""
    wanted = (method.kind, method.name)
    return [found.recipe.name for found in recipes.availabilities() if wanted in recipes.components(found.recipe)]


def _split(head: str) -> tuple[list[str], str]:
    names, _, kind = head.partition(" : ")
    return [name.strip() for name in names.split(",")], kind.strip()


def _described(cls: type, title: str, name: str) -> Item | None:
    """Return what the nearest class says; one that only points to another class says nothing."""
    for base in cls.__mro__:
        for item in section(base, title):
            if item.name == name and (item.text or item.type) and not item.text.startswith("See :class:"):
                return item
    return None
