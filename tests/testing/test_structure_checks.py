"""Every check of structure learners can fail: for each there is one that is healthy but for that one thing."""

import pytest
from saboteurs import structures
from saboteurs.trying import failing, name_of

from bnplug import StructureLearnerMethod
from bnplug.testing import _common_checks

COMMON = {check.__name__ for check in _common_checks.CHECKS}
HEALTHY = [
    StructureLearnerMethod("chain", structures.Chain, "Healthy.", "Nobody (2026)", 1),
    StructureLearnerMethod("dense", structures.Dense, "Healthy.", "Nobody (2026)", 1),
    StructureLearnerMethod("search", structures.Search, "Healthy.", "Nobody (2026)", 1, needs_score=True),
    StructureLearnerMethod("gaps", structures.GapsAreAState, "Healthy, and unusual.", "Nobody (2026)", 1),
    StructureLearnerMethod("pair", structures.OneOfTwo, "Healthy, and quick.", "Nobody (2026)", 1, needs_score=True),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize(
    "saboteur", [saboteur for saboteur in structures.SABOTEURS if saboteur.check not in COMMON], ids=name_of
)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == {saboteur.check}, failed
    assert failed[saboteur.check]
