"""The part of a network in a page, and the clique tree in which the page passes messages.

A part includes the ancestors of its features: the omitted tables sum to one, and its answers are those of the network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from graphlib import TopologicalSorter
from math import prod
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bnplug.errors import did_you_mean
from bnplug.inference import _orders
from bnplug.inference.queries import query, relevant
from bnplug.model.log_tables import LogTables
from bnplug.show.summary import mutual_information

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

#: Cells over which a browser passes messages in 100 ms (benchmarks/explorer.py), and numbers that it loads quickly.
MAX_CELLS, MAX_PARAMETERS = 5_000_000, 1_000_000

# The queries that rank the features have at most this many ancestors, and MAX_CELLS cells, in total. Features with few
# ancestors are queried first.
_RANKED_ANCESTORS = 10_000


def shown_tables(
    model: BayesianNetworkClassifier, features: int | Sequence[str] | None, n_networks: int = 1
) -> LogTables:
    """Return the tables of the page: `features` most informative ones, features by name, or all (None).

    A page of `n_networks` has that many such networks, which share the limits on its size.
    Raises a ``ValueError`` if they are too large for a browser; the message says how many features are not.
    """
    tables = model.tables_
    if isinstance(features, str):
        features = [features]
    if isinstance(features, int | np.integer):
        if not 1 <= features <= len(tables.names) - 1:
            raise ValueError(f"features={features}: give a number from 1 to {len(tables.names) - 1}, or names")
        features = _ranked(model)[: int(features)]
    part = tables if features is None else _part(tables, model.target_, features)
    reason = _too_much(part, n_networks)
    if reason is not None:
        raise ValueError(f"{reason}. {_way_out(model, n_networks)}")
    return part


def _way_out(model: BayesianNetworkClassifier, n_networks: int) -> str:
    """Return what to do about a network that is too large."""
    ranked = _ranked(model)
    # Testing parts far above the limit is slow: the number of features is doubled until it is too large, then bisected.
    n, high, step = 0, len(ranked), 1
    while n < high:
        middle = min(n + step, (n + high + 1) // 2)
        if _too_much(_part(model.tables_, model.target_, ranked[:middle]), n_networks) is None:
            n, step = middle, 2 * step
        else:
            high = middle - 1
    report = "model.report(path) (bnplug report) shows all of it, without answering"
    if n == 0:
        return f"No part that answers as the whole does is small enough; {report}"
    return (
        f"model.explore(path, features={n}) (--features {n}) shows the features most informative about the class, with "
        f"their ancestors; {report}"
    )


def _too_much(tables: LogTables, n_networks: int) -> str | None:
    """Return why these tables are too large for a page of so many networks, or None if they fit."""
    size, most, cells = _n_numbers(tables), MAX_PARAMETERS // n_networks, MAX_CELLS // n_networks
    if size > most:
        return f"the tables hold {size:,} numbers, more than the {most:,} that a page can"
    if n_cells(*numbered(tables), cells) is None:
        return (
            f"the cliques of this network hold more than the {cells:,} cells that a browser passes messages over "
            "in 100 ms"
        )
    return None


def _n_numbers(tables: LogTables) -> int:
    return sum(table.values.size for table in tables.tables.values())


def numbered(tables: LogTables) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
    """Return the parents of every variable by number, and the number of its states."""
    return tables.structure.parents, [len(tables.states[name]) for name in tables.names]


def _ranked(model: BayesianNetworkClassifier) -> list[str]:
    """Return the features by their mutual information with the class; last those that would cost too much to query."""
    tables, target = model.tables_, model.target_
    always = relevant(tables, {target})
    sizes = _part_sizes(tables, always)
    features = sorted((name for name in tables.names if name != target), key=sizes.__getitem__)
    ancestors, cells = _RANKED_ANCESTORS, MAX_CELLS
    information = dict.fromkeys(features, -1.0)
    for name in features:
        ancestors -= sizes[name] - 2  # not counting the class and the feature
        if ancestors < 0:
            break
        part = _closed(tables, target, {*always, name})
        size = n_cells(*numbered(part), cells) if _n_numbers(part) <= MAX_PARAMETERS else None
        if size is not None:
            cells -= size
            # The joint distribution may need a larger table than the messages of the page.
            with suppress(ValueError):
                information[name] = mutual_information(query(part, [target, name], max_clique_size=MAX_CELLS))
    return sorted(features, key=lambda name: -information[name])


def _part_sizes(tables: LogTables, always: Iterable[str]) -> dict[str, int]:
    """Return the number of variables in the part of each feature, which includes the variables `always`."""
    above: dict[str, int] = {}  # as bits of an integer: sets would take time quadratic in the number of variables
    for k, name in enumerate(TopologicalSorter(tables.parents).static_order()):
        above[name] = reduce(or_, (above[parent] for parent in tables.tables[name].parents), 1 << k)
    shared = reduce(or_, (above[name] for name in always))
    return {name: (shared | ancestors).bit_count() for name, ancestors in above.items()}


def _part(tables: LogTables, target: str, features: Iterable[str]) -> LogTables:
    """Return the tables of the class, these features, all their ancestors, and tables that do not sum to one."""
    for name in features:
        if name not in tables.tables:
            raise ValueError(f"there is no feature {name!r}.{did_you_mean(name, tables.names)}")
    return _closed(tables, target, relevant(tables, {target, *features}))


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


class CliqueTree(NamedTuple):
    """Cliques of numbered variables in ascending order, the root first, each after the clique `above` it.

    ``homes`` has for each variable the smallest clique that contains it; ``families`` the smallest one that contains
    its parents too, where its table is multiplied in. ``above[0]`` is -1.
    """

    cliques: list[tuple[int, ...]]
    above: list[int]
    homes: list[int]
    families: list[int]


def clique_tree(parents: Sequence[Sequence[int]], cards: Sequence[int], target: int) -> CliqueTree:
    """Join the maximal cliques of an elimination by Prim's algorithm, from the smallest clique of the class.

    Children are spread over the possible parents: the cost of a clique grows with its neighbors.
    """
    cliques = _maximal(_cliques(parents, cards))
    sizes = [_size(clique, cards) for clique in cliques]
    root = min((k for k, clique in enumerate(cliques) if target in clique), key=sizes.__getitem__)
    nearest = {k: (len(cliques[k] & cliques[root]), root) for k in range(len(cliques)) if k != root}
    order, above, n_children = [root], [-1], [0] * len(cliques)
    while nearest:
        k = max(nearest, key=lambda k: (nearest[k][0], -k))
        separator = cliques[k] & cliques[nearest.pop(k)[1]]
        possible = [place for place, other in enumerate(order) if separator <= cliques[other]]
        above.append(min(possible, key=lambda place: max(n_children[place], 1)))
        n_children[above[-1]] += 1
        order.append(k)
        for other, (shared, _) in nearest.items():
            common = len(cliques[k] & cliques[other])
            if common > shared:
                nearest[other] = (common, k)
    ordered = [cliques[k] for k in order]
    by_size = sorted(range(len(order)), key=lambda place: sizes[order[place]])
    homes, families = (
        [next(place for place in by_size if ordered[place].issuperset(scope)) for scope in scopes]
        for scopes in ([(v,) for v in range(len(cards))], [(v, *family) for v, family in enumerate(parents)])
    )
    return CliqueTree([tuple(sorted(clique)) for clique in ordered], above, homes, families)


def n_cells(parents: Sequence[Sequence[int]], cards: Sequence[int], limit: int) -> int | None:
    """Return the total number of cells of the cliques, or None if it exceeds `limit`."""
    cliques = []
    for clique in _cliques(parents, cards):
        if _size(clique, cards) > limit:
            return None
        cliques.append(clique)
    total = sum(_size(clique, cards) for clique in _maximal(cliques))
    return total if total <= limit else None


def _size(clique: Iterable[int], cards: Sequence[int]) -> int:
    return prod(cards[v] for v in clique)


def _cliques(parents: Sequence[Sequence[int]], cards: Sequence[int]) -> Iterator[frozenset[int]]:
    """Yield the clique of each variable as it is eliminated."""
    scopes = [(v, *above) for v, above in enumerate(parents)]
    return _orders.cliques(_orders.best_order(cards, scopes), scopes)


def _maximal(cliques: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Return the maximal cliques. In an elimination, only an earlier clique can contain a clique."""
    holding: dict[int, list[frozenset[int]]] = {}
    kept = []
    for clique in cliques:
        rarest = min((holding.get(v, []) for v in clique), key=len)
        if not any(clique <= other for other in rarest):
            kept.append(clique)
            for v in clique:
                holding.setdefault(v, []).append(clique)
    return kept
