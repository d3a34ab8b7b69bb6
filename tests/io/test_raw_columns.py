"""A network that left as a file and came back takes raw rows, and bins and states too."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, ModelFileError, UnseenValueWarning
from bnplug.io.network_files import format_network, read_network, write_network
from bnplug.io.networks import _encode

FORMATS = ("bif", "xmlbif", "xdsl", "net")


def customers():
    """Rows with an identifier, numbers with holes, few whole numbers, many codes, dates and a constant."""
    rng, n = np.random.default_rng(0), 300
    X = pd.DataFrame({
        "id": [f"u{i}" for i in range(n)], "a b": rng.normal(size=n), "rooms": rng.integers(0, 5, n),
        "flag": rng.random(n) < 0.5, "zip": rng.choice([f"{z:05}" for z in range(40)], n, p=[0.5] + [0.5 / 39] * 39),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 800, n), "D"), "const": 1.5,
        "sky": rng.choice(["sun", "rain", None], n),
    })  # fmt: skip
    X.loc[::7, "a b"] = np.nan
    score = X["a b"].fillna(0) + X["rooms"] / 3 + rng.normal(size=n) / 3
    return X, pd.Series(np.where(score > 0.6, "yes", "no"), name="buys")


@pytest.fixture(scope="module", params=["ignore", "value"])
def fitted(request):
    X, y = customers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BayesianNetworkClassifier("tan", "ml", missing=request.param).fit(X, y), X


def back(model, path, kind):
    model.write(path / f"net.{kind}")
    return bnplug.read_network(path / f"net.{kind}")


@pytest.mark.parametrize("kind", FORMATS)
def test_raw_rows_bins_and_samples_are_answered_as_by_the_model_that_left(fitted, tmp_path, kind):
    model, X = fitted
    again = back(model, tmp_path, kind)
    unusual = X.head(3).assign(rooms=[-7, 9, 3], zip=["never", "00001", "00000"], id="new")
    drawn = model.sample(40, random_state=0).drop(columns="buys")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenValueWarning)
        for rows in (X, unusual, model.bins(X), drawn):
            np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(model.predict_proba(model.bins(X)), model.predict_proba(X))
    assert_frame_equal(again.bins(X), model.bins(X))
    assert again.encoder_.left_out == model.encoder_.left_out
    # What was read can be saved, and leave again.
    again.save(tmp_path / "model")
    np.testing.assert_array_equal(bnplug.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    written, expected = (format_network(own.tables_, kind, own.encoder_) for own in (again, model))
    assert written == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_a_number_a_bin_and_a_state_are_evidence(fitted, tmp_path, kind):
    model, _ = fitted
    lowest = model.tables_.states["a b"][0]
    for asked in (model, back(model, tmp_path, kind)):
        by_number, by_bin = (asked.query("buys", {"a b": value}) for value in (-9.0, lowest))
        assert_frame_equal(by_number, by_bin)
        assert_frame_equal(asked.query("buys", {"rooms": 99}), asked.query("buys", {"rooms": 4}))
        assert len(asked.query(["buys", "zip"], {"sky": "sun", "flag": True})) == 2 * len(model.tables_.states["zip"])
        with pytest.raises(
            ValueError, match="column 'a b' is numeric, and 'low' is neither a number nor one of its bins"
        ):
            asked.query("buys", {"a b": "low"})


def test_another_class_than_the_files_own_is_predicted(fitted, tmp_path):
    model, X = fitted
    model.to_bif(tmp_path / "net.bif")
    other = bnplug.read_bif(tmp_path / "net.bif", target="rooms")
    _, y = customers()
    rows = model.bins(X).drop(columns="rooms").assign(buys=y)
    assert set(other.predict(rows)) <= {0, 1, 2, 3, 4}
    assert "a b" in other.encoder_.numeric


def test_states_of_others_that_look_like_bins_are_states(tmp_path):
    text = """network n { }
    variable x { type discrete [2] {"<=5" ">5"}; }
    variable c { type discrete [2] {a, b}; }
    probability ( x ) { table 0.5 0.5; }
    probability ( c ) { table 0.5 0.5; }"""
    (tmp_path / "net.bif").write_text(text)
    assert bnplug.read_bif(tmp_path / "net.bif", "c").encoder_.numeric == ()


def test_pgmpy_and_pyagrum_read_what_our_file_carries(fitted, tmp_path):
    pyagrum = pytest.importorskip("pyagrum")
    from pgmpy.readwrite import BIFReader, XMLBIFReader

    model, _ = fitted
    model.to_bif(tmp_path / "net.bif")
    model.to_xmlbif(tmp_path / "net.bifxml")
    text = (tmp_path / "net.bif").read_text()
    assert "bnplug_cuts" in text
    assert "bnplug_columns" in text
    for network in (BIFReader(str(tmp_path / "net.bif")), XMLBIFReader(str(tmp_path / "net.bifxml"))):
        assert len(network.get_model().nodes()) == len(model.tables_.names)
    for name in ("net.bif", "net.bifxml"):
        assert pyagrum.loadBN(str(tmp_path / name)).size() == len(model.tables_.names)


WHOLE = r"bnplug_kind = whole ;\n\}\nvariable flag"
COLUMNS = r"bnplug_columns = [^;]*;"
DAMAGE = {
    "other cuts": (r"bnplug_cuts = -[0-9.]+", "bnplug_cuts = 17.5", "'a b' has a damaged property bnplug_cuts"),
    "no cuts": (r"bnplug_cuts = -[0-9.]+", "bnplug_cuts = -x", "'a b' has a damaged property bnplug_cuts"),
    "missing": (WHOLE, "bnplug_missing = 7 ;\n}\nvariable flag", "'rooms' has a damaged property bnplug_missing"),
    "columns": (COLUMNS, "bnplug_columns = %7B ;", "the network has a damaged property bnplug_columns"),
    "other columns": (
        COLUMNS,
        f"bnplug_columns = {_encode(json.dumps({'columns': [], 'left_out': {}, 'dates': {}, 'zones': {}}))} ;",
        "properties of its columns are damaged: the columns",
    ),
    "no numbers": (
        r"variable sky \{\n([^}]*\};)",
        "variable sky {\n\\1\n    property bnplug_kind = whole ;",
        "are not ascending numbers",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_properties_are_named(fitted, tmp_path, damage):
    model, _ = fitted
    pattern, put, message = DAMAGE[damage]
    text, times = re.subn(pattern, put, format_network(model.tables_, "bif", model.encoder_))
    assert times == 1
    (tmp_path / "net.bif").write_text(text)
    with pytest.raises(ModelFileError, match=rf"net\.bif: .*{message}"):
        read_network(tmp_path / "net.bif", "bif")


def test_tables_alone_carry_no_columns(tmp_path):
    even = np.log([0.5, 0.5])
    tables = LogTables(["c", "x"], {"c": ["a", "b"], "x": [0, 1]}, {"c": ((), even), "x": ((), even)}, "c")
    write_network(tables, tmp_path / "net.xml", "xmlbif")
    read, encoder = read_network(tmp_path / "net.xml", "xmlbif")
    assert (read.target, encoder.names, encoder.columns, encoder.numeric) == ("c", ("x",), ("x",), ())
