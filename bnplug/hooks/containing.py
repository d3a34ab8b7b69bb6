"""Contain the code of plugins: their exceptions, their output and the time that they take."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from types import FrameType
from typing import TypeVar

from bnplug.errors import ContractError, PluginError, one_line

# The environment variable with the seconds that the import of a plugin may take (0: no limit), and its default.
_SECONDS, _DEFAULT_SECONDS = "BNPLUG_IMPORT_SECONDS", 60.0

#: The longest message of an exception that is reported, in characters.
LONGEST_CAUSE = 300

_T = TypeVar("_T")


def contain(where: str, call: Callable[[], _T], who: str | Callable[[], str] = "") -> _T:
    """Call a plugin's code, and turn any exception into a `PluginError` of one line: `who` failed, where and why.

    This includes ``SystemExit``, the panics of compiled extensions, and a ``KeyboardInterrupt`` that the plugin itself
    raised; Ctrl-C is not contained.

    Examples
    --------
    >>> import sys
    >>> contain("import", sys.exit)
    Traceback (most recent call last):
    bnplug.errors.PluginError: import: SystemExit
    """
    try:
        with _interrupts() as interrupts:
            return call()
    except BaseException as error:
        if interrupts and isinstance(error, KeyboardInterrupt):
            raise
        cause = one_line(error, LONGEST_CAUSE)
        if not isinstance(error, ContractError):
            cause = f"{where}: {type(error).__name__}: {cause}".removesuffix(": ")
        name = who() if callable(who) else who
        raise PluginError(f"{name} failed: {cause}" if name else cause) from error


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Yield a list to which each Ctrl-C in this block adds an entry."""
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
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


class _TooSlow(BaseException):
    """A plugin exceeded the time limit. Not an ``Exception``, which plugins may catch by accident."""


def within_limits(call: Callable[[], _T]) -> _T:
    """Return ``call()``, a plugin's code: its output goes to standard error, and its time is limited."""
    with _output_to_stderr(), _time_limit():
        return call()


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise `_TooSlow` after ``BNPLUG_IMPORT_SECONDS``; only in the main thread of a Unix process."""
    try:
        seconds = max(0.0, float(os.environ.get(_SECONDS, _DEFAULT_SECONDS)))
    except ValueError:
        seconds = _DEFAULT_SECONDS
    in_main = threading.current_thread() is threading.main_thread()
    # A timer that is already set belongs to someone else.
    if not seconds or not in_main or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow(f"it takes longer than {seconds:g} seconds ({_SECONDS} sets the limit)")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, including the output of extensions and child processes."""
    _flush()
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        with suppress(OSError):  # either may be closed
            stdout = os.dup(1)
            stack.callback(os.close, stdout)
            os.dup2(2, 1)
            stack.callback(os.dup2, stdout, 1)
        stack.callback(_flush)
        yield


def _flush() -> None:
    """Flush standard output, of Python and of C."""
    for stream in (sys.stdout, sys.__stdout__):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and os.name == "posix":
        ctypes.CDLL(None).fflush(None)
