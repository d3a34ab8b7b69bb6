"""The size of the tables that an order of elimination needs, and the errors about tables that are too large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

import numpy as np

from bnplug.model.log_tables import LogTables
from bnplug.typing import CodeArray

#: The default limit on the number of cells of the largest table that marginalizing may need.
MAX_CLIQUE_SIZE = 10_000_000

#: The largest limit passed to compiled code: no memory holds that many cells.
NO_LIMIT = 2**61

# A message names at most this many variables of a clique, and shows numbers of cells up to this one.
_NAMED, _WRITTEN = 20, 10**15


def n_cells(tables: LogTables, names: Iterable[str]) -> int:
    """Return the number of joint states of the variables `names`."""
    return prod(len(tables.states[name]) for name in names)


def families(tables: LogTables) -> list[tuple[str, ...]]:
    """Return the variables of each table: the node, then its parents."""
    return [(name, *table.parents) for name, table in tables.tables.items()]


def fits(tables: LogTables, scopes: Iterable[tuple[str, ...]], order: Sequence[str], limit: float) -> bool:
    """Whether summing variables out in a given order needs no table with more than `limit` cells."""
    rank = {name: place for place, name in enumerate(order)}
    # The bucket of a variable has the scopes of which it is the first in the order; the last one has all others.
    buckets: list[set[str]] = [set() for _ in range(len(order) + 1)]
    for scope in scopes:
        buckets[min((rank[u] for u in scope if u in rank), default=-1)].update(scope)
    for v, clique in zip(order, buckets, strict=False):
        if n_cells(tables, clique) > limit:
            return False
        rest = clique - {v}
        buckets[min((rank[u] for u in rest if u in rank), default=-1)].update(rest)
    return True


def check_clique(tables: LogTables, names: Sequence[str], limit: float) -> None:
    """Raise a ``ValueError`` if a table over `names` would hold more than `limit` cells."""
    size = n_cells(tables, names)
    if size > limit:
        raise ValueError(
            f"marginalizing the missing variables needs a table over {listed(names)}: {written(size)} cells, more than "
            f"max_clique_size={limit:,}. Raise it if memory allows, use a structure with fewer parents or features "
            "with fewer states, or use estimates: engine='sampling'"
        )


def listed(names: Sequence[str]) -> str:
    """Return the names of variables as a list for a message, shortened if there are many."""
    others = f" and {len(names) - _NAMED:,} others" if len(names) > _NAMED else ""
    return f"{list(names[:_NAMED])}{others}"


def written(size: int) -> str:
    """Format a number of cells for a message; Python does not format numbers with thousands of digits."""
    return f"{size:,}" if size <= _WRITTEN else f"more than {_WRITTEN:,}"


def known_states(tables: LogTables, target: str, row: CodeArray) -> dict[str, int]:
    """Return the known features of a row, by name, and their states."""
    missing = np.iinfo(row.dtype).max
    return {u: int(code) for u, code in zip(tables.names, row, strict=True) if u != target and code != missing}


@contextmanager
def naming_row(m: int) -> Iterator[None]:
    """Name the row in a ``ValueError``."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"row {m}: {error}") from None
