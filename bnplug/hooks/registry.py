"""From names to methods: ``structure_learner("tan")`` and its kin, and what is there to ask for.

A method's own modules are imported when one is created, not before.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bnplug.errors import (
    AmbiguousNameError,
    ContractError,
    PluginError,
    UnknownMethodError,
    did_you_mean,
    warn_deprecated,
)
from bnplug.hooks import discovery
from bnplug.hooks._guarding import within_limits
from bnplug.hooks.descriptors import Descriptor, Kind, Method, Reproduction, is_component, name_and_parameters
from bnplug.hooks.discovery import PluginInfo
from bnplug.hooks.names import Claim

if TYPE_CHECKING:
    from bnplug.contracts import (
        ClassifierLike,
        DiscretizerLike,
        InferenceEngine,
        ParameterLearner,
        ScoreFunction,
        StructureLearner,
    )

_T = TypeVar("_T")

#: The class in ``bnplug.contracts`` that the methods of a kind derive from, or whose methods they have.
CONTRACTS = {
    Kind.STRUCTURE_LEARNER: "StructureLearner",
    Kind.SCORE_FUNCTION: "ScoreFunction",
    Kind.PARAMETER_LEARNER: "ParameterLearner",
    Kind.INFERENCE_ENGINE: "InferenceEngine",
    Kind.CLASSIFIER: "ClassifierLike",
    Kind.DISCRETIZER: "DiscretizerLike",
}

#: Constructor parameters that hold a component, with its kind.
NESTED = {
    "structure": Kind.STRUCTURE_LEARNER,
    "score": Kind.SCORE_FUNCTION,
    "parameters": Kind.PARAMETER_LEARNER,
    "discretizer": Kind.DISCRETIZER,
    "inference": Kind.INFERENCE_ENGINE,
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
    return cast("StructureLearner", _create(Kind.STRUCTURE_LEARNER, name, params))


def score_function(name: str, /, **params: Any) -> ScoreFunction:
    """Create a score by name; see :func:`structure_learner`.

    Examples
    --------
    >>> score_function("no such score")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no score function 'no such score'...
    """
    return cast("ScoreFunction", _create(Kind.SCORE_FUNCTION, name, params))


def parameter_learner(name: str, /, **params: Any) -> ParameterLearner:
    """Create a parameter learner by name; see :func:`structure_learner`.

    Examples
    --------
    >>> parameter_learner("ml", alpha=0.5).alpha
    0.5
    """
    return cast("ParameterLearner", _create(Kind.PARAMETER_LEARNER, name, params))


def inference_engine(name: str, /, **params: Any) -> InferenceEngine:
    """Create an engine of inference by name; see :func:`structure_learner`.

    Examples
    --------
    >>> inference_engine("no such engine")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no inference engine 'no such engine'...
    """
    return cast("InferenceEngine", _create(Kind.INFERENCE_ENGINE, name, params))


def discretizer(name: str, /, **params: Any) -> DiscretizerLike:
    """Create a discretiser by name; see :func:`structure_learner`.

    Examples
    --------
    >>> discretizer("quantile", n_bins=3).n_bins
    3
    """
    return cast("DiscretizerLike", _create(Kind.DISCRETIZER, name, params))


def classifier(name: str, /, **params: Any) -> ClassifierLike:
    """Create a plugin's classifier by name; see :func:`structure_learner`.

    Examples
    --------
    >>> classifier("no such classifier")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no classifier 'no such classifier'...
    """
    return cast("ClassifierLike", _create(Kind.CLASSIFIER, name, params))


def reproduction(name: str, /) -> Reproduction:
    """Return a paper's protocol, its ``run(data, out, quick)`` ready to call.

    Examples
    --------
    >>> reproduction("no such paper")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no reproduction 'no such paper'...
    """
    found = cast(Reproduction, find(Kind.REPRODUCTION, name))
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
    return list(discovery.discovered().plugins)


def methods(kind: str | None = None) -> list[Descriptor]:
    """Return the descriptors of all registered methods, or of one kind; built-in ones come first.

    Examples
    --------
    >>> "tan" in [method.name for method in methods("structure learner")]
    True
    """
    kinds = tuple(Kind) if kind is None else (_known_kind(kind),)
    registered = discovery.discovered().methods.values()
    return [method for wanted in kinds for method in registered if method.kind == wanted]


def find(kind: str, name: str) -> Descriptor:
    """Return the descriptor that a name means; else an error that says what there is.

    Parameters
    ----------
    kind, name : str
        What it is and what it is called: a bare name, a qualified one such as ``"bnplug:tan"``, or one that it had
        before, with a ``DeprecationWarning``.

    Raises
    ------
    UnknownMethodError
        If there is none.
    AmbiguousNameError
        If several plugins have it; the message gives their qualified names.

    Examples
    --------
    >>> find("structure learner", "tan").name
    'tan'
    >>> find("structure learner", "ml")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: 'ml' is a parameter learner, not a structure learner...
    """
    known = _known_kind(kind)
    if not isinstance(name, str):
        raise TypeError(f"the name of a {known} is a string, not {name!r}")
    names = discovery.discovered().names
    claims = names.claims(known, name)
    if not claims:
        raise UnknownMethodError(_why_unknown(known, name))
    if len(claims) > 1:
        choices = " or ".join(repr(names.qualified(claim)) for claim in claims)
        raise AmbiguousNameError(f"{len(claims)} plugins bring {_article(known)} {name!r}: ask for {choices}")
    (claim,) = claims
    if not f":{name}".endswith(f":{claim.method.name}"):
        warn_deprecated(f"the {known} {name!r} is called {names.shortest(claim)!r} now")
    return claim.method


def build(kind: str, spec: Any) -> Any:
    """Turn a component into an instance.

    Parameters
    ----------
    kind : str
        What it is: ``"structure learner"``, ``"discretizer"``, any of the keys of :data:`CONTRACTS`.
    spec : str, (str, mapping) or instance
        A registered name; that name with parameters, where those that hold a component (:data:`NESTED`) may be such
        pairs again; or an instance, which is returned as it is.

    Returns
    -------
    instance of the kind's contract

    Examples
    --------
    >>> build("structure learner", ("kdb", {"k": 2})).k
    2
    >>> build("structure learner", ("kdb", {"kk": 2}))
    Traceback (most recent call last):
    TypeError: structure learner 'kdb' has no parameter 'kk'. Did you mean 'k'?...
    """
    if is_component(spec):
        name, params = name_and_parameters(spec)
        nested = {
            key: build(NESTED[key], value)
            for key, value in params.items()
            if key in NESTED and isinstance(value, tuple) and is_component(value)
        }
        return _create(kind, name, {**params, **nested})
    contract = _contract(_component_kind(kind))
    if not isinstance(spec, contract):
        raise TypeError(
            f"{_article(kind)} is a name, a (name, parameters) pair or an instance of {_class(contract)}, not {spec!r}"
        )
    return spec


def signature(method: Method) -> list[tuple[str, Any]]:
    """Return the parameters of a method's constructor with their defaults.

    Examples
    --------
    >>> signature(find("score function", "bdeu"))
    [('equivalent_sample_size', 10.0)]
    """
    return [(parameter.name, parameter.default) for parameter in _parameters(_factory(method))]


def provider(method: Descriptor) -> PluginInfo:
    """Return the plugin that brought a registered method.

    Examples
    --------
    >>> provider(find("structure learner", "tan")).distribution
    'bnplug'
    """
    found = discovery.discovered()
    return found.providers[method.kind, found.names.shortest(_claim_of(method))]


def origin(component: object) -> str:
    """Say where the class of a component comes from, for messages: its method and plugin, or its module.

    Examples
    --------
    >>> origin(structure_learner("tan"))
    "structure learner 'tan' of bnplug ... (builtin)"
    """
    method = method_of(component)
    cls = type(component)
    return f"{cls.__module__}.{cls.__qualname__}" if method is None else _label(method)


def name_of(component: object) -> str | None:
    """Return the shortest name that means a method alone, or the class of a component; None for one not registered.

    Examples
    --------
    >>> name_of(structure_learner("kdb", k=2))
    'kdb'
    >>> name_of(object()) is None
    True
    """
    method = component if isinstance(component, Descriptor) else method_of(component)
    return None if method is None else discovery.discovered().names.shortest(_claim_of(method))


def method_of(component: object) -> Method | None:
    """Return the descriptor that a component's class is registered with; None where it is not.

    Examples
    --------
    >>> method_of(structure_learner("kdb", k=2)).name
    'kdb'
    """
    found = (method for method in methods() if isinstance(method, Method))
    return next((method for method in found if _is_imported_as(method.factory, type(component))), None)


def make(method: Method, params: Mapping[str, Any]) -> Any:
    """Create what a registered method describes, with these parameters of its constructor.

    Examples
    --------
    >>> make(find("structure learner", "kdb"), {"k": 2}).k
    2
    """
    factory = _factory(method)
    params = renamed(method, params)
    check_parameters(f"{method.kind} {name_of(method)!r}", factory, params)
    return _contain(method, "construction", partial(factory, **params))


def renamed(method: Method, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters for a method by their present names; an older one gives a `DeprecatedNameWarning`.

    Examples
    --------
    >>> renamed(find("structure learner", "kdb"), {"k": 1})
    {'k': 1}
    """
    what = f"{method.kind} {name_of(method)!r}"
    present: dict[str, Any] = {}
    for given, value in params.items():
        old, nested, inner = given.partition("__")
        new = method.parameter_aliases.get(old, old)
        if new != old:
            warn_deprecated(f"the parameter {old!r} of {what} is called {new!r} now")
        if new + nested + inner in present:
            raise TypeError(f"{what} is given the parameter {new!r} twice, by its old name and by its new one")
        present[new + nested + inner] = value
    return present


