"""The array types that annotations share, and arrays that cannot be written to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
#: Coded columns: the dtype is the smallest unsigned one that holds the states, its largest value is missing.
CodeArray = npt.NDArray[np.unsignedinteger[Any]]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to: no learner changes data, and kernels see one type of array."""
    view = array.view()
    view.flags.writeable = False
    return view
