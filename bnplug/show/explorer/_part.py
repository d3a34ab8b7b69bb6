"""How much of a network a page can hold: all of it, or the features that tell most of the class.

A part is closed upwards: with a feature come its parents, and theirs. What is left out then sums to one, so that all
that the part says is what the whole network says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from bnplug.errors import did_you_mean
from bnplug.inference.queries import query
from bnplug.model.log_tables import LogTables
from bnplug.show.explorer import _tree
from bnplug.show.summary import mutual_information

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

#: What a browser passes messages over in 100 ms (benchmarks/explorer.py), and what it loads in a moment.
MAX_CELLS, MAX_PARAMETERS = 5_000_000, 1_000_000


def shown_tables(model: BayesianNetworkClassifier, features: int | Sequence[str] | None) -> LogTables:
    """Return the tables that the page is about.

    Parameters
    ----------
    model : BayesianNetworkClassifier
    features : int, names or None
        The number of features to show, those that tell most of the class first; or their names. None: all.

    Raises
    ------
    ValueError
        If they are too much for a browser; the message says what is not.
    """
    tables = model.tables_
    if isinstance(features, str):
        features = [features]
    if isinstance(features, int | np.integer):
        if not 1 <= features <= len(tables.names) - 1:
            raise ValueError(f"features={features}: give a number from 1 to {len(tables.names) - 1}, or names")
        features = _ranked(model)[: int(features)]
    part = tables if features is None else _part(tables, model.target_, features)
    if _too_much(part) is None:
        return part
    raise ValueError(f"{_too_much(part)}. {_way_out(model)}")


def _way_out(model: BayesianNetworkClassifier) -> str:
    ranked = _ranked(model)
    n = _most_that_fit(model, ranked)
    report = "model.report(path) (bnplug report) shows all of it, without answering"
    if n == 0:
        return f"No part that answers as the whole does is small enough; {report}"
    return (
        f"model.explore(path, features={n}) (--features {n}) shows what tells most of the class, with its parents; "
        f"{report}"
    )


def _most_that_fit(model: BayesianNetworkClassifier, ranked: Sequence[str]) -> int:
    """The number of leading features whose part is small enough, by bisection."""
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _too_much(_part(model.tables_, model.target_, ranked[:middle])) is None
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _too_much(tables: LogTables) -> str | None:
    """Say why a page cannot hold these tables; None where it can."""
    size = sum(table.values.size for table in tables.tables.values())
    if size > MAX_PARAMETERS:
        return f"the tables hold {size:,} numbers, more than the {MAX_PARAMETERS:,} that a page can"
    if _tree.n_cells(*numbered(tables), MAX_CELLS) is None:
        return (
            f"the cliques of this network hold more than the {MAX_CELLS:,} cells that a browser passes messages over "
            "in 100 ms"
        )
    return None


def numbered(tables: LogTables) -> tuple[list[list[int]], list[int]]:
    """Return the parents of every variable by number, and the number of its states."""
    number = {name: v for v, name in enumerate(tables.names)}
    parents = [[number[parent] for parent in tables.parents[name]] for name in tables.names]
    return parents, [len(tables.states[name]) for name in tables.names]


def _ranked(model: BayesianNetworkClassifier) -> list[str]:
    """The features by what each alone tells of the class; those that even alone are too much for a page come last."""
    tables, target = model.tables_, model.target_
    told = {name: _told(tables, target, name) for name in tables.names if name != target}
    return sorted(told, key=lambda name: -told[name])


def _told(tables: LogTables, target: str, name: str) -> float:
    part = _part(tables, target, [name])
    if _too_much(part) is None:
        # What is asked is joint: that may take a larger table than the messages of the page do.
        with suppress(ValueError):
            return mutual_information(query(part, [target, name], max_clique_size=MAX_CELLS))
    return -1.0


def _part(tables: LogTables, target: str, features: Iterable[str]) -> LogTables:
    """The class, these features, all that they depend on, and tables that do not sum to one."""
    kept = {target, *(name for name, table in tables.tables.items() if not table.normalized)}
    for name in features:
        if name not in tables.tables:
            raise ValueError(f"there is no feature {name!r}.{did_you_mean(name, tables.names)}")
        kept.add(name)
    pending = list(kept)
    while pending:
        new = {*tables.parents[pending.pop()]} - kept
        kept |= new
        pending += new
    names = [name for name in tables.names if name in kept]
    states = {name: tables.states[name] for name in names}
    return LogTables(names, states, {name: tables.tables[name] for name in names}, target)
