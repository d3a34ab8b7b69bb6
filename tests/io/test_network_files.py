"""Network files: in every format, awkward names and labels survive, pgmpy reads ours, and we read those of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pyagrum
import pytest
from awkward import (
    LABELS,
    NAMES,
    assert_identical,
    assert_same_posteriors,
    awkward_labels,
    awkward_names,
    pgmpy_arrays,
    pyagrum_arrays,
    random_tables,
    unpadded,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.readwrite import BIFReader, BIFWriter, NETWriter, XDSLReader, XDSLWriter, XMLBIFReader, XMLBIFWriter

from bnplug import (
    ContractError,
    LogTables,
    ModelFileError,
    NetworkFormat,
    NotRepresentableError,
    PluginError,
    UnknownMethodError,
    hookimpl,
)
from bnplug.hooks import discovery
from bnplug.io import networks
from bnplug.io.network_files import (
    format_network,
    format_of,
    format_of_content,
    formats,
    parse_network,
    read_network,
    read_tables,
    write_network,
)


class Others(NamedTuple):
    """What other programs do with a format."""

    pgmpy_reads: object
    pgmpy_writes: object
    pgmpy_rounds: float = 1e-12
    agrum_ending: str = ""
    agrum_rounds: float = 1e-12
    # Labels that pyAgrum writes so that they come back.
    agrum_labels: str = "{1.5|2.5|3}"


OTHERS = {
    "bif": Others(lambda path: BIFReader(path, include_properties=True), BIFWriter, agrum_labels="[3]"),
    "xmlbif": Others(XMLBIFReader, XMLBIFWriter, agrum_ending="bifxml", agrum_rounds=1e-5),
    "xdsl": Others(XDSLReader, XDSLWriter, agrum_rounds=1e-5),
    # Its reader takes time with the square of the nodes: test_net.py gives it some at a time.
    "net": Others(None, NETWriter, pgmpy_rounds=1e-7),
}
every_format = pytest.mark.parametrize("kind", OTHERS)


def test_there_are_many_awkward_names_and_labels():
    assert list(OTHERS) == [known.name for known in formats("read")]
    assert len(NAMES) >= 45
    assert sum(map(len, LABELS)) >= 45


@every_format
@pytest.mark.parametrize("make", [awkward_names, awkward_labels])
def test_awkward_file_is_read_by_us_and_by_pgmpy(make, kind, tmp_path):
    tables, path = make(), tmp_path / f"awkward.{kind}"
    write_network(tables, path, kind)
    content = path.read_bytes()
    assert content.decode("utf-8") == format_network(tables, kind)
    assert content.isascii() or kind not in ("bif", "net")
    assert format_of_content(content) == kind

    again = read_tables(path, kind)
    assert_identical(again, tables)
    assert format_network(again, kind) == format_network(tables, kind)

    if OTHERS[kind].pgmpy_reads is not None:
        network = OTHERS[kind].pgmpy_reads(path).get_model()
        assert network.check_model()
        assert_same_posteriors(unpadded(pgmpy_arrays(network, tables), tables), tables, 1e-12)


@every_format
def test_unnormalised_tables_are_refused(kind, tmp_path):
    tables = LogTables(["c"], {"c": ["a", "b"]}, {"c": ((), np.log([0.5, 0.6]))})
    with pytest.raises(NotRepresentableError, match="node 'c'"):
        write_network(tables, tmp_path / "c", kind)
    assert list(tmp_path.iterdir()) == []


@every_format
@settings(max_examples=60)
@given(
    st.lists(st.text(), min_size=2, max_size=3, unique=True),
    st.lists(
        st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans(), min_size=1, max_size=5, unique=True
    ),
    st.integers(0, 2**32),
)
def test_any_names_and_labels_come_back(kind, names, labels, seed):
    tables = random_tables(names, dict.fromkeys(names, labels), {names[1]: (names[0],)}, seed, target=names[-1])
    text = format_network(tables, kind)
    again, _ = parse_network(text.encode(), kind)
    assert_identical(again, tables)
    assert format_network(again, kind) == text


@every_format
def test_reads_what_pgmpy_writes(kind, tmp_path):
    labels = ["x", "y", "z"] if kind == "xmlbif" else ["x", "y y", "z"]
    written = random_tables(["b", "a", "c"], dict.fromkeys("abc", labels), {"c": ("b", "a")})
    OTHERS[kind].pgmpy_writes(written.to_network()).write(tmp_path / "pgmpy")
    read = read_tables(tmp_path / "pgmpy", kind)
    assert read.states["a"] == tuple(labels)
    axes = [0, *(1 + ("b", "a").index(parent) for parent in read["c"].parents)]
    expected = np.exp(written["c"].values).transpose(axes)
    np.testing.assert_allclose(np.exp(read["c"].values), expected, atol=OTHERS[kind].pgmpy_rounds)


@every_format
def test_reads_what_pyagrum_writes(kind, tmp_path):
    others = OTHERS[kind]
    network = pyagrum.fastBN(f"a{{x|y}}->c{{u|v|w}}<-b[4]; d{others.agrum_labels}->a")
    path = tmp_path / f"agrum.{others.agrum_ending or kind}"
    pyagrum.saveBN(network, str(path))
    assert format_of(path) == format_of_content(path.read_bytes()) == kind
    tables = read_tables(path, kind)
    assert tables.normalized
    names = {name: name for name in tables.names}
    for array, table in zip(pyagrum_arrays(network, names, tables), tables.tables.values(), strict=True):
        np.testing.assert_allclose(np.exp(table.values), array, atol=others.agrum_rounds)


def test_the_class_is_asked_for_or_the_files_own(tmp_path):
    tables = random_tables("ab", dict.fromkeys("ab", "xy"), {}, target="b")
    write_network(tables, tmp_path / "m.net", "net")
    assert read_network(tmp_path / "m.net", "net")[0].target == "b"
    assert read_network(tmp_path / "m.net", "net", "a")[0].target == "a"
    with pytest.raises(ValueError, match=r"m\.net: there is no variable 'c'"):
        read_network(tmp_path / "m.net", "net", "c")


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("bif", b"network \xff { }", "byte 8 is not UTF-8"),
        ("net", b"net { } node \xff", "byte 13 is not UTF-8"),
        ("bif", b"\xef\xbb\xbfnetwork n { }", "there are no variables"),
        ("xdsl", b"<BIF/>", "line 1: expected the element smile"),
    ],
)
def test_errors_of_a_file_name_it_once(kind, content, message, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    for read in (read_tables, read_network):
        with pytest.raises(ModelFileError, match=message) as caught:
            read(tmp_path / "a.txt", kind)
        assert str(caught.value).count("a.txt: ") == 1
    with pytest.raises(ModelFileError, match=rf"^the network: {message}"):
        parse_network(content, kind)


def test_endings_and_formats_that_are_none():
    assert format_of("a.b/Sky.XML") == "xmlbif"
    with pytest.raises(
        ValueError, match=r"^sky\.json: no installed format .* '\.json'\. Installed: bif \(\.bif\), .*net \(\.net\)"
    ):
        format_of("sky.json")
    with pytest.raises(
        UnknownMethodError, match=r"there is no format 'json'.* Registered: bif, dot, mermaid, net, xdsl, xmlbif"
    ):
        read_tables(__file__, "json")
    assert format_of_content(b"") is None


def test_the_ending_decides_unless_a_format_is_named(tmp_path):
    tables = random_tables("ab", dict.fromkeys("ab", "xy"), {}, target="b")
    for name in ("m.bif", "m.XMLBIF", "m.net", "m.xdsl"):
        write_network(tables, tmp_path / name)
        assert_identical(read_tables(tmp_path / name), tables)
    write_network(tables, tmp_path / "m.txt", "bif")
    assert read_network(tmp_path / "m.txt", "bif")[0].target == "b"
    with pytest.raises(ValueError, match=r"no installed format can \w+ files with the ending '\.txt'"):
        read_tables(tmp_path / "m.txt")


@pytest.fixture
def use_plugin(monkeypatch):
    """Add the formats of a plugin to the built-in and installed ones that are not disabled."""
    installed = discovery.find_plugins()

    def use(*formats, disable=""):
        hooks = SimpleNamespace(bnplug_formats=hookimpl(lambda: formats))
        plugins = [*installed, discovery.FoundPlugin("mine", "bnplug-mine", "1.0", lambda: hooks)]
        monkeypatch.setenv("BNPLUG_DISABLE", disable)
        monkeypatch.setattr(discovery, "find_plugins", lambda: plugins)
        discovery.refresh()

    yield use
    monkeypatch.undo()
    discovery.refresh()


def test_without_the_plugin_known_formats_are_named(use_plugin, tmp_path):
    use_plugin(disable="bnplug-deploy")
    with pytest.raises(ValueError, match=r"m\.net: .*Installed: bif \(\.bif\), xmlbif .*bnplug-deploy add formats"):
        read_tables(tmp_path / "m.net")
    with pytest.raises(
        UnknownMethodError, match=r"there is no format 'xdsl'\. Registered: bif, dot, mermaid, xmlbif\."
    ):
        format_network(random_tables("a", {"a": "xy"}, {}), "xdsl")


def test_a_format_of_a_plugin_is_written_and_read(use_plugin, tmp_path):
    def write(tables, encoder):
        return b"PLAIN " + " ".join(f"{p!r}" for p in np.exp(tables["a"].values).tolist()).encode()

    def read(content):
        numbers = content.decode().removeprefix("PLAIN ")
        family = networks.table_of_numbers("a", [], numbers, {"a": 2}, 1)
        return networks.NetworkParts({"a": networks.FileVariable("a", ["x", "y"], {})}, {"a": family}, {})

    plain = NetworkFormat("plain", (".txt",), write, read, "One coin.", signature="^PLAIN ")
    broken = NetworkFormat("broken", (".brk",), "no.such:write", None, "Fails.")
    use_plugin(plain, broken)
    tables = random_tables("a", {"a": "xy"}, {})
    write_network(tables, tmp_path / "coin.txt")
    assert format_of_content((tmp_path / "coin.txt").read_bytes()) == "plain"
    assert_identical(read_tables(tmp_path / "coin.txt"), tables)
    with pytest.raises(PluginError, match=r"format 'broken' of bnplug-mine 1\.0 .* failed: import of no\.such:write"):
        write_network(tables, tmp_path / "coin.brk")
    use_plugin(
        NetworkFormat("wrong", (".w",), lambda tables, encoder: 3, lambda content: None, "Returns other things.")
    )
    with pytest.raises(ContractError, match="format 'wrong': write returned an int, not text or bytes"):
        write_network(tables, tmp_path / "coin.w")
    with pytest.raises(ContractError, match="format 'wrong': read returned a NoneType, not NetworkParts"):
        read_tables(tmp_path / "coin.txt", "wrong")
    use_plugin(NetworkFormat("failing", (".f",), lambda tables: "x", lambda content: content["x"], "Fails."))
    with pytest.raises(PluginError, match=r"format 'failing' failed: write: TypeError: .* takes 1 positional argument"):
        write_network(tables, tmp_path / "coin.f")
    with pytest.raises(PluginError, match="format 'failing' failed: read: TypeError: "):
        read_tables(tmp_path / "coin.txt", "failing")
    use_plugin(NetworkFormat("blind", (".b",), write, None, "Cannot be read."))
    with pytest.raises(ValueError, match="the format 'blind' can be written only"):
        read_tables(tmp_path / "coin.txt", "blind")
