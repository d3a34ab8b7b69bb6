"""The text in a box: what of a name fits, and how wide that is."""

from __future__ import annotations

import unicodedata

from bnplug.notebook._text import xml_text

#: Lengths are CSS pixels, 96 to the inch.
FONT_SIZE = 13.0
_LONGEST_LABEL = 190.0


def text_width(text: str) -> float:
    """About the width of `text` in bold DejaVu Sans, the widest face that a label may be set in."""
    ems = 0.0
    for letter in text:
        if unicodedata.east_asian_width(letter) in "WF":
            ems += 1.0
        elif letter in "ijlftrI .,:;'|!()[]{}/\\-":
            ems += 0.43
        elif letter in "mwMW@%":
            ems += 1.03
        elif not unicodedata.combining(letter):
            ems += 0.8 if letter.isupper() else 0.67
    return ems * FONT_SIZE


def label_of(name: str) -> str:
    """Return a name on one line, cut where it is too long for a box."""
    label = xml_text(" ".join(name.split()))
    if text_width(label) <= _LONGEST_LABEL:
        return label
    while text_width(label + "…") > _LONGEST_LABEL:
        label = label[:-1]
    return label.rstrip() + "…"
