"""Where compiled kernels are kept: in files that no other process, user or version can spoil.

numba numbers the files of a function and says in an index which holds what. Processes that fill one empty cache
together give the same number to different code, and load each other's. Here a file's name says what is in it: the
kernel and all that it calls, the types, the processor and the versions. It appears whole or not at all, and a damaged
one is not read.

Kernels are kept beside the modules that define them (``__pycache__``) or, where nothing can be written there, in the
user's own cache folder; ``NUMBA_CACHE_DIR`` names another place for all. They are read from wherever they are. Where
there is no place at all, they are compiled in every process, and one warning says so.

Loading a kernel runs code from its file. Kernels next to the modules are trusted, because anyone who can write them can
also write the modules. In other folders, a file is loaded only if no other user can have written it. If other users can
write to the folder that ``NUMBA_CACHE_DIR`` names, the user's cache folder is used instead, with a warning. In a folder
that all users share, such as ``/tmp``, each user has a private folder inside it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import sys
import uuid
import warnings
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite.binding import address_of_symbol
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from bnplug.compiling._trust import distrust, is_private, is_shared_by_all, trusted_bytes
from bnplug.errors import BnplugWarning

# Warnings that were already issued: each is issued once.
_noted: set[str] = set()

# So many files of a kernel are kept: more than it has types, and than there are interpreters that share a folder.
_KEPT = 24


class KernelCache(_Cache):  # type: ignore[misc]
    """The cache of one compiled function, in the terms in which numba asks for one.

    Parameters
    ----------
    function : callable
        What is compiled.
    options : dict
        How.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function = function
        self._options = options
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The first folder that can be written, or nothing."""
        return next((str(folder) for folder in _folders(self._function) if _is_writable(folder)), "")

    def enable(self) -> None:
        """Use the cache."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor save."""
        self._enabled = False

    def flush(self) -> None:
        """Forget what is kept of this kernel."""
        for folder in _folders(self._function):
            for path in folder.glob(f"{_full_name(self._function)}-*.nbc"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the kernel compiled for a signature, if some folder has it."""
        if not self._enabled:
            return None
        name = self._file_name(sig, target_context.codegen())
        for folder in _folders(self._function):
            kept = _read(folder / name, folder == _beside(self._function))
            if kept is not None:
                # What cannot be used is compiled.
                with suppress(Exception):
                    return _rebuild(target_context, *kept)
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep a compiled kernel in the first folder that takes it."""
        lifted = any(not own.can_cache for own in data.lifted)
        if not self._enabled or lifted or data.library.has_dynamic_globals:
            return
        try:
            name = self._file_name(sig, data.codegen)
            content = dumps((_outer_symbols(data.library), data._reduce()))
        except Exception:  # numba reads the source, which is not to be had of every function that was typed in
            return
        folders = _folders(self._function)
        taken = next((folder for folder in folders if _write(folder, name, content)), None)
        if taken is None and folders:
            _note_once(folders)
        elif taken is not None:
            _sweep(taken, _full_name(self._function))

    def _file_name(self, sig: Any, codegen: Any) -> str:
        made_by = (
            repr(sig),
            codegen.magic_tuple(),
            numba.__version__,
            sys.implementation.cache_tag,
            config.DEBUGINFO_DEFAULT,
        )
        digest = hashlib.sha256(repr(made_by).encode())
        _add_function(self._function, self._options, digest, set())
        return f"{_full_name(self._function)}-{digest.hexdigest()[:32]}.nbc"


def _outer_symbols(library: Any) -> list[str]:
    """Return the names that compiled code leaves to be found in the process that runs it."""
    module = library._final_module
    declared = [own.name for own in (*module.functions, *module.global_variables) if own.is_declaration]
    return [name for name in declared if not name.startswith("llvm.")]


def _rebuild(target_context: Any, symbols: list[str], reduced: tuple[Any, ...]) -> CompileResult:
    """Return a kernel that was kept, ready to be called.

    All that numba can compile need not be loaded to run what is compiled: that takes longer than the kernel itself. It
    is where a name is missing that comes with it, since machine code that calls nothing ends the process.
    """
    rtsys.initialize(target_context)
    if not all(map(address_of_symbol, symbols)):
        target_context.refresh()
    return CompileResult._rebuild(target_context, *reduced)


def _full_name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")


def _folders(function: Any) -> list[Path]:
    """Return where a kernel may be kept, the best place first."""
    if config.CACHE_DIR:
        return _named_folders(Path(config.CACHE_DIR))
    return [folder for folder in (_beside(function), *_own_folders()) if folder.is_absolute()]


def _beside(function: Any) -> Path:
    return Path(inspect.getfile(function)).parent / "__pycache__"


def _own_folders() -> list[Path]:
    """Return the user's cache folder, if there is one."""
    folder = Path(AppDirs(appname="bnplug", appauthor=False).user_cache_dir)
    # Of a user without a home the path begins with a tilde, which would be a folder of this name.
    return [folder] if folder.is_absolute() else []


def _named_folders(folder: Path) -> list[Path]:
    """Return the folder that NUMBA_CACHE_DIR names if it is trusted, otherwise its replacements."""
    try:
        status = folder.stat()
    except OSError:
        return [folder]
    reason = distrust(status)
    if reason is None:
        return [folder]
    fallbacks = _own_folders()
    if is_shared_by_all(status) and is_private(folder / f"bnplug-{os.geteuid()}"):
        return [folder / f"bnplug-{os.geteuid()}", *fallbacks]
    place = f"kernels are kept in {fallbacks[0]} instead" if fallbacks else "each process compiles its kernels again"
    _warn_once(
        "not trusted",
        f"NUMBA_CACHE_DIR={folder} {reason}, and loading a compiled kernel runs code from its file: {place}. Set it "
        "to a folder that only you can write to",
    )
    return fallbacks


def _is_writable(folder: Path) -> bool:
    nearest = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _read(path: Path, beside_module: bool = False) -> Any:
    """Return the content of a file; None if it does not exist, is not trusted or was changed since it was written."""
    try:
        content = path.read_bytes() if beside_module else trusted_bytes(path)
    except OSError:
        return None
    if content is None:
        return None
    digest, payload = content[:32], content[32:]
    if hashlib.sha256(payload).digest() != digest:
        return None
    try:
        return pickle.loads(payload)
    except Exception:  # of a module that is no longer there, for one
        return None


def _write(folder: Path, name: str, payload: bytes) -> bool:
    """Write a file that is there whole or not at all; return whether that was possible."""
    temporary = folder / f"{name}.{uuid.uuid4().hex}.tmp"
    try:
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o755, exist_ok=True)
        # Other users may not write to the file, whatever the umask.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        temporary.replace(folder / name)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        return False
    return True


