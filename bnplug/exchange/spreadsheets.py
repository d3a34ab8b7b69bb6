"""CSV that spreadsheet programs show and do not run."""

from __future__ import annotations

import csv
from typing import Any

import pandas as pd

# Programs take a cell that begins with one of these for a formula, in some languages also the wide forms; a tab or a
# line end at the beginning is passed over.
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def to_csv(frame: pd.DataFrame, formulas: bool = False, header: bool = True) -> str:
    """Return a frame as CSV, without its index.

    Parameters
    ----------
    frame : pandas.DataFrame
    formulas : bool
        Whether to write text unchanged. By default, text that a spreadsheet program could run as a formula gets a
        leading apostrophe: text of two or more characters that begins with ``=``, ``+``, ``-``, ``@``, a tab or a
        line end and is not a number.
    header : bool
        Whether the names of the columns come first.

    Examples
    --------
    >>> print(to_csv(pd.DataFrame({"name": ["=1+1", "-3", "a=b"], "value": [-1.5, 2.0, 3.0]})), end="")
    name,value
    '=1+1,-1.5
    -3,2.0
    a=b,3.0
    """
    if not formulas:
        frame = frame.set_axis([_shown(name) for name in frame.columns], axis=1)
        text = [i for i, dtype in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(dtype)]
        for i in text:
            frame.isetitem(i, [_shown(cell) for cell in frame.iloc[:, i]])
    written = frame.to_csv(index=False, header=header, lineterminator="\n")
    if "\r" not in written:
        return written
    # A carriage return ends a row for those who read, and makes no quotes for pandas, who writes.
    return frame.to_csv(index=False, header=header, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def _shown(cell: Any) -> Any:
    # A sign alone is not a formula, and is a common class label.
    is_formula = isinstance(cell, str) and len(cell) > 1 and cell.startswith(_BEGINNINGS) and not _is_number(cell)
    return f"'{cell}" if is_formula else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return not text[0].isspace()
