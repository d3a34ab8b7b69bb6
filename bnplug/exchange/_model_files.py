"""The files of a model folder: sealed with checksums, and replaced so that nobody's model or file is lost.

The tables are in a file of a name never used before, and ``model.json``, which names it, is replaced last: at every
moment there is a whole model, also while several processes save to one folder. Only files that ``model.json`` names
are ever removed; whoever reads while they are reads ``model.json`` again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import bnplug
from bnplug.errors import ModelFileError
from bnplug.exchange._json import parse_json
from bnplug.exchange.files import MAX_TEXT, TEMPORARY, access_of, patiently, read_plain, replace_file

FORMAT = "bnplug-model"
#: The version that is written, which has all constructor parameters, and those that are read. Version 2 has checksums
#: and version 1, that of 0.1.0, has not.
VERSION, READABLE = 3, (1, 2, 3)

INDEX = "model.json"

#: Exceptions that damaged files cause. zipfile raises NotImplementedError, a RuntimeError, for unknown versions; numpy
#: raises OverflowError, an ArithmeticError, for numbers out of range, and SyntaxError for some invalid dtypes.
DAMAGE = (
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    EOFError,
    OSError,
    RuntimeError,
    SyntaxError,
    zipfile.BadZipFile,
)

# Named after the content and, since version 2, a random number.
_TABLES = re.compile(r"tables-(?P<digest>[0-9a-f]{16})(?:-[0-9a-f]{16})?\.npz")
_FIRST_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")

#: JSON would make one character of such a pair.
SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# Maximum length of a message, which may quote long names from a forged file.
_MESSAGE_LENGTH = 500

# Versions that a message may quote.
_VERSION_TEXT = re.compile(r"[0-9][A-Za-z0-9.+!]{0,30}")

_TURN_SECONDS, _TURN_PAUSE = 10.0, 0.005


def write_model(folder: Path, index: Mapping[str, Any], numbers: bytes) -> None:
    """Write a model to a folder: a new one, an empty one, or one that holds a model of bnplug.

    Raises
    ------
    ValueError
        If something else is there; it is left as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _turn(folder):
        there = index_there(folder)
        named = _tables_named(there)
        digest = hashlib.sha256(numbers).hexdigest()
        name = f"tables-{digest[:16]}-{secrets.token_hex(8)}.npz"
        former = [file for file in named if os.path.lexists(folder / file)]
        told = {"tables": name, "tables_sha256": digest, "tables_bytes": len(numbers), "former_tables": former}
        content = sealed({**index, **told})
        access = None if there is None else access_of(folder / INDEX)
        # Another's save may have removed the former tables just now.
        tables_access = access_of(folder / former[0]) if former else None
        try:
            replace_file(folder / name, numbers, tables_access or access)
            replace_file(folder / INDEX, content, access)
            for file in former:
                _remove(folder / file)
        finally:
            # An error, or another's index in the place of ours: then nobody will ever ask for these tables.
            if not _is_named(folder, name):
                _remove(folder / name)


