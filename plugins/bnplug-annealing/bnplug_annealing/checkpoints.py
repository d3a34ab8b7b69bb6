"""Files that keep the state of a chain, so that a killed search goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np

from bnplug.files import read_plain, write_atomically
from bnplug.search import Constraints
from bnplug.table.table import Table
from bnplug_annealing.chain import State

_KEY, _VERSION = "bnplug-annealing", 1

# Seconds between two files of a chain that cools quickly.
_PAUSE = 1.0

# No number of a chain is larger, and a float holds every one.
_LARGEST = 1e300

# Of the Mersenne twister that scores draw their rows from.
_KEY_LENGTH = 624


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
        """Return the state in the file, None if there is none; :func:`check_state` says whether it fits a table.

        Raises
        ------
        ValueError
            If the file is of another search, or none of ours.
        """
        if not self.path.exists():
            return None
        try:
            content = json.loads(read_plain(self.path))
            version, search, state = content[_KEY], dict(content["search"]), State(**content["state"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValueError(f"{self.path} is no checkpoint of simulated annealing, or damaged; delete it") from None
        differing = sorted(
            name for name in self.search.keys() | search.keys() if self.search.get(name) != search.get(name)
        )
        if version != _VERSION or differing:
            names = ", ".join(map(_shown, differing)) or "version"
            raise ValueError(
                f"{self.path} is the checkpoint of another search (not the same: {names}); "
                "delete it, or give this search another one"
            )
        return state


def _shown(name: str) -> str:
    """Return a name from a file, escaped if it contains control characters."""
    return name if name.isprintable() else repr(name)


def check_state(state: State, constraints: Constraints, k: int, path: Path) -> None:
    """Raise a ``ValueError`` unless a state that was read is one that a chain on this table can be in."""
    size, target = len(constraints.table.names), constraints.table.target_index
    wrong = (
        _wrong_parents(state.parents, size, target, k)
        or _wrong_parents(state.best, size, target, k)
        or _wrong_edges(state.parents, constraints)
        or _wrong_edges(state.best, constraints)
        or _wrong_numbers(state)
        or _wrong_generators(state)
    )
    if wrong:
        raise ValueError(f"{path} is a damaged checkpoint of simulated annealing: {wrong}; delete it")


def _wrong_parents(parents: Any, n: int, target: int, k: int) -> str | None:
    """Return what is wrong about the parents of every variable, if anything."""
    if not isinstance(parents, list) or len(parents) != n:
        return f"a structure does not have the parents of {n} variables"
    for v, family in enumerate(parents):
        if not isinstance(family, list) or not all(type(u) is int and 0 <= u < n for u in family):
            return f"the parents {str(family)[:60]} of variable {v} are no numbers from 0 to {n - 1}"
        wanted = [] if v == target else [target]
        if (
            len(set(family)) != len(family)
            or [u for u in family if u == target] != wanted
            or len(family) > len(wanted) * (k + 1)
        ):
            return f"the parents {str(family)[:60]} of variable {v} are not the class and up to {k} features"
    try:
        TopologicalSorter(dict(enumerate(parents))).prepare()
    except CycleError:
        return "a structure has a cycle"
    return None


def _wrong_edges(parents: list[list[int]], constraints: Constraints) -> str | None:
    """Return which variable's parents are not what is required and allowed, if any."""
    for v, family in enumerate(parents):
        if not set(constraints.required_parents(v)) <= set(family) or len(constraints.allowed_parents(v, family)) < len(
            family
        ):
            return f"the parents {family} of variable {v} are not what is required and allowed"
    return None


def _wrong_numbers(state: State) -> str | None:
    real = {"best_value": [state.best_value], "r": [state.r], "temperature": [state.temperature]}
    real |= {"trace": state.trace, "temperatures": state.temperatures}
    whole = {"rejections": [state.rejections], "n_evaluations": [state.n_evaluations], "evaluations": state.evaluations}
    for kinds, given in (((int, float), real), ((int,), whole)):
        for name, values in given.items():
            if not isinstance(values, list) or not all(type(x) in kinds and abs(x) <= _LARGEST for x in values):
                return f"{name} is not of finite numbers"
    if state.r <= 0 or state.temperature <= 0 or min(state.rejections, state.n_evaluations, 0, *state.evaluations) < 0:
        return "a number is negative"
    if not isinstance(state.finished, bool) or not state.evaluations or len(state.evaluations) > len(state.trace):
        return "its trace is cut off"
    return None


def _wrong_generators(state: State) -> str | None:
    """Return whether the states of the random generators are none."""
    try:
        generator: Any = np.random.PCG64()
        generator.state = state.random
        if state.draws is not None:
            # numpy does not look where in the key it goes on: elsewhere it would read outside.
            if not 0 <= state.draws["state"]["pos"] <= _KEY_LENGTH or len(state.draws["state"]["key"]) != _KEY_LENGTH:
                return "there is no state of a random generator"
            np.random.RandomState().set_state(state.draws)
    except (ValueError, TypeError, LookupError, OverflowError):
        return "there is no state of a random generator"
    return None


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
    blocks = table.map(_digest)
    return blocks[0] if len(blocks) == 1 else hashlib.sha256("".join(blocks).encode()).hexdigest()


def _digest(block: Table) -> str:
    content = hashlib.sha256(block.codes.tobytes())
    content.update(repr((block.names, block.states, block.target, block.codes.shape)).encode())
    if block.weights is not None:
        content.update(block.weights.tobytes())
    return content.hexdigest()
