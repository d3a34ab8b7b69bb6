"""The methods that come with the core, registered through the same hooks as everybody's."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug.hookspecs import hookimpl
from bnplug.methods import ParameterLearnerMethod, StructureLearnerMethod


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Naive Bayes and the classic augmented ones."""
    yield StructureLearnerMethod(
        name="nb",
        factory="bnplug.builtin.nb:NaiveBayes",
        summary="Naive Bayes: the class is the only parent of every feature.",
        reference="Duda, Hart: Pattern Classification and Scene Analysis (1973)",
        api=1,
    )
    yield StructureLearnerMethod(
        name="tan",
        factory="bnplug.builtin.tan:TreeAugmentedNaiveBayes",
        summary="Naive Bayes plus a maximum spanning tree over I(Xi; Xj | C).",
        reference="Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997)",
        api=1,
    )
    yield StructureLearnerMethod(
        name="kdb",
        factory="bnplug.builtin.kdb:KDependence",
        summary="Naive Bayes plus up to k earlier features as parents of each feature.",
        reference="Sahami: Learning limited dependence Bayesian classifiers (1996)",
        api=1,
    )


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Estimates from counts."""
    yield ParameterLearnerMethod(
        name="ml",
        factory="bnplug.builtin.ml:MaximumLikelihood",
        summary="Smoothed relative frequencies.",
        reference="Peharz, Tschiatschek, Pernkopf (2013), eq. 4",
        api=1,
    )
