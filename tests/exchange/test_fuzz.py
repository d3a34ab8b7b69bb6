"""Damaged and hostile files: each gives a clear error or a valid model, soon and with little memory."""

from __future__ import annotations

import random
import re
import time
import tracemalloc

import pytest
from awkward import GENIE, HUGIN, WEKA, random_tables

from bnplug import ModelFileError
from bnplug.exchange.network_files import FORMATS, format_network, parse_network, read_tables

N_MUTATIONS = 5_000
CHUNK = 500

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


@pytest.mark.parametrize("chunk", range(N_MUTATIONS // CHUNK))
def test_mutated_file_is_an_error_or_a_valid_model(chunk, tmp_path):
    outcomes = set()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        rng = random.Random(seed)
        name = list(FILES)[seed % len(FILES)]
        kind, text = FILES[name]
        data = bytearray(text.encode())
        for _ in range(rng.choice([1, 1, 2, 4])):
            rng.choice(MUTATIONS)(data, rng)
            data = data or bytearray(b" ")
        path = tmp_path / name
        path.write_bytes(data)
        try:
            tables = read_tables(path, kind)
        except ModelFileError as error:
            outcomes.add("error" if name in str(error) and len(str(error)) < 1000 else str(error))
        else:
            # Writing checks that the model is normalised.
            path.write_text(format_network(tables, kind), encoding="utf-8")
            assert format_network(read_tables(path, kind), kind) == path.read_text(encoding="utf-8")
            outcomes.add("model")
    assert outcomes == {"error", "model"}


MANY = 20_000
TWO = "{ type discrete [2] {a, b}; }\n"
DEFAULTS = "".join(f"variable v{i} {TWO}" for i in range(60)) + "".join(
    f"probability ( v{i} | {', '.join(f'v{j}' for j in range(max(0, i - 19), i))} ) {{ default 0.5 0.5; }}\n"
    for i in range(60)
)
HOSTILE_BIF = {
    "cardinality": "variable a { type discrete [ 999999999 ] { a, b }; }",
    "long cardinality": f"variable a {{ type discrete [ {'9' * MANY} ] {{ a, b }}; }}",
    "defaults": DEFAULTS,
    "many parents": f"variable a {TWO}probability ( a | {', '.join(['a'] * MANY)} ) {{ table 1; }}",
    "comments": "/*" * MANY,
    "slashes": "/" * MANY,
    "quotes": '"' * (MANY + 1),
    "braces": "{" * MANY,
    "networks": "network {" * MANY,
    "properties": "network x {" + "property a" * MANY,
    "parentheses": f"variable a {TWO}probability ( a ) {{ {'(' * MANY} }}",
    "semicolons": f"variable a {TWO}probability ( a ) {{ {';' * MANY} }}",
    "digits": f"variable a {TWO}probability ( a ) {{ table 0.{'3' * MANY} 0.1; }}",
    "labels": f"variable a {{ type discrete [{MANY}] {{{', '.join('ab'[i % 2] for i in range(MANY))}}}; }}",
    "nothing": "\0" * MANY,
}
HOSTILE_NET = {
    "comments": "%" * MANY,
    "quotes": '"' * (MANY + 1),
    "escapes": '"' + "\\" * (MANY + 1),
    "braces": "{" * MANY,
    "nets": "net {" * MANY,
    "attributes": "net {" + "a = " * MANY,
    "equal signs": "net { a " + "=" * MANY,
    "nodes": "node " * MANY,
    "parentheses": f"node a {{ states = (x y); }} potential (a) {{ data = {'(' * MANY}; }}",
    "many parents": f"node a {{ states = (x y); }} potential (a | {'a ' * MANY}) {{ }}",
    "digits": f"node a {{ states = (x y); }} potential (a) {{ data = (0.{'3' * MANY} 0.1e{'9' * MANY}); }}",
    "labels": f"node a {{ states = ({' '.join('ab'[i % 2] for i in range(MANY))}); }}",
    "no data": "".join(f"node v{i} {{ states = (a b); }}\n" for i in range(60))
    + "".join(f"potential (v{i} | {' '.join(f'v{j}' for j in range(max(0, i - 18), i))}) {{ }}\n" for i in range(60)),
    "nothing": "\0" * MANY,
}
HOSTILE_XDSL = {
    "depth": "<smile>" * MANY,
    "laughs": "<!DOCTYPE smile ["
    + '<!ENTITY l0 "ha">'
    + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 30))
    + "]><smile>&l29;</smile>",
    "states": "<smile><nodes><cpt id='a'>" + "<state id='x'/>" * MANY + "</cpt></nodes></smile>",
    "parents": f"<smile><nodes><cpt id='a'><state id='x'/><parents>{'a ' * MANY}</parents><probabilities>1"
    "</probabilities></cpt></nodes></smile>",
    "certain": "<smile><nodes><deterministic id='a'>"
    + "".join(f"<state id='s{i}'/>" for i in range(MANY))
    + f"<resultingstates>{'s1 ' * MANY}</resultingstates></deterministic></nodes></smile>",
    "nothing": "\0" * MANY,
}
HOSTILE_XML = {
    "depth": "<BIF>" * MANY,
    "laughs": "<!DOCTYPE BIF ["
    + '<!ENTITY l0 "ha">'
    + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 30))
    + "]><BIF>&l29;</BIF>",
    "attributes": "<BIF " + " ".join(f"a{i}='1'" for i in range(MANY)) + "/>",
    "text": f"<BIF><NETWORK><NAME>{'&lt;' * MANY}</NAME></NETWORK></BIF>",
    "comments": "<BIF>" + "<!-- -->" * MANY + "</BIF>",
    "nothing": "\0" * MANY,
}


HOSTILE = {"bif": HOSTILE_BIF, "xmlbif": HOSTILE_XML, "xdsl": HOSTILE_XDSL, "net": HOSTILE_NET}


@pytest.mark.parametrize(
    ("kind", "text"),
    [pytest.param(kind, text, id=f"{kind} {name}") for kind, own in HOSTILE.items() for name, text in own.items()],
)
def test_hostile_file_is_refused_soon_and_with_little_memory(kind, text):
    content = text.encode()
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(ModelFileError):
            parse_network(content, kind)
        assert time.perf_counter() - start < 5
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
