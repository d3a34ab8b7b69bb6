"""JSON from files that anyone may have written."""

from __future__ import annotations

import json
import math
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text, whose numbers all fit into a float.

    Raises
    ------
    ValueError
        If the text is not JSON, or holds a number that is out of range: converting it later would be an
        ``OverflowError``, or an infinity that nobody wrote.

    Examples
    --------
    >>> parse_json('{"alpha": 1.5}')
    {'alpha': 1.5}
    >>> parse_json("1" + 400 * "0")
    Traceback (most recent call last):
        ...
    ValueError: a number of 401 characters is out of range
    """
    return json.loads(text, parse_int=_parse_int, parse_float=_parse_float)


def _parse_int(text: str) -> int:
    _parse_float(text)
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"a number of {len(text)} characters is out of range")
    return number
