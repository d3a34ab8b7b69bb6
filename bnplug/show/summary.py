"""What a fitted classifier is, for a reader: its cut points, what each feature tells of the class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr

from bnplug.arrays import FloatArray
from bnplug.errors import did_you_mean, printable
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.queries import query

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

__all__ = [
    "TEMPERED",
    "blanket_to_mark",
    "class_joints",
    "counted",
    "cut_points",
    "headline",
    "mutual_information",
    "to_text",
]

#: Note on the class probabilities of a model that was calibrated by a temperature.
TEMPERED = (
    'calibrate="temperature" scaled the parameters of the class and its children. Without evidence, P(class) therefore '
    "differs from the class frequencies of the training rows."
)

# A table with more cells than this is printed only when it is asked for.
_SMALL_TABLE = 64

# How far the marginal of a joint may be from the class prior for rounding's sake.
_ROUNDING = 1e-9


def headline(model: BayesianNetworkClassifier) -> str:
    """Return the size of a model in one line."""
    tables = model.tables_
    return (
        f"{counted(len(model.intake_.names), 'feature')}, {len(model.classes_)} classes, "
        f"{counted(len(tables.edges), 'edge')}, {counted(tables.n_parameters, 'parameter')}"
    )


def counted(n: int, noun: str) -> str:
    """Return a number of things, such as "1 edge" or "2 edges"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def blanket_to_mark(model: BayesianNetworkClassifier) -> list[str]:
    """Return the Markov blanket of the class, for a picture; none where it is all features, which would say nothing."""
    blanket = model.markov_blanket()
    return blanket if len(blanket) < len(model.intake_.names) else []


def cut_points(model: BayesianNetworkClassifier) -> dict[str, FloatArray]:
    """Return the cut points of every numeric feature, where the discretiser tells them."""
    return model.intake_.cut_points


def class_joints(model: BayesianNetworkClassifier) -> dict[str, FloatArray]:
    """Return P(class, X) of every feature X by the network itself, with axes (class, X).

    Raises
    ------
    ValueError
        If it takes a table of more than ``max_clique_size`` cells.
    """
    tables, target = model.tables_, model.target_
    known = _joints_up_to_separation(model)
    prior = query(tables, [target], max_clique_size=model.max_clique_size)
    joints = {}
    for name, joint in known.items():
        # What the class does not depend on is left out of a log joint, and all that can be lost is
        # a factor below one: where the sum over X is the prior, nothing was.
        if np.abs(joint.sum(axis=1) - prior).max() <= _ROUNDING:
            joints[name] = joint
        else:
            joints[name] = query(tables, [target, name], max_clique_size=model.max_clique_size)
    return joints


def _joints_up_to_separation(model: BayesianNetworkClassifier) -> dict[str, FloatArray]:
    """All features at once: a row for each state of each feature, everything else missing."""
    schema = model.schema_
    cards = schema.cards[schema.features]
    codes = np.full((len(schema.names), cards.sum() + 1), schema.missing, dtype=schema.codes.dtype)
    rows = [slice(end - card, end) for card, end in zip(cards, np.cumsum(cards), strict=True)]
    for v, own in zip(schema.features, rows, strict=True):
        codes[v, own] = np.arange(schema.cards[v])
    measure = np.exp(Marginalizer(model.tables_, model.target_, model.max_clique_size).log_joint(codes))
    # The last row knows nothing: it measures the class alone.
    measure /= measure[-1].sum()
    return {schema.names[v]: measure[own].T for v, own in zip(schema.features, rows, strict=True)}


def mutual_information(joint: FloatArray) -> float:
    """Return the mutual information of two variables in nats, from their joint distribution.

    Examples
    --------
    >>> round(mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), 3)
    0.693
    """
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return max(float(rel_entr(joint, independent).sum()), 0.0)


def to_text(model: BayesianNetworkClassifier, nodes: Iterable[str] = ()) -> str:
    """Describe a model in plain text: its graph, the Markov blanket of the class, tables.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        Fitted.
    nodes : iterable of str
        The variables whose tables to show, however large; by default, those with small tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import BayesianNetworkClassifier
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"]})
    >>> model = BayesianNetworkClassifier("nb").fit(X, ["go", "go", "stay", "stay"])
    >>> print(to_text(model, nodes=["class"]))
    'class': 1 feature, 2 classes, 1 edge, 3 parameters
    structure nb, parameters backoff, discretizer log2-quantile
      structure learner nb (bnplug ...)
      parameter learner backoff (bnplug ...)
    <BLANKLINE>
    sky <- class
    class
    <BLANKLINE>
    Markov blanket of 'class': sky
    <BLANKLINE>
    P(class)
                   go   stay
    probability 0.5000 0.5000
    """
    wanted = list(nodes)
    for name in wanted:
        if name not in model.tables_.tables:
            raise ValueError(f"there is no node {name!r}.{did_you_mean(name, model.tables_.names)}")
    parts = [
        f"{model.target_!r}: {headline(model)}\n" + "\n".join(_made_by(model)),
        "\n".join(_node_line(name, parents) for name, parents in model.tables_.parents.items()),
        f"Markov blanket of {model.target_!r}: {', '.join(map(printable, model.markov_blanket())) or '(empty)'}",
    ]
    if not model.tables_.normalized:
        parts.append("The columns of the tables need not sum to one: the parameters are discriminative.")
    if model.calibrate is not None:
        parts.append(TEMPERED)
    shown = wanted or [name for name in model.tables_.names if _n_cells(model, name) <= _SMALL_TABLE]
    parts += [_table_text(model, name) for name in shown]
    left_out = [name for name in model.tables_.names if name not in shown and not wanted]
    parts += ["\n".join(_size_line(model, name) for name in left_out)] if left_out else []
    return "\n\n".join(parts)


def _made_by(model: BayesianNetworkClassifier) -> Iterator[str]:
    """Yield lines on what made a model: as the user wrote it, then every component with who brings it."""
    yield printable(", ".join(f"{part} {text}" for part, text in model.made_.items()))
    for found in model.components_:
        yield printable(f"  {found['kind']} {found['name']} ({found['distribution']} {found['version']})")


def _node_line(name: str, parents: Iterable[str]) -> str:
    given = ", ".join(map(printable, parents))
    return f"{printable(name)} <- {given}" if given else printable(name)


def _n_cells(model: BayesianNetworkClassifier, name: str) -> int:
    return int(model.tables_.tables[name].values.size)


def _table_text(model: BayesianNetworkClassifier, name: str) -> str:
    """One node's table: a line for each configuration of its parents."""
    parents = model.tables_.parents[name]
    title = f"P({printable(name)}{' | ' if parents else ''}{', '.join(map(printable, parents))})"
    frame = model.cpt(name).T.rename(index=printable, columns=printable)
    frame = frame.rename_axis(index=printable if parents else None, columns=None)
    return f"{title}\n{frame.to_string(float_format=_number)}"


def _number(value: float) -> str:
    """Return a number with four decimals where they tell it, else with an exponent."""
    return f"{value:.4f}" if value == 0 or 0.00005 <= value < 1000 else f"{value:.0e}"


def _size_line(model: BayesianNetworkClassifier, name: str) -> str:
    states, *configurations = model.tables_.tables[name].values.shape
    return (
        f"P({printable(name)} | ...): {counted(states, 'state')} x "
        f"{counted(prod(configurations), 'configuration')}; "
        f"--node {printable(name)!r} shows it"
    )
