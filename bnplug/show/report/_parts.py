"""Pieces of an HTML page: escaped text, numbers as readers like them, tables, bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bnplug.notebook._text import text as text

_LONG = 24


def name(value: object) -> str:
    """Return a name inside a sentence: its script and direction stay its own."""
    return f"<bdi>{text(value)}</bdi>"


def number(value: float) -> str:
    """Return a probability with three decimals, or with its exponent where they would all be 0.

    Examples
    --------
    >>> number(0.25), number(2e-7), number(0.0)
    ('0.250', '2e-07', '0')
    """
    if value == 0:
        return "0"
    return f"{value:.0e}" if abs(value) < 0.0005 else f"{value:.3f}"


def plain(value: float) -> str:
    """Return a count or a weight without needless decimals.

    Examples
    --------
    >>> plain(12.0), plain(2.5)
    ('12', '2.5')
    """
    return f"{value:.6g}" if value < 1e6 else f"{value:,.0f}"


def shaded(value: float, shown: str, kind: str = "", title: str = "") -> str:
    """Return a cell whose shade goes with `value`, from 0 to 1."""
    attributes = (f' class="{kind}"' if kind else "") + (f' title="{text(title)}"' if title else "")
    return f'<td{attributes} style="--p:{value:.2g}">{shown}</td>'


def heading(value: object, scope: str = "col", kind: str = "") -> str:
    """Return a heading cell of a column or a row; a long one, which may be cut off, can be hovered over."""
    attributes = (f' class="{kind}"' if kind else "") + (f' title="{text(value)}"' if len(str(value)) > _LONG else "")
    return f'<th scope="{scope}"{attributes}>{text(value)}</th>'


def cell(content: str) -> str:
    """Return a plain cell; `content` is HTML."""
    return f"<td>{content}</td>"


def table(head: Sequence[Sequence[str]], rows: Iterable[Sequence[str]], kind: str, label: str) -> str:
    """Return a table, in a box of its own that scrolls where the page is too narrow.

    Parameters
    ----------
    head, rows : sequences of rows of cells
        Cells are HTML.
    kind : str
        The table's CSS class.
    label : str
        What the table is, for those who do not see it.
    """
    lines = [
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}"><table class="{kind}">',
        "<thead>",
        *(f"<tr>{''.join(row)}</tr>" for row in head),
        "</thead><tbody>",
        *(f"<tr>{''.join(row)}</tr>" for row in rows),
        "</tbody></table></div>",
    ]
    return "\n".join(lines)


def bar(share: float, shown: str) -> str:
    """Return a bar of a length between 0 and 1, with its number beside it."""
    return f'<span class="bar" style="--p:{share:.3g}"><i></i><b>{shown}</b></span>'


def signed_bar(share: float, shown: str) -> str:
    """Return a bar between -1 and 1 that starts in the middle, with its number beside it."""
    kind = "against" if share < 0 else "for"
    return f'<span class="signed {kind}" style="--p:{abs(share):.3g}"><i></i></span><b>{shown}</b>'


def definitions(items: Iterable[tuple[str, str]], kind: str = "facts") -> str:
    """Return terms and what they are; the latter is HTML."""
    inner = "".join(f"<div><dt>{text(term)}</dt><dd>{content}</dd></div>" for term, content in items)
    return f'<dl class="{kind}">{inner}</dl>'


def section(identity: str, title: str, *content: str) -> str:
    """Return a section of the page under a heading."""
    return "\n".join([f'<section id="{identity}">', f"<h2>{text(title)}</h2>", *content, "</section>"])


def note(content: str) -> str:
    """Return a remark in small print; `content` is HTML."""
    return f'<p class="note">{content}</p>'
