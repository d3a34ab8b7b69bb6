"""Atomic writes: a killed process leaves the old file or the new one, never a part of it."""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

_Path = str | os.PathLike[str]

#: The names of temporary files. A locked one is locked as long as its process lives.
TEMPORARY = re.compile(r"\.bnplug-[0-9a-f]{16}(-locked)?\.tmp")

#: Maximum size of a text file, such as the JSON of a model or a network file.
MAX_TEXT = 1 << 29

# Errors after which a file is written in place: its folder takes no new file, or it is a mount.
_IN_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.ENOTSUP}

_DESCRIPTOR = re.compile(r"/dev/(?P<name>stdout|stderr)|/(?:dev|proc/self)/fd/(?P<number>\d+)")
_BINARY, _NOT_WAITING = getattr(os, "O_BINARY", 0), getattr(os, "O_NONBLOCK", 0)

# The age from which on the process of a temporary file without a lock is assumed dead, and the time that the writer of
# a pipe has to open it.
_STALE_SECONDS, _WRITER_SECONDS = 600.0, 10.0
_swept: set[str] = set()


def write_atomically(path: _Path, content: str | bytes) -> None:
    """Write text, encoded as UTF-8, or bytes to a temporary file beside `path`, and rename it to `path`.

    An existing file keeps its mode and, if allowed, its owner and group. The target of a symbolic link is replaced, not
    the link. Devices, pipes, descriptors such as ``/dev/stdout``, and files in a folder that takes no new files are
    written in place. Raises an ``OSError`` with the path if it is a folder, has no folder, or may not be written.
    """
    data = content.encode() if isinstance(content, str) else content
    if match := _DESCRIPTOR.fullmatch(os.fspath(path)):
        descriptor = int(match["number"] or ("stdout", "stderr").index(match["name"]) + 1)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        # Opening the path would truncate a redirected file.
        with naming_file(path), open(os.dup(descriptor), "wb") as file:
            file.write(data)
        return
    try:
        with _writing_atomically(path) as file:
            file.write(data)
    except OSError as error:
        if error.errno not in _IN_PLACE or not os.path.isfile(path):
            raise
        with naming_file(path), _open_in_place(path) as file:
            file.write(data)


@contextmanager
def _writing_atomically(path: _Path) -> Iterator[BinaryIO]:
    """Open a file to be written piece by piece; it gets its name at the end, and is removed if anything fails."""
    name, target = os.fspath(path), os.path.realpath(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        status = None
    if os.path.isdir(target) or name.endswith(os.sep):
        raise IsADirectoryError(f"{name!r} cannot be written: it is a folder; give the name of a file")
    if status is None and not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"{name} cannot be written: there is no folder {os.path.dirname(target)}")
    # Renaming would replace a read-only file.
    if status is not None and not os.access(path, os.W_OK):
        raise PermissionError(f"{name} cannot be written: its permissions do not let you")
    is_plain = status is None or stat.S_ISREG(status.st_mode)
    with naming_file(path), _renamed(target, status) if is_plain else _open_in_place(path) as file:
        yield file


def _open_in_place(path: _Path) -> BinaryIO:
    return open(os.open(path, os.O_WRONLY | os.O_TRUNC | _BINARY), "wb")


def replace_file(path: _Path, content: bytes, like: os.stat_result | None = None) -> None:
    """Replace a file, or a link itself, atomically; `like` is the status of a file whose access it gets."""
    with _renamed(path, like) as file:
        file.write(content)


