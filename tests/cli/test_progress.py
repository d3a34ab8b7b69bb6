"""The line of progress: on a terminal it tells, elsewhere it keeps quiet."""

import io
import sys

import pytest

from bnplug.cli._progress import ProgressLine


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
    assert "1 of 3 done" in sys.stderr.getvalue() or "starting" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")
    assert not progress._ticker.is_alive()


def test_a_pipe_sees_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    said = []
    with ProgressLine(3) as progress:
        progress.advance("wine, TAN")
        progress.aside(said.append)("a row")
    assert (said, sys.stderr.getvalue()) == (["a row"], "")
