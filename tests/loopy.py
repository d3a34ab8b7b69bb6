"""Loopy belief propagation, as ``examples/loopy_engine.py`` has it."""

import importlib.util
import sys
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location(
    "loopy_engine", Path(__file__).parents[1] / "examples" / "loopy_engine.py"
)
_MODULE = importlib.util.module_from_spec(_SPEC)
sys.modules["loopy_engine"] = _MODULE
_SPEC.loader.exec_module(_MODULE)

METHOD, LoopyNetwork, LoopyPropagation = _MODULE.METHOD, _MODULE.LoopyNetwork, _MODULE.LoopyPropagation
