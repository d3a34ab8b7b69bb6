"""The shell is told the names of commands, options, methods and data sets, and is given its script."""

import shutil
import subprocess

import click
import pytest
from click.shell_completion import ShellComplete
from commands import run

from bnplug.cli import _reading
from bnplug.cli._app import cli


def completed(*words):
    *before, begun = words
    return [item.value for item in ShellComplete(cli, {}, "bnplug", "_X").get_completions(before, begun)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["meth"], ["methods"]),
        (["methods", "kd"], ["kdb"]),
        (["fit", "--struct"], ["--structure"]),
        (["fit", "--structure", "ta"], ["tan", "tabu"]),
        (["fit", "--discretizer", "md"], ["mdl"]),
        (["compare", "--methods", "nb,ta"], ["nb,tan", "nb,tabu"]),
        (["compare", "--methods", "tan,ta"], ["tan,tabu"]),
        (["compare", "--datasets", "iris,tic"], ["iris,tic-tac-toe"]),
        (["datasets", "tic"], ["tic-tac-toe"]),
        (["completion", "f"], ["fish"]),
    ],
)
def test_names_are_completed(words, found):
    assert completed(*words) == found


def test_an_error_is_none_of_the_shells_business():
    def fails():
        raise ValueError

    assert _reading._completing(fails, False)(click.Context(cli), click.Argument(["a"]), "x") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_takes(shell, tmp_path):
    text = run("completion", shell).output
    assert "_BNPLUG_COMPLETE" in text
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(text)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_an_unknown_shell_is_refused():
    assert "'bash', 'zsh', 'fish'" in run("completion", "tcsh", code=2).stderr
