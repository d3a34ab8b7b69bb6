"""How sure edges are: counted, drawn and reported."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from bnplug_mixture.edges import MOST_FEATURES, between_features, edge_frequencies, plot_frequencies

import bnplug
from bnplug.datasets import corral
from bnplug.errors import MissingFeatureWarning


@pytest.fixture(scope="module")
def fitted():
    X, y = corral()
    params = {"member__parameters": "ml", "generative": None, "n_members": 3, "random_state": 0}
    return bnplug.make_classifier("mixture", **params).fit(X, y)


def test_shares_by_hand():
    members = [[("y", "a"), ("a", "b")], [("y", "a"), ("b", "a")], [("y", "a"), ("b", "a")], [("y", "a"), ("a", "c")]]
    found = edge_frequencies(members)
    assert found.values.tolist() == [["y", "a", 1.0, 1.0], ["b", "a", 0.5, 0.75], ["a", "c", 0.25, 0.25]]
    names, shares = between_features(found, "y")
    assert names == ["b", "a", "c"]
    assert shares.tolist() == [[0, 0.75, 0], [0.75, 0, 0.25], [0, 0.25, 0]]


def test_shares_are_those_of_the_members(fitted):
    found = fitted.edge_frequencies()
    for parent, child, share, either in found.itertuples(index=False):
        has = [(parent, child) in member.tables_.edges for member in fitted.members_]
        back = [(child, parent) in member.tables_.edges for member in fitted.members_]
        assert share == np.mean(has) >= np.mean(back)
        assert either == pytest.approx(np.mean(has) + np.mean(back))
    assert sum(len(member.tables_.edges) for member in fitted.members_) == pytest.approx(
        len(fitted.members_) * found["either"].sum()
    )


def test_the_picture_names_the_features(fitted):
    ax = fitted.plot()
    assert {label.get_text() for label in ax.get_xticklabels()} == {"A0", "A1", "B0", "B1"}  # the features of the rule
    assert "9 members" in ax.get_title()


def test_many_features_are_cut_short_and_none_is_said():
    many = edge_frequencies([[(f"a{i}", f"b{i}") for i in range(50)]])
    assert len(plot_frequencies(many, "y", 1).get_yticklabels()) == MOST_FEATURES
    (said,) = plot_frequencies(edge_frequencies([[("y", "a")]]), "y", 1).texts
    assert said.get_text() == "no member has an edge between features"


def test_a_picture_is_written_to_a_file(fitted, tmp_path):
    assert fitted.plot(tmp_path / "edges.png") is None
    assert (tmp_path / "edges.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"a picture is saved as \.png, "):
        fitted.plot(tmp_path / "edges.dot")


def test_the_report_has_members_edges_and_performance(fitted, tmp_path):
    X, y = corral()
    fitted.report(tmp_path / "page.html", X, y, rows=2)
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert f"{fitted.score(X, y):.3f}" in page
    assert page.count("KDependence") == 6
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "How certain the edges are", "On the given data", "Without any known feature", "Features",
        "The most uncertain rows, explained", "How it was made", "Rows drawn from the mixture", "Members",
        "What this page contains",
    ]  # fmt: skip
    assert not re.search(r"https?://|<script", page)


def test_rows_with_missing_features_give_no_warning_about_members(tmp_path):
    X, y = corral()
    params = {"member__parameters": "ccbn-loo", "n_members": 1, "random_state": 0}
    model = bnplug.make_classifier("mixture", **params).fit(X, y)
    X = X.astype(object)
    X.iloc[0, 0] = None
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingFeatureWarning)
        model.report(tmp_path / "page.html", X, y)


def test_names_are_text_in_the_report(tmp_path):
    X, y = corral()
    odd = X.rename(columns={X.columns[0]: "<b>&\n$x$"})
    params = {"member__parameters": "ml", "generative": None, "n_members": 1, "random_state": 0}
    model = bnplug.make_classifier("mixture", **params).fit(odd, pd.Series(y, name="<i>"))
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;&#10;$x$" in page
    assert model.plot().figure is not None
    with pytest.raises(ValueError, match="y is given without X"):
        model.report(tmp_path / "page.html", y=y)
