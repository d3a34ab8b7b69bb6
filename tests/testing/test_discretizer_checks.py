"""Every check of discretisers can fail: for each there is one that is healthy but for that one thing."""

import pytest
from saboteurs import discretizers
from saboteurs.trying import failing, name_of

from bnplug import DiscretizerMethod

HEALTHY = [
    DiscretizerMethod("median", discretizers.Median, "Healthy.", "Nobody (2026)", 2),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize("saboteur", discretizers.SABOTEURS, ids=name_of)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == {saboteur.check}, failed
    assert failed[saboteur.check]
