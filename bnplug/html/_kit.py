"""Rendering: escaped text, numbers, tables, notebook displays, and pages from Jinja2 templates."""

from __future__ import annotations

import base64
import hashlib
import numbers
import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

import bnplug

if TYPE_CHECKING:
    from jinja2 import Environment

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Parsers normalize white space in attributes unless it is written as references.
_ESCAPES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
}  # fmt: skip
_SPECIAL = re.compile(f"[{''.join(_ESCAPES)}]|{_NOT_XML.pattern}")
#: The contents of every page on a model.
MODEL = (
    "the model: the names of columns, the values of discrete columns, the cut points of numeric columns (which can be "
    "values of training rows), and tables of probabilities"
)

_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_FOLDERS = re.compile(r"(?<=^.).*[/\\]")

# Longer names are cut; from the second length on, hovering shows the whole name, up to the third.
_LONGEST, _LONG, _LONGEST_TOOLTIP = 60, 24, 2000


class Safe(str):
    """HTML that is complete as it is: templates do not escape it."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


class Cell(NamedTuple):
    """A cell of a table: its content, and optionally a CSS class, a title, a shade or a bar.

    Attributes
    ----------
    content : object
        Escaped, unless it is HTML from this kit.
    kind : str
        The CSS class; "words" aligns a column to the left, "best" emphasizes a cell.
    title : str
        The text on hovering.
    shade : float, optional
        The darkness of the background, from 0 to 1.
    bar : float, optional
        The length of a bar before the content: from 0 to 1, or with `signed` from -1 to 1.
    signed : bool
        Whether the bar starts in the middle.
    """

    content: object
    kind: str = ""
    title: str = ""
    shade: float | None = None
    bar: float | None = None
    signed: bool = False


def xml_text(text: str) -> str:
    """Replace characters that XML and HTML cannot contain: control characters and lone surrogates."""
    return _NOT_XML.sub("\ufffd", text)


def text(value: object) -> str:
    """Escape any value for an element or a quoted attribute."""
    return _SPECIAL.sub(lambda match: _ESCAPES.get(match[0], "\ufffd"), str(value))


def number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` decimals, or with an exponent if it is very small or large, as in ``2e-07``."""
    if value != value:
        return "NaN"
    if value == 0:
        return "0"
    return f"{value:.{digits}f}" if 0.5 * 10.0**-digits <= abs(value) < 1e5 else f"{value:.0e}"


def counted(n: int, noun: str) -> str:
    """Return a number of things, for example "1 edge" or "2 edges"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def short(value: object) -> Safe:
    """Return a name or label as HTML with its own text direction; long ones are cut, and hovering shows the whole."""
    whole = str(value)
    if len(whole) <= _LONG:
        return Safe(f"<bdi>{text(whole)}</bdi>")
    shown = whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…"
    return Safe(f'<bdi title="{text(whole[:_LONGEST_TOOLTIP])}">{text(shown)}</bdi>')


def listing(labels: Sequence[object], most: int = 12, separator: str = ", ") -> Safe:
    """Return the first names as HTML, and how many more there are."""
    more = f" and {len(labels) - most:,} more" if len(labels) > most else ""
    return Safe(separator.join(map(short, labels[:most])) + more)


def table(
    head: Iterable[Iterable[object]],
    rows: Iterable[Iterable[object]],
    kind: str = "",
    label: str = "",
    headings: int = 1,
    n_sums: int = 0,
) -> Safe:
    """Render a table; it scrolls if it is too wide.

    A cell of `head` and `rows` is a :class:`Cell`, or any value, which is shown as a name. `kind` is the CSS class,
    `label` a description for screen readers. The first `headings` cells of a row are headings, and the last `n_sums`
    rows are summaries.
    """
    top, body = ([[_cell(cell) for cell in row] for row in part] for part in (head, rows))
    return Safe(render("table.html", head=top, rows=body, kind=kind, label=label, headings=headings, n_sums=n_sums))


def _cell(value: object) -> Cell:
    return value if isinstance(value, Cell) else Cell(value if isinstance(value, Safe) else short(value))


def title(value: str, more: str = "") -> Safe:
    """Return the heading of a display, with details in softer type."""
    return macro("title", value, more)


def note(value: str) -> Safe:
    """Return a remark in softer type."""
    return macro("note", value)


def display(*parts: str) -> str:
    """Return parts that are HTML as one notebook display."""
    return render("display.html", parts=[Safe(part) for part in parts if part])


def content_policy(script: str = "", images: bool = False) -> str:
    """Return the content security policy: the browser loads nothing and runs at most this script."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        policy += f"; script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    return f"{policy}; img-src data:" if images else policy


