"""Every check that all kinds share can fail: for each there is a method that is healthy but for that one thing."""

import pytest
from saboteurs import classifiers, discretizers, engines, parameters, plugins, scores, structures
from saboteurs.trying import failing, name_of

from bnplug.testing import CHECKS, _common_checks

#: Whose own tests make all checks of their saboteurs.
ELSEWHERE = [*engines.SABOTEURS, *classifiers.SABOTEURS, *discretizers.SABOTEURS]
METHODS = [*structures.SABOTEURS, *scores.SABOTEURS, *parameters.SABOTEURS, *ELSEWHERE]
COMMON = {check.__name__ for check in _common_checks.CHECKS}


@pytest.mark.parametrize("saboteur", [s for s in METHODS if s.check in COMMON and s not in ELSEWHERE], ids=name_of)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == saboteur.checks, failed
    assert failed[saboteur.check]


def test_every_check_has_a_saboteur():
    named = {("plugin", check) for check, _ in plugins.SABOTEURS.values()}
    named |= {(saboteur.method.kind, saboteur.check) for saboteur in METHODS}
    # What several kinds share is one function, and needs to be proved once.
    proved = {check for kind, checks in CHECKS.items() for check in checks if (kind, check.__name__) in named}
    assert proved == {check for checks in CHECKS.values() for check in checks}


@pytest.mark.parametrize("saboteur", [s for s in METHODS if s.method.name == "ReadsAllRows"], ids=name_of)
def test_who_reads_all_rows_is_told_what_to_do_instead(saboteur):
    assert "table.sum" in failing(saboteur.method)["check_rows_in_blocks"]
