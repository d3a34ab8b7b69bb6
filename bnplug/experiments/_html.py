"""A comparison as one HTML page that loads nothing: the table, the tests, the pictures."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import bnplug
from bnplug.experiments._report import CONTENTS, Part, parts_of, pictures_of
from bnplug.notebook._text import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug.experiments._tables import TextTable
    from bnplug.experiments.comparison import Comparison

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_TITLES = {
    "time": "Accuracy against the time of learning",
    "scatter": "The first two methods",
    "critical-difference": "Average ranks, and the difference that is needed",
}
# The first column stays in view where a table is wider than the page.
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6b7c; --paper: #f5f7f9; --card: #fff; --line: #dbe1e8;
  --accent: #1d5fa6; --best: #e4eefa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --soft: #9aa8b6; --paper: #11161c; --card: #191f27;
  --line: #2e3843; --accent: #7fb2ea; --best: #1d3550; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1280px; padding: 24px 20px 40px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
h1 { margin: 0 0 18px; font-size: 28px; } h2 { margin: 0 0 10px; font-size: 18px; }
section { margin: 18px 0; padding: 18px 20px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
.wide { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child { position: sticky; left: 0; background: var(--card); text-align: left; }
td.best { background: var(--best); font-weight: 600; }
tr.sum > * { border-top: 2px solid var(--line); }
img { max-width: 100%; height: auto; background: #fff; border-radius: 8px; }
footer { color: var(--soft); font-size: 13px; }
"""


def to_html(comparison: Comparison, metric: str = "accuracy") -> str:
    """Return a comparison as one self-contained HTML page: the table, the tests that it allows, and pictures.

    Parameters
    ----------
    comparison : Comparison
    metric : str
        What the tables and pictures show.

    Returns
    -------
    str
        The page. It loads nothing and runs no script, whatever names hold; pictures are there where matplotlib is
        installed.

    Examples
    --------
    >>> from bnplug.experiments import compare
    >>> page = to_html(compare(["nb"], ["corral"], cv=2))
    >>> page.startswith("<!DOCTYPE html>"), page.count("<table>")
    (True, 1)
    """
    first, *others = parts_of(comparison, metric)
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="bnplug {bnplug.__version__}">',
        f"<title>{text(first.title)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{text(first.title)}</h1>",
        *_section(first._replace(title="")),
        *(line for part in others for line in _section(part)),
        *(line for name, ax in pictures_of(comparison, metric).items() for line in _picture(_TITLES[name], ax)),
        f"<footer><p>{text(CONTENTS)}</p><p>bnplug {bnplug.__version__}</p></footer>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def _section(part: Part) -> list[str]:
    listed = "".join(f"<li>{text(line)}</li>" for line in part.lines)
    return [
        "<section>",
        *([f"<h2>{text(part.title)}</h2>"] if part.title else []),
        *([f"<p>{text(part.text)}</p>"] if part.text else []),
        *([] if part.table is None else _table(part.table)),
        *([f"<ul>{listed}</ul>"] if listed else []),
        "</section>",
    ]


def _table(table: TextTable) -> list[str]:
    head = "".join(f'<th scope="col">{text(own)}</th>' for own in table.columns)
    lines = ['<div class="wide" tabindex="0">', "<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for i, (name, *cells) in enumerate(table.rows):
        kind = ' class="sum"' if i == len(table.rows) - table.n_summary else ""
        best = ["best" if (i, j) in table.best else "" for j in range(1, len(table.columns))]
        shown = "".join(f'<td class="{own}">{text(cell)}</td>' for own, cell in zip(best, cells, strict=True))
        lines.append(f'<tr{kind}><th scope="row">{text(name)}</th>{shown}</tr>')
    return [*lines, "</tbody>", "</table>", "</div>"]


def _picture(title: str, ax: Axes) -> list[str]:
    """Return a picture as part of the page, the same bytes for the same picture."""
    from matplotlib import rc_context

    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": "bnplug"}):
        ax.figure.canvas.print_figure(drawn, format="svg", metadata={"Date": None})
    data = base64.b64encode(drawn.getvalue()).decode()
    return [
        "<section>",
        f"<h2>{text(title)}</h2>",
        f'<img alt="{text(title)}" src="data:image/svg+xml;base64,{data}">',
        "</section>",
    ]
