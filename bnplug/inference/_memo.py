"""The messages of a network that have been computed, and the room for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.inference._cliques import fits
from bnplug.inference._flat_tables import AXIS, FACTOR, VARIABLE, FlatTables
from bnplug.inference._messages import SLOT, USED
from bnplug.model.log_tables import LogTables

# Numbers of the messages that a memo begins with, and may grow to where that helps: 1 and 32 megabytes.
_NUMBERS, _MOST_NUMBERS = 2**17, 2**22


class Memo:
    """The messages of a network that have been computed, and room for the factors of one row.

    Parameters
    ----------
    flat : FlatTables
    n_weights : int
        How many numbers behind the tables are kept free for the weights of soft evidence.
    """

    def __init__(self, flat: FlatTables, n_weights: int = 0) -> None:
        self.network = flat[:5]
        self._flat = flat
        n = len(flat.nodes) * (2 if n_weights else 1)  # each variable may have weights
        # Behind the axes of the network are those of a row's tables. A row has at most a message for each table.
        self._begin = np.zeros((), USED)
        self._begin["factors"], self._begin["units"], self._begin["axes"] = 2 * n, flat.n_units, 2 * len(flat.axes) + n
        self._begin["numbers"], self._begin["logs"] = len(flat.values) + n_weights, len(flat.values) // 2
        self._room = np.array([2**12, 2**12 + 2 * n, 2**12 + n, 2**14, _NUMBERS])
        self._allocate()

    def _allocate(self) -> None:
        slots, factors, axes, strides, numbers = self._room
        self.arrays: tuple[npt.NDArray[Any], ...] = (
            np.zeros(len(self._flat.nodes), VARIABLE),
            np.zeros(self._begin["axes"] + axes, AXIS),
            np.zeros(self._begin["factors"] + factors, FACTOR),
            np.empty(strides, np.int64),
            np.zeros(slots, SLOT),
            np.empty(self._begin["numbers"] + numbers),
            np.array([self._begin], USED),
        )
        # The network's own come first; the room behind them costs nothing until it is used.
        self.arrays[1][: len(self._flat.axes)] = self._flat.axes
        self.arrays[5][: len(self._flat.values)] = self._flat.values

    @property
    def n_numbers(self) -> int:
        """How many numbers there is room for, those of the tables included."""
        return len(self.arrays[5])

    @property
    def outcome(self) -> int:
        """What became of the last row."""
        return int(self.arrays[-1]["outcome"][0])

    @property
    def n_rows(self) -> int:
        """The number of rows processed since the messages were last cleared."""
        return int(self.arrays[-1]["rows"][0])

    def fits(self, tables: LogTables, scopes: Iterable[tuple[str, ...]], limit: float) -> bool:
        """Whether summing the factors of a row in the network's order needs no table with more than `limit` cells."""
        return fits(tables, scopes, [tables.names[v] for v in self._flat.order], limit)

    def reserve(self, n_numbers: int) -> None:
        """Forget all messages, and make room for messages of that many numbers together."""
        if self._room[-1] < n_numbers + _NUMBERS:
            self._room[-1] = n_numbers + _NUMBERS
            self._allocate()
        else:
            self._forget()

    def release(self) -> None:
        """Forget all messages, and take no more room than at the beginning."""
        self._room[-1] = _NUMBERS
        self._allocate()

    def make_room(self) -> None:
        """Forget all messages; take larger arrays where some were used again, or where one row fills them."""
        used = self.arrays[-1]
        often = used["asked"] > 1.15 * used["computed"] and self._room[-1] < _MOST_NUMBERS
        if often or used["rows"] == 0:
            # Each time all is computed again: a large step where two small ones have not sufficed.
            self._room *= 4 if 2 * _NUMBERS < self._room[-1] < _MOST_NUMBERS // 2 else 2
            self._allocate()
        else:
            self._forget()

    def _forget(self) -> None:
        used = self.arrays[-1]
        self.arrays[4].view(np.uint8)[:] = 0
        self._begin["stamp"] = used["stamp"][0]
        self._begin["weights"] = used["weights"][0]
        used[:] = self._begin
