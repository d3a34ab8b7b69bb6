"""How large the tables of a structure become at least, told before anything is counted."""

from __future__ import annotations

from math import prod

from bnplug.data.table import Table


def fewest_with_parents(table: Table, k: int) -> int:
    """Return a lower bound of the parameters where features have the class and k other features as parents.

    All but k features have k parents, none with fewer states than the k smallest features together.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"a": [0, 1, 2], "b": [0, 1, 1], "c": list("nyy")}), "c")
    >>> fewest_with_parents(table, 1)
    8
    """
    cards = sorted(int(table.cards[v]) for v in table.features)
    k = min(k, len(cards) - 1)
    return int(table.cards[table.target_index]) * prod(cards[:k]) * sum(cards[: len(cards) - k])
