"""Trust in folders and files of compiled kernels: no other user can have written them.

Loading a kernel runs code from its file. Root is trusted, since root can change the interpreter as well. Windows has
neither user IDs nor permission bits: there, every readable file is trusted.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def trusted_bytes(path: Path) -> bytes | None:
    """Return the content of a regular file that no other user can have written; None for other files."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    # Check the opened file, not its path, which may lead to another file a moment later.
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or distrust(status) is not None:
            return None
        return file.read()


def distrust(status: os.stat_result) -> str | None:
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


def is_shared_by_all(status: os.stat_result) -> bool:
    """Whether all users may add files to a folder, but not change each other's files, as in ``/tmp``."""
    return bool(status.st_mode & stat.S_IWOTH and status.st_mode & stat.S_ISVTX) and status.st_uid in (0, os.geteuid())


def is_private(folder: Path) -> bool:
    """Whether a folder is trusted or does not exist yet; links to folders are not trusted."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(status.st_mode) and distrust(status) is None


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
