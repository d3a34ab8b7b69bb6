"""How a notebook shows log parameters: a node's table, and the nodes of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnplug.notebook import _pieces as html

if TYPE_CHECKING:
    from bnplug.model.log_tables import LogTables

# A notebook shows the beginning of what is longer.
_MOST_STATES, _MOST_CONFIGURATIONS, _MOST_NODES, _MOST_LISTED = 30, 16, 40, 6


def cpt_display(cpt: pd.DataFrame) -> str:
    """Return P(node | parents) under its name: a row for each state, a column for each configuration of the parents."""
    parents = [] if list(cpt.columns) == ["probability"] else list(map(str, cpt.columns.names))
    given = f" | {', '.join(parents)}" if parents else ""
    return html.fragment(html.title(f"P({cpt.index.name}{given})"), _table(cpt))


def _table(cpt: pd.DataFrame) -> str:
    """Return the table, each cell shaded by its probability; of a large one the first part."""
    values = cpt.to_numpy(dtype=np.float64)[:_MOST_STATES, :_MOST_CONFIGURATIONS]
    columns = cpt.columns[:_MOST_CONFIGURATIONS]
    head = [
        [html.heading("" if name is None else name), *map(html.heading, columns.get_level_values(level))]
        for level, name in enumerate(columns.names)
    ]
    rows = [
        [html.heading(state, "row"), *(html.shaded(cell, html.number(cell)) for cell in own)]
        for state, own in zip(cpt.index, values, strict=False)
    ]
    n_states, n_configurations = cpt.shape
    said = f"The first part of {n_states:,} states x {n_configurations:,} configurations."
    return html.table(head, rows) + (html.note(said) if values.shape != cpt.shape else "")


def nodes_display(tables: LogTables) -> str:
    """Return the nodes of a network with their states and parents; each opens to its table."""
    names = tables.names[:_MOST_NODES]
    left = len(tables.names) - len(names)
    return html.fragment(
        html.title(repr(tables), "a node opens to its table"),
        "" if tables.normalized else html.note("Columns need not sum to one: the parameters are discriminative."),
        *(_node(tables, name) for name in names),
        html.note(f"… and {left:,} more nodes.") if left else "",
    )


def _node(tables: LogTables, name: str) -> str:
    states, parents = (html.listed(own[name], _MOST_LISTED, html.short) for own in (tables.states, tables.parents))
    given = f" given {parents}" if parents else ""
    target = " (the class)" if name == tables.target else ""
    said = f"{html.short(name)}{target}: {states}{given}"
    return f"<details><summary>{said}</summary>{_table(tables.cpt(name))}</details>"