def _sweep(folder: Path, kernel: str) -> None:
    """Remove the oldest files of a kernel where there are many: of code that has changed since, most likely."""
    with suppress(OSError):  # another process sweeps too
        files = sorted(folder.glob(f"{kernel}-*.nbc"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[:-_KEPT]:
            path.unlink(missing_ok=True)


def _note_once(folders: list[Path]) -> None:
    tried = " or ".join(map(str, folders))
    _warn_once(
        "kept nowhere",
        f"compiled kernels are kept nowhere, because bnplug cannot write to {tried}: each process compiles them "
        "again. Set NUMBA_CACHE_DIR to a folder that you can write to",
    )


def _warn_once(what: str, message: str) -> None:
    if what not in _noted:
        _noted.add(what)
        warnings.warn(message, BnplugWarning, stacklevel=3)


def _add_function(function: Any, options: dict[str, Any], digest: Any, seen: set[int]) -> None:
    """Add to a digest what a kernel does: its code, its options, and those of every kernel that it calls."""
    if id(function) in seen:
        return
    seen.add(id(function))
    _add(digest, function.__qualname__, sorted(options.items(), key=str), function.__defaults__)
    _add_code(function.__code__, digest)
    for name, value in _outer_values(function):
        if isinstance(value, Dispatcher):
            _add(digest, name)
            _add_function(value.py_func, value.targetoptions, digest, seen)
        else:
            _add(digest, name, _constant(value))


def _add_code(code: CodeType, digest: Any) -> None:
    _add(digest, code.co_code, code.co_names, code.co_varnames, code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(constant, digest)
        else:
            _add(digest, constant)


def _outer_values(function: Any) -> list[tuple[str, Any]]:
    """Return the names that a function takes from outside, with what they mean; of a module, the kernels it names."""
    found = inspect.getclosurevars(function)
    outer = [*sorted(found.nonlocals.items()), *sorted(found.globals.items())]
    names = function.__code__.co_names
    for module in [value for _, value in outer if isinstance(value, ModuleType)]:
        attributes = [(name, getattr(module, name, None)) for name in names]
        outer += [(name, value) for name, value in attributes if isinstance(value, Dispatcher)]
    return outer


def _constant(value: Any) -> Any:
    """Return what tells a value that is compiled in from another: numbers by value, modules and functions by name."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (bool, int, float, complex, str, bytes, tuple, type(None), np.generic)):
        return repr(value)
    return getattr(value, "__module__", ""), getattr(value, "__qualname__", getattr(value, "__name__", ""))


def _add(digest: Any, *parts: Any) -> None:
    digest.update(repr(parts).encode())
