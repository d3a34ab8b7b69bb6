"""How a gain is compiled, called from kernels, and tried for indices outside an array."""

from __future__ import annotations

import inspect
from functools import cache, lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import cfunc, types
from numba.core import cgutils
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.extending import intrinsic, is_jitted

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import interrupts_held_back, kernel
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
    try:
        with interrupts_held_back():
            compiled = _compile(gain)
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise ContractError(
            f"the gain {name!r} cannot be compiled: {error}\nA gain calls nothing but numpy, math, "
            "bnplug.scoring.winner and functions decorated with bnplug.compiling.kernel, and imports nothing; "
            "decorate a function that it calls, or move it into the gain"
        ) from error
    return compiled


@intrinsic
def gain_at(typing_context, address):  # type: ignore[no-untyped-def]
    """Return the compiled gain at an address, inside a kernel.

    A kernel that were given the function itself would ask the interpreter for its address at every call, which takes
    longer than a small candidate.
    """
    kind = types.FunctionType(_SIGNATURE)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        function = cgutils.create_struct_proxy(kind)(context, builder)
        function.c_addr = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        function.py_addr = function.jit_addr = cgutils.get_null_value(cgutils.voidptr_t)
        return function._getvalue()

    return kind(types.int64), generate


def _name(gain: Gain) -> str:
    return str(getattr(gain, "__qualname__", repr(gain)))


def _compile(gain: Gain) -> Any:
    try:
        return cfunc(_SIGNATURE, cache=True)(gain)
    except RuntimeError as error:
        # A function typed at a prompt has no file next to which its compiled form could be kept.
        if "cannot cache" not in str(error):
            raise
        return cfunc(_SIGNATURE)(gain)


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


def check_indices(gain: Gain, n_classes: int, params: FloatArray) -> None:
    """Try a gain on a few rows in the interpreter: compiled, an index outside an array reads what is in memory.

    Raises
    ------
    ContractError
        If an index is outside an array.
    """
    _try_indices(gain, n_classes, params.tobytes())


# A search asks for many evaluators of the same score.
@lru_cache(maxsize=128)
def _try_indices(gain: Gain, n_classes: int, params: bytes) -> None:
    some = np.unique(np.linspace(0, n_classes - 1, _N_TRIED, dtype=np.int64))
    y = np.tile(some, 2)
    L = np.full((len(y), n_classes), -1.0)
    # Each class is decided for when it is the true one, and when its neighbour is.
    L[np.arange(len(y)), np.concatenate([some, np.roll(some, 1)])] = 0.0
    numbers = np.frombuffer(params)
    try:
        with np.errstate(all="ignore"):
            _interpreted(gain)(L, y, numbers, np.empty(len(y)))
    except IndexError as error:
        raise ContractError(
            f"the gain {_name(gain)!r}, given {n_classes} classes and {numbers.size} numbers in params, uses an index "
            f"outside an array ({error}); check in gain_params that the shape fits the classes"
        ) from error
    except Exception:
        # Compiled code accepts what the interpreter refuses, such as math.log(0.0); this is about indices alone.
        return


def _interpreted(gain: Any) -> Gain:
    """Return the gain as Python runs it, and what it calls too."""
    plain = {name: value.py_func if is_jitted(value) else value for name, value in gain.__globals__.items()}
    return FunctionType(gain.__code__, plain)
