"""The frozen descriptors that hooks return: the name of a method and how to construct it.

Its ``factory`` may be a string ``"module:Class"``, which is imported when the method is first used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, TypeGuard

from bnplug import __version__
from bnplug.errors import ContractError, article, did_you_mean
from bnplug.hooks.specs import HOOK_API


class Kind(StrEnum):
    """The kinds of methods, in the order of the hooks; messages and files contain the value of a member.

    ``Kind("structure")``, ``Kind("score")`` and ``Kind("parameters")`` are the first three by their short names.
    """

    STRUCTURE_LEARNER = "structure learner"
    SCORE_FUNCTION = "score function"
    PARAMETER_LEARNER = "parameter learner"
    ENGINE = "engine"
    CLASSIFIER = "classifier"
    DISCRETIZER = "discretizer"
    RECIPE = "recipe"
    REPRODUCTION = "reproduction"
    FORMAT = "format"
    COMMAND = "command"

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        short = dict(zip(("structure", "score", "parameters"), cls, strict=False))
        if isinstance(value, str) and value in short:
            return short[value]
        raise ValueError(
            f"there is no kind {value!r} of method.{did_you_mean(str(value), map(str, [*cls, *short]))} "
            f"Kinds: {', '.join(cls)}; in short: {', '.join(short)}"
        )


#: The discretizer of a model without one: every distinct value of a column is a state.
NO_DISCRETIZER = "none"

#: The discretizer that the parameter learner prefers.
AUTO_DISCRETIZER = "auto"

#: A component of a recipe: a registered name, or that name with parameters.
Component = str | tuple[str, Mapping[str, Any]]

_IMPORTABLE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Method:
    """Base class of the descriptors of methods that are classes.

    Parameters
    ----------
    name : str
        The name users write: ``"tan"``, ``"ccbn-w"``.
    factory : type or str
        The class, or ``"module:Class"``, which keeps the plugin's heavy imports out of discovery.
    summary : str
        What it does, in one line.
    reference : str
        The paper or book that defines it.
    api : int
        The ``HOOK_API`` that the plugin was written for; by default the current one.
    stochastic : bool
        Whether its result depends on ``random_state``.
    aliases : tuple of str
        Earlier names. They still work, with a ``DeprecationWarning`` that gives the current name.
    parameter_aliases : mapping of str to str
        Renamed parameters: the earlier name of each, and the current one.
    """

    kind: ClassVar[Kind]

    name: str
    factory: type | str
    summary: str
    reference: str
    api: int = HOOK_API
    stochastic: bool = False
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    parameter_aliases: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)

    def capabilities(self) -> dict[str, bool]:
        """Return the flags of this descriptor, by name."""
        return {name: getattr(self, name) for name in flags_of(type(self))}


@dataclass(frozen=True)
class StructureLearnerMethod(Method):
    """Describes a :class:`~bnplug.StructureLearner`.

    Parameters
    ----------
    needs_score : bool
        Whether it has a parameter ``score``.
    constraints : bool
        Whether it has the parameters ``required``, ``forbidden`` and ``tiers`` (:class:`~bnplug.search.Constraints`),
        and its graphs satisfy them.
    needs_target : bool
        Whether the table must have a class variable. False: it works without a class, if its score does.
    needs_decomposable : bool
        Whether its scores must be decomposable; others are refused.
    max_variables : int, optional
        The most variables, the class included, of a table that it learns from; larger tables are refused.
    """

    kind: ClassVar[Kind] = Kind.STRUCTURE_LEARNER

    needs_score: bool = False
    constraints: bool = False
    needs_target: bool = True
    needs_decomposable: bool = False
    max_variables: int | None = None


@dataclass(frozen=True)
class ScoreFunctionMethod(Method):
    """Describes a :class:`~bnplug.ScoreFunction`.

    Parameters
    ----------
    decomposable : bool
        Whether it is a sum of terms, one per family.
    score_equivalent : bool
        Whether Markov-equivalent graphs have the same score on complete rows, whatever the parameters of the score.
    needs_target : bool
        Whether the table must have a class variable.
    """

    kind: ClassVar[Kind] = Kind.SCORE_FUNCTION

    decomposable: bool = False
    score_equivalent: bool = False
    needs_target: bool = True


@dataclass(frozen=True)
class ParameterLearnerMethod(Method):
    """Describes a :class:`~bnplug.ParameterLearner`; ``needs_target``: the table must have a class variable."""

    kind: ClassVar[Kind] = Kind.PARAMETER_LEARNER

    needs_target: bool = True


@dataclass(frozen=True)
class EngineMethod(Method):
    """Describes an :class:`~bnplug.Engine`; ``exact``: its answers are exact."""

    kind: ClassVar[Kind] = Kind.ENGINE

    exact: bool = True


@dataclass(frozen=True)
class ClassifierMethod(Method):
    """Describes a classifier that is not a single Bayesian network, such as an ensemble.

    Its factory is any scikit-learn classifier with ``predict_proba``; it receives the raw columns. To be saved, it
    needs the methods of :class:`~bnplug.SavesState`. ``featured``: ``bnplug demo`` runs it.
    """

    kind: ClassVar[Kind] = Kind.CLASSIFIER

    featured: bool = False


@dataclass(frozen=True)
class DiscretizerMethod(Method):
    """Describes a discretizer; ``supervised``: its cuts depend on the class.

    Its factory is a scikit-learn transformer whose ``fit(X, y, sample_weight=None)`` sets ``cut_points_``: an ascending
    array for each column, or None for a column that it does not cut.
    """

    kind: ClassVar[Kind] = Kind.DISCRETIZER

    supervised: bool = False


@dataclass(frozen=True)
class Recipe:
    """A named composition of a structure learner, a parameter learner and a discretizer.

    Parameters
    ----------
    name : str
        The name users write: ``"TAN-OMI-CR-ML"``.
    structure, parameters : str or (str, mapping)
        A registered name, or a name with parameters; a parameter may itself be such a pair.
    discretizer : str or (str, mapping)
        The discretizer of numeric columns; ``"auto"`` for the one that the parameter learner prefers.
    summary, reference : str
        A description in one line, and the paper it comes from.
    requires : tuple of str
        Distributions that provide its components; messages name those that are not installed.
    featured : bool
        Whether ``bnplug demo`` runs it.
    api, aliases : int, tuple of str
        As for :class:`Method`.
    """

    kind: ClassVar[Kind] = Kind.RECIPE

    name: str
    structure: Component
    parameters: Component = "ml"
    discretizer: Component = "mdl"
    summary: str = field(kw_only=True)
    reference: str = field(kw_only=True)
    requires: tuple[str, ...] = ()
    api: int = HOOK_API
    featured: bool = field(default=False, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Reproduction:
    """A paper's protocol: ``run(data, out, quick)`` writes a page with the published and the reproduced figures.

    ``run`` is a function, or ``"module:function"``, resolved when the reproduction is asked for. If it has a method
    ``run(data, out, quick, page_only=, resume=, minutes=)``, ``bnplug reproduce`` calls that method and passes these
    options. It returns the page (``name`` and ``claims``, for the index of ``--all``) and a message if tasks failed.
    """

    kind: ClassVar[Kind] = Kind.REPRODUCTION

    name: str
    run: Callable[..., Any] | str
    summary: str
    reference: str
    api: int = HOOK_API
    aliases: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class NetworkFormat:
    """A format of network files; :mod:`bnplug.io.networks` has the types and building blocks of its functions.

    Parameters
    ----------
    name : str
        What users call it: ``"bif"``.
    endings : tuple of str
        The endings of file names, in lower case: ``(".xml", ".xmlbif")``.
    write : callable, str or None
        ``write(tables, encoder)``, or ``"module:function"``: takes :class:`~bnplug.LogTables` and the model's
        :class:`~bnplug.table.encoder.ColumnEncoder` or None, returns the content of a file as text or bytes. None if
        files can only be read.
    read : callable, str or None
        ``read(content)``, or ``"module:function"``: takes text or bytes, returns
        :class:`~bnplug.io.networks.NetworkParts`, raises a :class:`~bnplug.ModelFileError` if the content is damaged.
        None if files can only be written.
    summary : str
        One line about the format.
    signature : str
        A regular expression that matches near the beginning of such files. It recognizes content without a file name.
    reference : str
        Where the format is specified.
    graph : bool
        Whether files contain the graph only. `write` then also receives tables that are not normalized.
    api, aliases : int, tuple of str
        As for :class:`Method`.
    """

    kind: ClassVar[Kind] = Kind.FORMAT

    name: str
    endings: tuple[str, ...]
    write: Callable[..., Any] | str | None
    read: Callable[..., Any] | str | None
    summary: str
    signature: str = field(default="", kw_only=True)
    reference: str = field(default="", kw_only=True)
    graph: bool = field(default=False, kw_only=True)
    api: int = HOOK_API
    aliases: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class PluginCommand:
    """A command under ``bnplug``; listing it imports nothing.

    Parameters
    ----------
    name : str
        The word after ``bnplug``. The names of built-in commands are taken.
    command : click.Command or str
        The command, or ``"module:command"``, which is imported when the command is called or asked for its help.
    summary : str
        Its line in the help of ``bnplug``.
    api
        As for :class:`Method`.
    """

    kind: ClassVar[Kind] = Kind.COMMAND
    aliases: ClassVar[tuple[str, ...]] = ()
    reference: ClassVar[str] = ""

    name: str
    command: Any
    summary: str
    api: int = HOOK_API


#: The names of the built-in commands.
BUILTIN_COMMANDS = frozenset({
    "compare", "completion", "datasets", "demo", "doctor", "evaluate", "explore", "export", "fit", "formats", "import",
    "methods", "new-plugin", "next", "plugins", "predict", "query", "report", "reproduce", "show", "warm",
})  # fmt: skip

#: Whatever a hook may return.
Descriptor = Method | Recipe | Reproduction | NetworkFormat | PluginCommand


def as_descriptor(value: Any) -> Any:
    """Return a click command as its descriptor, and anything else as it is."""
    click = sys.modules.get("click")
    if click is None or not isinstance(value, click.Command):
        return value
    return PluginCommand(value.name or "", value, value.get_short_help_str(limit=100) or "(no help)")


def flags_of(descriptor: type) -> list[str]:
    """Return the names of the flags of a descriptor class; ``featured`` concerns presentation and is not one."""
    return [f.name for f in fields(descriptor) if f.type == "bool" and f.name != "featured"]


def component_kinds(cls: type) -> dict[str, Kind]:
    """Return the parameters of a class that hold a component, and their kinds: its ``components`` and its bases'."""
    declared: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        components = vars(base).get("components")
        declared |= components if isinstance(components, Mapping) else {}
    try:
        return {name: Kind(kind) for name, kind in declared.items()}
    except ValueError as error:
        raise ContractError(f"{cls.__module__}.{cls.__qualname__}: its components are {declared}: {error}") from error


