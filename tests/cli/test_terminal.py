"""On a terminal tables are drawn; elsewhere text is plain, and rich is not even imported."""

import os
import subprocess
import sys

import pytest

from bnplug.cli import _terminal
from bnplug.experiments._tables import TextTable

ROWS = [("a", "the [first]"), ("longer", "second")]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(_terminal, "_is_terminal", lambda: True)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "60")


def test_plain_columns_are_aligned(capsys):
    _terminal.print_columns(ROWS, ("name", "what"))
    _terminal.print_columns([])
    _terminal.print_title("done")
    assert capsys.readouterr().out == "a       the [first]\nlonger  second\ndone\n"


def test_paragraphs_are_wrapped_and_indented(capsys):
    _terminal.print_paragraph("word " * 40, "    ")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("    word") and len(line) <= 100 for line in lines)


def test_a_terminal_gets_drawn_columns_with_their_heads(terminal, capsys):
    _terminal.print_columns(ROWS, ("name", "what"))
    text = capsys.readouterr().out
    assert "name" in text
    assert "the [first]" in text
    assert "─" in text


def test_a_terminal_gets_the_table_of_a_comparison(terminal, capsys):
    table = TextTable(
        ["data", "nb", "tan"], [["iris\x1b", "93.1", "94.0"], ["average", "1", "2"]], frozenset({(0, 2)}), 1
    )
    _terminal.draw_table(table)
    text = capsys.readouterr().out
    assert "94.0" in text
    assert "iris\x1b" not in text


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_plain_text_gets_it(terminal, monkeypatch, name, value):
    assert _terminal.is_drawn()
    monkeypatch.setenv(name, value)
    assert not _terminal.is_drawn()


def test_without_rich_text_is_plain(terminal, monkeypatch):
    monkeypatch.setattr(_terminal, "find_spec", lambda _: None)
    assert not _terminal.is_drawn()


def test_rich_is_not_imported_where_nothing_is_drawn():
    code = "import sys; from bnplug.cli._app import cli; cli(['methods'], standalone_mode=False); "
    code += "sys.exit('rich' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_the_command_knows_a_terminal_when_it_writes_to_one():
    import pty

    found = {}
    for kind in ("terminal", "pipe"):
        leader, follower = pty.openpty() if kind == "terminal" else os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "bnplug", "methods"], stdout=follower, env={**os.environ, "TERM": "xterm"}
        )
        os.close(follower)
        text = b""
        while True:
            try:
                more = os.read(leader, 4096)
            except OSError:  # Linux says so that the other side is closed
                break
            if not more:
                break
            text += more
        os.close(leader)
        assert process.wait() == 0
        found[kind] = b"\x1b[" in text
    assert found == {"terminal": True, "pipe": False}
