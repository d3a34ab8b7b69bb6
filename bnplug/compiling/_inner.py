"""Compilers that skip the steps of numba that our kernels do not need: without them, cold start takes twice as long.

- numba makes machine code of every function, and again as a part of each kernel that calls it. An inner kernel is
  typed and lowered once, and optimized where it is called.
- numba optimizes a kernel repeatedly, to prune reference counts. A kernel that allocates no array is optimized once.
- numba resolves the types of ``a + b`` by dozens of rules, every time; here, once for each combination of types.
- numba compiles a function again for every integer literal in a call of it. Here one version serves all.

These classes derive from internals of numba; the requirements therefore limit its version.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, ClassVar

from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.types.misc import unliteral
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of an inner kernel: kernels link it, and it has no machine code, so no address."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: the kernels that call this function have the environment."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):  # type: ignore[misc]
    _name = "bnplug_inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _PlainLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel that is optimized once, together with everything it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        # Loops and neighboring scalars are vectorized. Unrolling gains nothing, nor does the third level of
        # optimization, which takes 10% longer.
        tuning = create_pipeline_tuning_options(speed_level=min(2, int(config.OPT)))
        tuning.loop_vectorization = bool(config.LOOP_VECTORIZE)
        tuning.loop_unrolling, tuning.slp_vectorization = False, True
        builder = create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class _PlainLowering(NativeLowering):  # type: ignore[misc]
    _name = "bnplug_plain_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _PlainLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


def one_for_all_constants(compiled: Any) -> Any:
    """Let other kernels call a compiled function with a literal as with any number of its type."""
    template = compiled.get_call_template

    @wraps(template)
    def by_type(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

    compiled.get_call_template = by_type
    return compiled


def only_for_kernels(compiled: Any) -> Any:
    """Make a call from Python raise a ``TypeError``: an inner kernel has no machine code to call."""

    def refuse(*_: Any, **__: Any) -> None:
        name = compiled.py_func.__qualname__
        raise TypeError(f"{name} is an inner kernel: only kernels can call it. To test it, call kernel({name}.py_func)")

    # numba's own add_overload also registers the address for calls from Python.
    compiled.add_overload = lambda result: compiled.overloads.update({tuple(result.signature.args): result})
    compiled._compile_for_args = refuse
    return compiled


class _RememberingContext:
    """numba's typing context with a cache of the types of operators and built-in functions."""

    _resolved: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> Any:
        resolve = self._context.resolve_function_type
        if named or getattr(getattr(function, "typing_key", None), "__module__", "") not in ("_operator", "builtins"):
            return resolve(function, operands, named)
        key = (function, operands)
        if key not in self._resolved:
            self._resolved[key] = resolve(function, operands, named)
        return self._resolved[key]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Typing(NopythonTypeInference):  # type: ignore[misc]
    _name = "bnplug_type_inference"

    def run_pass(self, state: Any) -> bool:
        context = state.typingctx
        state.typingctx = _RememberingContext(context)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = context


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a kernel."""

    #: Skipped passes.
    needless: tuple[type, ...] = ()
    lowering: type[NativeLowering] = NativeLowering

    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps = [(step, name) for step, name in manager.passes if step not in self.needless]
        replaced = {NopythonTypeInference: _Typing, NativeLowering: self.lowering}
        manager.passes = [(replaced.get(step, step), name) for step, name in steps]
        manager.finalize()
        return [manager]


class PlainCompiler(KernelCompiler):
    """Compiles a kernel that allocates no array."""

    lowering = _PlainLowering


class InnerCompiler(KernelCompiler):
    """Compiles an inner kernel."""

    #: Closures, array expressions and inlining: inner kernels are plain loops.
    needless = (InlineClosureLikes, InlineInlinables, NopythonRewrites)
    lowering = _InnerLowering
