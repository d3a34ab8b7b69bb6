"""What the reference, ``api.md``, documents, and whether a name that somebody imports is among it.

Nothing here needs Sphinx, so that the tests read the page as the build does.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).parents[1] / "api.md"
#: A directive of the page: how far it is indented, its name without a domain, and what it is about.
DIRECTIVE = re.compile(r"^( *)\.\. (?:py:)?(\w+):: *([\w.]+)")

_MEMBERS = re.compile(r"^ +:members:(.*)")
_AUTOMATIC = {"autoclass", "autofunction", "autodata", "autoexception", "autodecorator"}
_BY_HAND = {"data", "class", "function", "exception", "decorator"}


def resolve(name: str) -> Any:
    """Return what a full name stands for: where a package has an attribute and a module of one name, the attribute.

    Examples
    --------
    >>> resolve("bnplug.experiments.compare").__module__
    'bnplug.experiments.compare'
    """
    path, *rest = name.split(".")
    found = import_module(path)
    for part in rest:
        if not hasattr(found, part):
            # A module that an attribute of its package hides, or one that nobody has imported yet.
            found = import_module(path)
        path = f"{path}.{part}"
        found = getattr(found, part) if hasattr(found, part) else import_module(path)
    return found


def documented(text: str | None = None) -> list[str]:
    """Return the full name of everything that has an entry of its own.

    Examples
    --------
    >>> documented(".. currentmodule:: bnplug.search\\n\\n.. autofunction:: climb")
    ['bnplug.search.climb']
    """
    module, found = "bnplug", []
    lines = (PAGE.read_text() if text is None else text).splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        directive = DIRECTIVE.match(line)
        if directive is None or directive[1]:
            continue
        _, kind, name = directive.groups()
        if kind in ("currentmodule", "automodule"):
            module = name
        if kind == "automodule":
            found += [f"{module}.{member}" for member in members(module, following)]
        elif kind in _AUTOMATIC | _BY_HAND:
            found.append(name if name.startswith("bnplug.") else f"{module}.{name}")
    return found


def members(module: str, option: str) -> list[str]:
    """Return the members that an option asks for: those listed, or all that the module has itself and says so."""
    given = _MEMBERS.match(option)
    if given is None:
        return []
    if given[1].strip():
        return [name.strip() for name in given[1].split(",")]
    found = resolve(module)
    own = (name for name, value in vars(found).items() if getattr(value, "__module__", None) == module)
    return [name for name in getattr(found, "__all__", own) if not name.startswith("_")]


def used(text: str) -> Iterator[str]:
    """Yield the full names that a piece of Python takes from the core: imported, or reached from a module of it."""
    tree = ast.parse(text)
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_core(alias.name):
                    modules[alias.asname or "bnplug"] = alias.name if alias.asname else "bnplug"
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_core(node.module or ""):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if isinstance(resolve(name), ModuleType):
                    modules[alias.asname or alias.name] = name
                else:
                    yield name
    yield from _reached(tree, modules)


def _reached(tree: ast.AST, modules: dict[str, str]) -> Iterator[str]:
    """Yield what is reached by a dot from modules that go by a name; of a longer path the first that is no module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (path := _path(node))[0] in modules:
            name = ".".join([modules[path[0]], *path[1:]])
            holder = resolve(name.rpartition(".")[0])
            if isinstance(holder, ModuleType) and not isinstance(getattr(holder, path[-1]), ModuleType):
                yield name


def _path(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Attribute):
        return [*_path(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


def _is_core(name: str) -> bool:
    return name.split(".")[0] == "bnplug"


def offered(path: Path, root: Path) -> Iterator[str]:
    """Yield the full names that a module defines and that nothing in their path says are private."""
    parts = [part for part in path.relative_to(root).with_suffix("").parts if part != "__init__"]
    for node in ast.parse(path.read_text()).body:
        for name in _defined(node):
            full = [*parts, name]
            if not any(part.startswith("_") for part in full):
                yield ".".join(full)


def _defined(node: ast.stmt) -> list[str]:
    """Return what a statement at the top of a module defines: a function, a class, constants, types."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


class Reference:
    """The page, asked whether a name is on it, wherever it was imported from."""

    def __init__(self, text: str | None = None) -> None:
        self.names = documented(text)
        self._found = {_key(name) for name in self.names}

    def has(self, name: str) -> bool:
        """Return whether a name, or the thing of that name that it is a re-export of, is documented."""
        return name == "bnplug.__version__" or _key(name) in self._found


def _key(name: str) -> tuple[str, Any]:
    thing = resolve(name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return thing.__name__, id(thing)
    return name.rpartition(".")[2], id(thing)
