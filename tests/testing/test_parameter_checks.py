"""Every check of parameter learners can fail: for each there is one that is healthy but for that one thing."""

import pytest
from saboteurs import parameters
from saboteurs.trying import failing, name_of

from bnplug import ParameterLearnerMethod
from bnplug.testing import _common_checks

COMMON = {check.__name__ for check in _common_checks.CHECKS}
HEALTHY = [
    ParameterLearnerMethod("frequencies", parameters.Frequencies, "Healthy.", "Nobody (2026)"),
    ParameterLearnerMethod("counts", parameters.FrequenciesFromCounts, "Healthy, from counts.", "Nobody (2026)"),
    ParameterLearnerMethod("gradient", parameters.ByGradient, "Healthy, by a loss.", "Nobody (2026)"),
    ParameterLearnerMethod("trees", parameters.TreesOnly, "Healthy, and choosy.", "Nobody (2026)"),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize(
    "saboteur", [saboteur for saboteur in parameters.SABOTEURS if saboteur.check not in COMMON], ids=name_of
)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == saboteur.checks, failed
    assert failed[saboteur.check]
