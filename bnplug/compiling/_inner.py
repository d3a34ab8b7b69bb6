"""Functions that kernels alone call, compiled as far as kernels need them.

numba makes machine code of every function by itself, and then again as a part of each kernel that calls it. A function
that nothing else calls needs none of its own: it is typed and lowered once, and optimised where it is called.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


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


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a function for kernels to call; a call from Python would go to address 0."""

    def define_pipelines(self) -> list[PassManager]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps = manager.passes
        manager.passes = [(_InnerLowering if step is NativeLowering else step, name) for step, name in steps]
        manager.finalize()
        return [manager]