def check_parameters(what: str, factory: type, given: Mapping[str, Any]) -> None:
    """Raise a ``TypeError`` that names `what` unless a class can be called with the given parameters.

    Examples
    --------
    >>> check_parameters("the tree", type(structure_learner("kdb")), {"kk": 2})
    Traceback (most recent call last):
    TypeError: the tree has no parameter 'kk'. Did you mean 'k'? Its parameters: k...
    """
    parameters = _parameters(factory)
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            hint = f"{did_you_mean(name, names)} Its parameters: {', '.join(names) or 'none'}."
            raise TypeError(f"{what} has no parameter {name!r}.{hint}")
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty and parameter.name not in given:
            raise TypeError(f"{what} needs the parameter {parameter.name!r}")


def _create(kind: str, name: str, params: Mapping[str, Any]) -> Any:
    """Create the learner or score that is registered under a name."""
    return make(cast(Method, find(_component_kind(kind), name)), params)


def _component_kind(kind: str) -> Kind:
    """Return the kind of a method; a recipe and a reproduction are none."""
    known = _known_kind(kind)
    if known not in CONTRACTS:
        raise ValueError(f"a {known} has no class of its own to make; these have: {', '.join(CONTRACTS)}")
    return known


def _claim_of(method: Descriptor) -> Claim:
    """Return the claim of a registered method, or of a copy of it."""
    brought = discovery.discovered().names.brought
    alike = [c for c in brought if (c.method.kind, c.method.name) == (method.kind, method.name)]
    if not alike:
        raise KeyError(f"{method.kind} {method.name!r} is not registered")
    return next((claim for claim in alike if claim.method == method), alike[0])