def check_descriptor(descriptor: Descriptor) -> None:
    """Raise `ContractError` unless every field of a descriptor holds what its class documents."""
    kind, name = descriptor.kind, descriptor.name
    if not _is_text(name):
        raise ContractError(f"the name of {article(kind)} must be a non-empty string, not {name!r}")
    if not name.isprintable():
        raise ContractError(f"the name {name!r} of {article(kind)} contains characters that cannot be printed")
    what = f"{kind} {name!r}"
    if type(descriptor.api) is not int or descriptor.api != HOOK_API:
        raise ContractError(
            f"{what} is written for hook api {descriptor.api!r}; bnplug {__version__} accepts {HOOK_API}: upgrade "
            "bnplug or the plugin, whichever is older"
        )
    values = {f.name: (getattr(descriptor, f.name), f.default) for f in fields(descriptor)}
    for attribute, (allowed, is_allowed) in _RULES.items():
        value, default = values.get(attribute, (None, None))
        if value is not default and not is_allowed(value):
            raise ContractError(f"{what}: its {attribute} must be {allowed}, not {value!r}")
    if isinstance(descriptor, NetworkFormat) and descriptor.write is descriptor.read is None:
        raise ContractError(f"{what}: it must have write, read or both")


def is_component(value: object) -> bool:
    """Return whether a value is a name, or a (name, parameters) pair such as ``("kdb", {"k": 2})``."""
    if isinstance(value, tuple) and len(value) == 2:
        name, parameters = value
        return _is_text(name) and isinstance(parameters, Mapping) and all(map(_is_text, parameters))
    return _is_text(value)


