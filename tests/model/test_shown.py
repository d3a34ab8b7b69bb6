"""What a notebook shows of parameters: the figures of the tables, the first part of what is large."""

import numpy as np
import pytest
from awkward import NAMES
from html_page import Page

from bnplug import LogTables

TABLES = LogTables(
    ["c", "x"],
    {"c": ["n", "y"], "x": ["<i>", 1]},
    {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))},
    "c",
)


def html_of(shown):
    return shown._repr_html_()


def words(shown):
    display = shown._repr_html_()
    return " ".join(" ".join(Page(display.split("</style>")[1].removesuffix("</div>")).texts).split())


def test_a_node_with_its_parents():
    assert words(TABLES.cpt("x")) == "P(x | c) c n y <i> 0.9000 0.2000 1 0.1000 0.8000"


def test_a_node_without_parents():
    assert words(TABLES.cpt("c")) == "P(c) probability n 0.5000 y 0.5000"


def test_a_probability_is_a_shade():
    assert '<td style="--p:0.9">0.9000' in html_of(TABLES.cpt("x"))


def test_of_a_large_table_the_first_part():
    names, states = ["a", "b"], {"a": range(40), "b": range(50)}
    large = LogTables(names, states, {"a": ((), np.full(40, -1.0)), "b": (("a",), np.full((50, 40), -1.0))})
    shown = Page(html_of(large.cpt("b")))
    assert "The first part of 50 states x 40 configurations." in shown.text
    assert len(shown.all("td")) == 30 * 16


def test_of_a_network_every_node_opens_to_its_table():
    page = Page(TABLES._repr_html_())
    assert len(page.all("details")) == len(page.all("table")) == 2
    told = words(TABLES)
    assert "LogTables(2 nodes, 1 edges, 3 parameters) a node opens to its table" in told
    assert "x : <i> , 1 given c" in told
    assert "c (the class): n , y" in told
    assert "discriminative" not in told


def test_parameters_that_do_not_sum_to_one_say_so():
    other = LogTables(["c"], {"c": ["n", "y"]}, {"c": ((), np.log([0.5, 0.2]))})
    assert "need not sum to one" in words(other)


def test_of_many_nodes_the_first():
    names = [f"x{i}" for i in range(100)]
    many = LogTables(names, {name: ["n", "y"] for name in names}, {name: ((), np.log([0.5, 0.5])) for name in names})
    page = Page(many._repr_html_())
    assert len(page.all("details")) == 40
    assert "60 more nodes" in page.text


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_awkward_names_are_text(name):
    tables = LogTables([name], {name: [name, name + "!"]}, {name: ((), np.log([0.5, 0.5]))})
    plain = LogTables(["a"], {"a": ["a", "b"]}, {"a": ((), np.log([0.5, 0.5]))})
    for own, other in ((tables, plain), (tables.cpt(name), plain.cpt("a"))):
        found, wanted = Page(own._repr_html_()), Page(other._repr_html_())
        assert [tag for tag, _ in found.elements] == [tag for tag, _ in wanted.elements]
