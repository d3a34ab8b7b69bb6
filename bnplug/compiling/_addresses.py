"""Functions that kernels call by their address.

A kernel that is given a function itself asks the interpreter for its address at every call, which is slow; and one that
names it is compiled together with it, whether or not it is ever called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from bnplug.compiling import interrupts_held_back
from bnplug.compiling._cache import KernelCache
from bnplug.compiling._inner import KernelCompiler, PlainCompiler


def compile_at(function: Callable[..., Any], signature: Any, allocates: bool = True) -> Any:
    """Compile a function for callers by address, its attribute ``address``, and cache it on disk."""
    taken = signature.args, signature.return_type
    compiler = KernelCompiler if allocates else PlainCompiler
    compiled: Any = CFunc(function, taken, locals={}, options={"_nrt": allocates}, pipeline_class=compiler)
    compiled._cache = KernelCache(function, {"cfunc": True, "_nrt": allocates})
    compiled.compile()
    return compiled


def function_at(signature: Any) -> Any:
    """Return what gives, inside a kernel, the function of this signature at an address."""
    kind = types.FunctionType(signature)

    def at(typing_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            function = cgutils.create_struct_proxy(kind)(context, builder)
            function.c_addr = builder.inttoptr(arguments[0], cgutils.voidptr_t)
            function.py_addr = function.jit_addr = cgutils.get_null_value(cgutils.voidptr_t)
            return function._getvalue()

        return kind(types.int64), generate

    return intrinsic(at)


def called_by_address(function: Any, signature: Any) -> tuple[Any, Callable[[], int]]:
    """Return a function that makes a kernel of its address in compiled code, and one that compiles it: the address."""
    if config.DISABLE_JIT:
        return lambda _: function, lambda: 1

    @cache
    def address() -> int:
        with interrupts_held_back():
            return int(compile_at(function.py_func, signature, allocates=False).address)

    return function_at(signature), address
