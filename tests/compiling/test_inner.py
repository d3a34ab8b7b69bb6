"""What kernels alone call is compiled as a part of them."""

import numpy as np
from numba.core import config

from bnplug.compiling import inner_kernel, kernel


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
