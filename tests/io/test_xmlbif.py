"""XMLBIF: every awkward name and label survives, other programs read our files, and we read theirs."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyagrum
import pytest
from awkward import (
    WEKA,
    assert_same_posteriors,
    awkward_labels,
    awkward_names,
    pyagrum_arrays,
    random_tables,
)
from pgmpy.readwrite import XMLBIFReader

from bnplug import ModelFileError
from bnplug.datasets import tic_tac_toe
from bnplug.io.network_files import parse_tables, read_tables, write_network
from bnplug.io.xmlbif import format_xmlbif

parse_xmlbif = partial(parse_tables, format_name="xmlbif")


@pytest.mark.parametrize("make", [awkward_names, awkward_labels])
def test_awkward_file_is_read_by_pyagrum(make, tmp_path):
    tables = make()
    path = tmp_path / "awkward.bifxml"
    write_network(tables, path, "xmlbif")
    reader = XMLBIFReader(path)
    network = pyagrum.loadBN(str(path))
    names = dict(zip(tables.names, reader.variables, strict=True))
    assert_same_posteriors(pyagrum_arrays(network, names, tables), tables, 1e-12)
    for name, own in names.items():
        assert list(network.variable(own).labels()) == reader.variable_states[own]
        assert len(reader.variable_states[own]) == len(tables.states[name])


def test_what_the_format_can_hold_is_written_as_it_is():
    labels = ["(0.1, 0.5]", "größer & <", '"a"', "table", "日 本"]
    text = format_xmlbif(random_tables(["petal length (cm)"], {"petal length (cm)": labels}, {}))
    assert "<NAME>petal length (cm)</NAME>" in text
    assert "<OUTCOME>größer &amp; &lt;</OUTCOME>" in text
    assert "PROPERTY" not in text


def test_reads_what_weka_writes():
    tables = parse_xmlbif(WEKA)
    assert tables.names == ("petallength", "sepal & more", "class")
    assert tables.states["petallength"] == ("'\\'(-inf-2.45]\\''", "'\\'(2.45-inf)\\''")
    assert tables.tables["sepal & more"].parents == ("petallength", "class")
    probabilities = np.exp(tables.tables["sepal & more"].values)
    np.testing.assert_allclose(probabilities[:, 1, 0], [0.1, 0.2, 0.7], rtol=1e-12)
    np.testing.assert_allclose(probabilities[:, 0, 1], [0.3, 0.3, 0.4], rtol=1e-12)
    np.testing.assert_allclose(probabilities[:, 1, 1], [1e-4, 0.9998, 1e-4], rtol=1e-12)


def weka(*words):
    """Run a class of Weka 3.9, which the package python-weka-wrapper3 brings; return what it prints."""
    spec = importlib.util.find_spec("weka")
    jar = Path(spec.submodule_search_locations[0], "lib", "weka.jar") if spec else None
    if jar is None or not jar.is_file() or shutil.which("java") is None:
        pytest.skip("no Java, or no python-weka-wrapper3")
    command = ["java", "-cp", str(jar), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_weka_reads_ours_and_we_read_what_it_learns(tmp_path):
    X, y = tic_tac_toe()
    rows = X.assign(**{"class": y})
    kinds = [f"@attribute '{name}' {{{','.join(sorted(set(rows[name])))}}}" for name in rows]
    text = "\n".join(["@relation boards", *kinds, "@data", rows.to_csv(index=False, header=False)])
    (tmp_path / "boards.arff").write_text(text)
    search = ["-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN", "--", "-S", "ENTROPY"]
    estimate = ["-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5"]
    data = ["-t", tmp_path / "boards.arff", "-no-cv", "-g"]
    printed = weka("weka.classifiers.bayes.BayesNet", *data, *search, *estimate)
    theirs = parse_xmlbif(printed.partition("</BIF>")[0] + "</BIF>")
    assert len(theirs.edges) == 2 * 9 - 1
    for name in theirs.names:
        columns = [rows[own].to_numpy() for own in (name, *theirs[name].parents)]
        counts = pd.crosstab(columns[0], columns[1:] or [np.zeros(len(rows))], dropna=False).to_numpy() + 0.5
        expected = (counts / counts.sum(axis=0)).reshape(theirs[name].values.shape)
        np.testing.assert_allclose(np.exp(theirs[name].values), expected, rtol=1e-9)

    write_network(theirs.with_target("class"), tmp_path / "ours.xml", "xmlbif")
    printed = weka("weka.classifiers.bayes.net.BIFReader", tmp_path / "ours.xml")
    found = {
        name: tuple(parents.split()) for name, parents in re.findall(r"^(\S+)\(\d\): (.*)$", printed, re.MULTILINE)
    }
    assert found == {name: theirs[name].parents for name in theirs.names}


def network(variables, definitions):
    return f'<BIF VERSION="0.3">\n<NETWORK>\n<NAME>n</NAME>\n{variables}\n{definitions}\n</NETWORK>\n</BIF>'


A = "<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
DEFINED = "<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: no element found"),
        ("<BIF>", "line 1: no element found"),
        ("<HTML></HTML>", "line 1: expected the element BIF, found 'HTML'"),
        ("<BIF></BIF>", "no variables"),
        (network(A, ""), "no table for 'a'"),
        (network(A + "\n" + A, DEFINED), "line 5: variable 'a' is declared twice"),
        (network(A, DEFINED + DEFINED), "line 5: a second table for 'a'"),
        (network(A, DEFINED.replace("0.25", "0.35")), "line 5: the probabilities of 'a' are not .* 0.35 0.75"),
        (network(A, DEFINED.replace("0.25", "")), "line 5: expected the 2 numbers of the table of 'a', found 1"),
        (network(A, DEFINED.replace("0.25", "inf")), "line 5: expected the 2 numbers"),
        (network(A, DEFINED.replace("0.25", "1e1e1")), "line 5: expected the 2 numbers"),
        (network(A, DEFINED.replace("a<", "b<")), "line 5: 'b' in the table of 'b' is not a declared variable"),
        (network(A, DEFINED.replace("<TABLE>", "<GIVEN>a</GIVEN><TABLE>")), "names a variable twice"),
        (network(A, DEFINED.replace("<FOR>a</FOR>", "")), "line 5: a definition with 0 elements FOR instead of one"),
        (network(A.replace("<NAME>a</NAME>", ""), DEFINED), "line 4: a variable with 0 elements NAME"),
        (network(A.replace(">y<", ">x<"), DEFINED), "variable 'a' has an outcome twice"),
        (network(A.replace("<VARIABLE>", '<VARIABLE TYPE="utility">'), DEFINED), "a variable of type 'utility'"),
        (network("<VARIABLE><NAME>a</NAME></VARIABLE>", DEFINED.replace("0.25 0.75", "")), "'a' has no states"),
        (network(A, DEFINED)[:-20], "line 5: "),
        (network(A, DEFINED).replace("</TABLE>", "</TABEL>"), "line 5: mismatched tag"),
        ("<BIF>" + "<a>" * 100_000, "nested too deep"),
    ],
)  # fmt: skip
def test_errors_say_what_and_where(text, message):
    with pytest.raises(ModelFileError, match=message):
        parse_xmlbif(text)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE BIF [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE BIF [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE BIF [<!ENTITY % a SYSTEM "file:///etc/hostname"> %a;]>',
        '<!DOCTYPE BIF SYSTEM "http://localhost:1/bif.dtd">',
    ],
)
def test_entities_are_refused(doctype):
    with pytest.raises(ModelFileError, match=r"line [14]: entity 'a'"):
        parse_xmlbif(doctype + network(A.replace(">x<", ">&a;<"), DEFINED))


@pytest.mark.parametrize("encoding", ["shift_jis", "rot13", "no-such"])
def test_unknown_encodings_are_refused(encoding, tmp_path):
    path = tmp_path / "a.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + network(A, DEFINED).encode())
    with pytest.raises(ModelFileError, match=r"a\.xml: line 1: its encoding"):
        read_tables(path, "xmlbif")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_known_encodings_are_read(encoding, tmp_path):
    path = tmp_path / "a.xml"
    text = network(A.replace(">x<", ">é<"), DEFINED)
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    assert read_tables(path, "xmlbif").states == {"a": ("é", "y")}
