"""Files that keep the state of a chain, so that a killed search goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bnplug.data.table import Table
from bnplug.exchange.files import write_atomically
from bnplug_annealing.chain import State

_KEY, _VERSION = "bnplug-annealing", 1

# Seconds between two files of a chain that cools quickly.
_PAUSE = 1.0


class Checkpoint:
    """The file of one chain: JSON, written as a whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    search : mapping
        What the search is: a file of another one is refused.

    Raises
    ------
    ValueError
        If there is no folder for the file, or it is one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(Path(folder, "sa.json"), {"D": 0.8})
    ...     checkpoint.write(State({}, [[]], [[]], best_value=0.5))
    ...     checkpoint.read().best_value
    0.5
    """

    def __init__(self, path: Path, search: Mapping[str, Any]) -> None:
        if not path.absolute().parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {str(path.parent)!r}; make it first")
        if path.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is a folder; give the name of a file in it")
        self.path = path
        self.search = dict(search)
        self._written = time.monotonic()

    def save(self, state: State) -> None:
        """Write a state, unless one was written a moment ago and the chain goes on."""
        if state.finished or time.monotonic() - self._written >= _PAUSE:
            self.write(state)

    def write(self, state: State) -> None:
        """Write a state."""
        write_atomically(self.path, json.dumps({_KEY: _VERSION, "search": self.search, "state": asdict(state)}))
        self._written = time.monotonic()

    def read(self) -> State | None:
        """Return the state in the file, None if there is none.

        Raises
        ------
        ValueError
            If the file is of another search, or none of ours.
        """
        if not self.path.exists():
            return None
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            version, search, state = content[_KEY], content["search"], State(**content["state"])
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{self.path} is no checkpoint of simulated annealing, or damaged; delete it") from None
        differing = sorted(
            name for name in self.search.keys() | search.keys() if self.search.get(name) != search.get(name)
        )
        if version != _VERSION or differing:
            raise ValueError(
                f"{self.path} is the checkpoint of another search (not the same: {', '.join(differing) or 'version'}); "
                "delete it, or give this search another one"
            )
        return state


def chain_path(path: Path, number: int) -> Path:
    """Return the file of a chain: the first has the path itself, the others are numbered.

    Examples
    --------
    >>> [chain_path(Path("sa.json"), number).name for number in range(3)]
    ['sa.json', 'sa-1.json', 'sa-2.json']
    """
    return path.with_name(f"{path.stem}-{number}{path.suffix}") if number else path


def digest(table: Table) -> str:
    """Return a string that differs for tables that differ."""
    content = hashlib.sha256(table.codes.tobytes())
    content.update(repr((table.names, table.states, table.target, table.codes.shape)).encode())
    if table.weights is not None:
        content.update(table.weights.tobytes())
    return content.hexdigest()