def _known_kind(kind: str) -> Kind:
    if kind not in tuple(Kind):
        raise ValueError(
            f"there is no kind {kind!r} of method.{did_you_mean(kind, map(str, Kind))} Kinds: {', '.join(Kind)}"
        )
    return Kind(kind)


def _why_unknown(kind: Kind, name: str) -> str:
    registered = discovery.discovered().methods
    names = sorted(known for known_kind, known in registered if known_kind == kind)
    elsewhere = [other for other in Kind if discovery.discovered().names.claims(other, name)]
    if elsewhere:
        reason = f"{name!r} is {_article(elsewhere[0])}, not {_article(kind)}."
    else:
        reason = f"there is no {kind} {name!r}.{did_you_mean(name, names)}"
    listing = f" Registered: {', '.join(names)}." if names else f" No {kind} is registered."
    left_out = ", ".join(str(info) for info in plugins() if info.cause)
    hint = f" Plugins left out (see `bnplug plugins`): {left_out}." if left_out else ""
    return reason + listing + hint


def _label(method: Descriptor) -> str:
    return f"{method.kind} {method.name!r} of {provider(method)}"


def _contain(method: Descriptor, doing: str, call: Callable[[], _T]) -> _T:
    """Call a plugin's code; what it raises becomes an error that names the method and the plugin."""
    try:
        return discovery.contain(doing, call)
    except PluginError as error:
        raise PluginError(f"{_label(method)} failed: {error}") from error.__cause__


def _import(method: Descriptor, target: Callable[..., Any] | str) -> object:
    if not isinstance(target, str):
        return target
    resolve = partial(pkgutil.resolve_name, target)
    if target.partition(":")[0] not in sys.modules:
        resolve = partial(within_limits, resolve)
    return _contain(method, f"import of {target}", resolve)


def _factory(method: Method) -> type:
    factory = _import(method, method.factory)
    contract = _contract(method.kind)
    if not isinstance(factory, type) or not issubclass(factory, contract):
        raise ContractError(f"{_label(method)}: its factory must be {_class(contract)}, not {factory!r}")
    return factory


def _contract(kind: Kind) -> type:
    return cast(type, getattr(importlib.import_module("bnplug.contracts"), CONTRACTS[kind]))


def _class(contract: type) -> str:
    """Say what a class must be that keeps a contract: derived from it, or, of a protocol, with its methods."""
    if not getattr(contract, "_is_protocol", False):
        return f"a class derived from bnplug.{contract.__name__}"
    return f"a class with the methods {', '.join(name for name in vars(contract) if name[0] != '_')}"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


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
