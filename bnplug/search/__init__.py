"""Greedy search for a structure: one loop in which only the step varies."""

from __future__ import annotations

from bnplug.search.constraints import Constraints
from bnplug.search.greedy import GreedySearch, first_best, score_tie
from bnplug.search.hill_climb import climb
from bnplug.search.met import BestMet
from bnplug.search.moves import Graph, Move, Moves, Neighbourhood
from bnplug.search.progress import Progress

__all__ = [
    "BestMet",
    "Constraints",
    "Graph",
    "GreedySearch",
    "Move",
    "Moves",
    "Neighbourhood",
    "Progress",
    "climb",
    "first_best",
    "score_tie",
]
