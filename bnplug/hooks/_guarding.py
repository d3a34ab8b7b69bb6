"""What a plugin's code may not change while it is asked: output, warnings, numpy, limits, environment, and time."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from types import FrameType
from typing import TextIO, TypeVar

#: The environment variable with the seconds that a plugin may take to import; 0 is no limit.
SECONDS = "BNPLUG_IMPORT_SECONDS"
_DEFAULT_SECONDS = 60.0

# File descriptors.
_OUTPUT, _ERRORS = 1, 2

_T = TypeVar("_T")


class TooSlow(BaseException):
    """A plugin took longer than it may. No ``Exception``, so that a plugin does not catch it by accident."""


@contextmanager
def guarded() -> Iterator[None]:
    """Run a plugin's code: what it prints goes to the error output, and what it sets for all is set back."""
    with ExitStack() as stack:
        stack.enter_context(_output_apart())
        stack.enter_context(warnings.catch_warnings())
        stack.callback(_restore_environment, dict(os.environ))
        with suppress(OSError):
            stack.callback(os.chdir, os.getcwd())
        stack.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            stack.callback(numpy.set_printoptions, **numpy.get_printoptions())
            stack.callback(lambda errors: numpy.seterr(**errors), numpy.geterr())
            stack.callback(numpy.random.set_state, numpy.random.get_state())
        yield


def within_limits(call: Callable[[], _T]) -> _T:
    """Return ``call()``, which is a plugin's code: guarded, and not for longer than it may take."""
    with guarded(), limited():
        return call()


@contextmanager
def noticing_interrupts() -> Iterator[list[int]]:
    """Yield a list that an interrupt by the user adds to: a ``KeyboardInterrupt`` without one is the code's own."""
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted, and only where somebody has not said otherwise.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield seen
        return

    def notice(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _output_apart() -> Iterator[None]:
    """Send to the error output what is printed, also past ``sys.stdout``: by a program or an extension."""
    streams = [stream for stream in (sys.stdout, sys.__stdout__) if stream is not None]
    _flush(streams)
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        # Where there is none of the two, nothing can be sent there.
        with suppress(OSError):
            kept = os.dup(_OUTPUT)
            stack.callback(os.close, kept)
            os.dup2(_ERRORS, _OUTPUT)
            stack.callback(os.dup2, kept, _OUTPUT)
        stack.callback(_flush, streams)
        yield


def _flush(streams: Iterable[TextIO]) -> None:
    """Write out what waits, of Python and of C."""
    for stream in streams:
        with suppress(OSError, ValueError):
            stream.flush()
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and os.name == "posix":
        ctypes.CDLL(None).fflush(None)


@contextmanager
def limited(seconds: float | None = None) -> Iterator[None]:
    """Raise `TooSlow` in what takes longer than a limit; only the main thread of a Unix process can be stopped so.

    Parameters
    ----------
    seconds : float, optional
        By default what ``BNPLUG_IMPORT_SECONDS`` says, or 60.
    """
    seconds = _seconds() if seconds is None else seconds
    in_main = threading.current_thread() is threading.main_thread()
    # Whoever has set the alarm needs it.
    if not seconds or not in_main or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"it takes longer than {seconds:g} seconds ({SECONDS} sets the limit)")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _seconds() -> float:
    with suppress(ValueError):
        return max(0.0, float(os.environ.get(SECONDS, _DEFAULT_SECONDS)))
    return _DEFAULT_SECONDS


def _restore_environment(before: dict[str, str]) -> None:
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
