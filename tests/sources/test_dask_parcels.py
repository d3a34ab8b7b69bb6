"""What goes to workers: kernels by name, arguments of single blocks with their block."""

import pickle

import numpy as np

from bnplug.compiling import kernel
from bnplug.gradient import conditional_nll
from bnplug.sources.dask._store import Calls, for_each, pack
from bnplug.table.blocks import EachBlock


def test_a_kernel_of_a_module_goes_by_its_name():
    packed = pack([conditional_nll, np.arange(3)])
    assert len(packed) < len(pickle.dumps(conditional_nll)) / 2
    found, array = pickle.loads(packed)
    assert found is conditional_nll
    assert array.tolist() == [0, 1, 2]


def test_a_kernel_without_a_name_goes_whole():
    one_more = kernel(lambda x: x + 1)
    packed = pack(one_more)
    assert b"cloudpickle" in packed
    assert pickle.loads(packed)(41) == 42


def test_calls_are_packed_once_unless_some_arguments_are_of_single_blocks():
    same = Calls([["a", 1], ["b"]])
    assert same.of([0, 1]) is same.of([2])
    assert for_each(same.of([0, 1]), 2) == [[["a", 1], ["b"]]] * 2
    each = Calls([["a", EachBlock([10, 20, 30])], ["b", 1]])
    assert for_each(each.of([0, 2]), 2) == [[["a", 10], ["b", 1]], [["a", 30], ["b", 1]]]
    assert for_each(each.of([1]), 1) == [[["a", 20], ["b", 1]]]
