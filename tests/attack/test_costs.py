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

from bnplug import BayesianNetworkClassifier, Table
from bnplug.counts import information, pairwise_information
from bnplug.exchange import _bif_blocks, bif
from bnplug.inference._cliques import n_cells
from bnplug.inference.queries import query


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
    with pytest.raises(ValueError, match=r"at least 388,080,000 parameters, over max_parameters=50,000,000"):
        BayesianNetworkClassifier("tan", min_frequency=None).fit(columns, np.arange(2800) % 2)


def test_tables_of_pairs_are_counted_in_bounded_memory():
    """All tables of a feature with the others were counted at once: here 1.1 GB."""
    rng = np.random.default_rng(0)
    codes = np.vstack([rng.integers(0, 600, (200, 6000)), rng.integers(0, 2, 6000)]).astype(np.uint16)
    names = [f"x{i}" for i in range(200)]
    states = dict.fromkeys(names, range(600)) | {"c": range(2)}
    features = np.arange(200, dtype=np.int64)
    table = Table(codes, [*names, "c"], states, "c")
    padded, _ = table.padded()
    result = np.zeros((201, 201))
    zero = np.zeros(0, np.int64)
    information._count_pairs(padded, 200, table.cards, features, 1 << 20, None, zero, 3, result)
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
    scanner = _bif_blocks._Scanner(text)
    scanner.expect(_bif_blocks._BLOCK, "")
    scanner.expect(_bif_blocks._OPEN, "")
    properties = scanner.properties()
    assert len(properties["long"]) == 21 * pieces
    assert bif.parse_bif(text).names == ("c",)


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

    monkeypatch.setattr("bnplug.inference._factors.n_cells", counted)
    found = query(tables, [names[-1]], {names[0]: 1})
    assert found.sum() == pytest.approx(1.0)
    assert asked <= 4 * n
