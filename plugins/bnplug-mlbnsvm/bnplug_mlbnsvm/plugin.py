"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import ParameterLearnerMethod, Recipe, hookimpl
from bnplug.hooks.descriptors import Component

_PAPER = "Peharz, Tschiatschek, Pernkopf: The most generative maximum margin Bayesian networks (2013)"
_TREE: Component = ("tan", {"correction": None})
_CROSS_VALIDATED: Component = ("ml-bn-svm", {"lam": "cv", "gamma": "cv"})


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Name the learner."""
    yield ParameterLearnerMethod(
        name="ml-bn-svm",
        factory="bnplug_mlbnsvm.learners:MaximumLikelihoodSVM",
        summary="Large margins at the highest likelihood: one knob from generative to discriminative, convex on C1.",
        reference=_PAPER,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name the paper's classifiers, and others with discriminative structures; lam and gamma by cross-validation."""
    structures: dict[str, tuple[Component, tuple[str, ...], str]] = {
        "NB": ("nb", (), "Naive Bayes"),
        "TAN": (_TREE, (), "The generative tree"),
        "TAN-OMI-CR": (("omi", {"score": "cr"}), ("bnplug-cmi-order",), "A tree along the OMI order"),
        "TAN-CR": (("hill-climb", {"score": "cr", "tree": True}), (), "A tree by classification rate"),
        "2-tree-OMI-CR": (
            ("omi", {"score": ("cr", {"cv": 5}), "k": 2, "clique": True}),
            ("bnplug-cmi-order",),
            "Up to two adjacent parents along the OMI order",
        ),
        "TAN-SA-MM": (
            ("sa", {"score": "mm"}),
            ("bnplug-annealing", "bnplug-margin"),
            "A tree of large margins by simulated annealing",
        ),
    }
    for title, (structure, requires, summary) in structures.items():
        yield Recipe(
            name=f"{title}-ML-BN-SVM",
            structure=structure,
            parameters=_CROSS_VALIDATED,
            summary=f"{summary}, with ml-bn-svm parameters; lam and gamma by cross-validation.",
            reference=_PAPER,
            requires=requires,
        )
    yield Recipe(
        name="TAN-ML-BN-SVM-lam",
        structure=_TREE,
        parameters=("ml-bn-svm", {"lam": "cv"}),
        summary="The generative tree, with ml-bn-svm parameters; lam alone by cross-validation.",
        reference=_PAPER,
        featured=True,
    )
