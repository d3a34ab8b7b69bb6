"""The slack of a row: the shortfall of its margin, smoothed as in problem (11), or exact.

With L the log joints of the row, y its class and gamma the margin, the shortfall is zeta = gamma - L[y] + (1 / eta)
log sum over rivals c of exp(eta L[c]). The slack is h(zeta): a hinge whose corner is an arc of radius R.
"""

from __future__ import annotations

import math

import numpy as np

from bnplug.compiling import kernel
from bnplug.typing import FloatArray

_SQRT_2 = math.sqrt(2.0)


def slack_params(gamma: float, eta: float, radius: float) -> FloatArray:
    """Return the `params` of the losses of this module."""
    return np.array([gamma, eta, radius])


@kernel
def soft_slack(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """The soft slack of problem (11): a loss for :class:`bnplug.gradient.Objective`; params: gamma, eta, R."""
    gamma, eta, radius = params
    n_rows, n_classes = L.shape
    bottom = radius * (1.0 - _SQRT_2)
    joint = bottom + radius / _SQRT_2
    total = 0.0
    for m in range(n_rows):
        label = y[m]
        if label < 0:  # A row without a class has no margin.
            for c in range(n_classes):
                dL[m, c] = 0.0
            continue
        largest = -np.inf
        for c in range(n_classes):
            if c != label:
                largest = max(largest, L[m, c])
        # The smooth maximum is above the largest rival by at most log(rivals) / eta.
        if gamma - L[m, label] + largest + np.log(n_classes - 1) / eta <= bottom:
            for c in range(n_classes):
                dL[m, c] = 0.0
            continue
        normalizer = 0.0
        for c in range(n_classes):
            dL[m, c] = 0.0
            if c != label and L[m, c] - largest > -40.0 / eta:
                dL[m, c] = np.exp(eta * (L[m, c] - largest))
                normalizer += dL[m, c]
        zeta = gamma - L[m, label] + largest + np.log(normalizer) / eta
        if zeta <= bottom:
            slack, slope = 0.0, 0.0
        elif zeta >= joint:
            slack, slope = zeta, 1.0
        else:
            height = np.sqrt(radius * radius - (zeta - bottom) ** 2)
            slack, slope = radius - height, (zeta - bottom) / height
        total += weights[m] * slack
        for c in range(n_classes):
            dL[m, c] *= weights[m] * slope / normalizer
        dL[m, label] = -weights[m] * slope
    return total


@kernel
def slack_and_surprise(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """lam times the soft slack, minus log P(known cells); params: gamma, eta, R, lam.

    If a row has no class, the classes are summed out.
    """
    n_rows, n_classes = L.shape
    total = 0.0
    if params[3] > 0.0:
        total = params[3] * soft_slack(L, y, weights, params[:3], dL)
    for m in range(n_rows):
        for c in range(n_classes):
            dL[m, c] = params[3] * dL[m, c] if params[3] > 0.0 else 0.0
        if y[m] >= 0:
            total -= weights[m] * L[m, y[m]]
            dL[m, y[m]] -= weights[m]
            continue
        largest, normalizer = L[m, 0], 0.0
        for c in range(1, n_classes):
            largest = max(largest, L[m, c])
        for c in range(n_classes):
            normalizer += np.exp(L[m, c] - largest)
        total -= weights[m] * (largest + np.log(normalizer))
        for c in range(n_classes):
            dL[m, c] -= weights[m] * np.exp(L[m, c] - largest) / normalizer
    return total


@kernel
def hard_slack(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """The slack of problem (10), max(0, gamma - margin), with a subgradient; params: gamma first."""
    gamma = params[0]
    n_rows, n_classes = L.shape
    total = 0.0
    for m in range(n_rows):
        label, rival = y[m], -1
        for c in range(n_classes):
            dL[m, c] = 0.0
            if c != label and (rival < 0 or L[m, c] > L[m, rival]):
                rival = c
        if label < 0:
            continue
        slack = gamma - L[m, label] + L[m, rival]
        if slack > 0.0:
            total += weights[m] * slack
            dL[m, rival] = weights[m]
            dL[m, label] = -weights[m]
    return total
