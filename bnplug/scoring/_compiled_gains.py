"""How a gain is compiled, called from kernels, and tried before: for what compiled code does not say.

A kernel calls a gain by its address, while other threads run Python. There, numba finds no environment in which to
print or to make a message, and waits for ever; and an exception goes to the error output and no further.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from functools import cache, lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import config, types
from numba.core import ir
from numba.core.compiler import run_frontend
from numba.core.errors import ConstantInferenceError, NumbaError, UnsupportedBytecodeError
from numba.extending import is_jitted

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import interrupts_held_back, kernel
from bnplug.compiling._addresses import compile_at, function_at
from bnplug.errors import ContractError
from bnplug.scoring.gains import Gain

_SIGNATURE = types.void(types.float64[:, ::1], types.int64[::1], types.float64[::1], types.float64[::1])
_N_ARGUMENTS = 4

# So many classes at most are tried for indices outside an array.
_N_TRIED = 32


@cache
def compile_gain(gain: Gain) -> Any:
    """Compile a gain, whose address kernels can call (:func:`gain_at`); from the disk where it was compiled before.

    Raises
    ------
    ContractError
        If it takes other arguments, is not a function of a module, or cannot be compiled; the message says why.
    """
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
        return _Plain(gain)
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


class _Plain:
    """A gain that is not compiled."""

    def __init__(self, gain: Gain) -> None:
        self.address = len(_plain)
        _plain.append(gain)


def evaluate(gain: Gain, L: FloatArray, y: IntArray, params: FloatArray) -> FloatArray:
    """Return what the compiled gain gives for each row.

    Examples
    --------
    >>> from bnplug.builtin.scores.hit_rate import _hit
    >>> evaluate(_hit, np.log([[0.1, 0.4], [0.3, 0.2]]), np.array([0, 0]), np.empty(0))
    array([0., 1.])
    """
    out = np.full(len(L), np.nan)
    _call(compile_gain(gain).address, np.ascontiguousarray(L), y, params, out)
    return out


@kernel
def _call(address, L, y, params, out):  # type: ignore[no-untyped-def]
    gain_at(address)(L, y, params, out)


def try_gain(gain: Gain, n_classes: int, params: FloatArray) -> None:
    """Try a gain on a few rows in the interpreter.

    Compiled, an index outside an array reads what is in memory, and an exception is lost.

    Raises
    ------
    ContractError
        If an index is outside an array, the gain raises an exception of its own, or changes the classes.
    """
    if not config.DISABLE_JIT:
        _try(gain, n_classes, params.tobytes())


# A search asks for many evaluators of the same score.
@lru_cache(maxsize=128)
def _try(gain: Gain, n_classes: int, params: bytes) -> None:
    some = np.unique(np.linspace(0, n_classes - 1, _N_TRIED, dtype=np.int64))
    y = np.tile(some, 2)
    L = np.full((len(y), n_classes), -1.0)
    # Each class is decided for when it is the true one, and when its neighbour is.
    L[np.arange(len(y)), np.concatenate([some, np.roll(some, 1)])] = 0.0
    numbers, classes = np.frombuffer(params), y.copy()
    try:
        with np.errstate(all="ignore"):
            _interpreted(gain)(L, classes, numbers, np.empty(len(y)))
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


def _interpreted(gain: Any) -> Gain:
    """Return the gain as Python runs it, and what it calls too."""
    plain = {name: value.py_func if is_jitted(value) else value for name, value in gain.__globals__.items()}
    return FunctionType(gain.__code__, plain)
