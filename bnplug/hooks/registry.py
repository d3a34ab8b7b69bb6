"""From names to methods: ``structure_learner("tan")`` and its kin, and what is there to ask for.

A method's own modules are imported when one is created, not before.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bnplug.errors import ContractError, PluginError, UnknownMethodError, did_you_mean
from bnplug.hooks import discovery as manager
from bnplug.hooks.descriptors import (
    Component,
    Descriptor,
    Method,
    ParameterLearnerMethod,
    Recipe,
    Reproduction,
    ScoreFunctionMethod,
    StructureLearnerMethod,
    is_component,
)
from bnplug.hooks.discovery import PluginInfo

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier
    from bnplug.contracts import ParameterLearner, ScoreFunction, StructureLearner

T = TypeVar("T")

#: Every kind of method, in the order of the hooks.
KINDS = tuple(descriptor.kind for descriptor in manager.HOOKS.values())

#: The class in ``bnplug.contracts`` that methods of a kind derive from.
CONTRACTS = {
    StructureLearnerMethod.kind: "StructureLearner",
    ScoreFunctionMethod.kind: "ScoreFunction",
    ParameterLearnerMethod.kind: "ParameterLearner",
}

#: Constructor parameters that hold a component, with its kind.
NESTED = {
    "structure": StructureLearnerMethod.kind,
    "score": ScoreFunctionMethod.kind,
    "parameters": ParameterLearnerMethod.kind,
}


def structure_learner(name: str, /, **params: Any) -> StructureLearner:
    """Create a structure learner by name.

    Parameters
    ----------
    name : str
        A registered name; ``bnplug methods`` lists them.
    **params
        Parameters of its constructor.

    Returns
    -------
    StructureLearner

    Raises
    ------
    UnknownMethodError
        If no structure learner is registered under that name.
    TypeError
        If it has no such parameter.
    PluginError
        If the plugin that brings it fails to import or construct it.

    Examples
    --------
    >>> structure_learner("kdb", k=2).k
    2
    """
    return cast("StructureLearner", create(StructureLearnerMethod.kind, name, **params))


def score_function(name: str, /, **params: Any) -> ScoreFunction:
    """Create a score by name; see :func:`structure_learner`.

    Examples
    --------
    >>> score_function("no such score")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no score function 'no such score'...
    """
    return cast("ScoreFunction", create(ScoreFunctionMethod.kind, name, **params))


def parameter_learner(name: str, /, **params: Any) -> ParameterLearner:
    """Create a parameter learner by name; see :func:`structure_learner`.

    Examples
    --------
    >>> parameter_learner("ml", alpha=0.5).alpha
    0.5
    """
    return cast("ParameterLearner", create(ParameterLearnerMethod.kind, name, **params))


def recipe(name: str, /, **params: Any) -> BayesianNetworkClassifier:
    """Create the classifier that a recipe describes.

    Parameters
    ----------
    name : str
        A registered recipe.
    **params
        Further parameters of `BayesianNetworkClassifier`; they win over the recipe's own.

    Returns
    -------
    BayesianNetworkClassifier

    Raises
    ------
    UnknownMethodError
        If there is no such recipe, or a method it is made of is not installed.

    Examples
    --------
    >>> recipe("no such recipe")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no recipe 'no such recipe'...
    """
    found = cast(Recipe, find(Recipe.kind, name))
    reason = availability(found).reason
    if reason:
        raise UnknownMethodError(f"recipe {name!r} is not available: {reason}")
    from bnplug.classifier import BayesianNetworkClassifier

    _check_parameters(f"recipe {name!r}", BayesianNetworkClassifier, params)
    components = {
        "structure": build(StructureLearnerMethod.kind, found.structure),
        "parameters": build(ParameterLearnerMethod.kind, found.parameters),
        "discretizer": found.discretizer,
    }
    return BayesianNetworkClassifier(**{**components, **params})


def reproduction(name: str, /) -> Reproduction:
    """Return a paper's protocol, its ``run(data, out, quick)`` ready to call.

    Examples
    --------
    >>> reproduction("no such paper")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no reproduction 'no such paper'...
    """
    found = cast(Reproduction, find(Reproduction.kind, name))
    run = _import(found, found.run)
    if not callable(run):
        raise ContractError(f"{_label(found)}: its run must be a function, not {run!r}")
    return replace(found, run=run)


def plugins() -> list[PluginInfo]:
    """Return every plugin that is installed: what it brings, or why it was left out.

    Examples
    --------
    >>> builtin = plugins()[0]
    >>> builtin.distribution, builtin.status
    ('bnplug', 'ok')
    >>> "ml" in builtin.names["parameter learner"]
    True
    """
    return list(manager.discovery().plugins)


def methods(kind: str | None = None) -> list[Descriptor]:
    """Return the descriptors of all registered methods, or of one kind; built-in ones come first.

    Examples
    --------
    >>> "tan" in [method.name for method in methods("structure learner")]
    True
    """
    kinds = KINDS if kind is None else (_known_kind(kind),)
    registered = manager.discovery().methods.values()
    return [method for wanted in kinds for method in registered if method.kind == wanted]


def find(kind: str, name: str) -> Descriptor:
    """Return the descriptor registered under a name; else an error that says what there is.

    Examples
    --------
    >>> find("structure learner", "tan").name
    'tan'
    >>> find("structure learner", "ml")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: 'ml' is a parameter learner, not a structure learner...
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a {kind} is a string, not {name!r}")
    found = manager.discovery().methods.get((_known_kind(kind), name))
    if found is None:
        raise UnknownMethodError(_why_unknown(kind, name))
    return found


