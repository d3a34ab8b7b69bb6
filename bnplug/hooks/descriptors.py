"""The frozen descriptors that hooks return: what a method is called, and how one is made.

A descriptor is data. Making one imports nothing of the method itself: its ``factory`` may be a string
``"module:Class"`` that is resolved when the method is first asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar

from bnplug import __version__
from bnplug.errors import ContractError
from bnplug.hooks.specs import HOOK_API_ACCEPTED


class Kind(StrEnum):
    """What a descriptor describes, in the order of the hooks; a member is the text that messages and files have.

    Examples
    --------
    >>> Kind.SCORE_FUNCTION == "score function"
    True
    """

    STRUCTURE_LEARNER = "structure learner"
    SCORE_FUNCTION = "score function"
    PARAMETER_LEARNER = "parameter learner"
    INFERENCE_ENGINE = "inference engine"
    CLASSIFIER = "classifier"
    DISCRETIZER = "discretizer"
    RECIPE = "recipe"
    REPRODUCTION = "reproduction"


#: What stands for a discretiser where none is wanted: every distinct value of a column is a state.
NO_DISCRETIZER = "none"

#: What stands for the discretiser that the parameter learner wants.
AUTO_DISCRETIZER = "auto"

#: A component of a recipe: a registered name, or that name with parameters.
Component = str | tuple[str, Mapping[str, Any]]

#: A field of a descriptor, what it must be, and the check of that.
_Rule = tuple[str, str, Callable[[object], bool]]

_IMPORTABLE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Method:
    """What is common to the descriptors of whatever has a class of its own.

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
    aliases : tuple of str
        Names that it had before. They go on working, with a ``DeprecationWarning`` that names the new one.
    parameter_aliases : mapping of str to str
        Parameters that were renamed: the old name of each, and the new one.
    """

    kind: ClassVar[Kind]

    name: str
    factory: type | str
    summary: str
    reference: str
    api: int
    stochastic: bool = False
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    parameter_aliases: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)

    def capabilities(self) -> dict[str, bool]:
        """Return the flags of this descriptor, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.type == "bool"}


@dataclass(frozen=True)
class StructureLearnerMethod(Method):
    """Describes a :class:`~bnplug.StructureLearner`; ``needs_score``: it takes a parameter ``score``.

    ``constraints``: it takes ``required``, ``forbidden`` and ``tiers`` (:class:`~bnplug.search.Constraints`), and keeps
    to them.
    """

    kind: ClassVar[Kind] = Kind.STRUCTURE_LEARNER

    needs_score: bool = False
    constraints: bool = False


@dataclass(frozen=True)
class ScoreFunctionMethod(Method):
    """Describes a :class:`~bnplug.ScoreFunction`; ``decomposable``: it is a sum of terms, one per family."""

    kind: ClassVar[Kind] = Kind.SCORE_FUNCTION

    decomposable: bool = False


@dataclass(frozen=True)
class ParameterLearnerMethod(Method):
    """Describes a :class:`~bnplug.ParameterLearner`."""

    kind: ClassVar[Kind] = Kind.PARAMETER_LEARNER


@dataclass(frozen=True)
class InferenceEngineMethod(Method):
    """Describes an :class:`~bnplug.InferenceEngine`; ``exact``: its answers are those of enumeration."""

    kind: ClassVar[Kind] = Kind.INFERENCE_ENGINE

    exact: bool = True


@dataclass(frozen=True)
class ClassifierMethod(Method):
    """Describes a whole classifier of another shape than a network of one structure, such as an ensemble.

    Its factory is any scikit-learn classifier with ``predict_proba``; it gets raw columns, as they come. It can be
    saved where it has the two methods of :class:`~bnplug.SavesState`. ``featured``: a newcomer should know it.
    """

    kind: ClassVar[Kind] = Kind.CLASSIFIER

    featured: bool = False


