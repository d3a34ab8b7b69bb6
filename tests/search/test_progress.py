"""A search tells as much as it is asked to, on the standard error stream alone."""

from __future__ import annotations

import pytest

from bnplug.search import Progress, greedy


@pytest.mark.parametrize("verbose", [None, 0])
def test_silence(capsys, verbose):
    told = Progress("sa", verbose)
    told.tick(1, 0.5, 10)
    told.moved(1, 0.5, 10, "add a -> b")
    told.report(1, 0.5, 10)
    assert capsys.readouterr() == ("", "")


def test_a_line_a_second(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(greedy.time, "monotonic", lambda: now[0])
    told = Progress("sa", 1)
    for seconds in (0.5, 0.4, 0.2, 0.5):
        now[0] += seconds
        told.moved(3, 0.25, 44, "add a -> b")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "sa: 3 moves, score 0.25, 44 evaluations, 40 per second\n")


def test_a_line_for_every_move(capsys):
    told = Progress("hill-climb", 2)
    told.moved(1, -2.0, 10, "add a -> b")
    told.moved(2, -1.5, 20, "delete a -> c")
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "add a -> b",
        "delete a -> c",
    ]
