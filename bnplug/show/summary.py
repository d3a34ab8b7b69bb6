"""A fitted classifier in text and in a notebook: its size, graph, cut points, and information about the class."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, rel_entr

from bnplug.errors import did_you_mean, one_line, printable
from bnplug.html._kit import Safe, number, render, without_folders
from bnplug.html._kit import counted as counted
from bnplug.inference.marginals import Marginalizer
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# The largest graph that a notebook draws.
_MOST_DRAWN = 120

# The largest number of edges, and of characters of a detail, that a description lists.
_MOST_EDGES, _MOST_DETAIL = 10, 200

# Larger tables are printed only on request.
_SMALL_TABLE = 64


def calibration_note(model: BayesianNetworkClassifier) -> str:
    """Return a sentence about the factors of calibrated evidence; empty without."""
    observed, missing = model.calibration_
    if observed == missing == 1.0:
        return ""
    return (
        f"Calibrated evidence: in posteriors of {model.target_!r}, evidence is multiplied by {observed:.2f} if all of "
        f"the Markov blanket is known, by {missing:.2f} if none of it is, and by a factor in between otherwise."
    )


def headline(model: BayesianNetworkClassifier) -> str:
    """Return the size of a model in one line."""
    tables = model.tables_
    return (
        f"{counted(len(model.encoder_.names), 'feature')}, {len(model.classes_)} classes, "
        f"{counted(len(tables.edges), 'edge')}, {counted(tables.n_parameters, 'parameter')}"
    )


def blanket_to_mark(model: BayesianNetworkClassifier) -> list[str]:
    """Return the Markov blanket of the class to highlight in a picture; empty if it is all features."""
    blanket = model.markov_blanket()
    return blanket if len(blanket) < len(model.encoder_.names) else []


def class_joints(model: BayesianNetworkClassifier) -> dict[str, FloatArray]:
    """Return P(class, X) for every feature X, computed by the network, with axes (class, X).

    Raises a ``ValueError`` if this needs a table of more than ``max_clique_size`` cells.
    """
    schema = model.schema_
    # A row for each state of each feature, with everything else missing.
    cards = schema.cards[schema.features]
    codes = np.full((len(schema.names), cards.sum() + 1), schema.missing, dtype=schema.codes.dtype)
    rows = [slice(end - card, end) for card, end in zip(cards, np.cumsum(cards), strict=True)]
    for v, states in zip(schema.features, rows, strict=True):
        codes[v, states] = np.arange(schema.cards[v])
    network = Marginalizer(model.tables_, model.target_, model.max_clique_size)
    logs = network.log_joint(codes, complete=True)
    # The last row has no evidence: its sum is that of the whole measure.
    measure = np.exp(logs - logsumexp(logs[-1]))
    return {schema.names[v]: measure[states].T for v, states in zip(schema.features, rows, strict=True)}


def mutual_information(joint: FloatArray) -> float:
    """Return the mutual information of two variables in nats, from their joint distribution."""
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return max(float(rel_entr(joint, independent).sum()), 0.0)


def to_text(model: BayesianNetworkClassifier, nodes: Iterable[str] = ()) -> str:
    """Describe a model in plain text: its graph, the Markov blanket of the class, tables.

    The tables are those of `nodes`, of any size, or by default all small ones.
    """
    wanted = list(nodes)
    for name in wanted:
        if name not in model.tables_.tables:
            raise ValueError(f"there is no node {name!r}.{did_you_mean(name, model.tables_.names)}")
    made = [", ".join(f"{part} {text}" for part, text in model.made_.items())]
    for part in model.components_:
        origin = f"{part['distribution']} {part['version']}".strip()
        made.append(f"  {part['kind']} {part['name']} ({origin})")
    families = [(name, ", ".join(map(printable, parents))) for name, parents in model.tables_.parents.items()]
    parts = [
        "\n".join([f"{model.target_!r}: {headline(model)}", *map(printable, made)]),
        "\n".join(printable(name) + (f" <- {parents}" if parents else "") for name, parents in families),
        f"Markov blanket of {model.target_!r}: {', '.join(map(printable, model.markov_blanket())) or '(empty)'}",
    ]
    parts += ["\n".join(f"{label}: {text}" for label, text in lines)] if (lines := learned_lines(model)) else []
    if not model.tables_.normalized:
        parts.append("The columns of the tables need not sum to one: the parameters are discriminative.")
    if note := calibration_note(model):
        parts.append(note)
    shown = wanted or [name for name, node in model.tables_.tables.items() if node.values.size <= _SMALL_TABLE]
    for name in shown:
        parents = model.tables_.parents[name]
        title = f"P({printable(name)}{' | ' if parents else ''}{', '.join(map(printable, parents))})"
        frame = model.cpt(name).T.rename(index=printable, columns=printable)
        frame = frame.rename_axis(index=printable if parents else None, columns=None)
        parts.append(f"{title}\n{frame.to_string(float_format=number)}")
    sizes = []
    for name in () if wanted else (name for name in model.tables_.names if name not in shown):
        states, *configurations = model.tables_.tables[name].values.shape
        size = f"{counted(states, 'state')} x {counted(prod(configurations), 'configuration')}"
        sizes.append(f"P({printable(name)} | ...): {size}; --node {printable(name)!r} shows it")
    return "\n\n".join([*parts, "\n".join(sizes)] if sizes else parts)


def learned_lines(model: BayesianNetworkClassifier) -> list[tuple[str, str]]:
    """Return the other results of the structure learner besides the structure, each with a label."""
    learned, lines = model.learned_, []
    if learned.pdag is not None:
        sizes = (
            counted(len(learned.pdag.directed), "directed edge"),
            counted(len(learned.pdag.undirected), "undirected edge"),
        )
        lines.append(("equivalence class", " and ".join(sizes)))
    if learned.edge_probabilities is not None:
        ranked = sorted(learned.edge_probabilities.items(), key=lambda item: -item[1])
        shown = [f"{printable(u)} -> {printable(v)} {number(share, 3)}" for (u, v), share in ranked[:_MOST_EDGES]]
        left = [f"{len(ranked) - len(shown):,} more"] if len(ranked) > len(shown) else []
        lines.append(("edge probabilities", ", ".join(shown + left) or "none"))
    if learned.alternatives:
        lines.append(("alternatives", counted(len(learned.alternatives), "other structure")))
    return lines + [
        (printable(str(name)), one_line(repr(value), _MOST_DETAIL)) for name, value in learned.details.items()
    ]


def fitted_display(model: BayesianNetworkClassifier) -> str:
    """Return the notebook display of a fitted model: its size, classes, components, Markov blanket and graph."""
    from bnplug.show.drawing import to_svg

    names, blanket = model.tables_.names, blanket_to_mark(model)
    is_drawn = len(names) <= _MOST_DRAWN
    return render(
        "fitted.html",
        target=model.target_,
        size=headline(model),
        classes=model.classes_.tolist(),
        made=without_folders(", ".join(f"{part} {text}" for part, text in model.made_.items())),
        blanket=blanket,
        n_nodes=f"{len(names):,}",
        graph=Safe(to_svg(names, model.tables_.edges, model.target_, blanket)) if is_drawn else "",
    )
