"""Every check of discretisers can fail: for each there is one that is healthy but for that one thing."""

import pytest
from saboteurs import discretizers
from saboteurs.trying import failing, name_of

from bnplug import DiscretizerMethod

HEALTHY = [
    DiscretizerMethod("median", discretizers.Median, "Healthy.", "Nobody (2026)"),
    DiscretizerMethod("summary", discretizers.MedianOfSummary, "Healthy, from summaries.", "Nobody (2026)"),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize("saboteur", discretizers.SABOTEURS, ids=name_of)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == {saboteur.check}, failed
    assert failed[saboteur.check]


def test_cuts_in_descending_order_are_found():
    method = DiscretizerMethod("descending", discretizers.CutsInDescendingOrder, "A saboteur.", "Nobody (2026)")
    failed = failing(method)
    assert "must be finite and strictly ascending" in failed["check_cut_points"]
    assert "are not finite and ascending" in failed["check_goes_by_name_and_is_saved"]
