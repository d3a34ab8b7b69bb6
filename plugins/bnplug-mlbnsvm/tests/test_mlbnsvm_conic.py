"""What the conic solver is given, which needs no solver."""

import numpy as np
import pandas as pd
from bnplug_mlbnsvm.conic import column_indices, margin_rows
from bnplug_mlbnsvm.problem import LargeMarginProblem

from bnplug import Structure, Table
from bnplug.inference.complete import log_joint, terms


def problem(missing=0.0):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (40, 3)), columns=[*"abd"])
    frame = frame.mask(rng.random(frame.shape) < missing).assign(c=rng.integers(0, 3, 40))
    table = Table.from_frame(frame, "c")
    return LargeMarginProblem(table, Structure(table.names, [[3], [0, 3], [3], []]))


def test_the_matrix_gives_the_margins_against_each_rival():
    own = problem()
    values = np.random.default_rng(1).normal(size=own.terms.values.size)
    L = log_joint(terms(own.tables(values), "c"), own.table.codes)
    found = (margin_rows(own.terms, own.table) @ values).reshape(own.table.n_rows, 2)
    for row, margins, y in zip(L, found, own.table.codes[own.table.target_index], strict=True):
        rivals = [(int(y) + step) % 3 for step in (1, 2)]
        np.testing.assert_allclose(margins, row[y] - row[rivals], atol=1e-12)


def test_terms_with_a_missing_variable_are_left_out():
    own = problem(missing=0.3)
    entries = (margin_rows(own.terms, own.table) != 0).sum(axis=1).reshape(own.table.n_rows, 2)
    known = (own.terms.cells(own.table.codes) >= 0).sum(axis=0)
    assert known.min() < len(own.terms.nodes)
    assert (entries == 2 * known[:, None]).all()


def test_every_entry_is_in_one_column():
    own = problem()
    listed = np.concatenate([each.ravel() for each in column_indices(own.columns)])
    assert sorted(listed) == list(range(own.counts.size))
    sums = [np.exp(own.terms.values[each]).sum(axis=0) for each in column_indices(own.columns)]
    np.testing.assert_allclose(np.concatenate(sums), 1.0)
