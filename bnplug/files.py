"""Writing files so that a killed run leaves the old file or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    r"""Write `content` to a temporary name beside `path`, then rename it to `path`.

    Parameters
    ----------
    path : path-like
        A symbolic link is followed: the file that it points to is replaced.
    content : str or bytes
        Text is written as UTF-8, its line ends as they are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.txt")
    ...     write_atomically(file, "old\n")
    ...     write_atomically(file, "new\n")
    ...     print(os.listdir(folder), file.read_text())
    ['a.txt'] new
    """
    data = content.encode() if isinstance(content, str) else content
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{os.fspath(path)} cannot be written: there is no folder {folder}")
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        # "xb" rather than tempfile: the file gets the permissions that the user's umask gives any other.
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
