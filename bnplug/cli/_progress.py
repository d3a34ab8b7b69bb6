"""A line on the terminal that says how far something is; nothing where the output goes to a file or a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Self

# Seconds between two looks of the line.
_PAUSE = 0.5
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """Counts to `total`; while it is open, one line of the terminal tells the count, what came last, and the time.

    Examples
    --------
    >>> with ProgressLine(2) as progress:
    ...     progress.advance("wine")
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.count = 0
        self.last = "starting"
        self._live = sys.stderr.isatty()
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self._live:
            self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._live:
            self._ticker.join()
            self._write(_CLEAR)

    def advance(self, what: str) -> None:
        """Count one more, and say what it was."""
        self.count += 1
        self.last = what

    def aside(self, say: Callable[[str], Any]) -> Callable[[str], None]:
        """Return `say` such that what it says does not run into the line."""

        def said(text: str) -> None:
            with self._lock:
                if self._live:
                    self._write(_CLEAR)
                say(text)

        return said

    def text(self) -> str:
        """Return the line."""
        return f"{self.count} of {self.total} done in {time.monotonic() - self._started:.0f} s ({self.last})"

    def _tick(self) -> None:
        while not self._ended.is_set():
            with self._lock:
                self._write(f"{_CLEAR}{self.text()[:78]}")
            self._ended.wait(_PAUSE)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class RowsLine(ProgressLine):
    """Tells of rows that are read: how many of them, and how many a second.

    Examples
    --------
    >>> with RowsLine() as progress:
    ...     progress.tell("codes", 250, 1000)
    ...     progress.text().partition("),")[0]
    'codes: 250 of 1,000 rows (25%'
    """

    def __init__(self) -> None:
        super().__init__(0)

    def tell(self, what: str, done: int, total: int) -> None:
        """Note how many rows are done, and of how many."""
        if what != self.last or done < self.count:
            self._started = time.monotonic()
        self.last, self.count, self.total = what, done, total

    def text(self) -> str:
        """Return the line."""
        rate = self.count / max(time.monotonic() - self._started, 1e-3)
        share = 100 * self.count // max(self.total, 1)
        return f"{self.last}: {self.count:,} of {self.total:,} rows ({share}%), {rate:,.0f} rows a second"
