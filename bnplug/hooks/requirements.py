"""Requirements that descriptors state: refuse an impossible composition before anything is learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bnplug.contracts import ScoreFunction
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Descriptor, Kind, component_kinds, is_component, name_and_parameters

if TYPE_CHECKING:
    from bnplug.table.table import Table


def check_components(owner: object) -> None:
    """Raise a ``ValueError`` if `owner` is an instance of a method that needs decomposable scores and has another.

    A score that is not registered is judged by its class (:class:`~bnplug.ScoreFunction`), and accepted if the class
    does not say. Components given as instances are checked too.
    """
    components = list(_components(owner))
    scores = [component for kind, component in components if kind == Kind.SCORE_FUNCTION]
    if scores and getattr(registry.method_of(owner), "needs_decomposable", False):
        for score in scores:
            if _is_decomposable(score) is False:
                names = _names(Kind.SCORE_FUNCTION, decomposable=True)
                raise ValueError(f"{_name(owner)} needs a decomposable score; {_name(score)} is not one. Use {names}.")
    for _, component in components:
        if hasattr(component, "get_params") and not isinstance(component, type):
            check_components(component)


def check_table(component: Any, table: Table) -> None:
    """Raise a ``ValueError`` if a table violates a requirement of a learner or of one of its scores.

    The table may have more variables than the method takes, or no class variable although it needs one.
    """
    method, n = _method(None, component), len(table.names)
    largest = getattr(method, "max_variables", None)
    if method is not None and largest is not None and n > largest:
        raise ValueError(
            f"{_name(component)} takes at most {largest} variables; this table has {n}. Use fewer columns, or another "
            f"{method.kind}."
        )
    target: Any = table.target
    if target is not None:
        return
    scores = [score for kind, score in _components(component) if kind == Kind.SCORE_FUNCTION]
    methods = [method, *(_method(Kind.SCORE_FUNCTION, score) for score in scores)]
    for each, described in zip([component, *scores], methods, strict=True):
        if described is not None and getattr(described, "needs_target", False):
            names = _names(described.kind, needs_target=False)
            raise ValueError(f"{_name(each)} needs a class variable; this table has none. Use {names}.")


def _components(owner: object) -> Iterator[tuple[Kind, Any]]:
    """Yield the kind and the value of every component of an instance."""
    for name, kind in component_kinds(type(owner)).items():
        value = getattr(owner, name, None)
        if value is not None:
            yield kind, value


def _method(kind: Kind | None, component: Any) -> Descriptor | None:
    """Return the descriptor of a component: of this kind, if it is given by name."""
    if kind is None or not is_component(component):
        return registry.method_of(component)
    return registry.named(kind, name_and_parameters(component)[0])


def _is_decomposable(score: Any) -> bool | None:
    """Return whether a score is decomposable; None if that is unknown."""
    method = _method(Kind.SCORE_FUNCTION, score)
    if method is not None:
        return bool(getattr(method, "decomposable", False))
    if not isinstance(score, ScoreFunction):
        return None
    # A score that does not override `evaluator` scores whole graphs.
    asked_whole = type(score).evaluator is ScoreFunction.evaluator
    return False if score.decomposable is None and asked_whole else score.decomposable


def _name(component: Any) -> str:
    """Return a component as messages name it: by its registered name, or by its class."""
    if is_component(component):
        return repr(name_and_parameters(component)[0])
    name = registry.name_of(component)
    return type(component).__name__ if name is None else repr(name)


def _names(kind: Kind, **flags: bool) -> str:
    """Return the names of the methods with these flags, as an enumeration."""
    *others, last = sorted(repr(registry.name_of(method)) for method in registry.methods(kind, **flags)) or ["none"]
    return f"{', '.join(others)} or {last}" if others else last
