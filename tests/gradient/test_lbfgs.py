"""L-BFGS stops where it is told to."""

from itertools import pairwise

import numpy as np

from bnplug.gradient import minimize


def quartic(x):
    return float((x**4).sum()), 4 * x**3


def test_minimize_stops_by_its_rule():
    values = [quartic(np.ones(3))[0]]
    point, n_iter = minimize(quartic, np.ones(3), tol=1e-3, max_iter=100, callback=lambda x, f: values.append(f))
    steps = [(a - b) / max(abs(a), abs(b), 1.0) for a, b in pairwise(values)]
    assert len(steps) == n_iter
    assert steps[-1] <= 1e-3
    assert min(steps[:-1]) > 1e-3
    assert quartic(point)[0] == values[-1]


def test_minimize_ends_after_max_iter():
    start = np.ones(2)
    assert minimize(quartic, start, tol=0.0, max_iter=2)[1] == 2
    unmoved, n_iter = minimize(quartic, start, tol=0.0, max_iter=0)
    assert (n_iter, unmoved.tolist()) == (0, [1.0, 1.0])
