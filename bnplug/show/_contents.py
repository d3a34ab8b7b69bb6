"""What a page contains, in words for its readers: pages are mailed, so rows of data are in them only on request."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bnplug.show.summary import counted

_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_FOLDERS = re.compile(r"(?<=^.).*[/\\]")


def check_rows(rows: Any, X: Any) -> None:
    """Raise a ``ValueError`` unless `rows`, the number of rows that a page is to contain, is possible."""
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
        Whether their true classes are in it too.
    n_evaluated : int, optional
        The number of rows that figures such as the accuracy were computed from.

    Examples
    --------
    >>> print(contents(2, has_truth=True).partition(". ")[2])
    It also contains 2 rows of data: their labels, values and true classes. Share it only with people who may see them.
    """
    said = [
        "This page contains the model: the names of columns, the values of discrete columns, the cut points of numeric "
        "columns (which can be values of training rows), and tables of probabilities."
    ]
    if n_evaluated is not None:
        said.append(
            f"Its figures of accuracy and its confusion matrix were computed from {counted(n_evaluated, 'row')}."
        )
    if not n_rows:
        return " ".join([*said, "It contains no rows of data."])
    whose, them = ("its", "it") if n_rows == 1 else ("their", "them")
    labels = "label" if n_rows == 1 else "labels"
    truth = "true class" if n_rows == 1 else "true classes"
    parts = f"{whose} {labels}, values and {truth}" if has_truth else f"{whose} {labels} and values"
    said.append(f"It also contains {counted(n_rows, 'row')} of data: {parts}.")
    said.append(f"Share it only with people who may see {them}.")
    return " ".join(said)


def without_folders(text: str) -> str:
    """Return a text in which quoted paths, as those of checkpoints among the settings, are names of files.

    Examples
    --------
    >>> without_folders("sa(checkpoint='/home/someone/sa.json', k=2)")
    "sa(checkpoint='sa.json', k=2)"
    """
    return _QUOTED.sub(lambda quoted: _FOLDERS.sub("", quoted[0]), text)
