"""The array types: what numpy knows of them at run time."""

import typing

import numpy as np
import pytest

from bnplug import Table, arrays


@pytest.mark.parametrize(
    ("name", "scalar"), [("FloatArray", np.float64), ("IntArray", np.int64), ("BoolArray", np.bool_)]
)
def test_a_type_names_the_scalar_of_its_arrays(name, scalar):
    _, dtype = typing.get_args(getattr(arrays, name))
    assert typing.get_args(dtype) == (scalar,)


@pytest.mark.parametrize(("n_states", "dtype"), [(2, np.uint8), (300, np.uint16)])
def test_codes_of_a_table_are_unsigned(n_states, dtype):
    table = Table(np.zeros((2, 1), dtype=dtype), ["a", "c"], {"a": range(n_states), "c": [0, 1]}, "c")
    assert table.codes.dtype == dtype
    _, dtype = typing.get_args(arrays.CodeArray)
    (scalar,) = typing.get_args(dtype)
    assert issubclass(table.codes.dtype.type, typing.get_origin(scalar))
