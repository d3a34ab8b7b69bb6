"""The scores of the core, one a file."""

from __future__ import annotations

from bnplug.builtin.scores.bdeu import BDeu
from bnplug.builtin.scores.cll import ConditionalLogLikelihood
from bnplug.builtin.scores.cmdl import ConditionalMDL
from bnplug.builtin.scores.hit_rate import HitRate
from bnplug.builtin.scores.k2 import K2
from bnplug.builtin.scores.ll import LogLikelihood
from bnplug.builtin.scores.mdl import MDL

__all__ = ["K2", "MDL", "BDeu", "ConditionalLogLikelihood", "ConditionalMDL", "HitRate", "LogLikelihood"]
