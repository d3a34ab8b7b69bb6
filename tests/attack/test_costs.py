"""What took gigabytes or minutes: each bounded by what is counted, never by a clock."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from attack.hostile import learn
from random_networks import random_tables

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, Table
from bnplug.counts import information, pairwise_information
from bnplug.counts._numbering import fill_from_rows
from bnplug.inference._cliques import n_cells
from bnplug.inference.explain import sensitivity
from bnplug.inference.most_probable import most_probable
from bnplug.inference.queries import query
from bnplug.io import bif
from bnplug.show.explorer import _part


def peak_of(program, megabytes):
    """Run a program in a process of its own; return its output and the memory it took more than at its mark."""
    code = f"import resource\n{program}"
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **limits)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_tables_that_are_too_large_are_refused_before_anything_is_counted():
    """It took 4.9 GB and 137 s before."""
    columns = pd.DataFrame({f"x{i}": pd.Categorical(np.arange(2800) % 1400) for i in range(100)})
    with pytest.raises(ValueError, match=r"at least 388,080,000 parameters, more than max_parameters=50,000,000"):
        BayesianNetworkClassifier(("tan", {"correction": None}), min_frequency=None).fit(columns, np.arange(2800) % 2)


def test_tables_of_pairs_are_counted_in_bounded_memory():
    """All tables of a feature with the others were counted at once: here 1.1 GB."""
    rng = np.random.default_rng(0)
    codes = np.vstack([rng.integers(0, 600, (200, 6000)), rng.integers(0, 2, 6000)]).astype(np.uint16)
    names = [f"x{i}" for i in range(200)]
    states = dict.fromkeys(names, range(600)) | {"c": range(2)}
    table = Table(codes, [*names, "c"], states, "c")
    result = np.zeros((201, 201))
    fill_from_rows(table, np.arange(4), 1 << 20, result, n_jobs=1)
    expected = [information.conditional_information(table, 3, b, [table.target_index]) for b in range(3)]
    assert result[3, :3] == pytest.approx(expected, abs=1e-9)


@pytest.mark.long
def test_ten_thousand_features_in_a_gigabyte():
    program = """
import numpy as np
from bnplug import Table
from bnplug.counts import pairwise_information
rng = np.random.default_rng(0)
names = [f"x{i}" for i in range(10_000)] + ["c"]
codes = rng.integers(0, 3, (10_001, 500)).astype(np.uint8)
table = Table(codes, names, {name: range(3) for name in names}, "c")
pairwise_information(Table(codes[-9:], names[-9:], {name: range(3) for name in names[-9:]}, "c"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = pairwise_information(table)
assert (found == found.T).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(peak_of(program, 4000)) < 1_000_000


def test_a_pair_of_many_states_is_counted_by_what_occurs():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 400, 500), "b": rng.integers(0, 400, 500), "c": rng.integers(0, 2, 500)})
    table = Table.from_frame(frame, "c")
    found = pairwise_information(table)[0, 1]
    assert found == pytest.approx(information.conditional_information(table, 0, 1, [table.target_index]), abs=1e-12)


def test_the_report_folds_a_confusion_matrix_of_many_classes(tmp_path):
    """At a thousand classes it had 91 MB."""
    y = np.arange(400) % 200
    model = learn(pd.DataFrame({"x": y % 7, "o": y % 5}), y, "nb")
    model.report(tmp_path / "report.html", pd.DataFrame({"x": y % 7, "o": y % 5}), y)
    text = (tmp_path / "report.html").read_text()
    assert "151 other classes" in text
    matrix = text[text.index("Confusion matrix</h3>") : text.index("</table>", text.index("Confusion matrix</h3>"))]
    assert matrix.count("<tr") == 51


def test_the_bif_reader_is_linear_in_the_pieces_of_a_property():
    """It took 28 s for 9 MB of properties. Every piece was added to all before."""
    pieces = 200_000
    lines = "".join(f"property long = {i % 10}{'x' * 20};\n" for i in range(pieces))
    rest = "variable c { type discrete [2] { a, b }; } probability ( c ) { table 0.5, 0.5; }"
    text = f"network n {{ {lines} }} {rest}"
    parts = bif.parse_bif(text)
    assert len(parts.properties["long"]) == 21 * pieces
    assert list(parts.variables) == ["c"]


