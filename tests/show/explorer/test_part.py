import numpy as np
import pytest
from awkward import random_tables

from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.inference.queries import query
from bnplug.show.explorer import _part
from bnplug.show.explorer._part import shown_tables


def model_of(parents, n_states=3, seed=0):
    names = list(parents)
    states = {name: list(range(n_states)) for name in names}
    return BayesianNetworkClassifier.from_tables(random_tables(names, states, parents, seed, target="c"))


CHAIN = {"c": (), "a": ("c",), "b": ("a",), "d": ("b",), "e": ("c", "d")}


def test_all_of_it_where_that_fits():
    model = model_of(CHAIN)
    assert shown_tables(model, None) is model.tables_


def test_a_part_has_what_its_features_depend_on_and_answers_as_the_whole():
    model = model_of(CHAIN)
    part = shown_tables(model, ["b"])
    assert part.names == ("c", "a", "b")
    for evidence in ({}, {"b": 2}, {"a": 0, "b": 1}):
        np.testing.assert_allclose(query(part, ["c"], evidence), query(model.tables_, ["c"], evidence), atol=1e-12)


def test_a_number_takes_those_that_tell_most():
    strong = np.log([[0.9, 0.1], [0.1, 0.9]])
    weak = np.log([[0.6, 0.4], [0.4, 0.6]])
    tables = {"c": ((), np.log([0.5, 0.5])), "weak": (("c",), weak), "strong": (("c",), strong)}
    states = {name: ["no", "yes"] for name in tables}
    model = BayesianNetworkClassifier.from_tables(LogTables(list(tables), states, tables, "c"))
    assert shown_tables(model, 1).names == ("c", "strong")
    assert shown_tables(model, 2).names == ("c", "weak", "strong")


def test_tables_that_do_not_sum_to_one_stay():
    names, states = ["c", "a", "b"], {name: [0, 1] for name in "cab"}
    rng = np.random.default_rng(0)
    tables = {
        "c": ((), np.log([0.5, 0.5])),
        "a": (("c",), rng.normal(size=(2, 2))),
        "b": (("c",), np.log([[0.5] * 2] * 2)),
    }
    model = BayesianNetworkClassifier.from_tables(LogTables(names, states, tables, "c"))
    assert shown_tables(model, ["b"]).names == ("c", "a", "b")


def test_what_is_too_large_names_the_part_that_is_not(monkeypatch):
    monkeypatch.setattr(_part, "MAX_CELLS", 100)
    model = model_of({"c": (), **{f"f{i}": ("c", *([f"f{i - 1}"] if i else [])) for i in range(9)}})
    with pytest.raises(ValueError, match=r"more than the 100 cells .* features=(\d).*report\(path\)") as caught:
        shown_tables(model, None)
    n = int(str(caught.value).split("features=")[1][0])
    assert len(shown_tables(model, n).names) >= n + 1
    with pytest.raises(ValueError, match="cells"):
        shown_tables(model, n + 1)


def test_too_many_parameters_are_too_many(monkeypatch):
    monkeypatch.setattr(_part, "MAX_PARAMETERS", 20)
    with pytest.raises(ValueError, match="hold 57 numbers, more than the 20"):
        shown_tables(model_of(CHAIN), None)


def test_where_no_part_fits_there_is_the_report(monkeypatch):
    monkeypatch.setattr(_part, "MAX_PARAMETERS", 2)
    with pytest.raises(ValueError, match=r"No part .* small enough; model.report"):
        shown_tables(model_of(CHAIN), None)


def test_what_even_alone_is_too_large_makes_way_for_others(monkeypatch):
    strong, weak = np.log([[0.95, 0.05], [0.05, 0.95]]), np.log([[0.6, 0.4], [0.4, 0.6]])
    tables = {name: ((), np.log([0.5, 0.5])) for name in ("c", "p0", "p1", "p2")}
    large = np.broadcast_to(strong[:, :, None, None, None], [2] * 5)
    tables |= {"large": (("c", "p0", "p1", "p2"), large), "small": (("c",), weak)}
    states = {name: ["no", "yes"] for name in tables}
    model = BayesianNetworkClassifier.from_tables(LogTables(list(tables), states, tables, "c"))
    monkeypatch.setattr(_part, "MAX_PARAMETERS", 20)
    with pytest.raises(ValueError, match=r"features=4"):
        shown_tables(model, None)
    assert shown_tables(model, 1).names == ("c", "small")


def test_one_name_is_one_feature():
    names = ["class", "length"]
    model = BayesianNetworkClassifier.from_tables(
        random_tables(names, {name: [0, 1] for name in names}, {"class": (), "length": ("class",)}, 0, target="class")
    )
    assert shown_tables(model, "length").names == ("class", "length")


@pytest.mark.parametrize("features", [0, 5])
def test_numbers_are_checked(features):
    with pytest.raises(ValueError, match="from 1 to 4"):
        shown_tables(model_of(CHAIN), features)


def test_an_unknown_feature_is_named():
    with pytest.raises(ValueError, match=r"there is no feature 'bb'.*'b'"):
        shown_tables(model_of(CHAIN), ["bb"])