@contextmanager
def naming_file(path: _Path) -> Iterator[None]:
    """Add the path to errors that name no file, or a temporary one: a full disk, too little memory."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{os.fspath(path)} does not fit into memory") from error
    except OSError as error:
        is_unnamed = error.filename is None or TEMPORARY.search(str(error.filename))
        if error.errno is not None and error.filename2 is None and is_unnamed:
            error.filename = os.fspath(path)
        raise


def read_plain(path: _Path, pipes: bool = False, limit: int | None = None) -> bytes:
    """Return the content of a regular file of at most `limit` bytes or, with `pipes`, of a pipe that has a writer.

    The ``errno`` of the error about a larger file is ``EFBIG``.
    """
    with naming_file(path), open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if pipes and stat.S_ISFIFO(status.st_mode):
            return _first_byte(file.fileno()) + file.read()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file, but a device, a pipe or a folder")
        if limit is not None and status.st_size > limit:
            raise OSError(errno.EFBIG, f"it has {status.st_size:,} bytes; the limit is {limit:,}")
        return file.read()


def check_takes_files(folder: _Path) -> None:
    """Raise an ``OSError`` if nothing can be written to a folder; a temporary file is written and removed."""
    with _temporary(os.fspath(folder), 0o600) as (file, _):
        file.write(bytes(1 << 16))
        file.flush()
        os.fsync(file.fileno())


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | _BINARY | _NOT_WAITING)


def _first_byte(descriptor: int) -> bytes:
    """Wait a limited time for the writer of a pipe, then make reads block; return the byte read to detect it."""
    if not _NOT_WAITING:
        return b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    first = b""
    if not poll.poll(_WRITER_SECONDS * 1000):
        # An open pipe without content raises; a pipe without a writer is empty.
        with suppress(BlockingIOError):
            first = os.read(descriptor, 1)
            if not first:
                raise OSError(errno.EINVAL, "it is a pipe without a writer")
    os.set_blocking(descriptor, True)
    return first


@contextmanager
def _renamed(target: _Path, like: os.stat_result | None) -> Iterator[BinaryIO]:
    """Open a temporary file that is renamed to `target` at the end, and removed if anything fails."""
    folder = os.path.dirname(os.path.abspath(target))
    _sweep(folder)
    # Until owner and mode are set, only this user may read it.
    mode = 0o666 if like is None else 0o600 & like.st_mode
    with naming_file(target), _temporary(folder, mode) as (file, temporary):
        if like is not None:
            _copy_access(temporary, like)
        yield file
        file.flush()
        os.fsync(file.fileno())
        if os.name == "nt":  # which renames no open file; elsewhere, it stays locked
            file.close()
        os.replace(temporary, target)


def _copy_access(path: _Path, like: os.stat_result) -> None:
    """Set owner, group and mode; without its group, the file grants the group no permissions."""
    status, mode = os.stat(path), stat.S_IMODE(like.st_mode)
    if (status.st_uid, status.st_gid) != (like.st_uid, like.st_gid):
        for owner, granted in ((like.st_uid, 0o7777), (-1, 0o777)):
            with suppress(OSError):
                os.chown(path, owner, like.st_gid)
                mode &= granted
                break
        else:
            mode &= 0o707
    os.chmod(path, mode)


@contextmanager
def _temporary(folder: str, mode: int) -> Iterator[tuple[BinaryIO, str]]:
    """Open a temporary file, and give its path; it is removed at the end unless it was renamed."""
    descriptor, path = _make_temporary(folder, mode)
    try:
        with open(descriptor, "wb") as file:
            yield file, path
    finally:
        with suppress(OSError):
            os.unlink(path)


def _make_temporary(folder: str, mode: int) -> tuple[int, str]:
    """Create a temporary file, locked until it is closed; return its descriptor and its path."""
    while True:
        path = os.path.join(folder, f".bnplug-{secrets.token_hex(8)}-locked.tmp")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        _lock_file(descriptor, wait=True)
        # Before it was locked, another process may have swept it.
        if os.fstat(descriptor).st_nlink:
            return descriptor, path
        os.close(descriptor)


def _sweep(folder: str) -> None:
    """Remove temporary files of killed processes, at the first write to a folder: unlocked or, without locks, old."""
    names: list[str] = []
    with suppress(OSError):
        names = [] if folder in _swept else os.listdir(folder)
    _swept.add(folder)
    for path in (os.path.join(folder, name) for name in filter(TEMPORARY.fullmatch, names)):
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb", opener=_open_without_waiting) as file:
                    is_free = _lock_file(file.fileno(), wait=False) if path.endswith("-locked.tmp") else None
                    age = time.time() - os.fstat(file.fileno()).st_mtime
                    if is_free or (is_free is None and age > _STALE_SECONDS):
                        os.unlink(path)


def _lock_file(descriptor: int, wait: bool) -> bool | None:
    """Lock a file; return whether that succeeded, None where files cannot be locked."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True
