"""Sentences that tell readers of a page what it contains: pages may be mailed, so they contain rows only on request."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bnplug.show.summary import counted

_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_FOLDERS = re.compile(r"(?<=^.).*[/\\]")


def check_rows(rows: Any, X: Any) -> None:
    """Raise a ``ValueError`` unless `rows`, the number of rows in a page, is valid."""
    if isinstance(rows, bool | np.bool_) or not isinstance(rows, int | np.integer) or rows < 0:
        raise ValueError(f"rows={rows!r} must be a whole number of at least 0")
    if rows and X is None:
        raise ValueError(f"rows={rows} needs X: pass the data to take the rows from")


def contents(n_rows: int, has_truth: bool, n_evaluated: int | None = None) -> str:
    """Return the sentences that say what a page on a model contains.

    Parameters
    ----------
    n_rows : int
        The number of rows of data in the page.
    has_truth : bool
        Whether the page contains their true classes too.
    n_evaluated : int, optional
        The number of rows on which the accuracy and other figures were computed.

    Examples
    --------
    >>> print(contents(2, has_truth=True).partition(". ")[2])
    It also contains 2 rows of data: their labels, values and true classes. Share it only with people who may see them.
    """
    sentences = [
        "This page contains the model: the names of columns, the values of discrete columns, the cut points of numeric "
        "columns (which can be values of training rows), and tables of probabilities."
    ]
    if n_evaluated is not None:
        sentences.append(
            f"Its measures of accuracy and its confusion matrix were computed from {counted(n_evaluated, 'row')}."
        )
    if not n_rows:
        return " ".join([*sentences, "It contains no rows of data."])
    whose, them = ("its", "it") if n_rows == 1 else ("their", "them")
    labels = "label" if n_rows == 1 else "labels"
    truth = "true class" if n_rows == 1 else "true classes"
    parts = f"{whose} {labels}, values and {truth}" if has_truth else f"{whose} {labels} and values"
    sentences.append(f"It also contains {counted(n_rows, 'row')} of data: {parts}.")
    sentences.append(f"Share it only with people who may see {them}.")
    return " ".join(sentences)


def without_folders(text: str) -> str:
    """Shorten quoted paths in a text, such as the path of a checkpoint among the settings, to file names.

    Examples
    --------
    >>> without_folders("sa(checkpoint='/home/someone/sa.json', k=2)")
    "sa(checkpoint='sa.json', k=2)"
    """
    return _QUOTED.sub(lambda quoted: _FOLDERS.sub("", quoted[0]), text)
