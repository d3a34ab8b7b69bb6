"""One-file plugins, and the methods that scripts and notebooks register.

The environment variable ``BNPLUG_PLUGINS`` names the files, separated by ``os.pathsep``; ``bnplug --plugin FILE`` adds
a file. Each is a module below this one, ``bnplug.hooks.one_file.FILE``. Worker processes inherit the variable: reading
a pickled object of such a class imports its file there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from traceback import walk_tb
from types import ModuleType
from typing import Any

from bnplug.errors import ContractError
from bnplug.hooks.descriptors import Descriptor

#: The distribution of every one-file plugin, in qualified names such as ``one-file:brier`` and in model folders.
ONE_FILE = "one-file"

#: The environment variable with the files.
ENVIRONMENT = "BNPLUG_PLUGINS"

#: What was registered: the descriptors of each owner, the path of a file or the name of a module, by kind and name.
REGISTERED: dict[str, dict[tuple[str, str], Descriptor]] = {}

# Makes this module a package, whose modules `_Finder` finds.
__path__: list[str] = []

# The files that are being imported.
_importing: set[str] = set()


def plugin_files() -> list[str]:
    """Return the absolute paths of the files that the environment names."""
    given = os.environ.get(ENVIRONMENT, "").split(os.pathsep)
    return list(dict.fromkeys(os.path.realpath(path.strip()) for path in given if path.strip()))


def add_plugin_files(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Add files to the environment, which child processes inherit; return their absolute paths."""
    added = [os.path.realpath(path) for path in paths]
    os.environ[ENVIRONMENT] = os.pathsep.join(dict.fromkeys([*plugin_files(), *added]))
    return added


def import_file(path: str) -> ModuleType:
    """Return the module of a file; it is imported once."""
    module = _module_name(path)
    first = next((other for other in plugin_files() if _module_name(other) == module), path)
    if first != path:
        raise ContractError(f"{first} is loaded as the module {module.rpartition('.')[2]} already; rename one of them")
    if not os.path.isfile(path):
        raise ContractError("there is no such file")
    return import_module(module)


def is_importing(owner: str) -> bool:
    """Return whether a file is being imported."""
    return owner in _importing


def owner_of(module: dict[str, Any]) -> str:
    """Return the owner of methods that a module registers, given its variables: its file, or its name without one."""
    file = module.get("__file__")
    return os.path.realpath(file) if isinstance(file, str) else str(module.get("__name__", "__main__"))


def located(message: str, error: BaseException | None, path: str) -> str:
    """Return a message about a file with its path and the line that an exception comes from, if there is one."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == path else None
    for frame, number in walk_tb(None if error is None else error.__traceback__):
        line = number if frame.f_code.co_filename == path else line
    return f"{path}{f', line {line}' if line else ''}: {message}"


def _module_name(path: str) -> str:
    return f"{__name__}.{re.sub(r'[^0-9A-Za-z_]', '_', os.path.splitext(os.path.basename(path))[0])}"


class _Loader(SourceFileLoader):
    """Executes a file, and forgets what it registered if that fails."""

    def exec_module(self, module: ModuleType) -> None:
        _importing.add(self.path)
        try:
            super().exec_module(module)
        except BaseException:
            REGISTERED.pop(self.path, None)
            raise
        finally:
            _importing.discard(self.path)


class _Finder:
    """Finds the modules of the files in the environment."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module of a file; other modules are not found here."""
        if name.rpartition(".")[0] != __name__:
            return None
        for file in plugin_files():
            if _module_name(file) == name:
                return spec_from_file_location(name, file, loader=_Loader(name, file))
        file = f"{name.rpartition('.')[2]}.py"
        raise ModuleNotFoundError(
            f"this process does not know the one-file plugin {file}: put its path into the environment variable "
            f"{ENVIRONMENT}, for workers before they start",
            name=name,
        )


sys.meta_path.append(_Finder)
