"""How every kernel is compiled: cached on disk, without the interpreter's lock, with exact arithmetic.

Threads are joblib's, never numba's, and ``fastmath`` is off: results do not depend on the number
of threads, and ``-inf`` keeps its meaning.

Compiling takes seconds and is made once. Ctrl-C in the middle of it would be raised inside a callback of the compiler,
which drops it, or leaves a kernel that is half there. So it waits until the kernel is compiled.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from numba import njit
from numba.core import event

kernel = njit(cache=True, nogil=True)
"""Compiles a function: ``@kernel`` before it.

A kernel returns one number, one truth value or nothing; whatever else it finds goes into arrays that it is given. To
make a Python object of an array, a tuple or a named tuple, numba runs Python code and does not look whether that
failed: if Ctrl-C was pressed while the kernel ran, it fails, and the interpreter crashes. A number takes no such code.
"""


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let Ctrl-C wait until the end of this block. In another thread than the main one nothing is to be done."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(signal.SIGINT, came[-1])


class _HoldBack(event.Listener):
    """Holds interrupts back while numba compiles, kernels that a kernel calls included."""

    def __init__(self) -> None:
        self._open = threading.local()

    def on_start(self, event: event.Event) -> None:
        stacks = self._open.__dict__.setdefault("stacks", [])
        stacks.append(ExitStack())
        if len(stacks) == 1:
            stacks[0].enter_context(interrupts_held_back())

    def on_end(self, event: event.Event) -> None:
        self._open.stacks.pop().close()


event.register("numba:compile", _HoldBack())
