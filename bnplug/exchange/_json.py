"""Parse JSON from untrusted files."""

from __future__ import annotations

import json
import math
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Parse JSON text, and refuse numbers that do not fit into a float.

    Raises
    ------
    ValueError
        If the text is not JSON, or contains a number that is out of range. Converting such a number later would raise
        an ``OverflowError`` or give an infinity that is not in the file.

    Examples
    --------
    >>> parse_json('{"alpha": 1.5}')
    {'alpha': 1.5}
    >>> parse_json("1" + 400 * "0")
    Traceback (most recent call last):
        ...
    ValueError: a number with 401 characters is out of range for a float
    """
    return json.loads(text, parse_int=_parse_int, parse_float=_parse_float)


def _parse_int(text: str) -> int:
    _parse_float(text)
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"a number with {len(text)} characters is out of range for a float")
    return number
