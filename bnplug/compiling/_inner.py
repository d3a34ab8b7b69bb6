"""Compilers that leave out steps of numba's which kernels do not need.

numba makes machine code of every function by itself, and then again as a part of each kernel that calls it. A function
that nothing else calls needs none of its own: it is typed and lowered once, and optimised where it is called.

numba optimises what it has lowered function by function, then links what it calls, and optimises all of it together,
twice: so that what is counted of who still needs an array meets in one function, and can be pruned. Of a kernel that
makes no array nothing is counted, and once is enough.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
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
        # There is no counting to prune first. Loops are vectorised; to unroll what is left of them gains nothing.
        tuning = create_pipeline_tuning_options(speed_level=int(config.OPT))
        tuning.loop_vectorization = bool(config.LOOP_VECTORIZE)
        tuning.loop_unrolling = tuning.slp_vectorization = False
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


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a function for kernels to call; a call from Python would go to address 0."""

    #: Closures, comprehensions, expressions of whole arrays and functions to inline: inner kernels are plain loops.
    needless: tuple[type, ...] = (InlineClosureLikes, InlineInlinables, NopythonRewrites)
    lowering: type[NativeLowering] = _InnerLowering

    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps = [(step, name) for step, name in manager.passes if step not in self.needless]
        manager.passes = [(self.lowering if step is NativeLowering else step, name) for step, name in steps]
        manager.finalize()
        return [manager]


class PlainCompiler(InnerCompiler):
    """Compiles a kernel that makes no array."""

    needless = ()
    lowering = _PlainLowering
