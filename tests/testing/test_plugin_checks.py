"""Every check of a plugin as a whole can fail: for each there is a plugin that is healthy but for that one thing."""

import os

import pytest
from saboteurs import plugins

from bnplug.hooks import discovery
from bnplug.testing import check_plugin


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


def test_a_one_file_plugin_passes_all_and_may_import_numba(tmp_path, monkeypatch):
    source = "import numba\n" + plugins.HEALTHY.replace("healthy", "in-a-file")
    (tmp_path / "in_a_file.py").write_text(source)
    monkeypatch.setenv("BNPLUG_PLUGINS", os.fspath(tmp_path / "in_a_file.py"))
    discovery.refresh()
    report = check_plugin("in_a_file.py")
    monkeypatch.undo()
    discovery.refresh()
    assert report.ok, str(report)
