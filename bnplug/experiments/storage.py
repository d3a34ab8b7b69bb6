"""The results file: a line of settings, then a line for each record as it comes, such as one fold of a comparison.

A run that was killed leaves at most its last line unfinished; the next run drops that line and goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bnplug.errors import printable
from bnplug.exchange._json import parse_json
from bnplug.exchange.files import naming_file, read_plain, write_atomically

Record = dict[str, Any]
"""A line of a results file, as JSON holds it: names with numbers, text, lists. In a comparison it is one fold."""

_HEADER_KEY = "bnplug_comparison"
_VERSION = 1


class ResultsFile:
    r"""The records of one experiment, kept on disk as they come, so that a run that was stopped can go on.

    Parameters
    ----------
    path : path-like
        A file of JSON lines; made if it is not there.
    settings : mapping
        What decides the results. A file with other settings is another experiment's, and is refused.

    Attributes
    ----------
    path : Path
    records : list of Record
        What the file held when it was opened.

    Raises
    ------
    ValueError
        If the file is not a results file, is another experiment's, or is damaged before its last line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ResultsFile(Path(folder, "r.jsonl"), {"cv": "5"})
    ...     file.append({"fold": 0})
    ...     with open(file.path, "a") as stream:
    ...         _ = stream.write('{"fold": 1, "accu')
    ...     ResultsFile(file.path, {"cv": "5"}).records
    [{'fold': 0}]
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        wanted: dict[str, Any] = json.loads(json.dumps(settings))
        with naming_file(self.path):
            self._open(wanted)

    def _open(self, wanted: dict[str, Any]) -> None:
        content = read_plain(self.path) if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            self._start(content, wanted)
            return
        self.records = self.parse(whole.decode(errors="replace"), wanted, str(self.path))
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))

    @staticmethod
    def parse(text: str, settings: Mapping[str, Any], source: str) -> list[Record]:
        """Return the records of a results file that is there as text, for one, shipped with a package.

        Parameters
        ----------
        text : str
            Whole lines.
        settings : mapping
            As for the file.
        source : str
            What errors call it.
        """
        lines = text.splitlines()
        _check_settings(source, _header(source, lines[0] if lines else ""), settings)
        return [_parse(source, number, line) for number, line in enumerate(lines[1:], start=2)]

    def append(self, record: Record) -> None:
        """Write a record at the end of the file, at once."""
        with naming_file(self.path), open(self.path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, allow_nan=False) + "\n")

    def _start(self, content: bytes, settings: dict[str, Any]) -> None:
        """Write the first line; `content` may be the beginning of one."""
        beginning = b'{"%s"' % _HEADER_KEY.encode()
        if not beginning.startswith(content[: len(beginning)]):
            raise ValueError(f"{self.path} is not a results file; give the results another name")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"there is no folder {str(self.path.parent)!r} for {self.path.name!r}: make it first"
            )
        header = json.dumps({_HEADER_KEY: _VERSION, "settings": settings})
        write_atomically(self.path, header + "\n")


def _header(path: str, line: str) -> dict[str, Any]:
    try:
        header = parse_json(line)
        version, settings = header[_HEADER_KEY], header["settings"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{path} is not a results file; give the results another name") from None
    if version != _VERSION or not isinstance(settings, dict):
        raise ValueError(f"{path} is a results file of version {version!r}; this bnplug reads version {_VERSION}")
    return settings


def _check_settings(path: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise unless the settings are the same; the message says which ones differ, and how."""
    differences = [
        f"{name}: {_difference(there.get(name), here.get(name))}"
        for name in sorted(there.keys() | here.keys())
        if there.get(name) != here.get(name)
    ]
    if differences:
        raise ValueError(
            f"{path} holds the results of another experiment ({printable('; '.join(differences))}): "
            "give the results another name, or delete the file"
        )


def _difference(there: Any, here: Any) -> str:
    """Say how a setting differs; of named things, which ones."""
    if not isinstance(there, dict) or not isinstance(here, dict):
        return f"there {there!r}, here {here!r}"
    parts = {
        "only there": [name for name in there if name not in here],
        "only here": [name for name in here if name not in there],
        "not the same": [name for name in here if name in there and there[name] != here[name]],
    }
    return ", ".join(f"{', '.join(names)} {what}" for what, names in parts.items() if names)


def _parse(path: str, number: int, line: str) -> Record:
    try:
        record = parse_json(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise ValueError(f"{path}: line {number} is damaged; delete that line, and its fold is run again")
    return record
