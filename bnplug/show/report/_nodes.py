"""The nodes on the page: links to them, their tables, and the features by what they tell of the class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.show.report import _parts as html
from bnplug.show.summary import counted, cut_points, mutual_information

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# What the page holds at most, so that a browser opens it at once.
_MOST_CELLS, _MOST_CELLS_EACH = 100_000, 1200
_MOST_STATES = 40
_MOST_LISTED = 12


def link(model: BayesianNetworkClassifier, name: str) -> str:
    """Return a link to a node's table."""
    return f'<a href="#node-{model.tables_.names.index(name)}"><bdi>{html.text(name)}</bdi></a>'


def listing(labels: Iterable[object]) -> str:
    """Return labels in a line; of many, the first."""
    labels = list(labels)
    more = f" and {len(labels) - _MOST_LISTED} more" if len(labels) > _MOST_LISTED else ""
    return " &middot; ".join(map(html.name, labels[:_MOST_LISTED])) + more


def features_table(model: BayesianNetworkClassifier, joints: Mapping[str, FloatArray]) -> str:
    """Return the features, those that tell most of the class first; in their own order where that is not known."""
    information = {name: mutual_information(joint) for name, joint in joints.items()}
    largest = max(information.values(), default=0.0) or 1.0
    # Rounded, so that rounding errors do not order what is equal.
    names = sorted(model.intake_.names, key=lambda name: -round(information.get(name, 0.0), 9))
    blanket, cuts = set(model.markov_blanket()), cut_points(model)
    head = ["feature", "Markov blanket", "states", "cut points or states"]
    head[1:1] = ["information on the class, in nats"] if information else []
    rows = []
    for name in names:
        states = model.tables_.states[name]
        listed = [f"{cut:.6g}" for cut in cuts[name]] if name in cuts else states
        row = [
            f'<th scope="row">{link(model, name)}</th>',
            html.cell("yes" if name in blanket else "no"),
            html.cell(str(len(states))),
            html.cell(listing(listed) if len(listed) else "no cut"),
        ]
        if information:
            row[1:1] = [html.cell(html.bar(information[name] / largest, html.number(information[name])))]
        rows.append(row)
    return html.table([list(map(html.heading, head))], rows, "bars features", "Features")


def tables(model: BayesianNetworkClassifier, joints: Mapping[str, FloatArray]) -> str:
    """Return every node with its relations and its table, each folded up."""
    names, normalized = model.tables_.names, model.tables_.normalized
    most_cells = min(_MOST_CELLS_EACH, _MOST_CELLS // len(names))
    lines = []
    for position, name in enumerate(names):
        content = [_relations(model, name), _parameters(model, name, normalized, most_cells)]
        if name in joints and model.tables_.parents[name] != (model.target_,):
            content.append(_given_class(model, name, joints[name], most_cells))
        lines += [
            f'<details id="node-{position}" data-name="{html.text(name)}">',
            f'<summary><bdi>{html.text(name)}</bdi> <span class="note">{_size(model, name)}</span></summary>',
            f'<div class="node">{"".join(content)}</div></details>',
        ]
    return "\n".join(lines)


def _size(model: BayesianNetworkClassifier, name: str) -> str:
    states, *configurations = model.tables_.tables[name].values.shape
    role = "class, " if name == model.target_ else ""
    given = f" x {counted(prod(configurations), 'configuration')}" if configurations else ""
    return f"{role}{counted(states, 'state')}{given}"


def _relations(model: BayesianNetworkClassifier, name: str) -> str:
    parents = model.tables_.parents[name]
    children = [child for child, own in model.tables_.parents.items() if name in own]
    return html.definitions([("parents", _links(model, parents)), ("children", _links(model, children))], "relations")


def _links(model: BayesianNetworkClassifier, names: Iterable[str]) -> str:
    return " ".join(link(model, name) for name in names) or "none"


def _parameters(model: BayesianNetworkClassifier, name: str, normalized: bool, most_cells: int) -> str:
    """The table of a node: a row for each configuration of its parents; logarithms where columns do not sum to one."""
    parents, logs = model.tables_.tables[name]
    states = model.tables_.states
    title = f"P({html.name(name)}{' | ' if parents else ''}{', '.join(map(html.name, parents))})"
    return _states_table(
        title if normalized else f"Log parameters of {title}",
        parents,
        product(*(states[parent] for parent in parents)),
        states[name],
        logs.reshape(len(logs), -1).T,
        most_cells,
        lambda value: _probability(np.exp(value)) if normalized else html.cell(f"{value:.4g}"),
    )


def _given_class(model: BayesianNetworkClassifier, name: str, joint: FloatArray, most_cells: int) -> str:
    """P(node | class), all else summed out: small where the node's own table is large."""
    totals = joint.sum(axis=1, keepdims=True)
    return _states_table(
        f"P({html.name(name)} | {html.name(model.target_)}), all else summed out",
        (model.target_,),
        ((label,) for label in model.classes_),
        model.tables_.states[name],
        np.divide(joint, totals, out=np.zeros_like(joint), where=totals > 0),
        most_cells,
        _probability,
    )


def _probability(value: float) -> str:
    return html.shaded(value, html.number(value))


def _states_table(
    title: str,
    given: Iterable[str],
    configurations: Iterable[tuple[object, ...]],
    states: Sequence[object],
    values: FloatArray,
    most_cells: int,
    cell: Callable[[float], str],
) -> str:
    """A row for each configuration, a column for each state, as many as fit; what is left out is said."""
    shown = states[:_MOST_STATES]
    n_rows = min(len(values), max(1, most_cells // len(shown)))
    head = [html.heading(name, "col", "given") for name in given] + [html.heading(state) for state in shown]
    rows = [
        [html.heading(label, "row") for label in labels] + [cell(value) for value in row]
        for labels, row in zip(islice(configurations, n_rows), values[:n_rows, :_MOST_STATES], strict=True)
    ]
    left_out = []
    if n_rows < len(values):
        left_out.append(f"the first {n_rows:,} of {len(values):,} configurations")
    if len(shown) < len(states):
        left_out.append(f"the first {len(shown)} of {len(states):,} states")
    told = html.note(f"Shown: {' and '.join(left_out)}.") if left_out else ""
    return f"<h3>{title}</h3>\n{html.table([head], rows, 'states', 'Table')}{told}"
