"""Contracts of imports that import-linter does not bring, for ``[tool.importlinter]`` in pyproject.toml.

They read the source and not the import graph alone: the graph knows modules, and these rules are about names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class _NameContract(Contract):
    """A rule about the names of the core that the modules of some packages use."""

    packages = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every file of the packages."""
        found = [
            f"{path.name}:{line} of {package} uses {name}"
            for package in self.packages
            for path in _files(package)
            for line, name in names_of_the_core(ast.parse(path.read_text()))
            if self.forbids(name)
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def forbids(self, name: str) -> bool:
        """Return whether a name, with the path of its module, may not be used."""
        raise NotImplementedError

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what was found."""
        for line in check.metadata["found"]:
            output.print_error(f"- {line}", bold=False)
        output.new_line()


class PublicNames(_NameContract):
    """Packages that use only names of the core in whose path nothing begins with an underscore."""

    type_name = "public_names"

    def forbids(self, name: str) -> bool:
        """Return whether a part of the path is private."""
        return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


class FrontDoor(_NameContract):
    """Rooms that take nothing but the version from ``bnplug`` itself, which would hide what they import."""

    type_name = "front_door"

    def forbids(self, name: str) -> bool:
        """Return whether a name is neither the version nor a module."""
        return name.count(".") == 1 and name != "bnplug.__version__" and find_spec(name) is None


def names_of_the_core(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and full name of what a module imports from the core, or reaches from ``bnplug``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if _is_core(alias.name))
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_core(node.module or ""):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute) and _is_core(ast.unparse(node)):
            yield node.lineno, ast.unparse(node)


def _is_core(name: str) -> bool:
    return name.split(".")[0] == "bnplug"


def _files(package: str) -> list[Path]:
    """Return the source of a package or of one module; nothing of it is run but its parents' ``__init__``."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package}: no such module; the contracts in pyproject.toml name it")
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)]
    return sorted(path for place in spec.submodule_search_locations for path in Path(place).rglob("*.py"))
