"""Create methods by name, and look up registered methods.

The module of a method is imported when an instance is created, not before.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bnplug.errors import (
    AmbiguousNameError,
    ContractError,
    PluginError,
    UnknownMethodError,
    article,
    did_you_mean,
    warn_deprecated,
)
from bnplug.hooks import discovery
from bnplug.hooks.containing import contain, within_limits
from bnplug.hooks.descriptors import (
    Component,
    Descriptor,
    Kind,
    Method,
    NetworkFormat,
    PluginCommand,
    Reproduction,
    component_kinds,
    flags_of,
    is_component,
    name_and_parameters,
)
from bnplug.hooks.discovery import PluginInfo
from bnplug.hooks.names import Claim

if TYPE_CHECKING:
    import click

    from bnplug import contracts

_T = TypeVar("_T")

#: The class in ``bnplug.contracts`` that the methods of each kind implement.
CONTRACTS = {
    Kind.STRUCTURE_LEARNER: "StructureLearner",
    Kind.SCORE_FUNCTION: "ScoreFunction",
    Kind.PARAMETER_LEARNER: "ParameterLearner",
    Kind.ENGINE: "Engine",
    Kind.CLASSIFIER: "ClassifierLike",
    Kind.DISCRETIZER: "DiscretizerLike",
}


def structure_learner(name: str, /, **params: Any) -> contracts.StructureLearner:
    """Create a structure learner by name.

    Parameters
    ----------
    name : str
        A registered name; ``bnplug methods`` lists them.
    **params
        Parameters of its constructor.

    Raises
    ------
    UnknownMethodError
        If no structure learner is registered under that name.
    TypeError
        If it has no such parameter.
    PluginError
        If the import or the constructor fails.

    Examples
    --------
    >>> structure_learner("kdb", k=2).k
    2
    """
    return cast("contracts.StructureLearner", _create(Kind.STRUCTURE_LEARNER, name, params))


def score_function(name: str, /, **params: Any) -> contracts.ScoreFunction:
    """Create a score by name; see :func:`structure_learner`."""
    return cast("contracts.ScoreFunction", _create(Kind.SCORE_FUNCTION, name, params))


def parameter_learner(name: str, /, **params: Any) -> contracts.ParameterLearner:
    """Create a parameter learner by name; see :func:`structure_learner`."""
    return cast("contracts.ParameterLearner", _create(Kind.PARAMETER_LEARNER, name, params))


def engine(name: str, /, **params: Any) -> contracts.Engine:
    """Create an engine by name; see :func:`structure_learner`."""
    return cast("contracts.Engine", _create(Kind.ENGINE, name, params))


def discretizer(name: str, /, **params: Any) -> contracts.DiscretizerLike:
    """Create a discretizer by name; see :func:`structure_learner`."""
    return cast("contracts.DiscretizerLike", _create(Kind.DISCRETIZER, name, params))


def classifier(name: str, /, **params: Any) -> contracts.ClassifierLike:
    """Create a plugin's classifier by name; see :func:`structure_learner`."""
    return cast("contracts.ClassifierLike", _create(Kind.CLASSIFIER, name, params))


def reproduction(name: str, /) -> Reproduction:
    """Return a paper's protocol with its function ``run(data, out, quick)`` imported."""
    protocol = cast(Reproduction, find(Kind.REPRODUCTION, name))
    return replace(protocol, run=_function(protocol, "run"))


def network_format(name: str, /) -> NetworkFormat:
    """Return a format of network files, with its ``write`` and ``read`` functions imported."""
    registered: Any = find(Kind.FORMAT, name)
    parts = [part for part in ("write", "read") if getattr(registered, part) is not None]
    return cast(NetworkFormat, replace(registered, **{part: _function(registered, part) for part in parts}))


def command(name: str, /) -> click.Command:
    """Return the click command of a plugin, imported; a :class:`~bnplug.ContractError` if it is something else."""
    import click

    registered = cast(PluginCommand, find(Kind.COMMAND, name))
    imported = _import(registered, registered.command)
    if not isinstance(imported, click.Command):
        raise ContractError(f"{_label(registered)}: expected a click command, got {imported!r}")
    return imported