@dataclass(frozen=True)
class DiscretizerMethod(Method):
    """Describes a transformer of numbers to bins; ``supervised``: its cuts depend on the class.

    Its factory is a scikit-learn transformer whose ``fit(X, y, sample_weight=None)`` leaves ``cut_points_``: for each
    column an ascending array, or None for one that it leaves alone.
    """

    kind: ClassVar[Kind] = Kind.DISCRETIZER

    supervised: bool = False


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
        What makes numeric columns discrete; ``"auto"`` for what the parameter learner wants.
    summary, reference : str
        One line on what it is, and the paper it comes from.
    requires : tuple of str
        Distributions that bring its components, named to users who lack them.
    api : int
        The ``HOOK_API`` that its author wrote it for.
    featured : bool
        Whether it is one of the methods that a newcomer should know; ``bnplug demo`` runs those.
    aliases : tuple of str
        Names that it had before; see :class:`Method`.
    """

    kind: ClassVar[Kind] = Kind.RECIPE

    name: str
    structure: Component
    parameters: Component = "ml"
    discretizer: Component = "mdl"
    summary: str = field(kw_only=True)
    reference: str = field(kw_only=True)
    requires: tuple[str, ...] = ()
    api: int = 1
    featured: bool = field(default=False, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Reproduction:
    """A paper's protocol: ``run(data, out, quick)`` writes a page with its figures and ours.

    ``run`` is a function, or ``"module:function"``, resolved when the reproduction is asked for.
    """

    kind: ClassVar[Kind] = Kind.REPRODUCTION

    name: str
    run: Callable[..., Any] | str
    summary: str
    reference: str
    api: int = 1
    aliases: tuple[str, ...] = field(default=(), kw_only=True)


#: Whatever a hook may return.
Descriptor = Method | Recipe | Reproduction


def check_descriptor(descriptor: Descriptor) -> None:
    """Raise `ContractError` unless every field of a descriptor holds what its class documents.

    Examples
    --------
    >>> check_descriptor(Recipe("TAN", "tan", summary="", reference="Friedman et al. (1997)"))
    Traceback (most recent call last):
    bnplug.errors.ContractError: recipe 'TAN': its summary must be a non-empty string, not ''
    """
    if not _is_text(descriptor.name):
        raise ContractError(f"the name of a {descriptor.kind} must be a non-empty string, not {descriptor.name!r}")
    if not descriptor.name.isprintable():
        raise ContractError(f"the name {descriptor.name!r} of a {descriptor.kind} has characters that cannot be shown")
    what = f"{descriptor.kind} {descriptor.name!r}"
    if type(descriptor.api) is not int or descriptor.api not in HOOK_API_ACCEPTED:
        raise ContractError(
            f"{what} is written for hook api {descriptor.api!r}; bnplug {__version__} accepts "
            f"{', '.join(map(str, HOOK_API_ACCEPTED))}: upgrade bnplug or the plugin, whichever is older"
        )
    for attribute, allowed, is_allowed in _rules(descriptor):
        value = getattr(descriptor, attribute)
        if not is_allowed(value):
            raise ContractError(f"{what}: its {attribute} must be {allowed}, not {value!r}")


def is_component(value: object) -> bool:
    """Say whether this is a name, or a (name, parameters) pair.

    Examples
    --------
    >>> is_component("tan"), is_component(("kdb", {"k": 2})), is_component(("a", "b"))
    (True, True, False)
    """
    if isinstance(value, tuple) and len(value) == 2:
        name, parameters = value
        return _is_text(name) and isinstance(parameters, Mapping) and all(map(_is_text, parameters))
    return _is_text(value)


def name_and_parameters(component: Component) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the parameters of a component.

    Examples
    --------
    >>> name_and_parameters("tan"), name_and_parameters(("kdb", {"k": 2}))
    (('tan', {}), ('kdb', {'k': 2}))
    """
    return (component, {}) if isinstance(component, str) else component


def _rules(descriptor: Descriptor) -> list[_Rule]:
    """Return (field, what it must be, the check of that) for one kind of descriptor."""
    common: list[_Rule] = [(name, "a non-empty string", _is_text) for name in ("summary", "reference")]
    common.append(("aliases", "a tuple of names", _is_tuple_of_text))
    if isinstance(descriptor, Method):
        renamed = ("parameter_aliases", "a mapping of old names to new ones", _is_mapping_of_text)
        return [*common, renamed, ("factory", "a class or 'module:Class'", _is_class)]
    if isinstance(descriptor, Reproduction):
        return [*common, ("run", "a function or 'module:function'", _is_function)]
    components: list[_Rule] = [
        (name, "a name or (name, parameters)", is_component) for name in ("structure", "parameters", "discretizer")
    ]
    return [*common, *components, ("requires", "a tuple of distribution names", _is_tuple_of_text)]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_tuple_of_text(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _is_mapping_of_text(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, [*value, *value.values()]))


def _is_class(value: object) -> bool:
    return isinstance(value, type) or _is_importable(value)


def _is_function(value: object) -> bool:
    return callable(value) or _is_importable(value)


def _is_importable(value: object) -> bool:
    return isinstance(value, str) and _IMPORTABLE.fullmatch(value) is not None


def as_written(component: Any) -> str:
    """Return a component, a name, a pair or an instance, as a user would write it.

    Examples
    --------
    >>> as_written("tan"), as_written(("kdb", {"k": 1}))
    ('tan', 'kdb(k=1)')
    """
    if isinstance(component, str):
        return component
    if isinstance(component, tuple) and len(component) == 2 and isinstance(component[1], Mapping):
        name, params = component
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in params.items())})"
    return " ".join(repr(component).split())
