"""Every check of engines can fail: for each there is one that is healthy but for that one thing."""

import numpy as np
import pytest
from loopy import METHOD
from saboteurs import engines
from saboteurs.trying import failing, name_of

from bnplug import EngineMethod
from bnplug.testing import _engine_checks, data

HEALTHY = [
    EngineMethod("enumeration", engines.Enumeration, "Healthy.", "Nobody (2026)"),
    EngineMethod("without counts", engines.EnumerationWithoutCounts, "Healthy.", "Nobody (2026)"),
    EngineMethod("sampling", engines.Sampling, "Healthy.", "Nobody (2026)", exact=False, stochastic=True),
    METHOD,
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize("saboteur", engines.SABOTEURS, ids=name_of)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == saboteur.checks, failed
    assert failed[saboteur.check]


def test_only_an_engine_that_draws_is_told_to_draw_more_often():
    said = {
        each.method.name: " ".join(failing(each.method).values()) for each in engines.SABOTEURS if not each.method.exact
    }
    told = {name for name, message in said.items() if "draw more often" in message}
    assert told
    assert all(said[name] for name in said)
    assert not told & {"LoopyWithReversedAnswers", "LoopyWithTooLargeCounts", "OneRound"}
    assert "on trees, an engine that does not draw must be exact" in said["OneRound"]


def test_enumeration_by_hand():
    table = data.standard()
    tables = data.network(table, [[], [0], [], [1, 2]])
    p = {name: np.exp(tables[name].values) for name in tables.names}
    by_hand = np.einsum("a,ba,c,dbc->abcd", p["x1"], p["x2"], p["class"], p["x3"])
    joint = _engine_checks._joint(tables)
    assert np.allclose(joint, by_hand)
    assert np.isclose(joint.sum(), 1.0)
    codes = np.array([[1], [255], [0], [1]], dtype=np.uint8)
    assert np.allclose(np.exp(_engine_checks._log_joint(tables, codes)), by_hand[1, :, :, 1].sum(axis=0)[None])
    soft = _engine_checks._query(tables, ["class", "x1"], {"x2": [1.0, 0.0, 2.0]})
    expected = (by_hand * np.array([1.0, 0.0, 2.0])[:, None, None]).sum(axis=(1, 3)).T
    assert np.allclose(soft, expected / expected.sum())
    weights = np.array([[1.0, -2.0, 0.5]])
    given = by_hand[1, :, :, 1] / by_hand[1, :, :, 1].sum(axis=0) * weights
    counts = _engine_checks._expected(tables, codes, weights)
    assert np.allclose(counts[3][1], given)
    assert np.allclose(counts[1][:, 1], given.sum(axis=1))