def plugins() -> list[PluginInfo]:
    """Return every installed plugin, with its methods or the reason why it was left out."""
    return list(discovery.discovered().plugins)


def methods(kind: str | None = None, **flags: bool) -> list[Descriptor]:
    """Return the descriptors of all registered methods, or of those that are wanted; built-in methods come first.

    Parameters
    ----------
    kind : str, optional
        Only methods of this kind, such as ``"score function"`` or, in short, ``"score"``.
    **flags : bool
        Only methods whose descriptors have these flags, with these values: ``stochastic=False``.

    Raises
    ------
    TypeError
        If methods of this kind have no such flag.

    Examples
    --------
    >>> import bnplug
    >>> [method.name for method in bnplug.methods("score", decomposable=True, score_equivalent=False)]
    ['k2']
    >>> bnplug.methods("engine", precise=True)
    Traceback (most recent call last):
    TypeError: no engine has the flag 'precise'. Flags: stochastic, exact
    """
    kinds = tuple(Kind) if kind is None else (Kind(kind),)
    described = [descriptor for descriptor in discovery.HOOKS.values() if descriptor.kind in kinds]
    known = list(dict.fromkeys(flag for descriptor in described for flag in flags_of(descriptor)))
    for flag in [flag for flag in flags if flag not in known]:
        hint = f"{did_you_mean(flag, known)} Flags: {', '.join(known) or 'none'}"
        raise TypeError(f"no {'method' if kind is None else kinds[0]} has the flag {flag!r}.{hint}")
    registered = discovery.discovered().methods.values()
    wanted_methods = [method for wanted in kinds for method in registered if method.kind == wanted]
    return [method for method in wanted_methods if all(getattr(method, flag, None) is flags[flag] for flag in flags)]


def listing(kind: str, attribute: str) -> str:
    """Return the names of the registered methods of a kind whose classes have an attribute that is true, for messages.

    A class that cannot be imported is omitted.
    """
    names = []
    for method in methods(kind):
        with suppress(PluginError, ContractError):
            if getattr(_factory(cast(Method, method)), attribute, False):
                names.append(repr(name_of(method)))
    return ", ".join(sorted(names))


def find(kind: str, name: str) -> Descriptor:
    """Return the descriptor of a method.

    Parameters
    ----------
    kind : str
        The kind of the method.
    name : str
        A bare name, a qualified name such as ``"bnplug:tan"``, or an earlier name (with a ``DeprecationWarning``).

    Raises
    ------
    UnknownMethodError
        If no method of this kind has the name; the message lists the registered names.
    AmbiguousNameError
        If several plugins use the name; the message gives the qualified names.
    """
    known = Kind(kind)
    if not isinstance(name, str):
        raise TypeError(f"the name of a {known} is a string, not {name!r}")
    names = discovery.discovered().names
    claims = names.claims(known, name)
    if not claims:
        raise UnknownMethodError(_why_unknown(known, name))
    if len(claims) > 1:
        choices = " or ".join(repr(names.qualified(claim)) for claim in claims)
        raise AmbiguousNameError(f"{len(claims)} plugins have {article(known)} {name!r}: use {choices}")
    (claim,) = claims
    if not f":{name}".endswith(f":{claim.method.name}"):
        warn_deprecated(f"the {known} {name!r} is called {names.shortest(claim)!r} now")
    return claim.method


def build(kind: str, spec: Any) -> Any:
    """Return a component as an instance.

    Parameters
    ----------
    kind : str
        A key of :data:`CONTRACTS`, such as ``"structure learner"``.
    spec : str, (str, mapping) or instance
        A registered name; a name with parameters, in which parameters that hold a component may be pairs too; or an
        instance, which is returned unchanged.

    Raises
    ------
    ValueError
        If a method needs a decomposable score, and its score is not decomposable.

    Examples
    --------
    >>> build("structure learner", ("kdb", {"kk": 2}))
    Traceback (most recent call last):
    TypeError: structure learner 'kdb' has no parameter 'kk'. Did you mean 'k'?...
    """
    if is_component(spec):
        name, params = name_and_parameters(spec)
        pairs = ((key, of_kind, value) for key, of_kind, value in _nested(kind, spec) if isinstance(value, tuple))
        return _create(kind, name, {**params, **{key: build(of_kind, value) for key, of_kind, value in pairs}})
    contract = _contract(kind)
    if not isinstance(spec, contract):
        raise TypeError(
            f"{kind}: expected a name, a (name, parameters) pair or an instance of {_class(contract)}, got {spec!r}"
        )
    return _checked(spec)


