"""What kernels alone call is compiled as a part of them, and no more of it than is needed."""

import numba
import numpy as np
import pytest
from numba.core import config

from bnplug.compiling import _inner, inner_kernel, kernel


def test_a_function_inside_kernels_has_no_machine_code_and_is_typed_once(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @inner_kernel
    def add(array, value):
        array[0] += value

    @kernel
    def add_two(array):
        add(array, 2.0)

    @kernel
    def add_three(array):
        add(array, 3.0)

    array = np.zeros(1)
    add_two(array)
    add_three(array)
    assert array.tolist() == [5.0]
    (found,) = add.overloads.values()
    assert found.library.get_pointer_to_function(found.fndesc.mangled_name) == 0


@pytest.mark.parametrize("called_once", [False, True])
def test_what_is_called_once_becomes_a_part_of_its_caller(monkeypatch, tmp_path, called_once):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @inner_kernel(allocates=False, called_once=called_once)
    def add(array, value):
        array[0] += value

    @kernel(allocates=False)
    def add_two(array):
        add(array, 2.0)

    array = np.zeros(1)
    add_two(array)
    assert array.tolist() == [2.0]
    (found,) = add.overloads.values()
    assert ("alwaysinline" in found.library.get_llvm_str()) is called_once


def test_a_constant_is_a_number_like_any_other(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @inner_kernel
    def put(array, i, value):
        array[i] = value

    @kernel
    def put_all(array, i):
        put(array, 0, 5)
        put(array, 1, i)
        put(array, value=7, i=i)

    array = np.zeros(3, dtype=np.int64)
    put_all(array, 2)
    assert array.tolist() == [5, 2, 7]
    assert len(put.overloads) == 1


def test_operators_are_looked_up_once_and_give_what_numba_gives(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_inner._RememberingContext, "_resolved", found := {})

    def mixed(a, b, c):
        return a // b + c % b - a * c + (a << b) + (c / a if a < c else -a)

    given = np.uint8(7), np.int64(3), np.float64(9.5)
    assert kernel(mixed)(*given[:2], given[1]) == numba.njit(mixed)(*given[:2], given[1])
    n_asked = len(found)
    assert n_asked >= 8
    # The same function again asks nothing; with a real number, what is new.
    kernel(lambda a, b, c: a // b + c % b)(*given[:2], given[1])
    assert len(found) == n_asked
    assert kernel(mixed)(*given) == numba.njit(mixed)(*given)
    assert len(found) > n_asked


def test_a_call_from_python_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @inner_kernel
    def twice(x):
        return 2.0 * x

    @kernel
    def four_times(x):
        return twice(twice(x))

    for _ in range(2):
        with pytest.raises(TypeError, match=r"twice is an inner kernel: only kernels can call it"):
            twice(1.0)
        assert four_times(1.0) == 4.0
    assert kernel(twice.py_func)(1.0) == 2.0
