"""The pieces of a display: a fragment with its style, tables, bars, and numbers as readers like them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bnplug.notebook._text import text

_LONGEST = 60

# Text keeps the colour that the notebook gives it; lines and fills are half transparent, so that they are seen on any
# ground.
_STYLE = """
.bnplug-shown { color: inherit; font-size: 13px; line-height: 1.45; margin: 2px 0; }
.bnplug-shown p { margin: 4px 0; }
.bnplug-shown .bnplug-wide { overflow-x: auto; max-width: 100%; }
.bnplug-shown table { border-collapse: collapse; border: 0; margin: 4px 0; font-variant-numeric: tabular-nums;
  width: auto; display: table; }
.bnplug-shown th, .bnplug-shown td { border: 0; border-bottom: 1px solid rgba(127, 127, 127, .3); padding: 2px 9px;
  color: inherit; text-align: right; vertical-align: middle; white-space: nowrap; }
.bnplug-shown th { font-weight: 600; }
.bnplug-shown th:first-child, .bnplug-shown .words { text-align: left; }
.bnplug-shown tr.sum > * { border-top: 2px solid rgba(127, 127, 127, .5); }
.bnplug-shown .soft { opacity: .75; }
.bnplug-shown details { margin: 3px 0; }
.bnplug-shown summary { cursor: pointer; }
.bnplug-shown i.bar { display: inline-block; height: .7em; vertical-align: baseline; border-radius: 2px; }
.bnplug-shown i.room { display: inline-block; width: 60px; text-align: left; line-height: 1; }
.bnplug-shown i.left { text-align: right; }
.bnplug-shown svg { display: block; margin: 6px 0; }
"""

# Seen on white and on black alike.
_SHADE, _ROOM = "61, 133, 204", 60
_FOR, _AGAINST = f"rgb({_SHADE})", "rgb(212, 96, 90)"


def fragment(*parts: str) -> str:
    """Return HTML parts as one display."""
    return "\n".join([f'<div class="bnplug-shown"><style>{_STYLE}</style>', *filter(None, parts), "</div>"])


def title(value: str, more: str = "") -> str:
    """Return a line that says what is shown, and what is of less weight."""
    said = f' <span class="soft">{text(more)}</span>' if more else ""
    return f"<p><b>{text(value)}</b>{said}</p>"


def note(value: str) -> str:
    """Return a remark, of less weight."""
    return f'<p class="soft">{text(value)}</p>'


def short(value: object) -> str:
    """Return a name or a label as safe text; of a long one the beginning, and the whole where one hovers."""
    whole = str(value)
    if len(whole) <= _LONGEST:
        return f"<bdi>{text(whole)}</bdi>"
    return f'<bdi title="{text(whole[:2000])}">{text(whole[: _LONGEST - 1])}…</bdi>'


def listed(labels: Sequence[object], most: int, shown: Callable[[object], str] = str) -> str:
    """Return the first labels, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c"], 1)
    ('a, b, c', 'a and 2 more')
    """
    more = f" and {len(labels) - most:,} more" if len(labels) > most else ""
    return ", ".join(map(shown, labels[:most])) + more


def heading(value: object, scope: str = "col", kind: str = "") -> str:
    """Return a heading cell of a column or a row; of kind "words" it stands on the left."""
    return f'<th scope="{scope}"{f" class={kind}" if kind else ""}>{short(value)}</th>'


def cell(content: str, kind: str = "") -> str:
    """Return a cell; `content` is HTML."""
    return f'<td class="{kind}">{content}</td>' if kind else f"<td>{content}</td>"


def shaded(share: float, content: str) -> str:
    """Return a cell whose shade goes with a share between 0 and 1."""
    return f'<td style="background: rgba({_SHADE}, {0.55 * min(max(share, 0.0), 1.0):.2f})">{content}</td>'


def table(head: Iterable[Sequence[str]], rows: Iterable[Sequence[str]], n_sums: int = 0) -> str:
    """Return a table of cells that scrolls where it is too wide; the last `n_sums` rows are apart from the others."""
    body = list(rows)
    first_sum = len(body) - n_sums
    lines = ['<div class="bnplug-wide"><table>', "<thead>", *map(_row, head), "</thead>", "<tbody>"]
    lines += [_row(own, "sum" if n_sums and i == first_sum else "") for i, own in enumerate(body)]
    return "\n".join([*lines, "</tbody></table></div>"])


def _row(cells: Sequence[str], kind: str = "") -> str:
    return f'<tr class="{kind}">{"".join(cells)}</tr>' if kind else f"<tr>{''.join(cells)}</tr>"


def number(value: float) -> str:
    """Return a number with four decimals, or with its exponent where they would say nothing.

    Examples
    --------
    >>> number(0.25), number(2e-7), number(0.0), number(float("nan"))
    ('0.2500', '2e-07', '0.0000', 'NaN')
    """
    if value != value:
        return "NaN"
    return f"{value:.4f}" if value == 0 or 0.00005 <= abs(value) < 1e5 else f"{value:.0e}"


def bar(share: float, shown: str) -> str:
    """Return a bar of a length between 0 and 1, with its number behind it."""
    return f'<i class="room">{_bar(share, _FOR)}</i> {shown}'


def signed_bar(share: float, shown: str) -> str:
    """Return a bar between -1 and 1 that starts in the middle, with its number behind it."""
    sides = _bar(-share, _AGAINST), _bar(share, _FOR)
    return f'<i class="room left">{sides[0]}</i><i class="room">{sides[1]}</i> {shown}'


def _bar(share: float, colour: str) -> str:
    return f'<i class="bar" style="background: {colour}; width: {_ROOM * share:.0f}px"></i>' if share > 0 else ""
