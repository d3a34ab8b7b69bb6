"""Ready to be released: versions and ranges that fit together, workflows that call what there is, files that agree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import bnplug

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/bnplug-*/pyproject.toml"))]
PROJECTS = {
    project["name"]: project
    for project in (tomllib.loads((source / "pyproject.toml").read_text())["project"] for source in SOURCES)
}
VERSIONS = {name: Version(project.get("version", bnplug.__version__)) for name, project in PROJECTS.items()}
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob(".github/workflows/*.yml"))}


def requirements(project):
    """What a distribution needs of others of ours, extras left out."""
    return [own for own in map(Requirement, project["dependencies"]) if own.name in PROJECTS]


@pytest.mark.parametrize("name", [name for name in PROJECTS if name != "bnplug"])
def test_a_plugin_asks_for_the_core_that_is_here_and_for_three_minor_versions(name):
    found = requirements(PROJECTS[name])
    assert "bnplug" in [own.name for own in found]
    for own in found:
        assert own.specifier.contains(VERSIONS[own.name], prereleases=True), str(own)
        bounds = {part.operator: Version(part.version) for part in own.specifier}
        assert set(bounds) == {">=", "<"}
        assert (bounds["<"].major, bounds["<"].minor) == (bounds[">="].major, bounds[">="].minor + 3)


def test_there_is_one_version_and_the_changelog_begins_with_it():
    assert {str(version) for version in VERSIONS.values()} == {bnplug.__version__}
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == bnplug.__version__


@pytest.mark.parametrize("key", ["requires-python", "license", "authors"])
def test_distributions_agree(key):
    assert len({str(project[key]) for project in PROJECTS.values()}) == 1


def test_every_distribution_has_a_page_and_says_what_it_is():
    for source, project in zip(SOURCES, PROJECTS.values(), strict=True):
        assert (source / project["readme"]).is_file()
        assert project["description"]
        assert project["keywords"]


def test_the_addresses_are_left_to_the_owner_in_one_place():
    marked = subprocess.run(["git", "grep", "-l", "# OWNER:"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert set(marked.stdout.split()) - {"tests/test_release.py"} == {"pyproject.toml"}
    assert not [name for name, project in PROJECTS.items() if name != "bnplug" and "urls" in project]


def steps():
    return [
        (f"{file}: {job}", step)
        for file, workflow in WORKFLOWS.items()
        for job, described in workflow["jobs"].items()
        for step in described["steps"]
    ]


def test_workflows_call_the_verbs_of_the_makefile_and_nothing_else():
    makefile = (ROOT / "Makefile").read_text()
    verbs = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    called = set()
    for place, step in steps():
        assert ("run" in step) != ("uses" in step), place
        if "run" in step:
            match = re.fullmatch(r"make ([a-z-]+)(?: PYTHON=python)?", step["run"].strip())
            assert match, (place, step["run"])
            assert match[1] in verbs, (place, match[1])
            called.add(match[1])
        else:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./-]+", step["uses"]), (place, step["uses"])
    assert called == {"lint", "test", "docs", "dist"}


def test_every_python_and_system_that_is_promised_is_tested():
    matrix = WORKFLOWS["test.yml"]["jobs"]["test"]["strategy"]["matrix"]
    promised = [own for own in PROJECTS["bnplug"]["classifiers"] if re.search(r"Python :: 3\.\d+$", own)]
    assert matrix["python"] == [own.rsplit(" ", 1)[1] for own in promised]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    # So is a plugin that `bnplug new-plugin` makes.
    theirs = yaml.safe_load((ROOT / "plugins/_template/common/.github/workflows/test.yml").read_text())
    assert [job["strategy"]["matrix"]["python"] for job in theirs["jobs"].values()] == [matrix["python"]]


def test_only_the_jobs_that_publish_may_do_so():
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
    trusted = [
        f"{file}: {job}"
        for file, workflow in WORKFLOWS.items()
        for job, described in workflow["jobs"].items()
        if described.get("permissions", {}).get("id-token") == "write"
    ]
    assert trusted == ["docs.yml: show", "publish.yml: publish"]
    publish = WORKFLOWS["publish.yml"]["jobs"]["publish"]
    assert publish["environment"] == "pypi"
    assert not re.search(r"secrets\.|password:", (ROOT / ".github/workflows/publish.yml").read_text())


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(cited["version"]) == bnplug.__version__
    assert cited["license"] == PROJECTS["bnplug"]["license"]
    assert [own["name"] for own in cited["authors"]] == [own["name"] for own in PROJECTS["bnplug"]["authors"]]
    assert set(cited) >= {"cff-version", "message", "title", "abstract"}


def test_the_policy_says_the_range_that_plugins_ask_for():
    said = re.findall(r"`(bnplug>=[^`]*)`", (ROOT / "docs" / "deprecation.md").read_text())
    assert {Requirement(own).specifier for own in said} == {
        own.specifier for name, project in PROJECTS.items() for own in requirements(project) if own.name == "bnplug"
    }


def test_a_folder_that_lacks_a_distribution_is_not_checked(tmp_path):
    script = [sys.executable, str(ROOT / ".ci" / "distributions.py")]
    done = subprocess.run([*script, "check", tmp_path], capture_output=True, text=True, check=False)
    assert f"has 0 wheels and 0 sdists, not {len(SOURCES)} of each" in done.stderr
    assert subprocess.run(script, capture_output=True, text=True, check=False).returncode == 1
