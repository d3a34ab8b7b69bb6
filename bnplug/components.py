"""Making a component ready to run: a name becomes an instance, an instance is cloned, never changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from bnplug import registry

#: What a component takes from its owner where it has no value of its own.
INHERITED = ("random_state", "n_jobs", "verbose")


def component(kind: str, spec: Any, owner: Any) -> Any:
    """Return an instance of `spec` of its own, ready to run inside `owner`.

    Parameters
    ----------
    kind : str
        ``"structure learner"``, ``"score function"`` or ``"parameter learner"``.
    spec : str, (str, mapping) or instance
        A registered name, that name with parameters, or an instance, which is cloned.
    owner : estimator
        Its ``random_state``, ``n_jobs`` and ``verbose`` are taken where the component's own are None.

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


def _from_owner(owner: Any, name: str) -> Any:
    """Return the owner's value; of a random generator, a seed drawn from it."""
    value = getattr(owner, name, None)
    return int(value.randint(2**31 - 1)) if isinstance(value, np.random.RandomState) else value
