"""A third party's score: the focal loss of Lin et al. (2017), whose gain is compiled as those of the core are."""

import numpy as np
import pytest
from saboteurs.trying import failing

from bnplug import ScoreFunctionMethod, Structure, structure_learner
from bnplug.builtin.scores import ConditionalLogLikelihood
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.inference.em import SmoothedFrequencies
from bnplug.scoring import Bounds, PredictiveScore
from bnplug.testing import data


def negative_focal_loss(L, y, params, out):
    """(1 - p)^gamma log p, where p is the posterior of the row's class."""
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for c in range(1, L.shape[1]):
            largest = max(largest, L[m, c])
        total = 0.0
        for c in range(L.shape[1]):
            total += np.exp(L[m, c] - largest)
        log_p = L[m, y[m]] - largest - np.log(total)
        out[m] = (-np.expm1(log_p)) ** params[0] * log_p


class FocalLoss(PredictiveScore):
    """The negative focal loss, summed over the tested rows."""

    gain = negative_focal_loss
    needs_finite = True

    def __init__(self, gamma=2.0, alpha=1.0, floor=0.0, cv=None, random_state=None):
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.gamma = gamma

    def gain_params(self, table):
        if not self.gamma >= 0:
            raise ValueError(f"gamma={self.gamma!r} must be at least 0")
        return [self.gamma]

    def gain_bounds(self, table):
        return Bounds(maximum=0.0)


def test_it_passes_the_kit():
    assert failing(ScoreFunctionMethod("focal", FocalLoss, "The focal loss.", "Lin et al. (2017)")) == {}


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_it_is_the_formula(gamma):
    table = data.standard()
    dag = Structure(table.names, data.tree(table))
    network = SmoothedFrequencies().fit(table, dag)
    p = posterior(log_joint(terms(network, table.target), table.codes))
    p = p[np.arange(table.n_rows), table.codes[table.target_index]]
    assert FocalLoss(gamma).score(table, dag) == pytest.approx(float(((1 - p) ** gamma * np.log(p)).sum()), rel=1e-9)


def test_without_focus_it_is_the_conditional_log_likelihood():
    table = data.standard()
    one, other = (
        structure_learner("hill-climb", score=score).learn(table)
        for score in (FocalLoss(0.0), ConditionalLogLikelihood())
    )
    assert set(one.edges) == set(other.edges)
    assert FocalLoss(0.0).score(table, one) == pytest.approx(ConditionalLogLikelihood().score(table, one), rel=1e-9)
