"""Components of a learner or a classifier, given by name or as an instance."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from bnplug.contracts import resolve_with
from bnplug.hooks import registry, requirements
from bnplug.hooks.descriptors import component_kinds

#: Parameters that a component inherits from its owner if they are None.
INHERITED = ("random_state", "n_jobs", "verbose", "max_clique_size")


def component(kind: str, spec: Any, owner: Any) -> Any:
    """Return a component of an estimator as a new instance, ready to run; the value given by the user is not changed.

    `kind` and `spec` are as in :func:`bnplug.hooks.registry.build`, but an instance is cloned. The component inherits
    the :data:`INHERITED` parameters of its owner, an estimator, if its own are None. A ``ValueError`` if the owner's
    descriptor rules out the component.

    Examples
    --------
    In a structure learner::

        score = component("score", self.score, self)
    """
    requirements.check_components(owner)
    made = registry.build(kind, spec)
    made = clone(made) if made is spec else made
    params = made.get_params(deep=False)
    inherited = {name: _from_owner(owner, name) for name in INHERITED if name in params and params[name] is None}
    return made.set_params(**inherited)


def check_numbers(owner: Any, *names: str, positive: bool = False) -> None:
    """Raise a ``ValueError`` unless the named parameters are finite numbers that are not negative, or `positive`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_numbers(SimpleNamespace(tol="0.1"), "tol")
    Traceback (most recent call last):
        ...
    ValueError: tol='0.1' must be a finite number that is not negative
    """
    for name in names:
        value = getattr(owner, name)
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf or (positive and value == 0):
            kind = "a finite positive number" if positive else "a finite number that is not negative"
            raise ValueError(f"{name}={value!r} must be {kind}")


def _from_owner(owner: Any, name: str) -> Any:
    """Return the owner's value, or a seed drawn from it if it is a random generator."""
    value = getattr(owner, name, None)
    return int(value.randint(2**31 - 1)) if isinstance(value, np.random.RandomState) else value


def _resolve(owner: Any, parameter: str, spec: Any) -> Any:
    """Return the component that `spec` means as the value of a parameter of `owner`."""
    kinds = component_kinds(type(owner))
    if parameter not in kinds:
        raise ValueError(
            f"parameter {parameter!r} of {type(owner).__name__} has no nested parameters. If it holds a component, "
            f'declare its kind in the class: components = {{"{parameter}": "score"}}'
        )
    return registry.build(kinds[parameter], spec)


resolve_with(_resolve)
