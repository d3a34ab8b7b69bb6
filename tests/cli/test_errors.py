"""However a command fails, it ends in one line."""

import warnings

import click
import pytest
from click.testing import CliRunner
from commands import run

import bnplug
from bnplug.cli._terminal import one_line_errors
from bnplug.datasets import iris


def test_warnings_are_one_line(files, tmp_path, model):
    X, _ = iris()
    X.iloc[:, :3].to_csv(tmp_path / "narrow.csv", index=False)
    stderr = run("predict", model, tmp_path / "narrow.csv").stderr
    assert stderr == "bnplug: warning: columns ['petal width (cm)'] are absent; they are marginalized\n"


def test_whatever_a_learner_raises_is_one_line(files, tmp_path, monkeypatch):
    def fit(*_):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(bnplug.BayesianNetworkClassifier, "fit", fit)
    result = run("fit", files / "iris.csv", "--target", "species", "-o", tmp_path / "m", code=1)
    assert result.stderr == "bnplug: ZeroDivisionError: division by zero\n"


def ending(raised):
    @click.command()
    @one_line_errors()
    def command():
        raise raised

    return CliRunner().invoke(command)


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (ValueError("a\n  b"), "bnplug: a b\n"),
        (KeyError(), "bnplug: KeyError\n"),
        (ArithmeticError("no"), "bnplug: ArithmeticError: no\n"),
        (MemoryError("too large"), "bnplug: too large\n"),
    ],
)
def test_an_exception_is_one_line_and_exit_code_1(raised, line):
    result = ending(raised)
    assert (result.stderr, result.exit_code) == (line, 1)


def test_a_mistake_in_the_command_line_keeps_its_own_exit_code():
    assert ending(click.BadParameter("not so")).exit_code == 2


def test_a_warning_of_others_says_its_type():
    @click.command()
    @one_line_errors()
    def command():
        warnings.warn("one\ntwo", bnplug.BnplugWarning, stacklevel=1)
        warnings.warn("old", UserWarning, stacklevel=1)

    lines = CliRunner().invoke(command).stderr.splitlines()
    assert lines == ["bnplug: warning: one two", "bnplug: warning: UserWarning: old"]