def test_a_query_on_a_chain_looks_at_each_factor_a_few_times(monkeypatch):
    """Cliques of all variables were made anew at every step: 1.1 s for 400 nodes, now 45 ms."""
    n, rng = 400, np.random.default_rng(0)
    names = [f"v{i}" for i in range(n)]
    parents = [[], *([i] for i in range(n - 1))]
    tables = random_tables(rng, parents, [3] * n)
    asked = 0

    def counted(*arguments):
        nonlocal asked
        asked += 1
        return n_cells(*arguments)

    monkeypatch.setattr("bnplug.inference._cliques.n_cells", counted)
    found = query(tables, [names[-1]], {names[0]: 1})
    assert found.sum() == pytest.approx(1.0)
    assert asked <= 4 * n


def dense_network(n):
    """Return a network of n binary variables, each with three random parents: cliques have hundreds of variables."""
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(n)]
    tables = {}
    for v in range(n):
        parents = sorted(rng.choice(v, min(v, 3), replace=False).tolist())
        values = np.log(np.moveaxis(rng.dirichlet([1.0, 1.0], size=[2] * len(parents)), -1, 0))
        tables[names[v]] = ([names[u] for u in parents], values)
    return LogTables(names, {name: range(2) for name in names}, tables, "v0")


def last_known(tables):
    codes = np.full((len(tables.names), 1), 255, dtype=np.uint8)
    codes[-1] = 1
    return codes


REFUSED = {
    "log_joint": lambda own: bnplug.engine("elimination").compile(own, "v0").log_joint(last_known(own)),
    "expected_counts": lambda own: (
        bnplug.engine("elimination").compile(own, "v0").expected_counts(last_known(own), np.ones((1, 2)))
    ),
    "junction-tree": lambda own: bnplug.engine("junction-tree").compile(own, "v0"),
    "query": lambda own: query(own, ["v0"], {own.names[-1]: 1}),
    "most_probable": lambda own: most_probable(own, {own.names[-1]: 1}),
    "sensitivity": lambda own: sensitivity(own, "v0", {own.names[-1]: 1}),
}


@pytest.mark.parametrize("question", REFUSED)
def test_a_network_whose_cliques_are_too_large_is_refused(question):
    """It took 37 s for 2,000 nodes, because all cliques and many tables were built before any was checked."""
    for n in (500, 2000):
        with pytest.raises(ValueError, match=r"(more than max_clique_size=|cells, more than )10,000,000") as refusal:
            REFUSED[question](dense_network(n))
        assert len(str(refusal.value)) < 1000


def test_a_network_of_large_cliques_answers_where_enough_is_known():
    tables = dense_network(300)
    rng = np.random.default_rng(1)
    codes = np.array([rng.integers(0, 2, 4, dtype=np.uint8) for _ in tables.names])
    codes[rng.random(codes.shape) < 0.15] = 255
    found = BayesianNetworkClassifier.from_tables(tables)._marginalizer.log_joint(codes)
    for m in range(4):
        known = {name: int(code) for name, code in zip(tables.names, codes[:, m], strict=True) if code != 255}
        known.pop("v0", None)
        share = np.exp(found[m] - np.logaddexp.reduce(found[m]))
        assert share == pytest.approx(query(tables, ["v0"], known), abs=1e-12)


def test_refusing_an_explorer_limits_the_queries_that_rank_features(monkeypatch):
    """One exact query per feature, to suggest a number of features: 31 s for 800 nodes, now 0.6 s."""
    planned, cells, count_cells = 0, 0, _part.n_cells

    def counted_plan(parents, cards, limit):
        nonlocal planned
        planned += len(parents)
        return count_cells(parents, cards, limit)

    def counted_query(tables, *arguments, **options):
        nonlocal cells
        cells += count_cells(*_part.numbered(tables), 5_000_000)
        return query(tables, *arguments, **options)

    monkeypatch.setattr(_part, "n_cells", counted_plan)
    monkeypatch.setattr(_part, "query", counted_query)
    with pytest.raises(ValueError, match=r"5,000,000 cells .* features=\d+\)"):
        _part.shown_tables(BayesianNetworkClassifier.from_tables(dense_network(400)), None)
    assert 0 < cells <= 5_000_000
    assert planned <= 10_000 + 5 * 400


def test_refusing_an_explorer_looks_at_each_clique_a_few_times(monkeypatch):
    """Each elimination computed the cost of all variables at distance two: 7 s for 2,000 nodes, now 0.2 s."""
    sized = 0

    def counted(clique, cards):
        nonlocal sized
        sized += 1
        return size(clique, cards)

    size = _part._size
    monkeypatch.setattr(_part, "_size", counted)
    tables = dense_network(800)
    assert _part.n_cells(*_part.numbered(tables), 5_000_000) is None
    assert sized <= 15 * len(tables.names)
