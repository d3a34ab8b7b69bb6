"""The array types: what numpy knows of them at run time."""

import typing

import numpy as np
import pytest

from bnplug import Table, arrays


def scalar_of(array):
    """Return the scalar of an array type: before numpy 2.5, the argument of a dtype that is the last argument."""
    last = typing.get_args(array)[-1]
    return typing.get_args(last)[0] if typing.get_origin(last) is np.dtype else last


@pytest.mark.parametrize(
    ("name", "scalar"), [("FloatArray", np.float64), ("IntArray", np.int64), ("BoolArray", np.bool_)]
)
def test_a_type_names_the_scalar_of_its_arrays(name, scalar):
    assert scalar_of(getattr(arrays, name)) is scalar


@pytest.mark.parametrize(("n_states", "dtype"), [(2, np.uint8), (300, np.uint16)])
def test_codes_of_a_table_are_unsigned(n_states, dtype):
    table = Table(np.zeros((2, 1), dtype=dtype), ["a", "c"], {"a": range(n_states), "c": [0, 1]}, "c")
    assert table.codes.dtype == dtype
    assert issubclass(table.codes.dtype.type, typing.get_origin(scalar_of(arrays.CodeArray)))
