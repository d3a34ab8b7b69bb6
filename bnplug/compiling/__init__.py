"""How every kernel is compiled, and how threads run: cached on disk, without the interpreter's lock, exactly.

Threads are ours, never numba's, and ``fastmath`` is off: results do not depend on the number of threads, and
``-inf`` keeps its meaning. joblib says how many threads there are, so that whoever runs many fits at once can tell
all of them by ``joblib.parallel_config``.

Compiling takes seconds and is made once. Ctrl-C in the middle of it would be raised inside a callback of the compiler,
which drops it, or leaves a kernel that is half there. So it waits until the kernel is compiled.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from joblib import effective_n_jobs
from numba import njit
from numba.core import event
from numba.extending import is_jitted

from bnplug.compiling._cache import KernelCache
from bnplug.compiling._inner import InnerCompiler, KernelCompiler, PlainCompiler, one_for_all_constants

_T = TypeVar("_T")

# Division is numpy's: to look for a zero in the denominator each time would keep loops from being vectorised.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any] | None = None, *, allocates: bool = True) -> Any:
    """Compile a function: ``@kernel`` before it. What is compiled is kept for later processes.

    A kernel returns one number, one truth value or nothing; whatever else it finds goes into arrays that it is given.
    To make a Python object of an array, a tuple or a named tuple, numba runs Python code and does not look whether that
    failed: if Ctrl-C was pressed while the kernel ran, it fails, and the interpreter crashes. A number takes no such
    code.

    ``@kernel(allocates=False)`` is for one that makes no array, and calls none that does: nothing is counted then of
    who still needs which, and there is less to compile.
    """
    if function is None:
        return partial(kernel, allocates=allocates)
    compiler = KernelCompiler if allocates else PlainCompiler
    compiled: Any = njit(no_cfunc_wrapper=True, _nrt=allocates, pipeline_class=compiler, **_OPTIONS)(function)
    if is_jitted(compiled):  # a plain function where NUMBA_DISABLE_JIT is set
        compiled._cache = KernelCache(function, compiled.targetoptions)
        one_for_all_constants(compiled)
    return compiled


def inner_kernel(
    function: Callable[..., Any] | None = None, *, allocates: bool = True, called_once: bool = False
) -> Any:
    """Compile a function that kernels alone call: ``@inner_kernel`` before it, for less to compile.

    It has no machine code of its own, but is a part of the kernels that call it: a call from Python crashes. To test
    such a function, make a kernel of it: ``kernel(function.py_func)``. `allocates` is as for :func:`kernel`.

    ``called_once`` is for one that is given bundles of arrays, each of which takes seven words, and is called in one
    place: there it becomes a part of its caller.
    """
    if function is None:
        return partial(inner_kernel, allocates=allocates, called_once=called_once)
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": InnerCompiler}
    options["forceinline"] = called_once
    compiled: Any = njit(_nrt=allocates, **options, **_OPTIONS)(function)
    return one_for_all_constants(compiled) if is_jitted(compiled) else compiled


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


class _NoCollection:
    """Garbage is not collected in this block, whichever thread enters it first and leaves it last.

    A compiler makes many objects that stay, and to look through them again and again takes a fifth of its time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_open = 0
        self._enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._n_open == 0:
                self._enabled = gc.isenabled()
                gc.disable()
            self._n_open += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0 and self._enabled:
                gc.enable()


_no_collection = _NoCollection()


class _HoldBack(event.Listener):  # type: ignore[misc]
    """Holds interrupts and the collector back while numba compiles, kernels that a kernel calls included."""

    def __init__(self) -> None:
        self._open = threading.local()

    def on_start(self, event: event.Event) -> None:
        stacks = self._open.__dict__.setdefault("stacks", [])
        stacks.append(ExitStack())
        if len(stacks) == 1:
            stacks[0].enter_context(interrupts_held_back())
            stacks[0].enter_context(_no_collection)

    def on_end(self, event: event.Event) -> None:
        self._open.stacks.pop().close()


class _Announcement(event.Listener):  # type: ignore[misc]
    """Says once, on a terminal, that kernels are being compiled: when that has taken some seconds together.

    A process that ignores Ctrl-C says nothing: it works in the background, or for one that speaks for it.
    """

    def __init__(self, seconds: float = 2.0, clock: Callable[[], float] = time.perf_counter) -> None:
        self._left = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._n_open = 0
        self._since = 0.0

    def on_start(self, event: event.Event) -> None:
        self._count(1)

    def on_end(self, event: event.Event) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        """Kernels call kernels, so that a long compilation comes by here many times before it ends."""
        with self._lock:
            now, before = self._clock(), self._left
            if self._n_open:
                self._left -= now - self._since
            self._n_open += change
            self._since = now
        if before >= 0 > self._left:
            self._say()

    @staticmethod
    def _say() -> None:
        heard = sys.stderr is not None and sys.stderr.isatty() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        if heard:
            # In place of a line that tells progress.
            print("\r\x1b[Kcompiling kernels, once per installation ...", file=sys.stderr, flush=True)


_announcement = _Announcement()
event.register("numba:compile", _HoldBack())
event.register("numba:compile", _announcement)


def run_in_threads(function: Callable[..., _T], *arguments: Iterable[Any], n_jobs: int | None = None) -> list[_T]:
    """Call a function for each of its arguments, in threads; return the results in the order of the arguments.

    Threads pay where `function` spends its time in a :data:`kernel`, or in numpy. Which thread makes which call is
    left open: for the same bits whatever the number of threads, a call must not depend on any other.

    Parameters
    ----------
    function : callable
    *arguments : iterables
        As for ``map``: ``function(a, b)`` for each a and b of two iterables of the same length.
    n_jobs : int, optional
        How many threads, as joblib counts them: None is one, unless ``joblib.parallel_config`` says otherwise, and -1
        as many as there are processors. With one, nothing is started.

    Raises
    ------
    Exception
        The first that a call raised. Then, and after an interrupt, calls that have not begun are left out, and
        those that have are waited for: when this ends, nothing writes to an array any more.

    Examples
    --------
    >>> run_in_threads(pow, [2, 3, 4], [3, 2, 1], n_jobs=2)
    [8, 9, 4]
    """
    calls = list(zip(*arguments, strict=True))
    workers = min(effective_n_jobs(n_jobs), len(calls)) if len(calls) > 1 else 1
    if workers == 1:
        return [function(*own) for own in calls]
    gate = _Gate()
    # joblib's own threads would be asked for their results every 10 ms only.
    pool = ThreadPoolExecutor(workers)
    try:
        return list(pool.map(lambda own: gate.run(function, own), calls))
    finally:
        gate.close()
        pool.shutdown(cancel_futures=True)


class _Gate:
    """Calls begin while it is open; closing it waits for those under way.

    A pool does not wait for a thread if an interrupt came while that was being started.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = True
        self._under_way = 0

    def run(self, function: Callable[..., _T], arguments: tuple[Any, ...]) -> _T:
        with self._changed:
            if not self._open:
                raise CancelledError
            self._under_way += 1
        try:
            return function(*arguments)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def close(self) -> None:
        with interrupts_held_back(), self._changed:
            self._open = False
            self._changed.wait_for(lambda: self._under_way == 0)
