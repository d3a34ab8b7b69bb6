"""What the README says is so: its snippets run, its commands work, its verbs are there."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from bnplug.cli import cli
from bnplug.datasets import iris

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands():
    return [line for block in blocks("console") for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("snippet", blocks("python"), ids=lambda text: text.strip().splitlines()[0])
def test_snippets_run(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {"__name__": "snippet"})
    assert snippet


def test_bnplug_commands_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = iris()
    X.assign(species=y).to_csv(tmp_path / "iris.csv", index=False)
    ours = [shlex.split(command)[1:] for command in commands() if command.startswith("bnplug ")]
    assert len(ours) >= 5
    for arguments in ours:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "predictions.csv").read_text().startswith("species,")


def test_make_verbs_exist():
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"make (\w+)", README))
    assert {"demo", "test"} <= named
    for verb in named:
        assert re.search(rf"^{verb}:", makefile, flags=re.MULTILINE), verb


def test_every_command_is_of_a_kind_that_a_test_runs():
    assert {command.split()[0] for command in commands()} <= {"bnplug", "make", "pip"}


def test_the_install_command_of_a_checkout_takes_the_plugins_from_it():
    checkout, released = [command for command in re.findall(r"pip install [^`\n]+", README) if "[all]" in command]
    assert checkout == 'pip install ".[all]" ./plugins/bnplug-*/'
    assert released == 'pip install "bnplug[all]"'


def test_extras_named_in_install_commands_exist():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra for group in re.findall(r"\[([a-z,]+)\]\"", README) for extra in group.split(",")}
    assert named
    assert named <= set(extras)
