"""The factor of all log joints at which the NLL is least."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from bnplug.gradient import temperature


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_minimum_that_another_program_finds(seed):
    rng = np.random.default_rng(seed)
    joint, y = rng.normal(scale=3.0, size=(60, 3)), rng.integers(0, 3, 60)
    joint[np.arange(60), y] += 1.0

    def nll(factor):
        scaled = factor * joint
        return (logsumexp(scaled, axis=1) - scaled[np.arange(60), y]).sum()

    found = temperature(lambda factor: nll(factor * 1.0001) - nll(factor * 0.9999))
    assert found == pytest.approx(minimize_scalar(nll, bounds=(0.01, 10), method="bounded").x, rel=1e-3)


def test_it_goes_no_further_than_its_bounds():
    assert temperature(lambda factor: -1.0) == pytest.approx(32.0, rel=1e-4)
    assert temperature(lambda factor: 1.0) == pytest.approx(1 / 32, rel=1e-4)
