"""The types that annotations name: arrays, and pgmpy's graphs and network.

Importing this module does not load pgmpy: ``DAG``, ``PDAG`` and ``DiscreteBayesianNetwork`` are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bnplug.model.pgmpy import DAG, PDAG, DiscreteBayesianNetwork

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
#: Coded columns: the dtype is the smallest unsigned one that holds the states, its largest value is missing.
CodeArray = npt.NDArray[np.unsignedinteger[Any]]
#: The position of each cell between its state and the next.
ShareArray = npt.NDArray[np.float32]

__all__ = ["DAG", "PDAG", "BoolArray", "CodeArray", "DiscreteBayesianNetwork", "FloatArray", "IntArray", "ShareArray"]


def __getattr__(name: str) -> Any:
    """Load a type of pgmpy when it is first used (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'bnplug.typing' has no attribute {name!r}")
    return getattr(import_module("bnplug.model.pgmpy"), name)