def name_and_parameters(component: Component) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the parameters of a component; ``"tan"`` gives ``("tan", {})``."""
    return (component, {}) if isinstance(component, str) else component


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_tuple_of_text(value: object) -> TypeGuard[tuple[str, ...]]:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _is_importable(value: object) -> bool:
    return isinstance(value, str) and _IMPORTABLE.fullmatch(value) is not None


def _is_function(value: object) -> bool:
    return callable(value) or _is_importable(value)


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and re.compile(value) is not None
    except re.error:
        return False


# What the fields of a descriptor must hold, unless they hold their default.
_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    **dict.fromkeys(("summary", "reference"), ("a non-empty string", _is_text)),
    "aliases": ("a tuple of names", _is_tuple_of_text),
    "parameter_aliases": (
        "a mapping of old names to new ones",
        lambda value: isinstance(value, Mapping) and all(map(_is_text, [*value, *value.values()])),
    ),
    "factory": ("a class or 'module:Class'", lambda value: isinstance(value, type) or _is_importable(value)),
    "run": ("a function or 'module:function'", _is_function),
    **dict.fromkeys(("structure", "parameters", "discretizer"), ("a name or (name, parameters)", is_component)),
    "max_variables": ("a whole number of at least 2 or None", lambda value: type(value) is int and value >= 2),
    "requires": ("a tuple of distribution names", _is_tuple_of_text),
    "endings": (
        "a tuple of endings such as '.bif'",
        lambda value: _is_tuple_of_text(value) and all(text[0] == "." and text == text.lower() for text in value),
    ),
    "command": ("a click command or 'module:command'", _is_function),
    "signature": ("a regular expression", _is_pattern),
    **dict.fromkeys(
        ("write", "read"), ("a function, 'module:function' or None", lambda v: v is None or _is_function(v))
    ),
}


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
