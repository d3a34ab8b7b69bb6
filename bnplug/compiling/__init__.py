"""Compilation of kernels with numba, and threads to run them in.

Kernels are cached on disk and release the interpreter's lock. Threads are ours, not numba's, and ``fastmath`` is off:
results do not depend on the number of threads, and ``-inf`` keeps its meaning.

Ctrl-C during a compilation would be raised inside a callback of the compiler, which drops it or leaves half a kernel.
It is therefore delayed until the kernel is compiled.
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
from bnplug.compiling._inner import (
    InnerCompiler,
    KernelCompiler,
    PlainCompiler,
    one_for_all_constants,
    only_for_kernels,
)

_T = TypeVar("_T")

# Division as in numpy: checking for a zero denominator would prevent vectorization.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any] | None = None, *, allocates: bool = True) -> Any:
    """Compile a function, as a decorator; the result is cached on disk.

    A kernel returns a number, a truth value or nothing, and writes other results to given arrays: to return an array
    or a tuple, numba runs Python code, and after Ctrl-C the interpreter would crash. ``@kernel(allocates=False)`` is
    for a kernel that allocates no array and calls none that does; there is less to compile.
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
    """Compile a function that only kernels call, as a decorator, in less time than :func:`kernel`.

    It becomes part of the kernels that call it; a call from Python is a ``TypeError``. To test it, call
    ``kernel(function.py_func)``. `allocates` is as for :func:`kernel`. ``called_once`` merges a function that is called
    in one place into its caller: worthwhile if its arguments are tuples of arrays.
    """
    if function is None:
        return partial(inner_kernel, allocates=allocates, called_once=called_once)
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": InnerCompiler}
    options["forceinline"] = called_once
    compiled: Any = njit(_nrt=allocates, **options, **_OPTIONS)(function)
    return only_for_kernels(one_for_all_constants(compiled)) if is_jitted(compiled) else compiled


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Delay Ctrl-C until the end of this block; outside the main thread, do nothing."""
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


class _HoldBack(event.Listener):  # type: ignore[misc]
    """Delays interrupts while numba compiles, and disables garbage collection, which takes a fifth of its time."""

    def __init__(self) -> None:
        self._open = threading.local()
        self._lock = threading.Lock()
        self._n_threads = 0
        self._collects = False

    def on_start(self, event: event.Event) -> None:
        stacks = self._open.__dict__.setdefault("stacks", [])
        stacks.append(ExitStack())
        if len(stacks) == 1:
            stacks[0].enter_context(interrupts_held_back())
            stacks[0].callback(self._count, -1)
            self._count(1)

    def on_end(self, event: event.Event) -> None:
        self._open.stacks.pop().close()

    def _count(self, change: int) -> None:
        """Count the threads that compile; garbage is collected again after the last of them."""
        with self._lock:
            if self._n_threads == 0:
                self._collects = gc.isenabled()
                gc.disable()
            self._n_threads += change
            if self._n_threads == 0 and self._collects:
                gc.enable()


class _Announcement(event.Listener):  # type: ignore[misc]
    """Prints once, on a terminal, that kernels are being compiled, after some seconds in total."""

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
        """Update the time; kernels call kernels, so this happens often during a long compilation."""
        with self._lock:
            now, before = self._clock(), self._left
            if self._n_open:
                self._left -= now - self._since
            self._n_open += change
            self._since = now
        is_due = before >= 0 > self._left and sys.stderr is not None and sys.stderr.isatty()
        # A process that ignores Ctrl-C runs in the background, or is a worker.
        if is_due and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            # Overwrite a progress line.
            print("\r\x1b[Kcompiling kernels, once per installation ...", file=sys.stderr, flush=True)


_announcement = _Announcement()
event.register("numba:compile", _HoldBack())
event.register("numba:compile", _announcement)


def run_in_threads(function: Callable[..., _T], *arguments: Iterable[Any], n_jobs: int | None = None) -> list[_T]:
    """Call a function for each of its arguments, in threads; return the results in the order of the arguments.

    `function` should spend its time in a :data:`kernel` or in numpy. The order of calls is undefined: for results that
    do not depend on the number of threads, calls must be independent.

    Parameters
    ----------
    function : callable
    *arguments : iterables
        As for ``map``: ``function(a, b)`` for each a and b of two iterables of the same length.
    n_jobs : int, optional
        Number of threads, as in joblib: None means 1 unless ``joblib.parallel_config`` says otherwise.

    Raises
    ------
    Exception
        The first exception of a call. After an exception or an interrupt, calls that have not begun are canceled, and
        running calls are completed: then no thread writes to an array.

    Examples
    --------
    >>> run_in_threads(pow, [2, 3, 4], [3, 2, 1], n_jobs=2)
    [8, 9, 4]
    """
    calls = list(zip(*arguments, strict=True))
    workers = min(effective_n_jobs(n_jobs), len(calls)) if len(calls) > 1 else 1
    if workers == 1:
        return [function(*call) for call in calls]
    gate = _Gate()
    # joblib polls the results of its threads only every 10 ms.
    pool = ThreadPoolExecutor(workers)
    try:
        return list(pool.map(lambda call: gate.run(function, call), calls))
    finally:
        gate.close()
        pool.shutdown(cancel_futures=True)


class _Gate:
    """Lets calls begin while it is open; closing it waits for running calls, as a pool does not after an interrupt."""

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
