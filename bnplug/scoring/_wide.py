"""Candidates with so many configurations that only those that occur are numbered: memory follows the rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from bnplug.arrays import IntArray
from bnplug.contracts import Changes
from bnplug.counts._numbering import number_occurring, place_among
from bnplug.scoring._bundles import Scratch, with_room
from bnplug.scoring._candidates import FlatGraph
from bnplug.scoring._rows import FoldedRows


def n_configurations(rows: FoldedRows, graph: FlatGraph, changes: Changes) -> int:
    """Return how many configurations the features of a candidate have, missing included."""
    return prod(int(rows.sizes[v]) for v in features_of(rows, graph, changes))


def features_of(rows: FoldedRows, graph: FlatGraph, changes: Changes) -> IntArray:
    """Return the features of a candidate, in ascending order."""
    variables = {v for node, parents, _ in families(rows, graph, changes) for v in (node, *parents)}
    return np.array(sorted(variables - {rows.target}), dtype=np.int64)


def place(
    rows: FoldedRows, graph: FlatGraph, changes: Changes, scratch: Scratch, states: IntArray | None = None
) -> Scratch:
    """Return a Scratch in which the configurations of a candidate that occur, and the places of its families, are.

    What is not about this candidate, it shares with `scratch`. Where other rows have configurations too, `states` are
    those of all, (features, size).
    """
    slots = [(node, parents) for node, parents, _ in families(rows, graph, changes)]
    features = features_of(rows, graph, changes)
    if states is None:
        numbers, examples = number_occurring(rows.codes, rows.sizes, features)
        codes = rows.codes[features][:, examples].astype(np.int64)
    else:
        numbers, codes = place_among(rows.codes, rows.sizes, features, states), states
    placed = [place_family(rows, features, codes, node, np.array(parents, dtype=np.int64)) for node, parents in slots]
    # Of a family, states and parent configurations are numbered that do not occur together.
    widest = max(int(rows.cards[node]) * columns for (node, _), (_, columns) in zip(slots, placed, strict=True))
    last = scratch.last.copy()
    last[2] = codes.shape[1]
    return with_room(scratch, rows, max(widest, codes.shape[1]))._replace(
        configuration=numbers.astype(np.uint32),
        place=np.concatenate([own for own, _ in placed]),
        columns=np.array([columns for _, columns in placed], dtype=np.int64),
        last=last,
    )


def families(rows: FoldedRows, graph: FlatGraph, changes: Changes) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Yield what a candidate takes out (-1) and puts in (1), as far as it can change a gain: its slots, in order."""
    for v, own in changes.items():
        before, after = graph.parents_of(v), tuple(own)
        if set(before) == set(after) and graph.n_parents[v] >= 0:
            continue
        if rows.target in before or (v == rows.target and graph.n_parents[v] >= 0):
            yield v, before, -1
        if v == rows.target or rows.target in after:
            yield v, after, 1


def place_family(
    rows: FoldedRows, features: IntArray, codes: IntArray, node: int, parents: IntArray
) -> tuple[IntArray, int]:
    """Return `place` and the number of columns of `find_logs`, for configurations of given codes (features, size)."""
    own = np.isin(features, parents)
    known = (codes < rows.cards[features][:, None])[own | (features == node)].all(axis=0)
    numbers, examples = number_occurring(codes[:, known], rows.cards[features], np.flatnonzero(own))
    columns = max(1, len(examples))
    place = np.full(codes.shape[1], -1, dtype=np.int64)
    state = 0 if node == rows.target else codes[features == node][0, known]
    place[known] = state * columns + numbers
    with_classes = place[:, None] * rows.n_classes + np.arange(rows.n_classes)
    with_classes[place < 0] = -1
    return with_classes.ravel(), columns
