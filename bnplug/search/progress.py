"""What a running search tells: moves, score, evaluations, and evaluations per second."""

from __future__ import annotations

import sys
import time

# Seconds between two lines, except where every move has one.
_PAUSE = 1.0


class Progress:
    """Writes lines to the standard error stream; silent unless `verbose`.

    Parameters
    ----------
    label : str
        What runs: the first word of every line.
    verbose : int, optional
        1: about a line a second, and one at the end; 2 and more: also a line for every move.
    """

    def __init__(self, label: str, verbose: int | None) -> None:
        self.label = label
        self.verbose = verbose or 0
        self.started = self._last = time.monotonic()

    def tick(self, moves: int, score: float, evaluations: int) -> None:
        """Tell how far the search is, unless it was told just now."""
        if self.verbose and time.monotonic() - self._last >= _PAUSE:
            self.tell(moves, score, evaluations)

    def moved(self, moves: int, score: float, evaluations: int, move: str) -> None:
        """Tell about a move that was made."""
        if self.verbose > 1:
            self.tell(moves, score, evaluations, f": {move}")
        else:
            self.tick(moves, score, evaluations)

    def tell(self, moves: int, score: float, evaluations: int, ending: str = "") -> None:
        """Write a line now, unless silent."""
        if not self.verbose:
            return
        self._last = time.monotonic()
        rate = evaluations / max(self._last - self.started, 1e-9)
        counts = f"{moves} moves, score {score:.6g}, {evaluations} evaluations, {rate:.0f} per second"
        print(f"{self.label}: {counts}{ending}", file=sys.stderr, flush=True)
