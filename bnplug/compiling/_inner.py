"""Compilers that leave out steps of numba's which kernels do not need.

numba makes machine code of every function by itself, and then again as a part of each kernel that calls it. A function
that nothing else calls needs none of its own: it is typed and lowered once, and optimised where it is called.

numba optimises what it has lowered function by function, then links what it calls, and optimises all of it together,
twice: so that what is counted of who still needs an array meets in one function, and can be pruned. Of a kernel that
makes no array nothing is counted, and once is enough.

numba asks dozens of rules, each time anew, what the sum of two numbers is. Here each operator and each built-in
function is looked up once. And it compiles a function anew for every whole number that is written in a call of it; here
one for all.
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
    """The code of a function, for kernels to link; it has no machine code, and so no address."""

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
        """An environment is kept at an address in machine code: the kernels that call this function have it."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):  # type: ignore[misc]
    _name = "bnplug_inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _PlainLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel, which is optimised once, with all that it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        # There is no counting to prune first. Loops are vectorised, and so are neighbouring numbers outside of them; to
        # unroll what is left gains nothing, nor does the third level of optimisation, which takes a tenth longer.
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
        # Its machine code is what is kept on disk.
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


def one_for_all_constants(compiled: Any) -> Any:
    """Return a compiled function that other kernels call with a constant as with any number of its type."""
    template = compiled.get_call_template

    @wraps(template)
    def by_type(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template(tuple(map(unliteral, args)), {name: unliteral(own) for name, own in kws.items()})

    compiled.get_call_template = by_type
    return compiled


class _RememberingContext:
    """numba's rules of types, which are asked once what an operator, or ``range``, makes of operands of these types."""

    _found: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> Any:
        resolve = self._context.resolve_function_type
        if named or getattr(getattr(function, "typing_key", None), "__module__", "") not in ("_operator", "builtins"):
            return resolve(function, operands, named)
        asked = (function, operands)
        if asked not in self._found:
            self._found[asked] = resolve(function, operands, named)
        return self._found[asked]


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

    #: Steps that are left out.
    needless: tuple[type, ...] = ()
    lowering: type[NativeLowering] = NativeLowering

    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps = [(step, name) for step, name in manager.passes if step not in self.needless]
        own = {NopythonTypeInference: _Typing, NativeLowering: self.lowering}
        manager.passes = [(own.get(step, step), name) for step, name in steps]
        manager.finalize()
        return [manager]


class PlainCompiler(KernelCompiler):
    """Compiles a kernel that makes no array."""

    lowering = _PlainLowering


class InnerCompiler(KernelCompiler):
    """Compiles a function for kernels to call; a call from Python would go to address 0."""

    #: Closures, comprehensions, expressions of whole arrays and functions to inline: inner kernels are plain loops.
    needless = (InlineClosureLikes, InlineInlinables, NopythonRewrites)
    lowering = _InnerLowering
