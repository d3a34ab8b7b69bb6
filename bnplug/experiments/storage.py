"""Results files: a line of settings, then a line per record, such as one fold of a comparison.

A killed run leaves at most its last line unfinished; the next run drops that line and resumes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bnplug._json import parse_json
from bnplug.errors import printable
from bnplug.files import naming_file, read_plain, write_atomically

Record = dict[str, Any]
"""A line of a results file: a JSON object. In a comparison, it is one fold."""

_HEADER_KEY = "bnplug_comparison"
_VERSION = 1


class ResultsFile:
    """The records of one experiment on disk; an interrupted run can resume from them.

    The file at `path` has JSON lines, and is created if it does not exist; ``records`` contains the
    records that it had when it was opened. The `settings` determine the results. Raises a ``ValueError`` if the file
    has other settings, is not a results file, or is damaged before its last line.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.records: list[Record] = []
        wanted: dict[str, Any] = json.loads(json.dumps(settings))
        with naming_file(self.path):
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
        """Return the records of a results file given as text, in whole lines; `source` is its name in messages."""
        lines = text.splitlines()
        _check_settings(source, _header(source, lines[0] if lines else ""), settings)
        return [_parse(source, number, line) for number, line in enumerate(lines[1:], start=2)]

    def append(self, record: Record) -> None:
        """Append a record to the file immediately."""
        with naming_file(self.path), open(self.path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, allow_nan=False) + "\n")

    def _start(self, content: bytes, settings: dict[str, Any]) -> None:
        """Write the first line; `content` may be the beginning of it."""
        beginning = b'{"%s"' % _HEADER_KEY.encode()
        if not beginning.startswith(content[: len(beginning)]):
            raise ValueError(f"{self.path} is not a results file; give the results another name")
        write_atomically(self.path, json.dumps({_HEADER_KEY: _VERSION, "settings": settings}) + "\n")


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
    """Raise a ``ValueError`` that describes the differences unless the settings are the same."""
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
    """Describe how a setting differs, for a mapping by its keys."""
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
