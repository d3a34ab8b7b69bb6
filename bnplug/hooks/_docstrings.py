"""What the authors of methods say of parameters: the sections of numpydoc docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

_UNDERLINE = re.compile(r"^-{3,}$")
_ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Item(NamedTuple):
    """One entry of a docstring's section: a name, its type, and the words about it."""

    name: str
    type: str
    text: str


class Described(NamedTuple):
    """A parameter of a constructor: its default, and what is said of it, in plain text."""

    name: str
    default: Any
    type: str
    text: str


def described_parameters(cls: type) -> list[Described]:
    """Return every parameter of a constructor with its default, its type, and the words about it.

    The type is the docstring's or, where that has none, the annotation.

    Examples
    --------
    >>> from bnplug import MDLDiscretizer
    >>> described_parameters(MDLDiscretizer)[0].name
    'categorical_features'
    """
    found = []
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        item = described(cls, "Parameters", name)
        kind = item.type if item and item.type else _annotation(parameter)
        found.append(Described(name, parameter.default, plain(kind), plain(item.text) if item else ""))
    return found


def described(cls: type, title: str, name: str) -> Item | None:
    """Return what the nearest class says; one that only points to another class says nothing."""
    for base in cls.__mro__:
        for item in section(base, title):
            if item.name == name and (item.text or item.type) and not item.text.startswith("See :class:"):
                return item
    return None


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


def plain(text: str) -> str:
    """Return a docstring's markup as plain text.

    Examples
    --------
    >>> plain("See :func:`~bnplug.load` and ``x``.")
    'See bnplug.load and x.'
    """
    return _ROLE.sub(r"\1", text).replace("``", "").replace("`", "")


def _split(head: str) -> tuple[list[str], str]:
    names, _, kind = head.partition(" : ")
    return [name.strip() for name in names.split(",")], kind.strip()


def _annotation(parameter: inspect.Parameter) -> str:
    if parameter.annotation in (parameter.empty, Any, "Any"):
        return ""
    return (
        parameter.annotation
        if isinstance(parameter.annotation, str)
        else inspect.formatannotation(parameter.annotation)
    )
