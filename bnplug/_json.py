"""JSON in untrusted files: parsing with limits, and checksums."""

from __future__ import annotations

import hashlib
import json
import math
import re
import zipfile
from collections.abc import Mapping
from typing import Any

#: Exceptions that damaged files cause. zipfile raises NotImplementedError, a RuntimeError, for unknown versions; numpy
#: raises OverflowError, an ArithmeticError, for numbers out of range, and SyntaxError for some invalid dtypes.
DAMAGE = (
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    EOFError,
    OSError,
    RuntimeError,
    SyntaxError,
    zipfile.BadZipFile,
)

#: JSON would make one character of such a pair.
SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def sealed(index: Mapping[str, Any]) -> bytes:
    """Return the content of ``model.json``: `index` and a checksum of everything else."""
    text = json.dumps({**index, "checksum": ""}, indent=1, ensure_ascii=False) + "\n"
    pair = SURROGATE_PAIR.search(text)
    if pair:
        raise ValueError(f"{pair[0]!r} in a name is a pair of surrogates, which model files cannot represent")
    # A lone surrogate becomes the escape that JSON has for it.
    content = text.encode("utf-8", "backslashreplace")
    head, _, tail = content.rpartition(b'""')
    return head + b'"' + _digest(content) + b'"' + tail


def seal_holds(content: bytes, checksum: object) -> bool:
    """Return whether a content has the checksum that :func:`sealed` gave it."""
    if not isinstance(checksum, str) or not re.fullmatch("[0-9a-f]{64}", checksum):
        return False
    # Tools that keep text may have changed the line ends.
    head, digest, tail = content.replace(b"\r\n", b"\n").rpartition(checksum.encode())
    return bool(digest) and _digest(head + tail) == digest


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def parse_json(text: str | bytes) -> Any:
    """Parse JSON text; raise a ``ValueError`` if it is invalid, or a number does not fit into a float.

    Converting such a number later would raise an ``OverflowError`` or give an infinity that is not in the file.
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
