"""Messages about files quote their content escaped, and never recommend installing a package that a file names."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from attack.hostile import X, Y, learn

import bnplug
from bnplug._json import sealed
from bnplug.experiments.storage import ResultsFile
from bnplug.io.network_files import read_tables

COMMAND = "evil-pkg --index-url http://example.invalid\n\x1b[2J\x9b31m\u202e"


def is_plain(message):
    """Whether a message has no character that moves a cursor or the text, and advises no installation."""
    return message.isprintable() and "pip install" not in message


@pytest.fixture
def folder(tmp_path):
    learn(pd.DataFrame({"x": X, "o": X[::-1]}), Y, parameters="ml").save(tmp_path / "model")
    return tmp_path / "model"


def forge(folder, change):
    """Change the index of a folder, and seal it again."""
    index = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    index.pop("checksum")
    change(index)
    (folder / "model.json").write_bytes(sealed(index))


def said_by(call):
    """Return the messages of the error, if any, and the warnings of a call."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            call()
            raised = []
        except (ValueError, bnplug.PluginError) as error:
            raised = [str(error)]
    return raised + [str(own.message) for own in warned]


def learner(**changed):
    """Return a parameter learner as a forged folder may name it."""
    named = {"kind": "parameter learner", "name": "ml", "distribution": "bnplug", "version": "1.0"}
    return {"is": "component", "form": "name", "params": {}, "written": "ml", **named, **changed}


COMPONENTS = {
    "distribution": learner(distribution=COMMAND),
    "valid distribution": learner(distribution="evil-pkg"),
    "version": learner(distribution="evil-pkg", version=f"1.0 --index-url {COMMAND}"),
    "name": learner(name=COMMAND),
    "parameter": learner(form="instance", params={COMMAND: 1}),
    "unsaved": {"is": "unsaved", "written": f"pip install {COMMAND}"},
    "reason": {"is": "unsaved", "written": "x", "reason": f"first run: pip install {COMMAND}"},
}


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_forged_component_prints_no_command(folder, component):
    def change(index):
        index["params"]["parameters"] = COMPONENTS[component]

    forge(folder, change)
    model = bnplug.load(folder)
    rows = pd.DataFrame({"x": X, "o": X[::-1]})
    assert np.isfinite(model.predict_proba(rows)).all()
    (message,) = said_by(lambda: model.fit(rows, Y))
    assert message.isprintable()
    assert "pip install" not in re.sub(r"'[^']*'", "''", message)
    assert "first run" not in message
    if component == "valid distribution":
        assert "the parameter learner 'ml' of evil-pkg 1.0 is not installed" in message
    if component in ("distribution", "version"):
        assert "index-url" not in message


def test_a_forged_engine_warns_without_a_command(folder):
    engine = learner(kind="engine", distribution=COMMAND)
    forge(folder, lambda index: index["params"].update(engine=engine))
    (message,) = said_by(lambda: bnplug.load(folder))
    assert is_plain(message)
    assert "index-url" not in message


def test_a_forged_classifier_is_an_error_without_a_command(folder):
    method = {"kind": "classifier", "name": "forest", "version": "1.0"}
    for distribution in (COMMAND, "evil-pkg"):
        named = {**method, "distribution": distribution}
        forge(folder, lambda index, named=named: index.update(method=named))
        (message,) = said_by(lambda: bnplug.load(folder))
        assert is_plain(message)
        assert "index-url" not in message
    assert "the classifier 'forest' of evil-pkg 1.0 is not installed" in message


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99, "bnplug": f"9; pip install {COMMAND}"},
        {"version": COMMAND},
        {"tables": f"../{COMMAND}"},
        {"column_kinds": COMMAND},
        {"params": {COMMAND: 1}},
        {"arrays": [{"name": COMMAND}]},
        {"state": {"variables": [{"name": COMMAND}]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_damage_is_described_in_plain_characters(folder, change):
    forge(folder, lambda index: index.update(change))
    (message,) = said_by(lambda: bnplug.load(folder))
    assert message.isprintable()
    assert "9; pip install" not in message
    assert len(message) < 1200


NETWORKS = {
    "bif": "network x {{ }}\nvariable {0} {{ type discrete [ 2 ] {{ a, b }}; }}\n"
    "probability ( {0} ) {{ table 0.5, 0.9; }}",
    "xmlbif": "<BIF><NETWORK><VARIABLE TYPE='nature'><NAME>{0}</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME>"
    "</VARIABLE><DEFINITION><FOR>{0}</FOR><TABLE>0.5 0.9</TABLE></DEFINITION></NETWORK></BIF>",
    "xdsl": "<smile><nodes><cpt id='{0}'><state id='{0}'/><state id='b'/><probabilities>0.5 0.9</probabilities></cpt>"
    "</nodes></smile>",
    "net": 'net {{ }}\nnode {0} {{ states = ("a" "b"); }}\npotential ( {0} ) {{ data = (-0.5 0.9); }}',
}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("name", ["e\u202evil", "e\x9b31m", "e\u2028vil", "a b", "x" * 3000])
def test_network_files_are_quoted_in_plain_characters(tmp_path, kind, name):
    path = tmp_path / f"network.{kind}"
    path.write_text(NETWORKS[kind].format(name), encoding="utf-8")
    with pytest.raises(bnplug.ModelFileError) as caught:
        read_tables(path, kind)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_results_files_are_quoted_in_plain_characters(tmp_path):
    ResultsFile(tmp_path / "r.jsonl", {"cv": "2", "methods": {COMMAND: "1"}, COMMAND: "1"})
    with pytest.raises(ValueError, match="another experiment") as caught:
        ResultsFile(tmp_path / "r.jsonl", {"cv": "2", "methods": {"nb": "1"}})
    assert str(caught.value).isprintable()


def test_an_error_of_a_file_escapes_control_characters():
    assert str(bnplug.ModelFileError("a\x1b[2J\nb")) == r"a\x1b[2J\nb"
