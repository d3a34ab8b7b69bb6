"""Views that cannot be written to."""

import numpy as np
import pytest

from bnplug.data._views import read_only


def test_a_read_only_view_leaves_the_array_as_it_is():
    array = np.zeros(2)
    view = read_only(array)
    array[0] = 1
    assert view.tolist() == [1, 0]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2
