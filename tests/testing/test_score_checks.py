"""Every check of scores can fail: for each there is one that is healthy but for that one thing."""

import pytest
from saboteurs import scores
from saboteurs.trying import failing, name_of

from bnplug import ScoreFunctionMethod
from bnplug.testing import _common_checks
from bnplug.testing._common_checks import FewEdges

COMMON = {check.__name__ for check in _common_checks.CHECKS}
HEALTHY = [
    ScoreFunctionMethod("plain", scores.Plain, "Healthy.", "Nobody (2026)"),
    ScoreFunctionMethod("few edges", FewEdges, "Healthy, and blind to data.", "Nobody (2026)"),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize(
    "saboteur", [saboteur for saboteur in scores.SABOTEURS if saboteur.check not in COMMON], ids=name_of
)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == saboteur.checks, failed
    assert failed[saboteur.check]
