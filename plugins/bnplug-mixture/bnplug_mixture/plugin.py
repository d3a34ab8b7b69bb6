"""The methods of this plugin; their modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ClassifierMethod, DiscretizerMethod, hookimpl

_WEBB = "Webb, Boughton, Wang: Not so naive Bayes: aggregating one-dependence estimators (2005)"
_MEILA = "Meilă, Jordan: Learning with mixtures of trees (2000)"
_DOUGHERTY = "Dougherty, Kohavi, Sahami: Supervised and unsupervised discretization of continuous features (1995)"


@hookimpl
def bnplug_classifiers() -> Iterable[ClassifierMethod]:
    """Describe the mixture and AODE."""
    yield ClassifierMethod(
        name="mixture",
        factory="bnplug_mixture.mixture:NetworkMixture",
        summary="The mean of small networks with different cuts and structures.",
        reference=f"{_MEILA}, with weighted generative trees; here, members are discriminative and have equal weights",
        stochastic=True,
    )
    yield ClassifierMethod(
        name="aode",
        factory="bnplug_mixture.aode:AODE",
        summary="The mean of one-dependence estimators, in each of which one feature is a parent of all others.",
        reference=_WEBB,
    )


@hookimpl
def bnplug_discretizers() -> Iterable[DiscretizerMethod]:
    """Describe the discretizer of the members of a mixture."""
    yield DiscretizerMethod(
        name="jittered-quantile",
        factory="bnplug_mixture.cuts:JitteredQuantiles",
        summary="Bins of about equal weight, with a random number of bins and randomly shifted cuts.",
        reference=_DOUGHERTY,
        stochastic=True,
    )