def create(kind: str, name: str, /, **params: Any) -> Any:
    """Create a learner or a score; :func:`structure_learner` and its kin say the kind for you.

    Examples
    --------
    >>> create("structure learner", "kdb", kk=2)
    Traceback (most recent call last):
    TypeError: structure learner 'kdb' has no parameter 'kk'. Did you mean 'k'?...
    """
    if _known_kind(kind) not in CONTRACTS:
        raise ValueError(f"a {kind} is not created; use bnplug.hooks.registry.{kind}")
    method = cast(Method, find(kind, name))
    factory = _factory(method)
    _check_parameters(f"{kind} {name!r}", factory, params)
    return _contain(method, "construction", partial(factory, **params))


def build(kind: str, spec: Any) -> Any:
    """Turn a component into an instance.

    Parameters
    ----------
    kind : str
        What it is: ``"structure learner"``, ``"score function"``, ``"parameter learner"``.
    spec : str, (str, mapping) or instance
        A registered name; that name with parameters, where the parameters ``structure``, ``score`` and
        ``parameters`` may be such pairs again; or an instance, which is returned as it is.

    Returns
    -------
    StructureLearner, ScoreFunction or ParameterLearner

    Examples
    --------
    >>> build("structure learner", ("kdb", {"k": 2})).k
    2
    """
    if is_component(spec):
        name, params = _split(spec)
        nested = {
            key: build(NESTED[key], value)
            for key, value in params.items()
            if key in NESTED and isinstance(value, tuple) and is_component(value)
        }
        return create(kind, name, **{**params, **nested})
    contract = _contract(kind)
    if not isinstance(spec, contract):
        raise TypeError(
            f"a {kind} is a name, a (name, parameters) pair or an instance of bnplug.{contract.__name__}, not {spec!r}"
        )
    return spec


def signature(method: Method) -> list[tuple[str, Any]]:
    """Return the parameters of a method's constructor with their defaults.

    Examples
    --------
    >>> signature(find("parameter learner", "ml"))
    [('alpha', 1.0), ('floor', 0.0)]
    """
    return [(parameter.name, parameter.default) for parameter in _parameters(_factory(method))]


def provider(method: Descriptor) -> PluginInfo:
    """Return the plugin that brought a registered method.

    Examples
    --------
    >>> provider(find("structure learner", "tan")).distribution
    'bnplug'
    """
    return manager.discovery().providers[method.kind, method.name]


def origin(component: object) -> str:
    """Say where the class of a component comes from, for messages: its method and plugin, or its module.

    Examples
    --------
    >>> origin(structure_learner("tan"))
    "structure learner 'tan' of bnplug ... (builtin)"
    """
    cls = type(component)
    for method in methods():
        if isinstance(method, Method) and _is_imported_as(method.factory, cls):
            return _label(method)
    return f"{cls.__module__}.{cls.__qualname__}"


@dataclass(frozen=True)
class RecipeAvailability:
    """A recipe, and why it cannot be made here: ``reason`` is empty when it can."""

    recipe: Recipe
    reason: str

    @property
    def available(self) -> bool:
        """Whether everything the recipe is made of is registered."""
        return not self.reason


def recipes() -> list[RecipeAvailability]:
    """Return every registered recipe, with what it lacks if it cannot be made here.

    Examples
    --------
    >>> lacking = [found.recipe.name for found in recipes() if not found.available]
    """
    return [availability(cast(Recipe, found)) for found in methods(Recipe.kind)]


