"""No kernel returns more than one number.

To make a Python object of an array or a tuple, numba runs Python code and does not look whether that failed; with an
interrupt pending it fails, and the interpreter crashes.
"""

import ast
import importlib
import inspect
import pkgutil
import textwrap
from importlib.metadata import entry_points
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, types
from numba.core.dispatcher import Dispatcher

from bnplug.cli import _warm as warm

# What makes one number of others.
_NUMBERS = {"abs", "bool", "float", "int", "len", "lgamma", "max", "min", "round", "sum"}
_NUMPY_NUMBERS = {"ceil", "exp", "float64", "floor", "int64", "log", "log1p", "rint", "sqrt", "uint64"}


def packages():
    """Return the core, and the packages of all plugins."""
    plugins = {point.value.partition(":")[0].partition(".")[0] for point in entry_points(group="bnplug")}
    return [importlib.import_module(name) for name in ["bnplug", *sorted(plugins - {"bnplug"})]]


def kernels():
    """Return every compiled function of the core and of the plugins, by its full name."""
    found = {}
    for package in packages():
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__"):
                continue
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Dispatcher) and value.py_func.__module__.startswith(("bnplug.", "bnplug_")):
                    found[f"{value.py_func.__module__}.{value.py_func.__qualname__}"] = value
    return found


KERNELS = kernels()


def returns(kernel):
    """Return what the source of a kernel returns that is not plainly one number."""
    function = ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func))).body[0]
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return [ast.unparse(value) for value in values if not _is_number(value, kernel, function, set())]


def _is_number(value, kernel, function, seen):
    match value:
        case ast.Constant():
            return value.value is None or isinstance(value.value, bool | int | float)
        case ast.UnaryOp():
            return _is_number(value.operand, kernel, function, seen)
        case ast.BinOp():
            return _all_numbers([value.left, value.right], kernel, function, seen)
        case ast.BoolOp():
            return _all_numbers(value.values, kernel, function, seen)
        case ast.IfExp():
            return _all_numbers([value.body, value.orelse], kernel, function, seen)
        case ast.Compare():
            return True
        case ast.Attribute():
            # np.inf, or a field; that a field is a number is seen when it is compiled.
            return True
        case ast.Subscript():
            indices = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
            return not any(isinstance(index, ast.Slice) for index in indices)
        case ast.Call():
            return _makes_number(value.func, kernel)
        case ast.Name():
            return value.id in seen or _holds_number(value.id, kernel, function, seen | {value.id})
    return False


def _all_numbers(values, kernel, function, seen):
    return all(_is_number(value, kernel, function, seen) for value in values)


def _makes_number(called, kernel):
    """Whether a call gives one number: of a few functions, and of kernels, which are looked at by themselves."""
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id == "np" and called.attr in _NUMPY_NUMBERS
    if not isinstance(called, ast.Name):
        return False
    return called.id in _NUMBERS or isinstance(kernel.py_func.__globals__.get(called.id), Dispatcher)


def _holds_number(name, kernel, function, seen):
    """Whether all that is ever put into a variable is a number; that of a loop over numbers is."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            return False
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part, value in _pairs(target, node.value):
                    if part == name and not _is_number(value, kernel, function, seen):
                        return False
    return True


def _pairs(target, value):
    """Yield each name that is assigned to, with what it gets."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        values = value.elts if isinstance(value, ast.Tuple) else [ast.Attribute(value, "part")] * len(target.elts)
        for one, part in zip(target.elts, values, strict=True):
            yield from _pairs(one, part)


def compiled_returns(kernel):
    """Return the types of what a kernel was compiled to return that are not one number."""
    kinds = {signature.return_type for signature in kernel.nopython_signatures}
    return [str(kind) for kind in kinds if not isinstance(kind, types.Number | types.Boolean | types.NoneType)]


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_returns_one_number_by_its_source(name):
    assert not returns(KERNELS[name]), f"{name} must fill arrays that it is given; see bnplug.compiling.kernel"


def test_kernels_that_methods_call_return_one_number():
    told = []
    warm.run(told.append)
    assert not [line for line in told if "not compiled" in line]
    compiled = {name for name, kernel in KERNELS.items() if kernel.nopython_signatures}
    assert {"bnplug.scoring._batches.score_candidates", "bnplug.inference.marginals._add_missing"} <= compiled
    assert {name: found for name in compiled if (found := compiled_returns(KERNELS[name]))} == {}


def test_all_distributions_are_looked_at():
    owners = {name.partition(".")[0] for name in KERNELS}
    assert owners >= {"bnplug", "bnplug_ccbn", "bnplug_cmi_order", "bnplug_margin", "bnplug_mlbnsvm"}
    assert len(KERNELS) > 50


class Pair(NamedTuple):
    """What a kernel must not return."""

    first: np.ndarray
    second: np.ndarray


@njit
def returns_tuple(x):
    return x[0], x[1]


@njit
def returns_new_array(x):
    result = np.zeros(len(x))
    return result


@njit
def returns_expression(x):
    return 2 * np.zeros(len(x))


@njit
def returns_slice(x):
    if len(x) > 5:
        return x[2:]
    return x[1:]


@njit
def returns_argument(x):
    x[0] = 1.0
    return x


@njit
def returns_named_tuple(x):
    return Pair(x, x)


@njit
def returns_tuple_by_name(x):
    both, x[0] = (x, x), 2.0
    return both


@njit
def returns_list(x):
    return [2.0 * value for value in x]


@njit
def returns_numbers(x):
    n, total = 0, 0.0
    for value in x:
        n += 1
        total += value
    if n > 3:
        return max(total, x[0])
    return returns_number_of(x) * total if n else -np.inf


@njit
def returns_number_of(x):
    return len(x)


@njit
def returns_nothing(x):
    x[0] = 1.0


BAD = [
    returns_tuple, returns_new_array, returns_expression, returns_slice, returns_argument, returns_named_tuple,
    returns_tuple_by_name, returns_list,
]  # fmt: skip


@pytest.mark.parametrize("kernel", BAD, ids=lambda kernel: kernel.__name__)
def test_a_kernel_that_returns_more_is_found(kernel):
    assert returns(kernel)
    kernel(np.arange(4.0))
    assert compiled_returns(kernel)


@pytest.mark.parametrize("kernel", [returns_numbers, returns_number_of, returns_nothing], ids=lambda one: one.__name__)
def test_a_kernel_that_returns_a_number_is_not(kernel):
    assert not returns(kernel)
    kernel(np.arange(4.0))
    assert not compiled_returns(kernel)
