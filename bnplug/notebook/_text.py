"""Any value as text that is safe in HTML and in XML."""

from __future__ import annotations

import html
import re

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Parsers normalise these where they stand as they are.
_WHITE = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def xml_text(text: str) -> str:
    """Return text without what XML and HTML cannot hold, such as control characters and lone surrogates."""
    return _NOT_XML.sub("\ufffd", text)


def text(value: object) -> str:
    r"""Return any value as text that is safe in an element and in a quoted attribute.

    Examples
    --------
    >>> text('<b> & "c"\n')
    '&lt;b&gt; &amp; &quot;c&quot;&#10;'
    """
    safe = html.escape(xml_text(str(value)))
    return "".join(_WHITE.get(letter, letter) for letter in safe)
