"""What a structure learner found besides the structure: kept, shown, saved and loaded."""

import json

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, Learned, ModelFileError, Structure, StructureLearner
from bnplug._json import sealed
from bnplug.show.summary import to_text


class Finder(StructureLearner):
    """Naive Bayes, with an equivalence class, edge probabilities, an alternative and the number of rows."""

    def learn(self, table):
        structure = Structure(table.names, table.naive_bayes())
        probabilities = dict.fromkeys(structure.edges, 0.75)
        empty = [[] for _ in table.names]
        details = {"rows": table.n_rows, "expects": bool(table.expects)}
        return Learned(structure, structure.cpdag(), probabilities, [empty], details)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(list("pqr"), 60) for name in ("a", "b")})
    return X, np.where(rng.random(60) < 0.5, "yes", "no")


@pytest.fixture
def model(data):
    return BayesianNetworkClassifier(Finder()).fit(*data)


def test_all_parts_are_kept(model):
    learned = model.learned_
    assert learned.structure == model.tables_.structure
    assert learned.pdag == learned.structure.cpdag()
    assert learned.edge_probabilities == {("class", "a"): 0.75, ("class", "b"): 0.75}
    assert [other.edges for other in learned.alternatives] == [()]
    assert learned.details == {"rows": 60, "expects": False}


def test_a_learner_of_a_structure_leaves_that_alone(data):
    for structure in ("tan", [("class", "a"), ("class", "b")]):
        model = BayesianNetworkClassifier(structure).fit(*data)
        assert model.learned_ == Learned(model.tables_.structure)


def test_the_last_round_of_structural_em_is_kept(data):
    X, y = data
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    model = BayesianNetworkClassifier(Finder(), "ml", missing="em").fit(X, y)
    assert model.learned_.details["expects"]


def test_all_parts_are_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model")
    assert bnplug.load(tmp_path / "model").learned_ == model.learned_


def test_what_json_cannot_hold_is_refused_when_saving(model, tmp_path):
    model.learned_.details["rows"] = {1, 2}
    with pytest.raises(TypeError, match=r"\['details'\]\['rows'\] is a set, which JSON cannot represent"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    "damage",
    [
        {"pdag": [[[0, 7]], []]},
        {"pdag": [[[0, 1], [1, 0]], []]},
        {"edge_probabilities": [[0, 1, 2.5]]},
        {"edge_probabilities": [[0, -9, 0.5]]},
        {"alternatives": [[[1], [0], []]]},
        {"alternatives": 3},
        {"details": 3},
    ],
    ids=str,
)
def test_damaged_parts_are_a_model_file_error(model, tmp_path, damage):
    model.save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    index = json.loads(path.read_text())
    index["state"]["learned"] |= damage
    del index["checksum"]
    path.write_bytes(sealed(index))
    with pytest.raises(ModelFileError, match="damaged"):
        bnplug.load(tmp_path / "model")


def test_descriptions_and_reports_show_all_parts(model, tmp_path):
    text = to_text(model)
    for line in (
        "equivalence class: 0 directed edges and 2 undirected edges",
        "edge probabilities: class -> a 0.750, class -> b 0.750",
        "alternatives: 1 other structure",
        "rows: 60",
    ):
        assert line in text
    model.report(tmp_path / "report.html")
    assert "class -&gt; a 0.750" in (tmp_path / "report.html").read_text()


def test_a_structure_is_a_parameter_that_is_saved(data, tmp_path):
    structure = Structure(["a", "b", "class"], [[2], [0, 2], []])
    model = BayesianNetworkClassifier(structure).fit(*data)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.structure == structure
    assert loaded.fit(*data).learned_.structure == structure


def test_members_of_a_mixture_keep_theirs(data):
    mixture = (
        pytest.importorskip("bnplug_mixture.mixture")
        .NetworkMixture(structures=[Finder()], generative=None, n_members=2, member=BayesianNetworkClassifier())
        .fit(*data)
    )
    assert [member.learned_.details["rows"] for member in mixture.members_] == [60, 60]
