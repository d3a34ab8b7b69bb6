"""The page: the data of a model, the modules of the script as one, and around them what makes it self-contained."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

import bnplug
from bnplug.exchange.files import write_atomically
from bnplug.notebook._text import xml_text
from bnplug.show._policy import content_policy
from bnplug.show.explorer._data import page_data
from bnplug.show.explorer._part import shown_tables

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# Each behind those that it imports.
_MODULES = ("inference", "questions", "evidence", "dom", "card", "picture", "panels", "tables", "main")
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


class ExplorerPage:
    """The explorer of a model, as a notebook shows it.

    Attributes
    ----------
    html : str
        The page, as :func:`write` writes it.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        """Return a frame that holds the page: its styles and names stay its own."""
        frame = 'sandbox="allow-scripts" style="width: 100%; height: 760px; border: 0" title="explorer"'
        return f'<iframe {frame} srcdoc="{html.escape(self.html)}"></iframe>'


def write(
    model: BayesianNetworkClassifier,
    path: str | PathLike[str],
    X: Any = None,
    y: Any = None,
    features: int | Sequence[str] | None = None,
    rows: int = 0,
) -> None:
    """Write the explorer of a fitted classifier: one HTML file that answers, click by click, without a network.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        Fitted.
    path : path-like
        The file, which is replaced as a whole.
    X : frame or array, optional
        The data to take `rows` from.
    y : array-like, optional
        The true classes of the rows of `X`.
    features : int or names, optional
        The features to show, or how many of those that tell most of the class; parents come with them. What the page
        says of them is what the whole network says. By default all.
    rows : int, default 0
        The number of rows of `X`, from the first, that readers of the page can load. The page then contains their index
        labels, values and, with `y`, true classes, and anyone with the page can read them.

    Raises
    ------
    ValueError
        If the network is too large for a browser (the message says how many features would fit), or if `rows` is
        given without `X`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from bnplug import BayesianNetworkClassifier
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"]})
    >>> model = BayesianNetworkClassifier("nb").fit(X, ["go", "go", "stay", "stay"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(model, Path(folder, "explorer.html"))
    ...     Path(folder, "explorer.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    write_atomically(path, to_html(model, X, y, features, rows))


def to_html(
    model: BayesianNetworkClassifier,
    X: Any = None,
    y: Any = None,
    features: int | Sequence[str] | None = None,
    rows: int = 0,
) -> str:
    """Return the page that :func:`write` writes."""
    check_is_fitted(model)
    if X is None and y is not None:
        raise ValueError("y is given without X: give the rows that the labels belong to")
    data = page_data(model, shown_tables(model, features), X, y, rows)
    # Inside a script element only "<" could end it.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    code = script()
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(code)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="generator" content="bnplug {bnplug.__version__}">',
        f"<title>{html.escape(xml_text(model.target_))}: explorer</title>",
        f"<style>{_read('style.css')}</style>",
        "</head>",
        "<body>",
        f"<noscript>This page computes its answers itself and needs JavaScript. {data['contents']}</noscript>",
        f'<script type="application/json" id="data">{text}</script>',
        f'<script type="module">{code}</script>',
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def script() -> str:
    """Return the modules as one: a page that loads nothing has nowhere to import them from."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _read(f"{name}.mjs"))) for name in _MODULES)


def _read(file: str) -> str:
    return files("bnplug.show.explorer").joinpath(file).read_text("utf-8")
