"""What this plugin brings; the classifiers' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ClassifierMethod, DiscretizerMethod, hookimpl

_WEBB = "Webb, Boughton, Wang: Not so naive Bayes: aggregating one-dependence estimators (2005)"
_MEILA = "Meilă, Jordan: Learning with mixtures of trees (2000)"
_DOUGHERTY = "Dougherty, Kohavi, Sahami: Supervised and unsupervised discretization of continuous features (1995)"


@hookimpl
def bnplug_classifiers() -> Iterable[ClassifierMethod]:
    """Name the mixture, and its special case."""
    yield ClassifierMethod(
        name="mixture",
        factory="bnplug_mixture.mixture:NetworkMixture",
        summary="Some small networks on cuts and structures that differ, and the mean of what they say.",
        reference=f"{_MEILA}, whose trees are weighted; these are discriminative, and count alike",
        stochastic=True,
    )
    yield ClassifierMethod(
        name="aode",
        factory="bnplug_mixture.aode:AODE",
        summary="The mean of all one-dependence estimators, one for each feature as everybody's parent.",
        reference=_WEBB,
    )


@hookimpl
def bnplug_discretizers() -> Iterable[DiscretizerMethod]:
    """Name the cuts that the members of a mixture differ by."""
    yield DiscretizerMethod(
        name="jittered-quantile",
        factory="bnplug_mixture.cuts:JitteredQuantiles",
        summary="Bins of about equal weight, how many and where drawn for each column.",
        reference=_DOUGHERTY,
        stochastic=True,
    )
