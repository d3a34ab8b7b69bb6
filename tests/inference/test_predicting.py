"""Log joints for prediction: a row that is impossible under every class is predicted by the class prior."""

from __future__ import annotations

import numpy as np
import pytest
from random_networks import full_joint, random_tables

from bnplug.builtin.engines.junction_tree import JunctionTreeEngine
from bnplug.builtin.engines.sampling import SamplingEngine
from bnplug.inference.complete import posterior
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.predicting import predictive_log_joint
from bnplug.model.log_tables import LogTables

MISSING = 255
ZERO = -np.inf


def ruled_out():
    """P(c) = 0.2, 0.5, 0.3; x = 2 occurs with no class; y is independent of the class."""
    x = np.log([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]])
    return LogTables(
        ["y", "x", "c"],
        {"y": [0, 1], "x": [0, 1, 2], "c": ["n", "o", "p"]},
        {
            "y": ((), np.log([0.4, 0.6])),
            "x": (("c",), np.vstack([x, np.full(3, ZERO)])),
            "c": ((), np.log([0.2, 0.5, 0.3])),
        },
        "c",
    )


CODES = np.array([[0, 1, MISSING, 1], [0, 2, 2, MISSING], [MISSING] * 4], dtype=np.uint8)


@pytest.mark.parametrize(
    "compiled",
    [
        Marginalizer(ruled_out(), "c"),
        JunctionTreeEngine().compile(ruled_out(), "c"),
        SamplingEngine(n_samples=10, random_state=0).compile(ruled_out(), "c"),
    ],
    ids=["elimination", "junction-tree", "sampling"],
)
def test_impossible_rows_get_the_class_prior_and_others_their_posterior(compiled):
    prior = [0.2, 0.5, 0.3]
    first = np.array([0.2 * 0.9, 0.5 * 0.2, 0.3 * 0.5])
    found = posterior(predictive_log_joint(compiled, CODES))
    np.testing.assert_allclose(found, [first / first.sum(), prior, prior, prior], atol=1e-12)


def test_possible_rows_are_unchanged_to_the_last_bit():
    compiled = Marginalizer(ruled_out(), "c")
    possible = np.ascontiguousarray(CODES[:, [0, 3]])
    assert np.array_equal(predictive_log_joint(compiled, possible), compiled.log_joint(possible))


def test_the_prior_of_a_class_with_parents_is_its_marginal():
    rng = np.random.default_rng(0)
    tables = random_tables(rng, [[2], [0], []], [3, 2, 4])
    values = tables["v1"].values.copy()
    values[:] = ZERO
    values[0] = 0.0  # v1 is never 1
    own = {name: (table.parents, table.values) for name, table in tables.tables.items()}
    tables = LogTables(tables.names, tables.states, {**own, "v1": (tables["v1"].parents, values)}, "v0")
    codes = np.array([[MISSING], [1], [2]], dtype=np.uint8)
    wanted = np.exp(full_joint(tables)).sum(axis=(1, 2))
    np.testing.assert_allclose(posterior(predictive_log_joint(Marginalizer(tables, "v0"), codes))[0], wanted)


def test_a_network_without_any_possible_row_is_undecided():
    x = np.array([[ZERO, ZERO], [ZERO, ZERO]])
    tables = LogTables(["x", "c"], {"x": [0, 1], "c": [0, 1]}, {"x": (("c",), x), "c": ((), np.log([0.3, 0.7]))}, "c")
    codes = np.array([[0], [MISSING]], dtype=np.uint8)
    assert posterior(predictive_log_joint(Marginalizer(tables, "c"), codes)).tolist() == [[0.5, 0.5]]
