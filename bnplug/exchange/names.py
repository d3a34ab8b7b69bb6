"""Names and state labels in exchange files: safe stand-ins where a reader could not take the true ones.

The true ones go into properties, percent-encoded so that every reader of the format skips over them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from bnplug.data.coding import State, plain_label

NAME, STATES, TARGET = "bnplug_name", "bnplug_states", "bnplug_target"

#: The words that mean something in a BIF file.
KEYWORDS = ("default", "discrete", "network", "probability", "property", "table", "type", "variable")

_KEYWORD = re.compile("|".join(KEYWORDS))
_STEM_LENGTH = 40


class SafeVariable(NamedTuple):
    """A variable as a file holds it: safe name and labels, and the properties that restore the true ones."""

    name: str
    labels: list[str]
    properties: dict[str, str]


class SafeText(NamedTuple):
    """What a file format takes.

    Attributes
    ----------
    takes_name, takes_label : callable
        Whether it takes a name or a label as it is.
    fold : callable
        What two names must not share.
    marks : str
        What a stand-in may hold beside letters, digits and ``_``.
    lead : str
        What goes before a stand-in that does not begin with a letter.
    reserved : tuple of str
        Words that no stand-in may be.
    """

    takes_name: Callable[[str], bool]
    takes_label: Callable[[str], bool]
    fold: Callable[[str], str]
    marks: str = ".-"
    lead: str = "_"
    reserved: tuple[str, ...] = ()


def encode(text: str) -> str:
    """Return `text` as ASCII letters, digits, ``_.-~`` and ``%XX``, with no keyword of BIF in it.

    Examples
    --------
    >>> encode("petal length (cm)"), encode("variable")
    ('petal%20length%20%28cm%29', '%76ariable')
    """
    quoted = quote(text, safe="", errors="surrogatepass")
    return _KEYWORD.sub(lambda match: f"%{ord(match[0][0]):02X}{match[0][1:]}", quoted)


def decode(text: str) -> str:
    """Undo :func:`encode`; a ``ValueError`` where the bytes are not UTF-8."""
    return unquote(text, errors="surrogatepass")


def encode_labels(labels: Iterable[State]) -> str:
    """Return labels with their types, separated by commas.

    Examples
    --------
    >>> encode_labels([1, 1.5, True, "a, b"])
    'int:1,float:1.5,bool:True,str:a%2C%20b'
    """
    plain = (checked_label(label) for label in labels)
    return ",".join(
        f"str:{encode(label)}" if isinstance(label, str) else f"{type(label).__name__}:{label!r}" for label in plain
    )


def decode_labels(text: str) -> list[State]:
    """Undo :func:`encode_labels`; a ``ValueError`` where that is not what `text` is."""
    return [_decode_label(part) for part in text.split(",")]


def _decode_label(text: str) -> State:
    kind, _, value = text.partition(":")
    if kind == "str":
        return decode(value)
    if kind == "int":
        return int(value)
    if kind == "float":
        return float(value)
    if kind == "bool" and value in ("True", "False"):
        return value == "True"
    raise ValueError(f"{text!r} is not a state label with its type")


def checked_label(label: object) -> State:
    """Return a label as a plain Python value; a ``TypeError`` where it is no text, number or truth value."""
    plain = plain_label(label)
    if plain is None:
        raise TypeError(f"state label {label!r} is of type {type(label).__name__}, not text, number or truth value")
    return plain


def checked_labels(name: str, labels: Iterable[object]) -> list[State]:
    """Return a variable's labels as plain Python values; the ``TypeError`` names the variable."""
    try:
        return [checked_label(label) for label in labels]
    except TypeError as error:
        raise TypeError(f"variable {name!r}: {error}") from None


def safe_variables(
    names: Sequence[str], states: Mapping[str, Sequence[State]], safe: SafeText
) -> dict[str, SafeVariable]:
    """Return how a file holds each variable: as it is where the format allows it.

    Examples
    --------
    >>> safe = SafeText(str.isidentifier, str.isalnum, str.lower)
    >>> variable = safe_variables(["x", "X"], {"x": ["a", "b"], "X": [1.5, "no"]}, safe)["X"]
    >>> variable.name, variable.labels, variable.properties[STATES]
    ('X_2', ['_1.5', 'no'], 'float:1.5,str:no')
    """
    variables = {}
    for name, safe_name in zip(names, _stand_ins(names, safe.takes_name, safe.fold, safe), strict=True):
        true_labels = checked_labels(name, states[name])
        labels = _stand_ins([str(label) for label in true_labels], safe.takes_label, str, safe)
        properties = {}
        if safe_name != name:
            properties[NAME] = encode(name)
        # A list of other types never equals the list of texts: 1 is not "1".
        if labels != true_labels:
            properties[STATES] = encode_labels(true_labels)
        variables[name] = SafeVariable(safe_name, labels, properties)
    return variables


def _stand_ins(
    texts: Sequence[str], accepts: Callable[[str], bool], fold: Callable[[str], str], safe: SafeText
) -> list[str]:
    """Return distinct safe texts, as near to `texts` as can be; a text that is safe itself goes first."""
    chosen: dict[int, str] = {}
    taken: set[str] = set()
    for i, text in enumerate(texts):
        if accepts(text) and fold(text) not in taken:
            chosen[i] = text
            taken.add(fold(text))
    numbers: dict[str, int] = {}
    for i, text in enumerate(texts):
        if i in chosen:
            continue
        stem = candidate = _stem(text, safe)
        while fold(candidate) in taken:
            numbers[stem] = numbers.get(stem, 1) + 1
            candidate = f"{stem}_{numbers[stem]}"
        chosen[i] = candidate
        taken.add(fold(candidate))
    return [chosen[i] for i in range(len(texts))]


def _stem(text: str, safe: SafeText) -> str:
    """Return an identifier that resembles `text`: letters without accents, keywords capitalised."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    stem = re.sub(rf"[^A-Za-z0-9_{re.escape(safe.marks)}]+", "_", ascii_text)[:_STEM_LENGTH].strip("_") or "x"
    stem = _KEYWORD.sub(lambda match: match[0].capitalize(), stem)
    stem = stem if re.match(r"[A-Za-z]", stem) else f"{safe.lead}{stem}"
    return f"{stem}_" if stem in safe.reserved else stem
