"""What is written for people runs nothing and says what it says, whatever names and labels hold."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from attack.hostile import N, X, Y, learn
from click.testing import CliRunner

import bnplug
from bnplug.cli import cli
from bnplug.datasets import Dataset
from bnplug.experiments import compare
from bnplug.experiments import to_html as comparison_page
from bnplug.experiments._report import to_page
from bnplug.experiments._tables import TextTable
from bnplug.show.drawing import to_dot, to_svg
from bnplug.sources.spreadsheets import to_csv

HOSTILE = [
    "a|b",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style></svg><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "line\n# heading\n\n- bullet",
    "`code` ```\nfence",
    "[l](javascript:alert(1)) ![i](http://example.invalid)",
    "*bold* __strong__ ~~gone~~ \\| <b>",
    "{{7*7}} ${7*7} %s {0}",
    "esc\x1b[2Jape\x9b31m\x07",
    "nul\0here",
    "\u202eright to left\u2066",
    '=HYPERLINK("http://example.invalid")',
]


class Skeleton(HTMLParser):
    """The elements of a page and the names of their attributes, without any text; text of scripts is apart."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self._inside = [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(sorted(name for name, _ in attrs if name != "title"))))
        self._inside = tag

    def handle_endtag(self, tag):
        self.elements.append((f"/{tag}", ()))
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)


def model_of(names, labels):
    """Learn a model whose names and labels are all hostile, or all plain."""
    rng = np.random.default_rng(1)
    columns = pd.DataFrame({i: np.array(labels, dtype=object)[rng.integers(0, 3, N)] for i in range(len(names) - 1)})
    columns.columns = pd.Index(names[1:], dtype=object)
    y = pd.Series(np.array(labels, dtype=object)[X], name=names[0])
    return learn(columns, y), columns, y


@pytest.fixture(scope="module")
def models():
    """Return a model of hostile names, and one of plain names that begins every page alike."""
    plain = [f"n{i:02}" for i in range(len(HOSTILE))]
    return model_of(HOSTILE, sorted(HOSTILE)[:3]), model_of(plain, ["l0", "l1", "l2"])


@pytest.mark.parametrize("page", ["report", "explore"])
def test_pages_have_the_same_elements_whatever_names_hold(models, tmp_path, page):
    found = []
    for model, columns, y in models:
        getattr(model, page)(tmp_path / "page.html", columns, y, rows=3)
        found.append(Skeleton((tmp_path / "page.html").read_text(encoding="utf-8")))
    hostile, plain = found
    # Parents, and so the cells of tables, may be others; elements and attributes may not.
    assert {*hostile.elements} == {*plain.elements}
    assert [kind for kind, _ in hostile.elements].count("script") == [kind for kind, _ in plain.elements].count(
        "script"
    )
    assert hostile.scripts[-1] == plain.scripts[-1]


def test_data_inside_a_page_are_json_that_ends_nothing(models, tmp_path):
    model, columns, y = models[0]
    model.explore(tmp_path / "page.html", columns, y, rows=3)
    (data,) = re.findall(r'id="data">([^<]*)</script>', (tmp_path / "page.html").read_text(encoding="utf-8"))
    told = json.dumps(json.loads(data), ensure_ascii=False)
    assert "</script><script>alert(1)</script>" in told


def test_drawings_are_xml_and_graphviz_of_one_text_a_name(models):
    model, _, _ = models[0]
    tables = model.tables_
    svg = ET.fromstring(to_svg(tables.names, tables.edges, model.target_))
    assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= {
        "svg",
        "title",
        "desc",
        "g",
        "path",
        "rect",
        "text",
    }
    dot = to_dot(tables.names, tables.edges, model.target_)
    without_text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', dot)
    assert not re.search(r"[<>\x00-\x09\x0b-\x1f]", without_text.replace("->", ""))
    assert without_text.count('""') > len(tables.names)


def markdown_cells(line):
    """Split a line of a Markdown table where a reader would."""
    return re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]


def test_markdown_tables_show_names_as_they_are():
    table = TextTable(["data", *HOSTILE], [[name, *["1.0"] * len(HOSTILE)] for name in HOSTILE], frozenset({(0, 1)}))
    lines = table.to_markdown().splitlines()
    assert len(lines) == len(HOSTILE) + 2
    assert all(len(markdown_cells(line)) == len(HOSTILE) + 1 for line in lines)
    assert markdown_cells(lines[2])[1] == " **1.0** "
    for line, name in zip(lines[2:], HOSTILE, strict=True):
        cell = markdown_cells(line)[0]
        assert cell.isprintable()
        # What is special is behind a backslash; without backslashes it is the name.
        assert not re.search(r"(?<!\\)[<>`*~\[\]]", re.sub(r"\\\\", "", cell))
        shown = re.sub(r"\\(.)", r"\1", cell).split()
        expected = "".join(c if c.isprintable() or c.isspace() else repr(c)[1:-1] for c in name)
        assert shown == expected.split()


