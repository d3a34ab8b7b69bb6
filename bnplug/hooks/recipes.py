"""Recipes: whether one can be made here, what it lacks if not, and the parts that a classifier is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from bnplug.errors import UnknownMethodError
from bnplug.hooks import discovery, registry
from bnplug.hooks.descriptors import Component, Kind, Recipe, is_component, name_and_parameters


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
    found = cast(Recipe, registry.find(Kind.RECIPE, name))
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


def availability(wanted: Recipe) -> RecipeAvailability:
    """Return whether a recipe can be made here, and if not, why."""
    registered = discovery.discovered().methods
    missing = [f"{kind} {name!r}" for kind, name in components(wanted) if (kind, name) not in registered]
    if not missing:
        return RecipeAvailability(wanted, "")
    reason = f"no working plugin brings {', '.join(missing)}"
    return RecipeAvailability(wanted, "; ".join([reason, *_remedies(wanted.requires)]))


def components(wanted: Recipe) -> list[tuple[Kind, str]]:
    """Return the kind and name of every component of a recipe, those inside others included.

    Examples
    --------
    >>> climb = Recipe("HC", ("hill-climb", {"score": "cr"}), summary="A climb.", reference="Me (2026)")
    >>> [f"{kind} {name}" for kind, name in components(climb)]
    ['structure learner hill-climb', 'score function cr', 'parameter learner ml']
    """
    return [
        *_components(Kind.STRUCTURE_LEARNER, wanted.structure),
        *_components(Kind.PARAMETER_LEARNER, wanted.parameters),
    ]


def _remedies(requires: tuple[str, ...]) -> list[str]:
    """Say what to do about distributions that a recipe requires."""
    installed = {discovery.normalize(info.distribution) for info in registry.plugins()}
    absent = [name for name in requires if discovery.normalize(name) not in installed]
    wanted = {discovery.normalize(name) for name in requires}
    left_out = [info for info in registry.plugins() if info.cause and discovery.normalize(info.distribution) in wanted]
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
