"""The line of progress: on a terminal it tells, elsewhere it keeps quiet."""

import io
import sys

import pytest

from bnplug.cli._terminal import ProgressLine, RowsLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_terminal_sees_the_line_and_no_rest_of_it(monkeypatch, error):
    monkeypatch.setattr(sys, "stderr", Terminal())
    said = []
    try:
        with ProgressLine(3) as progress:
            progress.advance("wine, TAN")
            assert progress.text() == "1 of 3 done in 0 s (wine, TAN)"
            progress.aside(said.append)("a row")
            if error:
                raise error
    except KeyboardInterrupt:
        pass
    assert said == ["a row"]
    assert "1 of 3 done in 0 s (wine, TAN)" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")


def test_a_pipe_sees_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    said = []
    with ProgressLine(3) as progress:
        progress.advance("wine, TAN")
        progress.aside(said.append)("a row")
    assert (said, sys.stderr.getvalue()) == (["a row"], "")


def test_rows_are_told_with_their_speed(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("bnplug.cli._terminal.time.monotonic", lambda: now[0])
    line = RowsLine()
    line.tell("codes", 0, 4000)
    now[0] += 2
    line.tell("codes", 1000, 4000)
    assert line.text() == "codes: 1,000 of 4,000 rows (25%), 500 rows a second"
    # What comes next has a speed of its own.
    line.tell("predictions", 0, 10)
    now[0] += 1
    line.tell("predictions", 10, 10)
    assert line.text() == "predictions: 10 of 10 rows (100%), 10 rows a second"