def source(file: str, package: str = "bnplug.html") -> Safe:
    """Return the text of a style sheet or script among the templates."""
    environment = _environment(package)
    assert environment.loader is not None
    return Safe(environment.loader.get_source(environment, file)[0])


def render(template: str, package: str = "bnplug.html", **data: Any) -> str:
    """Render a template, escaping all data.

    Parameters
    ----------
    template : str
        The name of a file in the folder ``templates`` of `package`, or among the kit's own templates: ``page.html``,
        which pages extend, and ``macros.html``.
    package : str
        The package that contains the template.
    **data
        The variables of the template. The functions ``table``, ``short``, ``listing`` and ``number`` are available too.
    """
    return _environment(package).get_template(template).render(data)


def macro(name: str, *arguments: object) -> Safe:
    """Render a macro of ``macros.html``."""
    return Safe(getattr(_environment("bnplug.html").get_template("macros.html").module, name)(*arguments))


@cache
def _environment(package: str) -> Environment:
    # Jinja2 is loaded when the first page is made.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(place) for place in dict.fromkeys((package, "bnplug.html"))]),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else Safe(text(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "content_policy": content_policy,
        "listing": listing,
        "number": number,
        "short": short,
        "source": lambda file: source(file, package),
        "table": table,
        "version": bnplug.__version__,
    }
    return environment


# Frames that a notebook shows with bars and shades. They are plain pandas frames: computing with them, comparing or
# pickling them gives frames that pandas shows.


def with_display(frame: pd.DataFrame, display: Callable[[pd.DataFrame], str]) -> pd.DataFrame:
    """Return the same frame, shown in notebooks by `display`, or by pandas if `display` raises after a change."""
    # A frame that referred to itself would stay in memory until the next garbage collection. The copy is shown if
    # nothing else holds the frame, as in the expression that makes it.
    reference, made = weakref.ref(frame), frame.copy(deep=False)

    def _repr_html_() -> str | None:
        if not pd.get_option("display.notebook_repr_html"):
            return None
        current = reference()
        current = made if current is None else current
        try:
            return display(current)
        except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
            return plain_display(current)

    object.__setattr__(frame, "_repr_html_", _repr_html_)
    return frame


def plain_display(frame: pd.DataFrame) -> str:
    """Return the beginning of any frame as pandas shows it."""
    return frame.to_html(notebook=True, max_rows=60, max_cols=20)


# Pages are shared: they contain rows of data only on request, and say what they contain.


def check_rows(rows: Any, X: Any, y: Any = None) -> None:
    """Raise a ``ValueError`` unless `rows`, the number of rows in a page, is valid, and `X` comes with `y`."""
    if X is None and y is not None:
        raise ValueError("y is given without X: pass the rows that the labels belong to")
    if isinstance(rows, bool) or not isinstance(rows, numbers.Integral) or rows < 0:
        raise ValueError(f"rows={rows!r} must be a whole number of at least 0")
    if rows and X is None:
        raise ValueError(f"rows={rows} needs X: pass the data to take the rows from")


def contents(what: str = MODEL, n_rows: int = 0, has_truth: bool = False, n_evaluated: int | None = None) -> str:
    """Return the sentences that say what a page contains.

    Parameters
    ----------
    what : str
        Everything except rows; by default, the contents of a page on a model.
    n_rows : int
        The number of rows of data in the page.
    has_truth : bool
        Whether the page contains their true classes too.
    n_evaluated : int, optional
        The number of rows on which accuracy and other measures were computed.
    """
    sentences = [f"This page contains {what}."]
    if n_evaluated is not None:
        evaluated = counted(n_evaluated, "row")
        sentences.append(f"Its measures of accuracy and its confusion matrix were computed from {evaluated}.")
    if not n_rows:
        return " ".join([*sentences, "It contains no rows of data."])
    one = n_rows == 1
    label, truth, them = ("its label", "true class", "it") if one else ("their labels", "true classes", "them")
    parts = f"{label}, values and {truth}" if has_truth else f"{label} and values"
    sentences.append(f"It also contains {counted(n_rows, 'row')} of data: {parts}.")
    return " ".join([*sentences, f"Share it only with people who may see {them}."])


def without_folders(text: str) -> str:
    """Shorten quoted paths in a text, for example a checkpoint among the settings, to file names."""
    return _QUOTED.sub(lambda quoted: _FOLDERS.sub("", quoted[0]), text)
