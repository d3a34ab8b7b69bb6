"""Writing files so that a killed run leaves the old file or the new one, never half of one.

What was there keeps its owner and permissions; what is no plain file (a device, a pipe) is written to, never replaced.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple, TypeVar

_Path = str | os.PathLike[str]
_Result = TypeVar("_Result")

#: The names under which files are written before they get their own; a locked one is locked while its run lives.
TEMPORARY = re.compile(r"\.bnplug-[0-9a-f]{16}(?P<locked>-locked)?\.tmp")

#: The most bytes that are read of a text: of a model's JSON, and of network files.
MAX_TEXT = 1 << 29

# Linux keeps a file's access list under this name; where there is one, the mode alone does not say who may read.
_ACCESS_LIST = "system.posix_acl_access"

# A folder that takes no new file, an owner that cannot be given, a file that is mounted: it is written in place.
_IN_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.ENOTSUP}

_DESCRIPTORS = re.compile(r"/proc/(?P<process>\d+)(?:/task/\d+)?/fd|/dev/fd")
_BINARY = getattr(os, "O_BINARY", 0)
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0)
_WINDOWS = os.name == "nt"

# A temporary file without a lock that nobody has written to for so many seconds is of a run that was killed.
_STALE_SECONDS = 600.0
_swept: set[str] = set()

# What a file system may be asked to hold, to see whether it is full.
_BLOCK = 1 << 16

# How long the writer of a pipe may take to open it.
_WRITER_SECONDS = 10.0

# Between attempts, on Windows: a second in all.
_PAUSES = [0.001 * 2**i for i in range(10)]


def write_atomically(path: _Path, content: str | bytes) -> None:
    r"""Write `content` to a temporary name beside `path`, then rename it to `path`.

    Parameters
    ----------
    path : path-like
        A file that is there keeps its mode, owner, group and access list; a new one gets what the umask leaves. A
        symbolic link stays, and the file that it points to is replaced, or made. Of a file with several hard links
        this name gets the new content, and the others keep the old.

        Written in place, and so not atomically, are devices, pipes and descriptors such as ``/dev/stdout``, and a
        file whose owner cannot be kept or whose folder takes no new files.
    content : str or bytes
        Text is written as UTF-8, its line ends as they are.

    Raises
    ------
    OSError
        If `path` is a folder, is in no folder, or may not be written; the message names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.txt")
    ...     write_atomically(file, "old\n")
    ...     write_atomically(file, "new\n")
    ...     print(os.listdir(folder), file.read_text())
    ['a.txt'] new
    """
    data = content.encode() if isinstance(content, str) else content
    descriptor = _own_descriptor(path)
    if descriptor is not None:
        with naming_file(path):
            _write_descriptor(descriptor, data)
        return
    target, there = os.path.realpath(path), _stat(path)
    _check_target(path, target, there)
    if there is None:
        replace_file(target, data)
    elif not stat.S_ISREG(there.st_mode):
        _write_in_place(path, data)
    else:
        try:
            _write_and_rename(target, data, access_of(target), _set_access)
        except OSError as error:
            if error.errno not in _IN_PLACE:
                raise
            _write_in_place(target, data)


@contextmanager
def _writing_atomically(path: _Path) -> Iterator[BinaryIO]:
    """Give a file to write to piece by piece; it gets its name when all is written, and where that fails it is removed.

    What is there keeps what :func:`write_atomically` keeps; devices and pipes are written in place.

    Raises
    ------
    OSError
        If `path` is a folder, is in no folder, or may not be written, or if the disk is full; the message names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with _writing_atomically(pathlib.Path(folder, "a.txt")) as file:
    ...         print(file.write(b"half"), os.path.exists(pathlib.Path(folder, "a.txt")))
    4 False
    """
    target, there = os.path.realpath(path), _stat(path)
    _check_target(path, target, there)
    if there is not None and not stat.S_ISREG(there.st_mode):
        with naming_file(path), open(path, "wb") as file:
            yield file
        return
    with _renamed(target, access_of(target), _set_what_is_allowed) as file:
        yield file


class Access(NamedTuple):
    """Who may do what with a file; `listed` is its access list, where there is one."""

    mode: int
    owner: int
    group: int
    listed: bytes | None


def access_of(path: _Path) -> Access | None:
    """Return who may do what with a file, None where there is none."""
    try:
        there = os.stat(path)
        return Access(stat.S_IMODE(there.st_mode), there.st_uid, there.st_gid, _access_list(path))
    except FileNotFoundError:
        return None


def replace_file(path: _Path, content: bytes, access: Access | None = None) -> None:
    """Put a new file in the place of `path` atomically; a link that is there is replaced itself.

    Parameters
    ----------
    path : path-like
    content : bytes
    access : Access, optional
        What the new file gets, as far as that is allowed: where the group cannot be kept, it gets no permissions. By
        default the umask decides.
    """
    _write_and_rename(path, content, access, _set_what_is_allowed)


@contextmanager
def naming_file(path: _Path) -> Iterator[None]:
    """Let errors that name no file name this one: that of a full disk, and of memory that is too small.

    Examples
    --------
    >>> with naming_file("a.txt"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'a.txt'
    """
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{os.fspath(path)} does not fit into memory") from error
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


def read_plain(path: _Path, pipes: bool = False, limit: int | None = None) -> bytes:
    """Return the content of a plain file.

    Parameters
    ----------
    path : path-like
    pipes : bool
        Whether a pipe that somebody writes to is read too, to its end.
    limit : int, optional
        The most bytes that a plain file may have; a longer one is not read.

    Raises
    ------
    OSError
        If it is something else, which may never end or never begin: a device, or a pipe that nobody writes to. Its
        number is ``EFBIG`` if it is too long.
    """
    with naming_file(path), open(path, "rb", opener=_open_at_once) as file:
        there = os.fstat(file.fileno())
        if pipes and stat.S_ISFIFO(there.st_mode):
            return _wait_for_writer(file.fileno(), path) + file.read()
        if not stat.S_ISREG(there.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file, but a device, a pipe or a folder", os.fspath(path))
        if limit is not None and there.st_size > limit:
            said = f"it has {there.st_size:,} bytes, and may have {limit:,}"
            raise OSError(errno.EFBIG, said, os.fspath(path))
        return file.read()


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _BINARY | _NOT_WAITING)


def _wait_for_writer(descriptor: int, path: _Path) -> bytes:
    """Let reading wait for the writer of a pipe, who must come soon; return what had to be read to see that."""
    if not _NOT_WAITING:
        return b""
    first = b""
    if not _has_come(descriptor):
        try:
            first = os.read(descriptor, 1)
        except BlockingIOError:
            pass  # somebody has it open, and has not written yet
        else:
            if not first:
                raise OSError(errno.EINVAL, "it is a pipe that nobody writes to", os.fspath(path))
    os.set_blocking(descriptor, True)
    return first


def _has_come(descriptor: int) -> bool:
    """Wait until a pipe has content, or had a writer, but not for long; return whether it has."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(_WRITER_SECONDS * 1000))


def check_takes_files(folder: _Path) -> None:
    """Raise the ``OSError`` of writing to a folder, if that fails: a little is written, and removed."""
    descriptor, path = _make_temporary(os.fspath(folder), 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(bytes(_BLOCK))
            file.flush()
            os.fsync(file.fileno())
    finally:
        with suppress(OSError):
            os.unlink(path)


def patiently(action: Callable[[], _Result]) -> _Result:
    """Return ``action()``; on Windows, which lets no file be replaced while it is open, try for a second."""
    for pause in _PAUSES if _WINDOWS else ():
        try:
            return action()
        except PermissionError:
            time.sleep(pause)
    return action()


def _write_and_rename(
    target: _Path, data: bytes, access: Access | None, set_access: Callable[[_Path, Access], None]
) -> None:
    with _renamed(target, access, set_access) as file:
        file.write(data)


@contextmanager
def _renamed(target: _Path, access: Access | None, set_access: Callable[[_Path, Access], None]) -> Iterator[BinaryIO]:
    """Give a file to write to, which gets the name `target` when all went well, and is removed else."""
    folder = os.path.dirname(os.path.abspath(target))
    # Until owner and mode are set, it is open to nobody that the file is not meant for.
    mode = 0o666 if access is None else 0o600 & access.mode
    _sweep(folder)
    try:
        descriptor, temporary = _make_temporary(folder, mode)
    except OSError as error:
        error.filename = os.fspath(target)
        raise
    try:
        with naming_file(target), open(descriptor, "wb") as file:
            if access is not None:
                set_access(temporary, access)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not _WINDOWS:  # while it is locked
                os.replace(temporary, target)
        if _WINDOWS:
            patiently(lambda: os.replace(temporary, target))
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _make_temporary(folder: str, mode: int) -> tuple[int, str]:
    """Make a file to write to; return its descriptor and its path. Where there are locks, it is locked until closed."""
    while True:
        path = os.path.join(folder, f".bnplug-{secrets.token_hex(8)}-locked.tmp")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        _lock(descriptor, wait=True)
        # Before it was locked, another's sweep may have taken it for a killed run's.
        if os.fstat(descriptor).st_nlink:
            return descriptor, path
        os.close(descriptor)


def _sweep(folder: str) -> None:
    """Remove what killed runs left in a folder, the first time that something is written there."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = TEMPORARY.fullmatch(entry.name)
            if found and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    if found["locked"] is None or not _sweep_unlocked(entry.path):
                        _sweep_old(entry.path)


def _sweep_unlocked(path: str) -> bool:
    """Remove a file whose lock is free: its run is dead. Return False where that cannot be known."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NOT_WAITING)
    except OSError:
        return False
    try:
        locked = _lock(descriptor, wait=False)
        if locked:
            os.unlink(path)
        return locked is not None
    finally:
        os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> bool | None:
    """Lock a file; return whether that went, None where files cannot be locked."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _sweep_old(path: str) -> None:
    if time.time() - os.lstat(path).st_mtime > _STALE_SECONDS:
        os.unlink(path)


def _access_list(path: _Path) -> bytes | None:
    if sys.platform != "linux":
        return None
    try:
        return os.getxattr(path, _ACCESS_LIST)
    except OSError as error:
        # There is none, or the file system has none.
        if error.errno in (errno.ENODATA, errno.ENOTSUP):
            return None
        raise


def _set_access(path: _Path, access: Access) -> None:
    """Give a file its owner, group, access list and mode; an ``OSError`` where that is not allowed."""
    there = os.stat(path)
    if (access.owner, access.group) != (there.st_uid, there.st_gid):
        os.chown(path, access.owner, access.group)
    _set_access_list(path, access.listed)
    os.chmod(path, access.mode)


def _set_what_is_allowed(path: _Path, access: Access) -> None:
    """Give a file as much of its access as is allowed, and never more than it."""
    try:
        _set_access(path, access)
    except OSError:
        mode = access.mode & 0o777
        try:
            _set_access(path, access._replace(owner=os.stat(path).st_uid, mode=mode))
        except OSError:
            os.chmod(path, mode & 0o707)


def _set_access_list(path: _Path, listed: bytes | None) -> None:
    if sys.platform != "linux":
        return
    if listed is not None:
        os.setxattr(path, _ACCESS_LIST, listed)
    else:
        # The folder's default may have given the new file one.
        with suppress(OSError):
            os.removexattr(path, _ACCESS_LIST)


def _own_descriptor(path: _Path) -> int | None:
    """Return the number of the open descriptor that a path such as ``/dev/stdout`` stands for, if it does."""
    step = os.fspath(path)
    for _ in range(40):
        folder, name = os.path.split(step)
        folder = os.path.realpath(folder)
        found = _DESCRIPTORS.fullmatch(folder)
        if found and name.isdecimal() and found["process"] in (None, str(os.getpid())):
            return int(name)
        step = os.path.join(folder, name)
        if not os.path.islink(step):
            return None
        step = os.path.join(folder, os.readlink(step))
    return None


def _write_descriptor(descriptor: int, data: bytes) -> None:
    """Write where the descriptor stands: to open its path anew would begin a redirected file again."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with open(os.dup(descriptor), "wb") as file:
        file.write(data)


def _write_in_place(path: _Path, data: bytes) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_TRUNC | _BINARY), "wb") as file:
            file.write(data)
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _stat(path: _Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _check_target(path: _Path, target: str, there: os.stat_result | None) -> None:
    name = os.fspath(path)
    if os.path.isdir(target) or name.endswith(os.sep):
        raise IsADirectoryError(f"{name!r} cannot be written: it is a folder; give the name of a file")
    folder = os.path.dirname(target)
    if there is None and not os.path.isdir(folder):
        raise FileNotFoundError(f"{name} cannot be written: there is no folder {folder}")
    # A rename would replace it all the same.
    if there is not None and not os.access(path, os.W_OK):
        raise PermissionError(f"{name} cannot be written: its permissions do not let you")