def test_underscores_are_escaped_where_they_would_be_emphasis():
    table = TextTable(["a_b", "_a_"], [["__init__", "x_1 _y"]])
    assert table.to_markdown().splitlines()[::2] == [r"| a_b | \_a\_ |", r"| \_\_init\_\_ | x_1 \_y |"]


def test_tables_for_a_terminal_move_no_cursor():
    text = TextTable(["data", "x\ny"], [[name, "1"] for name in HOSTILE]).to_text()
    assert len(text.splitlines()) == len(HOSTILE) + 2
    assert all(line.isprintable() for line in text.splitlines())


def test_latex_tables_have_a_row_a_name():
    names = ["[4pt]", "*", "a\n\nb", r"\input{/etc/passwd}", "100% & $x_1^2$ #~{}"]
    lines = TextTable(["data", "n"], [[name, "1"] for name in names]).to_latex().splitlines()
    body = lines[lines.index(r"\midrule") + 1 : -2]
    assert body == [
        r"{}[4pt] & 1 \\",
        r"{}* & 1 \\",
        r"a b & 1 \\",
        r"\textbackslash{}input\{/etc/passwd\} & 1 \\",
        r"100\% \& \$x\_1\textasciicircum{}2\$ \#\textasciitilde{}\{\} & 1 \\",
    ]


def test_a_comparison_of_hostile_names_is_a_page_of_its_own(tmp_path):
    columns = pd.DataFrame({"x": X, "o": X[::-1]})
    data = [Dataset(name, columns, pd.Series(X > 0, name="c"), "auto", "here") for name in HOSTILE[1:3]]
    fails = bnplug.BayesianNetworkClassifier([("a", "<img src=x onerror=alert(1)>\n## no")])
    found = compare([(HOSTILE[6], "nb"), "tan", (HOSTILE[1], fails)], data, cv=2, n_jobs=1)
    page = to_page(found)
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# Comparison: accuracy (%)",
        "## Every two methods",
        r"## line # heading - bullet against the others, on each data set",
        "## Folds that failed",
    ]
    assert not re.search(r"(?<!\\)[<>]", page)
    html = comparison_page(found)
    assert "<img src=x" not in html
    assert "<script" not in html
    rows = list(csv.reader(io.StringIO(found.to_csv())))
    assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t=", "\r=", "\n=", "＝", "＋", "－", "＠"])
def test_cells_that_a_spreadsheet_would_run_are_text(begins):
    text = f"{begins}cmd|' /C calc'!A0"
    frame = pd.DataFrame({text: [text, "plain"], "c": pd.Categorical([text, "b"]), "n": [-1.5, 2.0]})
    rows = list(csv.reader(io.StringIO(to_csv(frame), newline="")))
    assert rows == [[f"'{text}", "c", "n"], [f"'{text}", f"'{text}", "-1.5"], ["plain", "b", "2.0"]]
    assert next(csv.reader(io.StringIO(to_csv(frame, formulas=True), newline="")))[0] == text


def test_commands_write_no_control_characters_to_a_terminal(models, tmp_path):
    models[0][0].save(tmp_path / "model")
    odd = learn(pd.DataFrame({"x": X, "o": X[::-1]}), np.where(Y == "a", "\x1b[2Ja", "b\x9b31m").astype(object))
    odd.save(tmp_path / "odd")
    pd.DataFrame({"x": X, "o": X[::-1], "class": np.where(Y == "a", "\x1b[2Ja", "b\x9b31m")}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    for command in (
        ["show", "model"],
        ["show", "odd"],
        ["evaluate", "odd", "rows.csv"],
        ["evaluate", "odd", "rows.csv", "--target", "\x1b[2J"],
        ["predict", "\x1b[2Jnowhere", "rows.csv"],
        ["fit", "rows.csv", "--target", "\x1b[2J", "-o", "new"],
        ["methods", "\x1b[2J"],
        ["import", "\x1b[2J.bif", "-o", "new"],
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            done = CliRunner().invoke(cli, command)
        said = done.output.replace("\n", "")
        assert said.isprintable(), (command, said)
