"""Damaged and hostile files: each gives a clear error or a valid model, soon and with little memory."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest
from damaged_files import FILES, MUTATIONS

from bnplug import ModelFileError
from bnplug.io.network_files import format_network, parse_network, read_tables

N_MUTATIONS = 5_000
CHUNK = 500


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
