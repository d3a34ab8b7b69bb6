"""Gains: the value of a row's log joints, given its class. Higher is better: the negative of a loss.

A gain is a function of a module, ``gain(L, y, params, out)``, in plain Python: ``L`` holds the log joints of a block of
rows (rows x classes), ``y`` their classes, ``params`` numbers of the gain; it fills ``out``, one value per row. It is
compiled when it is first used, and cached on disk until its source file changes. Every number that it needs must
therefore be in ``params``, and it may call only numpy, :mod:`math`, :func:`winner` and functions of the same file
decorated with :data:`bnplug.compiling.kernel`.

Kernels call a gain by its address, while other threads run Python. In that situation numba cannot print or format
messages (it would hang), and exceptions are lost. Gains are therefore checked, and tried in the interpreter, before.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import config, njit, types
from numba.core import ir
from numba.core.compiler import run_frontend
from numba.core.errors import ConstantInferenceError, NumbaError, UnsupportedBytecodeError
from numba.extending import is_jitted

from bnplug.compiling import interrupts_held_back, kernel
from bnplug.compiling._addresses import compile_at, function_at
from bnplug.errors import ContractError
from bnplug.inference.complete import TIE
from bnplug.typing import FloatArray, IntArray

Gain = Callable[[FloatArray, IntArray, FloatArray, FloatArray], None]

_SIGNATURE = types.void(types.float64[:, ::1], types.int64[::1], types.float64[::1], types.float64[::1])
_N_ARGUMENTS = 4

# So many classes at most are tried for indices outside an array.
_N_TRIED = 32


@dataclass(frozen=True)
class Bounds:
    """Bounds on a gain by a row's *gap* alone: L of its true class minus the largest L of another class.

    A gain with bounds is evaluated faster: rows on a plateau need no log joint, and a candidate that can no longer win
    is dropped in the middle of its pass. False bounds lead to false scores; ``check_bounds_are_true`` of
    :mod:`bnplug.testing` tests them.

    Parameters
    ----------
    maximum : float
        The largest possible value of a row.
    high_gap : float, optional
        The value is `maximum` if the gap is at least this.
    low_gap, low_value : float, optional
        The value is `low_value` if the gap is at most `low_gap`.
    slope : float, optional
        For a hinge: the value is ``maximum - slope * (high_gap - gap)`` if the gap is below `high_gap`.
    whole : bool, optional
        Whether every value is an integer. Sums are then exact in any order, and a random walk over structures may move
        to a graph before it scores it, and back, which may change the last bit of a log joint. The value should
        therefore jump beyond a small tolerance for ties, as that of ``cr`` does.

    Examples
    --------
    A margin gain ``min(1, 0.5 * gap)``:

    >>> Bounds(maximum=1.0, high_gap=2.0, slope=0.5)
    Bounds(maximum=1.0, high_gap=2.0, low_gap=nan, low_value=0.0, slope=0.5, whole=False)

    A gain that depends on the decision alone, at most 0, and 0 if it is right. :func:`winner` treats log joints within
    1e-9 as tied, and the first of tied classes wins; a gap of 0 therefore does not determine the winner:

    >>> Bounds(maximum=0.0, high_gap=1e-8)
    Bounds(maximum=0.0, high_gap=1e-08, low_gap=nan, low_value=0.0, slope=nan, whole=False)
    """

    maximum: float
    high_gap: float = np.nan
    low_gap: float = np.nan
    low_value: float = 0.0
    slope: float = np.nan
    whole: bool = False


# Inlined: a call for each row would take longer than the work.
@njit(inline="always")
def winner(L, m):  # type: ignore[no-untyped-def]
    """Return the class that wins row `m`: the first whose log joint is within 1e-9 of the largest."""
    if L.shape[1] == 2:
        return 1 if L[m, 1] > L[m, 0] + TIE else 0
    largest = L[m, 0]
    for c in range(1, L.shape[1]):
        largest = L[m, c] if L[m, c] > largest else largest
    least = largest - TIE
    first = 0
    while L[m, first] < least:
        first += 1
    return first


@cache
def compile_gain(gain: Gain) -> Any:
    """Compile a gain, or load it from the disk cache; kernels call it by its address (:func:`gain_at`)."""
    name = _name(gain)
    signature = inspect.signature(gain)
    if len(signature.parameters) != _N_ARGUMENTS:
        raise ContractError(f"the gain {name!r} must take (L, y, params, out), and takes {signature}")
    if getattr(gain, "__closure__", None) is not None:
        raise ContractError(
            f"the gain {name!r} is made inside another function and uses its variables; "
            "define it at the top of a module, and pass it numbers in params"
        )
    if config.DISABLE_JIT:
        _plain.append(gain)
        return SimpleNamespace(address=len(_plain) - 1)
    try:
        with interrupts_held_back():
            _refuse_python(gain, name)
            compiled = compile_at(gain, _SIGNATURE)
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise ContractError(
            f"the gain {name!r} cannot be compiled: {error}\nA gain calls nothing but numpy, math, "
            "bnplug.scoring.winner and functions decorated with bnplug.compiling.kernel, and imports nothing; "
            "decorate a function that it calls, or move it into the gain"
        ) from error
    return compiled


_DEBUG = "to see what it does, set NUMBA_DISABLE_JIT=1 in the environment: then everything runs as plain Python"


def _refuse_python(gain: Any, name: str) -> None:
    for function, what in _uses_of_python(gain, set()):
        where = "" if function is gain else f", in {_name(function)!r} which it calls"
        raise ContractError(
            f"the gain {name!r} {what}{where}: compiled code that runs beside Python cannot, and would hang. "
            f"Take it out; {_DEBUG}"
        )


def _uses_of_python(function: Any, seen: set[Any]) -> Iterator[tuple[Any, str]]:
    """Yield what a gain, and compiled functions that it calls, do that needs the interpreter."""
    seen.add(function)
    code = run_frontend(function)
    for block in code.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.EnterWith):
                yield function, "has a with statement"
            elif isinstance(statement, ir.Raise) and _constant(code, statement.exception) is None:
                yield function, f"raises an exception whose message is made as it runs (line {statement.loc.line})"
            elif isinstance(statement, ir.Assign):
                used = _constant(code, statement.target)
                if used is print:
                    yield function, f"prints (line {statement.loc.line})"
                elif is_jitted(used) and used.py_func not in seen:
                    yield from _uses_of_python(used.py_func, seen)


def _constant(code: ir.FunctionIR, variable: ir.Var | None) -> Any:
    """Return what a variable is if that is known before a function runs, else None."""
    try:
        return ... if variable is None else code.infer_constant(variable)
    except ConstantInferenceError:
        return None


#: Returns the compiled gain at an address, inside a kernel.
gain_at = function_at(_SIGNATURE)

# What kernels call where nothing is compiled: there, an address is the place in this list.
_plain: list[Gain] = []

if config.DISABLE_JIT:
    gain_at = _plain.__getitem__


def _name(gain: Gain) -> str:
    return str(getattr(gain, "__qualname__", repr(gain)))


def evaluate(gain: Gain, L: FloatArray, y: IntArray, params: FloatArray) -> FloatArray:
    """Return the value of each row by the compiled gain."""
    out = np.full(len(L), np.nan)
    _call(compile_gain(gain).address, np.ascontiguousarray(L), y, params, out)
    return out


@kernel
def _call(address, L, y, params, out):  # type: ignore[no-untyped-def]
    gain_at(address)(L, y, params, out)


def try_gain(gain: Gain, n_classes: int, params: FloatArray) -> None:
    """Try a gain on a few rows in the interpreter, to report what compiled code hides: wrong indices and exceptions."""
    if not config.DISABLE_JIT:
        _try(gain, n_classes, params.tobytes())


# A search asks for many evaluators of the same score.
@lru_cache(maxsize=128)
def _try(gain: Any, n_classes: int, params: bytes) -> None:
    some = np.unique(np.linspace(0, n_classes - 1, _N_TRIED, dtype=np.int64))
    y = np.tile(some, 2)
    L = np.full((len(y), n_classes), -1.0)
    # Each class is decided for when it is the true one, and when its neighbor is.
    L[np.arange(len(y)), np.concatenate([some, np.roll(some, 1)])] = 0.0
    numbers, classes = np.frombuffer(params), y.copy()
    # Functions that the gain calls are interpreted too.
    plain = {name: value.py_func if is_jitted(value) else value for name, value in gain.__globals__.items()}
    interpreted = FunctionType(gain.__code__, plain)
    try:
        with np.errstate(all="ignore"):
            interpreted(L, classes, numbers, np.empty(len(y)))
    except IndexError as error:
        raise ContractError(
            f"the gain {_name(gain)!r}, given {n_classes} classes and {numbers.size} numbers in params, uses an index "
            f"outside an array ({error}); check in gain_params that the shape fits the classes"
        ) from error
    except Exception as error:
        # Compiled code accepts what the interpreter refuses, such as math.log(0.0).
        if _raised_by_statement(error):
            raise ContractError(
                f"the gain {_name(gain)!r}, tried with {n_classes} classes, raised {type(error).__name__}: {error}. "
                f"Compiled, its exceptions are lost: check in gain_params what can be wrong; {_DEBUG}"
            ) from error
    if (classes != y).any():
        raise ContractError(
            f"the gain {_name(gain)!r} writes to y, which other candidates are scored by; fill out alone"
        )


def _raised_by_statement(error: Exception) -> bool:
    """Return whether a ``raise`` or an ``assert`` raised an exception, not something that was called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
