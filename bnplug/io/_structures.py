"""Structures, and what else a structure learner found, as JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bnplug.structure import Learned, PartialGraph, Structure


def structure_to_json(structure: Structure) -> dict[str, Any]:
    """Return a structure as JSON."""
    return {"is": "structure", "names": list(structure.names), "parents": [list(of) for of in structure.parents]}


def structure_from_json(data: Mapping[str, Any]) -> Structure:
    """Undo :func:`structure_to_json`; raise a ``ValueError``, ``TypeError`` or ``KeyError`` if `data` is damaged."""
    if not all(isinstance(name, str) for name in data["names"]):
        raise TypeError("the variables of a structure have no names")
    return Structure(data["names"], data["parents"])


def learned_to_json(learned: Learned) -> dict[str, Any] | None:
    """Return what a learner found besides the structure, by positions of variables; None if there is nothing."""
    if not learned.has_more:
        return None
    names = learned.structure.names
    place = {name: v for v, name in enumerate(names)}
    pdag, probabilities = learned.pdag, learned.edge_probabilities
    listed = [[place[u], place[v], share] for (u, v), share in (probabilities or {}).items()]
    return {
        "pdag": pdag and [[[place[u], place[v]] for u, v in edges] for edges in (pdag.directed, pdag.undirected)],
        "edge_probabilities": None if probabilities is None else listed,
        "alternatives": [[list(of) for of in other.parents] for other in learned.alternatives],
        "details": dict(learned.details),
    }


def learned_from_json(data: Mapping[str, Any] | None, structure: Structure) -> Learned:
    """Undo :func:`learned_to_json`, given the structure; raise one of its errors if `data` is damaged."""
    if data is None:
        return Learned(structure)
    pdag, listed, names = data["pdag"], data["edge_probabilities"], structure.names
    found = Learned(
        structure,
        None if pdag is None else PartialGraph(names, *pdag),
        None if listed is None else {(u, v): float(share) for u, v, share in listed},
        [Structure(names, parents) for parents in data["alternatives"]],
        dict(data["details"]),
    )
    return Learned.of(found, structure)
