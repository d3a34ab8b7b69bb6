"""What this plugin brings; the classifier's own module is imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ClassifierMethod, hookimpl


@hookimpl
def bnplug_classifiers() -> Iterable[ClassifierMethod]:
    """Name the classifier."""
    yield ClassifierMethod(
        name="my-classifier",
        factory="bnplug_my_classifier.classifier:MyClassifier",
        summary="Networks of many samples of the rows, averaged.",
        reference="Breiman: Bagging predictors (1996)",
        stochastic=True,  # the samples are drawn by `random_state`
    )
