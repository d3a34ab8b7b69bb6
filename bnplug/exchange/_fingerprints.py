"""Whether files are still what they were: their size, when they were changed, and some of their bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bnplug.data._survey import Question
from bnplug.data.discretize import unfitted

# So much of a file is looked at: both ends, and pieces in between.
_END, _PIECE, _PIECES = 1 << 16, 1 << 12, 16


def fingerprint(paths: Sequence[Path]) -> list[list[Any]]:
    """Return of each file: where it is, its size, when it was changed, and a hash of some of its bytes.

    The schema of a Parquet file is at its end, the header of a CSV file at its beginning: both are among these bytes.
    """
    return [[str(path.resolve()), *_looked_at(path)] for path in paths]


def key_of(paths: Sequence[Path], question: Question, csv: Mapping[str, Any]) -> str:
    """Return a short name for what is asked of files, whatever is in them."""
    asked = replace(question, discretizer=_told(question.discretizer))
    said = [
        [str(path.resolve()) for path in paths],
        repr(asked),
        sorted((name, repr(own)) for name, own in csv.items()),
    ]
    return digest(said)[:16]


def digest(said: Any) -> str:
    """Return a hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _looked_at(path: Path) -> tuple[int, int, str]:
    with open(path, "rb") as file:
        there = path.stat()
        found = hashlib.sha256(file.read(_END))
        for i in range(1, _PIECES):
            file.seek(i * there.st_size // _PIECES)
            found.update(file.read(_PIECE))
        file.seek(max(0, there.st_size - _END))
        found.update(file.read(_END))
    return there.st_size, there.st_mtime_ns, found.hexdigest()


def _told(discretizer: Any) -> str:
    made = unfitted(discretizer)
    if made is None:
        return "none"
    return f"{type(made).__module__}.{type(made).__qualname__}{sorted(made.get_params().items(), key=str)}"
