"""Numbers of numpy's generators, drawn inside kernels: the same ones, and the generator goes on from there.

A kernel is given where the generator's functions and its state are, as numpy tells them to whoever extends it
(``BitGenerator.ctypes``). Exponential numbers are made of uniform ones by the ziggurat of 256 layers of Marsaglia and
Tsang (2000), as numpy makes them.
"""

from __future__ import annotations

import ctypes
from decimal import Context, Decimal
from functools import cache
from math import exp, log1p
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from bnplug.arrays import FloatArray
from bnplug.compiling import inner_kernel

#: Where the lowest layer ends: there the areas of 256 layers meet the top.
_EDGE = Decimal("7.697117470131049714044628048015215499")
_LOWEST_ENDS = float(_EDGE)
_N_LAYERS = 256


def addresses(generator: np.random.Generator) -> tuple[int, int, int]:
    """Return where a generator's functions for numbers from 0 to 1 and of 64 bits are, and what they are called with.

    The generator must live for as long as they are used.
    """
    interface: Any = generator.bit_generator.ctypes
    functions = interface.next_double, interface.next_uint64
    double, whole = (int(ctypes.cast(function, ctypes.c_void_p).value or 0) for function in functions)
    return double, whole, int(interface.state_address)


@cache
def layers() -> FloatArray:
    """Return the ziggurat: an array (3, layers), rounded once.

    The whole numbers of 53 bits below which those of a layer are under the curve for sure; what such a number is
    multiplied by; the curve at the end of the layer. Layers are numbered from the top, but for the lowest, which is 0.
    """
    at, whole = Context(prec=36), Decimal(2**53)
    area = at.multiply(1 + _EDGE, at.exp(-_EDGE))
    ends = [_EDGE]
    for _ in range(_N_LAYERS - 2):
        ends.append(-at.ln(at.add(at.divide(area, ends[-1]), at.exp(-ends[-1]))))
    ends = [at.divide(area, at.exp(-_EDGE)), *reversed(ends)]
    inner = [_EDGE, Decimal(0), *ends[1:-1]]
    # numpy's limits are of 52 bits.
    inside = [2 * int(at.divide(at.multiply(a, whole), b) / 2) for a, b in zip(inner, ends, strict=True)]
    width = [float(at.divide(end, whole)) for end in ends]
    height = [1.0, *(float(at.exp(-end)) for end in ends[1:])]
    return np.array([inside, width, height], dtype=np.float64)


def _call(result: Any) -> Any:
    """Return the intrinsic that calls a function of the state by its address."""

    def call(typing_context, address, state):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            kind = ir.FunctionType(context.get_value_type(result), [ir.IntType(64)])
            function = builder.inttoptr(arguments[0], kind.as_pointer())
            return builder.call(function, [arguments[1]])

        return result(types.int64, types.int64), generate

    return intrinsic(call)


#: Inside a kernel, what ``Generator.random`` gives next; arguments are the addresses of next_double and of its state.
uniform = _call(types.float64)
_bits = _call(types.uint64)


@inner_kernel(allocates=False)
def exponential(next_double, next_uint64, state, layers):  # type: ignore[no-untyped-def]
    """What ``Generator.standard_exponential`` gives next."""
    while True:
        bits = _bits(next_uint64, state) >> np.uint64(3)
        layer = bits & np.uint64(255)
        number = np.float64(bits >> np.uint64(8))
        x = number * layers[1, layer]
        if number < layers[0, layer]:
            return x
        if layer == 0:
            return _LOWEST_ENDS - np.float64(log1p(-uniform(next_double, state)))
        below, above = layers[2, layer], layers[2, layer - np.uint64(1)]
        if (above - below) * uniform(next_double, state) + below < exp(-x):
            return x
