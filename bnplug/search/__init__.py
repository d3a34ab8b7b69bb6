"""Greedy search for a structure: one loop in which only the step varies."""

from __future__ import annotations

from bnplug.search._climbing import climb, climb_and_shake
from bnplug.search.constraints import Constraints
from bnplug.search.greedy import GreedySearch, Progress, TopGraphs, first_best, score_tie
from bnplug.search.moves import Graph, Move, Moves, Neighbourhood

__all__ = [
    "Constraints",
    "Graph",
    "GreedySearch",
    "Move",
    "Moves",
    "Neighbourhood",
    "Progress",
    "TopGraphs",
    "climb",
    "climb_and_shake",
    "first_best",
    "score_tie",
]
