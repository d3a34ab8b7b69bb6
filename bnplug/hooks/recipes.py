"""Recipes: whether one can be made here, what it lacks if not, and the parts that a classifier is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from bnplug.errors import UnknownMethodError
from bnplug.hooks import discovery, registry
from bnplug.hooks.descriptors import (
    AUTO_DISCRETIZER,
    NO_DISCRETIZER,
    Component,
    Kind,
    Recipe,
    is_component,
    name_and_parameters,
)
from bnplug.hooks.names import normalize

#: Discretisers that nothing registers.
_UNNAMED = (NO_DISCRETIZER, AUTO_DISCRETIZER)


def parts(name: str) -> dict[str, Any]:
    """Return what a recipe is made of, as parameters of a classifier.

    Parameters
    ----------
    name : str
        A registered recipe.

    Returns
    -------
    dict
        ``structure`` and ``parameters`` as instances, ``discretizer`` as the recipe has it.

    Raises
    ------
    UnknownMethodError
        If there is no such recipe, or a method it is made of is not installed.

    Examples
    --------
    >>> parts("no such recipe")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no recipe 'no such recipe'...
    """
    found = at_home(cast(Recipe, registry.find(Kind.RECIPE, name)))
    reason = availability(found).reason
    if reason:
        raise UnknownMethodError(f"recipe {name!r} is not available: {reason}")
    return {
        "structure": registry.build(Kind.STRUCTURE_LEARNER, found.structure),
        "parameters": registry.build(Kind.PARAMETER_LEARNER, found.parameters),
        "discretizer": found.discretizer,
    }


@dataclass(frozen=True)
class RecipeAvailability:
    """A recipe, and why it cannot be made here: ``reason`` is empty when it can."""

    recipe: Recipe
    reason: str

    @property
    def available(self) -> bool:
        """Whether everything the recipe is made of is registered."""
        return not self.reason


def availabilities() -> list[RecipeAvailability]:
    """Return every registered recipe, with what it lacks if it cannot be made here.

    Examples
    --------
    >>> lacking = [found.recipe.name for found in availabilities() if not found.available]
    """
    return [availability(cast(Recipe, found)) for found in registry.methods(Kind.RECIPE)]


def ready() -> set[str]:
    """Return the names of the recipes that can be made here.

    Examples
    --------
    >>> sorted({"NB-ML", "no such recipe"} & ready())
    ['NB-ML']
    """
    return {found.recipe.name for found in availabilities() if found.available}


def availability(wanted: Recipe) -> RecipeAvailability:
    """Return whether a recipe can be made here, and if not, why."""
    names = discovery.discovered().names
    reasons, missing = [], []
    for kind, name in components(wanted):
        claims = names.claims(kind, name)
        if len(claims) > 1:
            reasons.append(f"several plugins bring its {kind} {name!r}: {', '.join(map(names.qualified, claims))}")
        elif not claims:
            missing.append(f"{kind} {name!r}")
    if missing:
        reasons += [f"no working plugin brings {', '.join(missing)}", *_remedies(wanted.requires)]
    return RecipeAvailability(wanted, "; ".join(reasons))


def components(wanted: Recipe) -> list[tuple[Kind, str]]:
    """Return the kind and name of every component of a recipe, those inside others included.

    Examples
    --------
    >>> climb = Recipe("HC", ("hill-climb", {"score": "cr"}), summary="A climb.", reference="Me (2026)")
    >>> [f"{kind} {name}" for kind, name in components(climb)]
    ['structure learner hill-climb', 'score function cr', 'parameter learner ml', 'discretizer mdl']
    """
    wanted = at_home(wanted)
    return [
        *_components(Kind.STRUCTURE_LEARNER, wanted.structure),
        *_components(Kind.PARAMETER_LEARNER, wanted.parameters),
        *(() if wanted.discretizer in _UNNAMED else _components(Kind.DISCRETIZER, wanted.discretizer)),
    ]


def at_home(wanted: Recipe) -> Recipe:
    """Return a recipe that takes methods of its own distribution where others have their names too.

    Examples
    --------
    >>> tree = Recipe("TREE", "tan", summary="A tree.", reference="Me (2026)")
    >>> at_home(tree) == tree
    True
    """
    names = discovery.discovered().names
    homes = [claim.distribution for claim in names.brought if claim.method == wanted]

    def settled(kind: Kind, spec: Component) -> Component:
        name, params = name_and_parameters(spec)
        claims = names.claims(kind, name)
        own = [names.qualified(claim) for claim in claims if len(claims) > 1 and claim.distribution in homes]
        nested = {
            key: settled(registry.NESTED[key], value)
            for key, value in params.items()
            if key in registry.NESTED and is_component(value)
        }
        return (*own, name)[0] if not params else ((*own, name)[0], {**params, **nested})

    return replace(
        wanted,
        structure=settled(Kind.STRUCTURE_LEARNER, wanted.structure),
        parameters=settled(Kind.PARAMETER_LEARNER, wanted.parameters),
        discretizer=settled(Kind.DISCRETIZER, wanted.discretizer),
    )


def _remedies(requires: tuple[str, ...]) -> list[str]:
    """Say what to do about distributions that a recipe requires."""
    installed = {normalize(info.distribution) for info in registry.plugins()}
    absent = [name for name in requires if normalize(name) not in installed]
    wanted = {normalize(name) for name in requires}
    left_out = [info for info in registry.plugins() if info.cause and normalize(info.distribution) in wanted]
    remedies = [f"{info} is left out: {info.cause}" for info in left_out]
    if absent:
        remedies.append(f"pip install {' '.join(absent)}")
    if requires and not remedies:
        remedies.append(f"pip install --upgrade {' '.join(requires)}")
    return remedies


def _components(kind: Kind, spec: Component) -> Iterator[tuple[Kind, str]]:
    """Yield the kind and name of a component and of those nested in its parameters."""
    name, params = name_and_parameters(spec)
    yield kind, name
    for key, value in params.items():
        if key in registry.NESTED and is_component(value):
            yield from _components(registry.NESTED[key], value)
