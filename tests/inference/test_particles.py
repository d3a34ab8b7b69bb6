"""Draws follow the tables, and weights are what the tables say of what is known."""

import numpy as np
from random_networks import MISSING

from bnplug import LogTables
from bnplug.builtin.engines.sampling import SampledNetwork


def chain(spread=1.0):
    """x1 <- c, x2 <- x1, with x2 known: the weight of a draw of x1 is P(x2 | x1)."""
    return LogTables(
        ["c", "x1", "x2"],
        {"c": [0, 1], "x1": [0, 1, 2], "x2": [0, 1]},
        {
            "c": ((), np.log([0.3, 0.7])),
            "x1": (("c",), np.log([[0.2, 0.5], [0.3, 0.25], [0.5, 0.25]])),
            "x2": (("x1",), spread * np.log([[0.1, 0.5, 0.9], [0.9, 0.5, 0.1]])),
        },
    )


def test_the_mean_weight_is_the_probability():
    marginals = SampledNetwork(chain(), "c", 50_000, 4)
    joint = np.exp(marginals.log_joint(np.array([[MISSING], [MISSING], [1]], dtype=np.uint8)))
    exact = [0.3 * (0.2 * 0.9 + 0.3 * 0.5 + 0.5 * 0.1), 0.7 * (0.5 * 0.9 + 0.25 * 0.5 + 0.25 * 0.1)]
    np.testing.assert_allclose(joint[0], exact, rtol=0.02)


def test_states_are_drawn_as_often_as_their_probability_says():
    answer = SampledNetwork(chain(), "c", 50_000, 5).query(["x1"], {"c": 0})
    np.testing.assert_allclose(answer, [0.2, 0.3, 0.5], atol=0.01)


def test_tables_that_do_not_sum_to_one_weigh_by_their_sums():
    tables = chain(spread=3.0)
    marginals = SampledNetwork(tables, "c", 50_000, 6)
    # Nothing is known, but states of x1 have other sums over x2.
    p = np.exp(tables["x1"].values) * np.exp(tables["x2"].values).sum(axis=0)[:, None]
    exact = np.array([0.3, 0.7]) * p.sum(axis=0)
    np.testing.assert_allclose(marginals.query(["c"], {}), exact / exact.sum(), atol=0.01)


def test_seeds_give_streams_of_their_own():
    codes = np.array([[MISSING] * 2, [MISSING] * 2, [0, 1]], dtype=np.uint8)
    found = [SampledNetwork(chain(), "c", 10, seed).log_joint(codes) for seed in range(30)]
    assert len({tuple(np.round(own, 12).ravel()) for own in found}) == 30
