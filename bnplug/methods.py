"""The frozen descriptors that hooks return: what a method is called, and how one is made.

A descriptor is data. Making one imports nothing of the method itself: its ``factory`` may be a string
``"module:Class"`` that is resolved when the method is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

#: A component of a recipe: a registered name, or that name with parameters.
Component = str | tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Method:
    """What is common to the descriptors of learners and scores.

    Parameters
    ----------
    name : str
        What users call it: ``"tan"``, ``"ccbn-w"``.
    factory : type or str
        The class, or ``"module:Class"``, which keeps the plugin's heavy imports out of discovery.
    summary : str
        One line on what it does.
    reference : str
        The paper or book that defines it.
    api : int
        The ``HOOK_API`` that its author wrote it for, as a literal number.
    stochastic : bool
        Whether its result depends on ``random_state``.
    """

    kind: ClassVar[str] = ""

    name: str
    factory: type | str
    summary: str
    reference: str
    api: int
    stochastic: bool = False

    def capabilities(self) -> dict[str, bool]:
        """Return the flags of this descriptor, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.type == "bool"}


@dataclass(frozen=True)
class StructureLearnerMethod(Method):
    """Describes a :class:`~bnplug.StructureLearner`; ``needs_score``: it takes a parameter ``score``."""

    kind: ClassVar[str] = "structure learner"

    needs_score: bool = False


@dataclass(frozen=True)
class ScoreFunctionMethod(Method):
    """Describes a :class:`~bnplug.ScoreFunction`; ``decomposable``: it is a sum of terms, one per family."""

    kind: ClassVar[str] = "score function"

    decomposable: bool = False


@dataclass(frozen=True)
class ParameterLearnerMethod(Method):
    """Describes a :class:`~bnplug.ParameterLearner`."""

    kind: ClassVar[str] = "parameter learner"


@dataclass(frozen=True)
class Recipe:
    """A named composition: a whole classifier, by the names of its parts.

    Parameters
    ----------
    name : str
        What users call it: ``"TAN-OMI-CR-ML"``.
    structure, parameters : str or (str, mapping)
        A registered name, or that name with parameters; a parameter may itself be such a pair.
    discretizer : str or (str, mapping)
        What makes numeric columns discrete.
    summary, reference : str
        One line on what it is, and the paper it comes from.
    requires : tuple of str
        Distributions that bring its components, named to users who lack them.
    api : int
        The ``HOOK_API`` that its author wrote it for.
    """

    kind: ClassVar[str] = "recipe"

    name: str
    structure: Component
    parameters: Component = "ml"
    discretizer: Component = "mdl"
    summary: str = ""
    reference: str = ""
    requires: tuple[str, ...] = ()
    api: int = 1


@dataclass(frozen=True)
class Reproduction:
    """A paper's protocol: ``run(data, out, quick)`` writes a page with its figures and ours.

    ``run`` is a function, or ``"module:function"``, resolved when the reproduction is asked for.
    """

    kind: ClassVar[str] = "reproduction"

    name: str
    run: Callable[..., Any] | str
    summary: str = ""
    reference: str = ""
    api: int = 1