def read_model(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return the index and the bytes of the tables' file, whose checksums are right.

    Raises
    ------
    ModelFileError
        If there is no model, or it is damaged or of a later version.
    """
    missed: bytes | None = None
    while True:
        content = _read_index(folder)
        index = _parse(folder, content)
        name = index.get("tables")
        if not isinstance(name, str) or Path(name).name != name:
            raise damaged(folder, f"{name!r} is no name of a file")
        try:
            numbers = patiently(partial(read_plain, folder / name, limit=_tables_bytes(folder, index)))
        except FileNotFoundError as error:
            # Somebody has saved another model meanwhile, unless the index is still the same.
            if content == missed:
                raise damaged(folder, error) from error
            missed = content
            continue
        except OSError as error:
            reason = f"{name} is not what its checksum says: {error}" if error.errno == errno.EFBIG else error
            raise damaged(folder, reason) from error
        _check_digest(folder, index, name, numbers)
        return index, numbers


def damaged(folder: Path, reason: object) -> ModelFileError:
    """Return the error that says why a folder cannot be read."""
    return ModelFileError(f"{folder} is a damaged model folder: {str(reason)[:_MESSAGE_LENGTH]}")


def sealed(index: Mapping[str, Any]) -> bytes:
    """Return the content of ``model.json``: what `index` says, and the checksum of all the rest.

    Examples
    --------
    >>> print(sealed({"target": "c"}).decode().strip())
    {
     "target": "c",
     "checksum": "84492cd2edcc26c3ae67e149513ae0392c9684ff439329648f75fddcaab09700"
    }
    """
    text = json.dumps({**index, "checksum": ""}, indent=1, ensure_ascii=False) + "\n"
    found = SURROGATE_PAIR.search(text)
    if found:
        raise ValueError(f"{found[0]!r} in a name is a pair of surrogates, which no model file can hold")
    # A lone surrogate becomes the escape that JSON has for it.
    content = text.encode("utf-8", "backslashreplace")
    head, _, tail = content.rpartition(b'""')
    return head + b'"' + _digest(content) + b'"' + tail


def index_there(folder: Path) -> dict[str, Any] | None:
    """Return what the ``model.json`` in a folder says, None where a first model may be saved.

    Raises
    ------
    ValueError
        If a model must not be saved there: it is a file, or holds files that are not of bnplug.
    """
    try:
        # One question, not several: another process may make the folder at any moment.
        names = os.listdir(folder)
    except FileNotFoundError:
        if folder.is_symlink() and not folder.exists():
            raise ValueError(f"{folder} is a link that leads nowhere; a model is saved to a folder") from None
        return None
    except NotADirectoryError:
        file = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        raise ValueError(f"{file} is a file; a model is saved to a folder") from None
    if INDEX in names:
        index = _our_index(folder / INDEX)
        if index is None:
            raise ValueError(
                f"{folder / INDEX} is not a model of bnplug, or a damaged one, and is left as it is; remove it, or "
                "choose an empty or a new folder"
            )
        return index
    strange = sorted(name for name in names if not _left_over(folder / name))
    if strange:
        raise ValueError(
            f"{folder} is a folder with other files in it, such as {strange[0]!r}; choose an empty or a new one"
        )
    return None


def _our_index(path: Path) -> dict[str, Any] | None:
    """Return what an index says if it has the mark of this program, whatever its version."""
    try:
        index = parse_json(_read_text(path))
    except PermissionError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}), so the folder is left as it is") from None
    except (OSError, ValueError, RecursionError):
        return None
    return index if isinstance(index, dict) and index.get("format") == FORMAT else None


def _tables_named(index: Mapping[str, Any] | None) -> list[str]:
    """Return the tables' files that an index names: its own first, then those that it took the place of."""
    if index is None:
        return []
    former = index.get("former_tables")
    names = [index.get("tables"), *(former if isinstance(former, list) else [])]
    return [name for name in names if isinstance(name, str) and _TABLES.fullmatch(name)]


def _is_named(folder: Path, name: str) -> bool:
    """Whether the index names a file, or cannot be read just now."""
    try:
        return name.encode() in _read_text(folder / INDEX)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _left_over(path: Path) -> bool:
    """Whether a file is what a first save leaves that was killed half way, or has gone meanwhile."""
    tables = _TABLES.fullmatch(path.name)
    if tables is None and not TEMPORARY.fullmatch(path.name) and not _FIRST_TEMPORARY.fullmatch(path.name):
        return False
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        if tables is None:
            return True
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest().startswith(tables["digest"])
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def _remove(path: Path) -> None:
    """Remove a file; one that Windows holds on to stays named by the index, and goes next time."""
    with suppress(OSError):
        path.unlink()


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait while another process saves to the folder, but not for ever.

    No model depends on it. Of two that save at once, though, each would take the same tables for the former ones,
    and nobody would remove those of the one that came first.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    end = time.monotonic() + _TURN_SECONDS
    try:
        while time.monotonic() < end:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_TURN_PAUSE)
            except OSError:
                break
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _read_text(path: Path) -> bytes:
    return patiently(partial(read_plain, path, limit=MAX_TEXT))


def _tables_bytes(folder: Path, index: Mapping[str, Any]) -> int | None:
    """Return how long the tables' file is; None where the index is of a bnplug that did not say so."""
    size = index.get("tables_bytes")
    if size is not None and (type(size) is not int or size < 0):
        raise damaged(folder, f"{size!r} is no number of bytes")
    return size


def _read_index(folder: Path) -> bytes:
    try:
        return _read_text(folder / INDEX)
    except FileNotFoundError:
        raise ModelFileError(f"{folder} is no model folder: there is no {INDEX} in it") from None
    except OSError as error:
        raise ModelFileError(f"{folder / INDEX} cannot be read: {error}") from error


def _parse(folder: Path, content: bytes) -> dict[str, Any]:
    """Return what an index says: one of ours, of a version that is read, with the right checksum."""
    try:
        index = parse_json(content.decode())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{folder / INDEX} cannot be read: {error}") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise ModelFileError(f"{folder / INDEX} is not a model of bnplug")
    version = index.get("version")
    if type(version) is not int or version not in READABLE:
        reads = f"bnplug {bnplug.__version__} reads {READABLE}"
        raise ModelFileError(f"{folder}: format version {repr(version)[:60]}; {reads}{_writer(index)}")
    if (version > 1 or "checksum" in index) and not seal_holds(content, index.get("checksum")):
        raise damaged(folder, f"{INDEX} is not what its checksum says")
    return index


def _writer(index: Mapping[str, Any]) -> str:
    """Return the end of a message: the version of bnplug that wrote a folder, if the folder names a valid one."""
    version = str(index.get("bnplug"))
    return f". It was written by bnplug {version}" if _VERSION_TEXT.fullmatch(version) else ""


def seal_holds(content: bytes, checksum: object) -> bool:
    """Whether a content is what :func:`sealed` made, by the checksum in it."""
    if not isinstance(checksum, str) or not re.fullmatch("[0-9a-f]{64}", checksum):
        return False
    # Tools that keep text may have changed the line ends.
    head, found, tail = content.replace(b"\r\n", b"\n").rpartition(checksum.encode())
    return bool(found) and _digest(head + tail) == found


def _check_digest(folder: Path, index: Mapping[str, Any], name: str, numbers: bytes) -> None:
    """Raise unless the tables' file is the one that was saved; version 1 has part of its checksum in the name."""
    digest = _digest(numbers).decode()
    named = _TABLES.fullmatch(name)
    right = digest == index.get("tables_sha256") if index["version"] > 1 else True
    if not right or (named and not digest.startswith(named["digest"])):
        raise damaged(folder, f"{name} is not what its checksum says")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
