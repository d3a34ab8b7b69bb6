"""Gains that a third party might write: what decisions cost, and a margin."""

from __future__ import annotations

import numpy as np

from bnplug.scoring import PredictiveScore, winner


def negative_cost(L, y, params, out):
    n_classes = L.shape[1]
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * n_classes + winner(L, m)]


class NegativeCost(PredictiveScore):
    gain = negative_cost

    def __init__(self, costs=None, alpha=1.0, floor=0.0, cv=None, random_state=None):
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.costs = costs

    def gain_params(self, table):
        return self.costs


def margin(L, y, params, out):
    for m in range(L.shape[0]):
        rival = -np.inf
        for c in range(L.shape[1]):
            if c != y[m]:
                rival = max(rival, L[m, c])
        out[m] = min(1.0, params[0] * (L[m, y[m]] - rival))
