"""How much of a network a page can hold: all of it, or the features that tell most of the class.

A part is closed upwards: with a feature come its parents, and theirs. What is left out then sums to one, so that all
that the part says is what the whole network says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from graphlib import TopologicalSorter
from operator import or_
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

# The queries that rank the features have at most this many ancestors, and MAX_CELLS cells, in total.
_RANKED_ANCESTORS = 10_000


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
    reason = _too_much(part)
    if reason is None:
        return part
    raise ValueError(f"{reason}. {_way_out(model)}")


def _way_out(model: BayesianNetworkClassifier) -> str:
    ranked = _ranked(model)
    n = _most_that_fit(model, ranked)
    report = "model.report(path) (bnplug report) shows all of it, without answering"
    if n == 0:
        return f"No part that answers as the whole does is small enough; {report}"
    return (
        f"model.explore(path, features={n}) (--features {n}) shows the features most informative about the class, with "
        f"their ancestors; {report}"
    )


def _most_that_fit(model: BayesianNetworkClassifier, ranked: Sequence[str]) -> int:
    """Return the number of leading features whose part is small enough.

    The number is doubled until the part is too large, then bisected: testing parts far above the limit is slow.
    """
    low, high, step = 0, len(ranked), 1
    while low < high:
        middle = min(low + step, (low + high + 1) // 2)
        if _too_much(_part(model.tables_, model.target_, ranked[:middle])) is None:
            low, step = middle, 2 * step
        else:
            high = middle - 1
    return low


def _too_much(tables: LogTables) -> str | None:
    """Say why a page cannot hold these tables; None where it can."""
    size = _n_numbers(tables)
    if size > MAX_PARAMETERS:
        return f"the tables hold {size:,} numbers, more than the {MAX_PARAMETERS:,} that a page can"
    if _tree.n_cells(*numbered(tables), MAX_CELLS) is None:
        return (
            f"the cliques of this network hold more than the {MAX_CELLS:,} cells that a browser passes messages over "
            "in 100 ms"
        )
    return None


def _n_numbers(tables: LogTables) -> int:
    return sum(table.values.size for table in tables.tables.values())


def numbered(tables: LogTables) -> tuple[list[list[int]], list[int]]:
    """Return the parents of every variable by number, and the number of its states."""
    number = {name: v for v, name in enumerate(tables.names)}
    parents = [[number[parent] for parent in tables.tables[name].parents] for name in tables.names]
    return parents, [len(tables.states[name]) for name in tables.names]


def _ranked(model: BayesianNetworkClassifier) -> list[str]:
    """Return the features by their mutual information with the class.

    The total size of the queries is limited. Features with few ancestors are queried first; those beyond the limit, and
    those that even alone are too large for a page, come last.
    """
    tables, target = model.tables_, model.target_
    always = _always_kept(tables, target)
    sizes = _part_sizes(tables, always)
    features = sorted((name for name in tables.names if name != target), key=sizes.__getitem__)
    ancestors, cells = _RANKED_ANCESTORS, MAX_CELLS
    information = dict.fromkeys(features, -1.0)
    for name in features:
        ancestors -= sizes[name] - 2  # not counting the class and the feature
        if ancestors < 0:
            break
        part = _closed(tables, target, {*always, name})
        n_cells = _tree.n_cells(*numbered(part), cells) if _n_numbers(part) <= MAX_PARAMETERS else None
        if n_cells is not None:
            cells -= n_cells
            # The joint distribution may need a larger table than the messages of the page.
            with suppress(ValueError):
                information[name] = mutual_information(query(part, [target, name], max_clique_size=MAX_CELLS))
    return sorted(features, key=lambda name: -information[name])


def _part_sizes(tables: LogTables, always: Iterable[str]) -> dict[str, int]:
    """Return the number of variables in the part of each feature."""
    above: dict[str, int] = {}  # as bits of an integer: sets would take time quadratic in the number of variables
    for k, name in enumerate(TopologicalSorter(tables.parents).static_order()):
        above[name] = reduce(or_, (above[parent] for parent in tables.tables[name].parents), 1 << k)
    shared = reduce(or_, (above[name] for name in always))
    return {name: (shared | ancestors).bit_count() for name, ancestors in above.items()}


def _always_kept(tables: LogTables, target: str) -> set[str]:
    """Return the class and the nodes whose tables do not sum to one."""
    return {target, *(name for name, table in tables.tables.items() if not table.normalized)}


def _part(tables: LogTables, target: str, features: Iterable[str]) -> LogTables:
    """Return the tables of the class, these features, all their ancestors, and tables that do not sum to one."""
    kept = _always_kept(tables, target)
    for name in features:
        if name not in tables.tables:
            raise ValueError(f"there is no feature {name!r}.{did_you_mean(name, tables.names)}")
        kept.add(name)
    return _closed(tables, target, kept)


def _closed(tables: LogTables, target: str, kept: set[str]) -> LogTables:
    """Return the tables of these variables and all their ancestors."""
    pending = list(kept)
    while pending:
        new = {*tables.tables[pending.pop()].parents} - kept
        kept |= new
        pending += new
    names = [name for name in tables.names if name in kept]
    states = {name: tables.states[name] for name in names}
    return LogTables(names, states, {name: tables.tables[name] for name in names}, target)