def nested_kinds(kind: str, method: str | Method) -> dict[str, Kind]:
    """Return the parameters of a method, or its name, that hold components, and their kinds.

    Those of its contract, such as ``score`` of a structure learner, if the method cannot be imported.
    """
    described = named(kind, method) if isinstance(method, str) else method
    with suppress(PluginError, ContractError):
        if described is not None:
            return component_kinds(_factory(cast(Method, described)))
    return component_kinds(_contract(kind))


def _nested(kind: str, spec: Component) -> Iterator[tuple[str, Kind, Component]]:
    """Yield the parameters of a component that are names or pairs themselves: the name, kind and value of each."""
    name, params = name_and_parameters(spec)
    kinds = nested_kinds(kind, name) if params else {}
    for key, value in params.items():
        if key in kinds and is_component(value):
            yield key, kinds[key], value


def named(kind: str, name: str) -> Descriptor | None:
    """Return the only method that a name, current or earlier, means; None if there is none or several."""
    methods = [claim.method for claim in discovery.discovered().names.claims(Kind(kind), name)]
    return methods[0] if len(methods) == 1 else None


def signature(method: Method) -> list[tuple[str, Any]]:
    """Return the parameters of a method's constructor with their defaults."""
    return [(parameter.name, parameter.default) for parameter in _parameters(_factory(method))]


def provider(method: Descriptor) -> PluginInfo:
    """Return the plugin that provides a registered method."""
    current = discovery.discovered()
    return current.providers[method.kind, current.names.shortest(_claim_of(method))]


def origin(component: object) -> str:
    """Return where the class of a component comes from, for messages: its method and plugin, or its module."""
    method, cls = method_of(component), type(component)
    return f"{cls.__module__}.{cls.__qualname__}" if method is None else _label(method)


def name_of(component: object) -> str | None:
    """Return the shortest unambiguous name of a descriptor or of a component; None if it is not registered."""
    method = component if isinstance(component, Descriptor) else method_of(component)
    return None if method is None else discovery.discovered().names.shortest(_claim_of(method))


def method_of(component: object) -> Method | None:
    """Return the descriptor of a component's class; None if it is not registered."""
    cls, registered = type(component), discovery.discovered().methods.values()
    described = (method for method in registered if isinstance(method, Method))
    return next((method for method in described if _is_imported_as(method.factory, cls)), None)


def make(method: Method, params: Mapping[str, Any]) -> Any:
    """Create an instance of a registered method with the given parameters, nested ones such as ``score__cv`` too."""
    factory = _factory(method)
    params = renamed(method, params)
    plain = {name: value for name, value in params.items() if "__" not in name}
    check_parameters(method, factory, plain | dict.fromkeys(name.partition("__")[0] for name in params))
    made = contain("construction", partial(factory, **plain), partial(_label, method))
    return made.set_params(**{name: params[name] for name in params if name not in plain}) if plain != params else made


