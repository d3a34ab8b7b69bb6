"""Which bins numbers go into where a classifier leaves that to its parameters: these say how fine they may be."""

from __future__ import annotations

from typing import Any

from bnplug.data.discretize import unfitted
from bnplug.errors import ContractError, UnknownMethodError
from bnplug.hooks import registry
from bnplug.hooks.descriptors import AUTO_DISCRETIZER, Kind


def wanted_discretizer(discretizer: Any, parameters: Any) -> Any:
    """Return the discretiser that is asked for; where that is ``"auto"``, the one that the parameter learner wants.

    Parameters
    ----------
    discretizer, parameters
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`.

    Raises
    ------
    ContractError
        If what the parameter learner wants is no discretiser.

    Examples
    --------
    >>> wanted_discretizer("auto", "ml"), wanted_discretizer("quantile", "ml")
    ('mdl', 'quantile')
    """
    if not isinstance(discretizer, str) or discretizer != AUTO_DISCRETIZER:
        return discretizer
    learner = registry.build(Kind.PARAMETER_LEARNER, parameters)
    # A learner need not derive from the contract's class.
    wanted = getattr(learner, "discretizer", "mdl")
    try:
        unfitted(wanted)
    except (UnknownMethodError, TypeError) as error:
        raise ContractError(
            f"{registry.origin(learner)}: the discretizer that it wants is none, {wanted!r}: {error}. Say "
            "discretizer=..., such as 'mdl', to do without"
        ) from error
    return wanted
