"""Kernels call functions by their addresses."""

from __future__ import annotations

import pytest
from numba import config, types

from bnplug.compiling import kernel
from bnplug.compiling._addresses import compile_at, function_at

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing has an address")

SIGNATURE = types.float64(types.float64, types.int64)
at = function_at(SIGNATURE)


def power(x, n):
    return x**n


def multiple(x, n):
    return x * n


@kernel
def call(address, x, n):
    return at(address)(x, n)


def test_one_kernel_calls_whichever_function_is_at_an_address():
    compiled = [compile_at(function, SIGNATURE) for function in (power, multiple)]
    assert [call(one.address, 3.0, 4) for one in compiled] == [81.0, 12.0]


def test_what_is_compiled_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert [compile_at(power, SIGNATURE).cache_hits for _ in range(2)] == [0, 1]