def availability(wanted: Recipe) -> RecipeAvailability:
    """Return whether a recipe can be made here, and if not, why."""
    registered = manager.discovery().methods
    parts = [
        *_components(StructureLearnerMethod.kind, wanted.structure),
        *_components(ParameterLearnerMethod.kind, wanted.parameters),
    ]
    missing = [f"{kind} {name!r}" for kind, name in parts if (kind, name) not in registered]
    if not missing:
        return RecipeAvailability(wanted, "")
    reason = f"no working plugin brings {', '.join(missing)}"
    return RecipeAvailability(wanted, "; ".join([reason, *_remedies(wanted.requires)]))


def _remedies(requires: tuple[str, ...]) -> list[str]:
    """Say what to do about distributions that a recipe requires."""
    installed = {manager.normalize(info.distribution) for info in plugins()}
    absent = [name for name in requires if manager.normalize(name) not in installed]
    wanted = {manager.normalize(name) for name in requires}
    left_out = [info for info in plugins() if info.cause and manager.normalize(info.distribution) in wanted]
    remedies = [f"{info} is left out: {info.cause}" for info in left_out]
    if absent:
        remedies.append(f"pip install {' '.join(absent)}")
    if requires and not remedies:
        remedies.append(f"pip install --upgrade {' '.join(requires)}")
    return remedies


def _components(kind: str, spec: Component) -> Iterator[tuple[str, str]]:
    """Yield the kind and name of a component and of those nested in its parameters."""
    name, params = _split(spec)
    yield kind, name
    for key, value in params.items():
        if key in NESTED and is_component(value):
            yield from _components(NESTED[key], value)


def _split(spec: Component) -> tuple[str, Mapping[str, Any]]:
    return (spec, {}) if isinstance(spec, str) else spec


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r} of method.{did_you_mean(kind, KINDS)} Kinds: {', '.join(KINDS)}")
    return kind


def _why_unknown(kind: str, name: str) -> str:
    registered = manager.discovery().methods
    names = sorted(known for known_kind, known in registered if known_kind == kind)
    elsewhere = [known_kind for known_kind, known in registered if known == name]
    if elsewhere:
        reason = f"{name!r} is a {elsewhere[0]}, not a {kind}."
    else:
        reason = f"there is no {kind} {name!r}.{did_you_mean(name, names)}"
    listing = f" Registered: {', '.join(names)}." if names else f" No {kind} is registered."
    left_out = ", ".join(str(info) for info in plugins() if info.cause)
    hint = f" Plugins left out (see `bnplug plugins`): {left_out}." if left_out else ""
    return reason + listing + hint


def _label(method: Descriptor) -> str:
    return f"{method.kind} {method.name!r} of {provider(method)}"


def _contain(method: Descriptor, doing: str, call: Callable[[], T]) -> T:
    """Call a plugin's code; what it raises becomes an error that names the method and the plugin."""
    try:
        return manager.contain(doing, call)
    except PluginError as error:
        raise PluginError(f"{_label(method)} failed: {error}") from error.__cause__


def _import(method: Descriptor, target: Callable[..., Any] | str) -> object:
    if not isinstance(target, str):
        return target
    return _contain(method, f"import of {target}", partial(pkgutil.resolve_name, target))


def _factory(method: Method) -> type:
    factory = _import(method, method.factory)
    contract = _contract(method.kind)
    if not isinstance(factory, type) or not issubclass(factory, contract):
        raise ContractError(
            f"{_label(method)}: its factory must be a class derived from bnplug.{contract.__name__}, not {factory!r}"
        )
    return factory


def _contract(kind: str) -> type:
    return cast(type, getattr(importlib.import_module("bnplug.contracts"), CONTRACTS[kind]))


def _is_imported_as(factory: type | str, cls: type) -> bool:
    """Say whether a factory is this class, without importing anything: an instance's class is imported."""
    if isinstance(factory, type):
        return factory is cls
    module, _, qualified_name = factory.partition(":")
    found: object = sys.modules.get(module)
    for attribute in qualified_name.split("."):
        found = getattr(found, attribute, None)
    return found is cls


def _parameters(factory: type) -> list[inspect.Parameter]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in inspect.signature(factory).parameters.values() if p.kind not in variadic]


def _check_parameters(what: str, factory: type, given: Mapping[str, Any]) -> None:
    parameters = _parameters(factory)
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            hint = f"{did_you_mean(name, names)} Its parameters: {', '.join(names) or 'none'}."
            raise TypeError(f"{what} has no parameter {name!r}.{hint}")
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty and parameter.name not in given:
            raise TypeError(f"{what} needs the parameter {parameter.name!r}")
