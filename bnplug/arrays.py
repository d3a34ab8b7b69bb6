"""The array types that annotations share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
#: Coded columns: the dtype is the smallest unsigned one that holds the states, its largest value is missing.
CodeArray = npt.NDArray[np.unsignedinteger[Any]]
