"""Every check can fail: for each there is a method that is healthy but for that one thing."""

import pytest
from saboteurs import parameters, plugins, scores, structures

from bnplug import ParameterLearnerMethod, ScoreFunctionMethod, StructureLearnerMethod
from bnplug.hooks import discovery
from bnplug.testing import CHECKS, check_plugin, checks_of, subject_of

HEALTHY = [
    StructureLearnerMethod("chain", structures.Chain, "Healthy.", "Nobody (2026)", 1),
    StructureLearnerMethod("dense", structures.Dense, "Healthy.", "Nobody (2026)", 1),
    ScoreFunctionMethod("plain", scores.Plain, "Healthy.", "Nobody (2026)", 1, decomposable=True),
    ParameterLearnerMethod("frequencies", parameters.Frequencies, "Healthy.", "Nobody (2026)", 1),
]
METHODS = [*structures.SABOTEURS, *scores.SABOTEURS, *parameters.SABOTEURS]


def failing(method):
    """The names of the checks that a method fails, with what they say."""
    failed = {}
    for check in checks_of(subject_of(method)):
        try:
            check()
        except Exception as error:
            failed[check.name] = str(error)
    return failed


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize("saboteur", METHODS, ids=lambda saboteur: f"{saboteur.method.kind}-{saboteur.method.name}")
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    assert set(failed) == {saboteur.check}, failed
    assert failed[saboteur.check]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a plugin of one module for as long as the test runs."""

    def install(name, source):
        module = f"bnplug_{name.replace('-', '_')}"
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (tmp_path / f"{module}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: bnplug-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[bnplug]\n{name} = {module}\n")
        monkeypatch.syspath_prepend(tmp_path)
        discovery.refresh()

    yield install
    monkeypatch.undo()
    discovery.refresh()


def test_a_healthy_plugin_passes_all(installed):
    installed("healthy", plugins.HEALTHY)
    report = check_plugin("bnplug_healthy")
    assert report.ok, str(report)
    assert {outcome.kind for outcome in report.outcomes} == {"plugin", "structure learner"}


@pytest.mark.filterwarnings("ignore::bnplug.PluginWarning")
@pytest.mark.parametrize("name", plugins.SABOTEURS)
def test_a_plugin_fails_its_check_and_no_other(installed, name):
    check, source = plugins.SABOTEURS[name]
    installed(name, source)
    report = check_plugin(name)
    assert [outcome.check for outcome in report.failures] == [check], str(report)


def test_every_check_has_a_saboteur():
    named = {("plugin", check) for check, _ in plugins.SABOTEURS.values()}
    named |= {(saboteur.method.kind, saboteur.check) for saboteur in METHODS}
    # What several kinds share is one function, and needs to be proved once.
    proved = {check for kind, checks in CHECKS.items() for check in checks if (kind, check.__name__) in named}
    assert proved == {check for checks in CHECKS.values() for check in checks}
