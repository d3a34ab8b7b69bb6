"""Network files to damage, and ways to damage them: for the tests of readers and the fuzzers of tests/attack."""

from __future__ import annotations

import re

from awkward import GENIE, HUGIN, WEKA, random_tables

from bnplug.io.network_files import format_network

FORMATS = ("bif", "xmlbif", "xdsl", "net")
STATES = {"the class": [True, False], "x": ["a,b", "c"], "y": [0, 1, 2], "z": ["one"]}
PARENTS = {"x": ("the class",), "y": ("the class", "x"), "z": ("the class",)}
OURS = random_tables(list(STATES), STATES, PARENTS, target="the class")
FOREIGN = """network "of another" { property "x; y" ; }  // a comment
variable a { type discrete [2] { "yes" "no" }; property position = (1, 2); }
variable b { type discrete[3] {u, v, w}; }
/* another
comment */
probability ( a | b ) { default 0.5 0.5; (u) 0.25, 0.75; (v) 1e-1 9.0E-1; }
probability ( b ) { table 0.2 0.3 0.5; }
"""
# The format of each file, and its text.
FILES = {
    **{f"ours.{kind}": (kind, format_network(OURS, kind)) for kind in FORMATS},
    "foreign.bif": ("bif", FOREIGN),
    "weka.xmlbif": ("xmlbif", WEKA),
    "genie.xdsl": ("xdsl", GENIE),
    "hugin.net": ("net", HUGIN),
}
WORDS = [
    "0.5",
    "-1",
    "1e999",
    "nan",
    "999999999",
    "0",
    "{",
    "}",
    "(",
    ")",
    ";",
    ",",
    '"',
    "|",
    "=",
    "[",
    "]",
    "/*",
    "//",
]
WORDS += ["variable", "probability", "table", "default", "property", "x", "y", "a", "b", "int:1", "str:%FF", "\0", "\n"]
WORDS += ["node", "potential", "states", "data", "net", "class", "%", "subtype = interval;", "state_values", "\\"]
WORDS += ["<cpt id='x'>", "<state id='x'/>", "</parents>", "deterministic", "resultingstates", "decision", "aGrUM"]
WORDS += ["<", ">", "</TABLE>", "<GIVEN>x</GIVEN>", "&x;", "<!--", "-->", "<![CDATA[", '<!ENTITY a "b">', "é", "\ufeff"]


def flip_bytes(data, rng):
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(data, rng):
    start = rng.randrange(len(data))
    del data[start : rng.choice([len(data), start + rng.randrange(1, 60)])]


def insert_word(data, rng):
    at = rng.randrange(len(data))
    data[at:at] = rng.choice(WORDS).encode() * rng.choice([1, 1, 1, 50])


def change_number(data, rng):
    numbers = list(re.finditer(rb"\d[\d.e-]*", data))
    if not numbers:
        return
    chosen = rng.choice(numbers)
    new = rng.choice([b"0", b"1", b"-0.1", b"2", b"0.3333", b"1e-400", b"1e400", b"99999999", b"1.", b"0x1", b"1_0"])
    data[chosen.start() : chosen.end()] = new


def swap_words(data, rng):
    """Makes cycles, families with a stranger, states of another variable."""
    words = list(re.finditer(rb"[\w:%]+", data))
    if not words:
        return
    old, new = rng.choice(words), rng.choice(words).group()
    data[old.start() : old.end()] = new


def repeat_part(data, rng):
    start = rng.randrange(len(data))
    part = data[start : start + rng.randrange(1, 400)]
    data[start:start] = part * rng.choice([1, 3])


def swap_lines(data, rng):
    lines = bytes(data).split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    data[:] = b"\n".join(lines)


MUTATIONS = [flip_bytes, cut, insert_word, change_number, swap_words, repeat_part, swap_lines]