def renamed(method: Method, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a method by their current names; an earlier name gives a `DeprecatedNameWarning`."""
    present: dict[str, Any] = {}
    for given, value in params.items():
        old, nested, inner = given.partition("__")
        new = method.parameter_aliases.get(old, old)
        if new != old:
            warn_deprecated(f"the parameter {old!r} of {_kind_and_name(method)} is called {new!r} now")
        if new + nested + inner in present:
            raise TypeError(f"{_kind_and_name(method)} is given {new!r} twice, by its old name and by its new one")
        present[new + nested + inner] = value
    return present


def check_parameters(what: str | Method, factory: type, given: Mapping[str, Any]) -> None:
    """Raise a ``TypeError`` that names `what` unless a class can be called with the given parameters."""
    parameters = _parameters(factory)
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            hint = f"{did_you_mean(name, names)} Its parameters: {', '.join(names) or 'none'}."
            raise TypeError(f"{_kind_and_name(what)} has no parameter {name!r}.{hint}")
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty and parameter.name not in given:
            raise TypeError(f"{_kind_and_name(what)} needs the parameter {parameter.name!r}")


def _create(kind: str, name: str, params: Mapping[str, Any]) -> Any:
    _contract(kind)  # raises an error if the methods of this kind are not classes
    return _checked(make(cast(Method, find(kind, name)), params))


def _checked(component: _T) -> _T:
    """Return a component; raise a ``ValueError`` if its components violate its requirements."""
    from bnplug.hooks import requirements

    requirements.check_components(component)
    return component


def _claim_of(method: Descriptor) -> Claim:
    """Return the claim of a registered method or of a copy of it."""
    brought = discovery.discovered().names.brought
    alike = [c for c in brought if (c.method.kind, c.method.name) == (method.kind, method.name)]
    if not alike:
        raise KeyError(f"{method.kind} {method.name!r} is not registered")
    return next((claim for claim in alike if claim.method == method), alike[0])


def _why_unknown(kind: Kind, name: str) -> str:
    names = sorted(known for known_kind, known in discovery.discovered().methods if known_kind == kind)
    elsewhere = [other for other in Kind if discovery.discovered().names.claims(other, name)]
    if elsewhere:
        reason = f"{name!r} is {article(elsewhere[0])}, not {article(kind)}."
    else:
        reason = f"there is no {kind} {name!r}.{did_you_mean(name, names)}"
    listing = f" Registered: {', '.join(names)}." if names else f" No {kind} is registered."
    left_out = ", ".join(str(info) for info in plugins() if info.cause)
    hint = f" Plugins left out (see `bnplug plugins`): {left_out}." if left_out else ""
    return reason + listing + hint


def _kind_and_name(what: str | Method) -> str:
    return what if isinstance(what, str) else f"{what.kind} {name_of(what)!r}"


def _label(method: Descriptor) -> str:
    return f"{method.kind} {method.name!r} of {provider(method)}"


def _import(method: Descriptor, target: Callable[..., Any] | str) -> object:
    if not isinstance(target, str):
        return target
    resolve = partial(pkgutil.resolve_name, target)
    if target.partition(":")[0] not in sys.modules:
        resolve = partial(within_limits, resolve)
    return contain(f"import of {target}", resolve, partial(_label, method))


def _function(method: Descriptor, field: str) -> Callable[..., Any]:
    """Return the function in a field of a descriptor, imported."""
    function = _import(method, getattr(method, field))
    if not callable(function):
        raise ContractError(f"{_label(method)}: its {field} must be a function, not {function!r}")
    return function


def _factory(method: Method) -> type:
    factory = _import(method, method.factory)
    contract = _contract(method.kind)
    if not isinstance(factory, type) or not issubclass(factory, contract):
        raise ContractError(f"{_label(method)}: its factory must be {_class(contract)}, not {factory!r}")
    return factory


def _contract(kind: str) -> type:
    """Return the class that the methods of a kind implement; a ``ValueError`` if they are not classes."""
    known = Kind(kind)
    if known not in CONTRACTS:
        raise ValueError(f"{article(known)} has no class to create by name; these have one: {', '.join(CONTRACTS)}")
    return cast(type, getattr(importlib.import_module("bnplug.contracts"), CONTRACTS[known]))


def _class(contract: type) -> str:
    """Describe the classes that implement a contract: derived from it or, if it is a protocol, with its methods."""
    if not getattr(contract, "_is_protocol", False):
        return f"a class derived from bnplug.{contract.__name__}"
    return f"a class with the methods {', '.join(name for name in vars(contract) if name[0] != '_')}"


def _is_imported_as(factory: type | str, cls: type) -> bool:
    """Whether a factory is this class, without importing anything."""
    if isinstance(factory, type):
        # A class of a script or notebook is another object in each process, and after each run of its cell.
        return factory is cls or (factory.__module__, factory.__qualname__) == (cls.__module__, cls.__qualname__)
    module, _, qualified_name = factory.partition(":")
    value: object = sys.modules.get(module)
    for attribute in qualified_name.split("."):
        value = getattr(value, attribute, None)
    return value is cls


@cache
def _parameters(factory: type) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(factory).parameters.values() if "VAR" not in p.kind.name]
