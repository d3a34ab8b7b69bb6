"""The cache of compiled kernels: files that no other process, user or version can damage.

numba numbers the files of a function in an index. Processes that fill an empty cache at the same time give the same
number to different code, and load each other's. Here the name of a file is a digest of its content: the kernel and
everything it calls, the types, the processor and the versions. Files are written atomically, and damaged files are not
read.

Kernels are stored next to the modules that define them (``__pycache__``) or, if that folder is read-only, in the user's
cache folder; ``NUMBA_CACHE_DIR`` names another folder for all.

Loading a kernel runs code from its file. Kernels next to the modules are trusted, because anyone who can write them can
also write the modules. In other folders, a file is loaded only if no other user, except root, can have written it; see
docs/performance.md. Windows has neither user IDs nor permission bits: there, every readable file is trusted.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import stat
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
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from bnplug.errors import BnplugWarning

# Warnings that were already issued: each is issued once.
_noted: set[str] = set()

# Number of files to keep for each kernel: more than it has signatures, times the interpreters that share a folder.
_KEPT = 24


class KernelCache:
    """The cache of one compiled function, with numba's interface."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function = function
        self._options = options

    @property
    def cache_path(self) -> str:
        """The first writable folder, or an empty string."""
        return next((str(folder) for folder in _folders(self._function) if _is_writable(folder)), "")

    def flush(self) -> None:
        """Delete the files of this kernel."""
        for folder in _folders(self._function):
            for path in folder.glob(f"{_full_name(self._function)}-*.nbc"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the kernel compiled for a signature, or None if no folder has it."""
        name = self._file_name(sig, target_context.codegen())
        for folder in _folders(self._function):
            content = _read(folder / name, folder == _beside(self._function))
            if content is not None:
                # A kernel that cannot be rebuilt is compiled again.
                with suppress(Exception):
                    return _rebuild(target_context, *content)
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Store a compiled kernel in the first writable folder."""
        lifted = any(not loop.can_cache for loop in data.lifted)
        if lifted or data.library.has_dynamic_globals:
            return
        try:
            name = self._file_name(sig, data.codegen)
            content = dumps((_outer_symbols(data.library), data._reduce()))
        except Exception:  # numba needs the source, which is not available for every function
            return
        folders = _folders(self._function)
        taken = next((folder for folder in folders if _write(folder, name, content)), None)
        if taken is None and folders:
            tried = " or ".join(map(str, folders))
            _warn_once(
                "kept nowhere",
                f"compiled kernels cannot be cached, because bnplug cannot write to {tried}: each process compiles "
                "them again. Set NUMBA_CACHE_DIR to a folder that you can write to",
            )
        elif taken is not None:
            _sweep(taken, _full_name(self._function))

    def _file_name(self, sig: Any, codegen: Any) -> str:
        versions = numba.__version__, sys.implementation.cache_tag, config.DEBUGINFO_DEFAULT
        made_by = repr(sig), codegen.magic_tuple(), *versions
        digest = hashlib.sha256(repr(made_by).encode())
        _add_function(self._function, self._options, digest, set())
        return f"{_full_name(self._function)}-{digest.hexdigest()[:32]}.nbc"


def _outer_symbols(library: Any) -> list[str]:
    """Return the external symbols of compiled code."""
    module = library._final_module
    declared = [value.name for value in (*module.functions, *module.global_variables) if value.is_declaration]
    return [name for name in declared if not name.startswith("llvm.")]


def _rebuild(target_context: Any, symbols: list[str], reduced: tuple[Any, ...]) -> CompileResult:
    """Return a stored kernel, ready to be called."""
    rtsys.initialize(target_context)
    # Calling an undefined symbol would end the process; loading numba's compiler takes longer than the kernel itself.
    if not all(map(address_of_symbol, symbols)):
        target_context.refresh()
    return CompileResult._rebuild(target_context, *reduced)


def _full_name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")


def _folders(function: Any) -> list[Path]:
    """Return the folders that may hold a kernel, in order of preference."""
    if config.CACHE_DIR:
        return _named_folders(Path(config.CACHE_DIR))
    return [folder for folder in (_beside(function), *_own_folders()) if folder.is_absolute()]


def _beside(function: Any) -> Path:
    return Path(inspect.getfile(function)).parent / "__pycache__"


def _own_folders() -> list[Path]:
    """Return the user's cache folder, if there is one."""
    folder = Path(AppDirs(appname="bnplug", appauthor=False).user_cache_dir)
    # For a user without a home folder the path begins with a tilde.
    return [folder] if folder.is_absolute() else []


def _named_folders(folder: Path) -> list[Path]:
    """Return the folder that NUMBA_CACHE_DIR names if it is trusted, otherwise its replacements."""
    try:
        status = folder.stat()
    except OSError:
        return [folder]
    reason = _distrust(status)
    if reason is None:
        return [folder]
    fallbacks = _own_folders()
    if _is_shared_by_all(status) and _is_private(folder / f"bnplug-{os.geteuid()}"):
        return [folder / f"bnplug-{os.geteuid()}", *fallbacks]
    place = f"kernels are kept in {fallbacks[0]} instead" if fallbacks else "each process compiles its kernels again"
    _warn_once(
        "not trusted",
        f"NUMBA_CACHE_DIR={folder} {reason}, and loading a compiled kernel runs code from its file: {place}. Set it "
        "to a folder that only you can write to",
    )
    return fallbacks


def _trusted_bytes(path: Path) -> bytes | None:
    """Return the content of a regular file that no other user can have written; None for other files."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    # Check the opened file, not its path, which may lead to another file a moment later.
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or _distrust(status) is not None:
            return None
        return file.read()


def _distrust(status: os.stat_result) -> str | None:
    """Return why a file or folder is not trusted, as the end of a sentence that begins with its name, or None."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user ({_user_name(status.st_uid)})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid):
        return "can be written by a group of users"
    return None


def _is_shared_by_all(status: os.stat_result) -> bool:
    """Whether all users may add files to a folder, but not change each other's files, as in ``/tmp``."""
    return bool(status.st_mode & stat.S_IWOTH and status.st_mode & stat.S_ISVTX) and status.st_uid in (0, os.geteuid())


def _is_private(folder: Path) -> bool:
    """Whether a folder is trusted or does not exist yet; links to folders are not trusted."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(status.st_mode) and _distrust(status) is None


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _is_private_group(gid: int) -> bool:
    """Whether a group is root's or has this user only: many systems give each user a group of the same name."""
    import grp

    if gid == 0:
        return True
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    name = _user_name(os.geteuid())
    return group.gr_name == name and {*group.gr_mem} <= {name}


def _is_writable(folder: Path) -> bool:
    nearest = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _read(path: Path, beside_module: bool = False) -> Any:
    """Return the content of a file; None if it does not exist, is not trusted or was changed since it was written."""
    try:
        content = path.read_bytes() if beside_module else _trusted_bytes(path)
    except OSError:
        return None
    if content is None:
        return None
    digest, payload = content[:32], content[32:]
    if hashlib.sha256(payload).digest() != digest:
        return None
    try:
        return pickle.loads(payload)
    except Exception:  # its module may no longer exist, for example
        return None


def _write(folder: Path, name: str, payload: bytes) -> bool:
    """Write a file atomically; return whether that was possible."""
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
    """Remove the oldest files of a kernel if there are many: most belong to code that has changed since."""
    with suppress(OSError):  # another process may remove files too
        files = sorted(folder.glob(f"{kernel}-*.nbc"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[:-_KEPT]:
            path.unlink(missing_ok=True)


def _warn_once(what: str, message: str) -> None:
    if what not in _noted:
        _noted.add(what)
        warnings.warn(message, BnplugWarning, stacklevel=3)


def _add_function(function: Any, options: dict[str, Any], digest: Any, seen: set[int]) -> None:
    """Add code and options of a kernel, and of every kernel that it calls, to a digest."""
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
    """Return the outer names of a function with their values, and the kernels of modules it uses."""
    variables = inspect.getclosurevars(function)
    outer = [*sorted(variables.nonlocals.items()), *sorted(variables.globals.items())]
    names = function.__code__.co_names
    for module in [value for _, value in outer if isinstance(value, ModuleType)]:
        attributes = [(name, getattr(module, name, None)) for name in names]
        outer += [(name, value) for name, value in attributes if isinstance(value, Dispatcher)]
    return outer


def _constant(value: Any) -> Any:
    """Return what identifies a compiled-in value: the value of a number, the name of a module or function."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (bool, int, float, complex, str, bytes, tuple, type(None), np.generic)):
        return repr(value)
    return getattr(value, "__module__", ""), getattr(value, "__qualname__", getattr(value, "__name__", ""))


def _add(digest: Any, *parts: Any) -> None:
    digest.update(repr(parts).encode())
