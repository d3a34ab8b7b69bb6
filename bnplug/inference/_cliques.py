"""How large a table summing out may need, and what is said when it is larger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from bnplug.model.log_tables import LogTables

#: Cells of the largest table that marginalising may need, unless told otherwise.
MAX_CLIQUE_SIZE = 10_000_000


def n_cells(tables: LogTables, names: Iterable[str]) -> int:
    """Return the number of joint states of the variables `names`."""
    return prod(len(tables.states[name]) for name in names)


def check_clique(tables: LogTables, names: Sequence[str], limit: int) -> None:
    """Raise a ``ValueError`` where a table over `names` would hold more than `limit` cells."""
    if n_cells(tables, names) > limit:
        raise too_large(tables, names, limit)


def too_large(tables: LogTables, names: Sequence[str], limit: int, where: str = "") -> ValueError:
    """Return the error that names the table that is too large."""
    return ValueError(
        f"{where}summing the missing variables out takes a table over {list(names)}, {n_cells(tables, names):,} "
        f"cells, above max_clique_size={limit:,}. Raise it if memory allows, or use a structure with fewer "
        "parents or features with fewer states"
    )
