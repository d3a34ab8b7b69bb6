import html
import json
import re

import pytest
from awkward import awkward_labels, awkward_names
from html_page import Page

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris
from bnplug.html._kit import content_policy
from bnplug.show import explorer


@pytest.fixture(scope="module")
def model():
    X, y = iris()
    return BayesianNetworkClassifier("tan", "ml").fit(X, y)


def data_of(page):
    (data,) = re.findall(r'id="data">(.*?)</script>', page)
    return json.loads(data)


def test_nothing_is_loaded_and_one_script_may_run(model):
    text = explorer.to_html(model)
    page = Page(text)
    assert [found.get("type") for found in page.all("script")] == ["application/json", "module"]
    policy = next(found for found in page.all("meta") if found.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == content_policy(explorer._script())
    assert set(re.findall(r"\w+://[^\s\"'<]*", text)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in text
    assert not {"link", "img", "iframe"} & {tag for tag, _ in page.elements}


@pytest.mark.parametrize("tables", [awkward_names(), awkward_labels()], ids=["names", "labels"])
def test_no_name_or_label_leaves_the_data(tables):
    text = explorer.to_html(BayesianNetworkClassifier.from_tables(tables))
    page = Page(text)
    assert len(page.all("script")) == 2
    assert {tag for tag, _ in page.elements} == {"html", "head", "meta", "title", "style", "body", "noscript", "script"}
    variables = data_of(text)["variables"]
    assert len({variable["name"] for variable in variables}) == len(tables.names)
    for variable, name in zip(variables, tables.names, strict=True):
        assert len(set(variable["states"])) == len(tables.states[name])


def test_the_same_model_makes_the_same_page(model):
    assert explorer.to_html(model) == explorer.to_html(model)
    assert f"bnplug {bnplug.__version__}" in explorer.to_html(model)


def test_a_part_says_how_much_is_left_out(model):
    data = data_of(explorer.to_html(model, features=1))
    assert data["leftOut"] == 4 - (len(data["variables"]) - 1) > 0


def test_labels_need_rows(model):
    with pytest.raises(ValueError, match="y is given without X"):
        explorer.to_html(model, y=[1])


def test_explore_writes_a_file_or_shows_a_frame(model, tmp_path):
    assert model.explore(tmp_path / "page.html") is None
    written = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert written == explorer.to_html(model)
    shown = model.explore()
    assert shown.html == written
    (frame,) = Page(shown._repr_html_()).all("iframe")
    assert frame["srcdoc"] == html.unescape(html.escape(written)) == written
    assert frame["sandbox"] == "allow-scripts"


def test_parameters_that_make_no_network_are_explored_as_they_answer():
    X, y = bnplug.datasets.tic_tac_toe()
    kdb, free = bnplug.structure_learner("kdb", k=2), bnplug.parameter_learner("ccbn-d", max_iter=2)
    model = BayesianNetworkClassifier(kdb, free).fit(X, y)
    assert not model.tables_.normalized
    assert data_of(explorer.to_html(model))["isNetwork"] is False
