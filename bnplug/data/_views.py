"""Arrays that cannot be written to."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to: no learner changes data, and kernels see one type of array."""
    view = array.view()
    view.flags.writeable = False
    return view
