"""Kernels draw what numpy draws, and leave the generator where numpy would."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from bnplug.compiling import kernel
from bnplug.scoring._walks import LAYERS, addresses, exponential, uniform

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="addresses are called by compiled code only")


@kernel(allocates=False)
def draw(next_double, next_uint64, state, layers, uniforms, exponentials):
    for i in range(uniforms.shape[0]):
        uniforms[i] = uniform(next_double, state)
        exponentials[i] = exponential(next_double, next_uint64, state, layers)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_uniform_and_exponential_numbers_are_numpys_to_the_last_bit(kind):
    ours, theirs = (np.random.Generator(kind(7)) for _ in range(2))
    for generator in (ours, theirs):
        generator.random(3)
    found = np.empty((2, 200_000))
    draw(*addresses(ours), LAYERS, *found)
    # One after the other: the layers at both ends, and the curve's edge in each, are met hundreds of times.
    expected = [(theirs.random(), theirs.standard_exponential()) for _ in range(found.shape[1])]
    assert np.array_equal(found.T, expected)
    assert ours.random() == theirs.random()


def test_layers_have_the_same_area():
    inside, width, height = LAYERS
    ends = width * 2.0**53
    # From the topmost down; each is as large as the last, whose tail is taken in by its width.
    areas = ends[1:] * (height[:-1] - height[1:])
    assert areas == pytest.approx(np.full(255, ends[0] * height[255]), rel=1e-12)
    assert inside[1] == 0
    assert inside[2:] / 2.0**53 == pytest.approx(ends[1:-1] / ends[2:], rel=1e-12)
