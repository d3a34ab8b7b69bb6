"""Every check of classifiers can fail: for each there is one that is healthy but for that one thing."""

import pytest
from saboteurs import classifiers
from saboteurs.trying import failing, name_of

from bnplug import ClassifierMethod

HEALTHY = [
    ClassifierMethod("wrapped", classifiers.Wrapped, "Healthy.", "Nobody (2026)"),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize("saboteur", classifiers.SABOTEURS, ids=name_of)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == {saboteur.check}, failed
    assert failed[saboteur.check]
