"""Components: what a learner or a classifier is composed of, by name or as an instance."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from bnplug.contracts import resolve_with
from bnplug.hooks import registry

#: What a component takes from its owner where it has no value of its own.
INHERITED = ("random_state", "n_jobs", "verbose", "max_clique_size")


def component(kind: str, spec: Any, owner: Any) -> Any:
    """Return an instance of `spec`, ready to run inside `owner`; what the user gave stays as it is.

    Parameters
    ----------
    kind : str
        ``"structure learner"``, ``"score function"`` or another of what plugins bring.
    spec : str, (str, mapping) or instance
        A registered name, that name with parameters, or an instance, which is cloned.
    owner : estimator
        What is :data:`INHERITED` is taken from it where the component's own is None.

    Examples
    --------
    A structure learner finds its score this way::

        score = component("score function", self.score, self)
    """
    made = registry.build(kind, spec)
    made = clone(made) if made is spec else made
    own = made.get_params(deep=False)
    inherited = {name: _from_owner(owner, name) for name in INHERITED if name in own and own[name] is None}
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
    """Return the owner's value; of a random generator, a seed drawn from it."""
    value = getattr(owner, name, None)
    return int(value.randint(2**31 - 1)) if isinstance(value, np.random.RandomState) else value


def _resolve(owner: Any, parameter: str, spec: Any) -> Any:
    """Return the component that `spec` names as the value of a parameter of `owner`."""
    if parameter not in registry.NESTED:
        raise ValueError(f"parameter {parameter!r} of {type(owner).__name__} has no parameters of its own")
    return registry.build(registry.NESTED[parameter], spec)


resolve_with(_resolve)
