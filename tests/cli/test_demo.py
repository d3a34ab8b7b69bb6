import pytest
from commands import run

import bnplug
from bnplug.cli import _demo as demo
from bnplug.datasets import iris
from bnplug.hooks import registry


def test_demo_shows_every_method_and_keeps_the_best(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "LOADERS", (iris,))
    text = run("demo", "-o", tmp_path).output
    names = ("iris",)
    for name in names:
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert bnplug.load(tmp_path / name).classes_.size >= 2
        assert "<html" in (tmp_path / f"{name}.html").read_text()
    for method in registry.methods("structure learner"):
        assert text.count(f"  {method.name} ") == len(names)
    for phrase in ("loaded again, it gives the same answers", "exported to", "to its log odds contribute"):
        assert text.count(phrase) == len(names)
    assert "failed" not in text


def test_a_method_that_fails_is_told_and_stops_nothing(tmp_path, monkeypatch):
    class Failing(bnplug.BayesianNetworkClassifier):
        def fit(self, X, y):
            raise ArithmeticError("no\nway")

    monkeypatch.setattr(demo, "methods", lambda: [("bad", Failing()), ("nb", bnplug.BayesianNetworkClassifier("nb"))])
    lines = []
    demo.run(tmp_path, lines.append, [iris])
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("  bad")] == ["failed: no way"]
    assert "  best: nb" in lines


def test_an_interrupt_ends_it(tmp_path, monkeypatch):
    class Interrupted(bnplug.BayesianNetworkClassifier):
        def fit(self, X, y):
            raise KeyboardInterrupt

    monkeypatch.setattr(demo, "methods", lambda: [("stop", Interrupted())])
    with pytest.raises(KeyboardInterrupt):
        demo.run(tmp_path, str, [iris])
