"""Recipes: whether their components are installed, and the components as parameters of a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from bnplug.errors import UnknownMethodError
from bnplug.hooks import discovery, registry
from bnplug.hooks.descriptors import AUTO_DISCRETIZER, NO_DISCRETIZER, Component, Kind, Recipe, name_and_parameters
from bnplug.hooks.names import normalize

# Discretizers that are not registered.
_UNNAMED = (NO_DISCRETIZER, AUTO_DISCRETIZER)


def parts(name: str) -> dict[str, Any]:
    """Return the components of a registered recipe, as parameters of a classifier.

    ``structure`` and ``parameters`` are instances. An ``UnknownMethodError`` if there is no such recipe, or one of its
    components is not installed.
    """
    recipe = at_home(cast(Recipe, registry.find(Kind.RECIPE, name)))
    reason = availability(recipe).reason
    if reason:
        raise UnknownMethodError(f"recipe {name!r} is not available: {reason}")
    return {
        "structure": registry.build(Kind.STRUCTURE_LEARNER, recipe.structure),
        "parameters": registry.build(Kind.PARAMETER_LEARNER, recipe.parameters),
        "discretizer": recipe.discretizer,
    }


@dataclass(frozen=True)
class RecipeAvailability:
    """A recipe, and why it is not available; ``reason`` is empty if it is."""

    recipe: Recipe
    reason: str

    @property
    def available(self) -> bool:
        """Whether all components of the recipe are registered."""
        return not self.reason


def availabilities() -> list[RecipeAvailability]:
    """Return every registered recipe, and why it is not available if it is not."""
    return [availability(cast(Recipe, recipe)) for recipe in registry.methods(Kind.RECIPE)]


def ready() -> set[str]:
    """Return the names of the recipes that are available."""
    return {each.recipe.name for each in availabilities() if each.available}


def availability(wanted: Recipe) -> RecipeAvailability:
    """Return whether a recipe is available, and why not if it is not."""
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
    """Return the kind and name of every component of a recipe, including nested ones.

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
    """Return a recipe whose ambiguous component names are qualified by the distribution of the recipe."""
    names = discovery.discovered().names
    homes = [claim.distribution for claim in names.brought if claim.method == wanted]

    def resolved(kind: Kind, spec: Component) -> Component:
        name, params = name_and_parameters(spec)
        claims = names.claims(kind, name)
        qualified = [names.qualified(claim) for claim in claims if len(claims) > 1 and claim.distribution in homes]
        name = (*qualified, name)[0]
        nested = {key: resolved(of_kind, value) for key, of_kind, value in registry._nested(kind, (name, params))}
        return (name, {**params, **nested}) if params else name

    return replace(
        wanted,
        structure=resolved(Kind.STRUCTURE_LEARNER, wanted.structure),
        parameters=resolved(Kind.PARAMETER_LEARNER, wanted.parameters),
        discretizer=resolved(Kind.DISCRETIZER, wanted.discretizer),
    )


def _remedies(requires: tuple[str, ...]) -> list[str]:
    """Return what to do about the distributions that a recipe requires."""
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
    """Yield the kind and name of a component and of the components among its parameters."""
    yield kind, name_and_parameters(spec)[0]
    for _, of_kind, value in registry._nested(kind, spec):
        yield from _components(of_kind, value)
