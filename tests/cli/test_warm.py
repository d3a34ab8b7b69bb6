from commands import run
from strategies import some

from bnplug.cli import _warm as warm
from bnplug.hooks import registry
from bnplug.testing import data


def test_warm_compiles_every_method(monkeypatch):
    # Of the kinds of tables that kernels tell apart, one in a short run: see below that all are tried.
    tables = some(list(data.for_kernels()), 4)
    monkeypatch.setattr(data, "for_kernels", lambda: tables)
    text = run("warm").output
    assert "parameter learner ml" in text
    assert "not compiled" not in text


def test_a_method_that_fails_is_told_and_stops_nothing(monkeypatch):
    def fail(name, table):
        raise ArithmeticError("no\nway")

    monkeypatch.setattr(warm, "_jobs", lambda: [("score function", "bad", fail), ("score function", "mdl", str)])
    lines = []
    warm.run(lines.append)
    assert lines[0] == "score function bad: not compiled: no way"
    assert lines[1].startswith("score function mdl: ")


def test_every_method_is_run_on_codes_of_both_sizes_weighted_and_not(monkeypatch):
    given = []
    monkeypatch.setattr(warm, "_jobs", lambda: [("score function", "mdl", lambda name, table: given.append(table))])
    warm.run(str)
    kinds = {(table.codes.dtype.itemsize, table.weights is not None) for table in given}
    assert kinds == {(1, False), (1, True), (2, False), (2, True)}


def test_every_method_has_its_job():
    assert {name for _, name, _ in warm._jobs()} >= {"tan", "mdl", "ml"}
    assert len(list(warm._jobs())) == sum(len(registry.methods(kind)) for kind in registry.CONTRACTS)
