"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import Recipe, StructureLearnerMethod, hookimpl
from bnplug.hooks.descriptors import Component

_PAPER = "Pernkopf, Bilmes: Order-based discriminative structure learning for Bayesian network classifiers (2008)"
_REQUIRES = ("bnplug-cmi-order",)

# Zero probabilities become 1e-5 (Pernkopf and Bilmes 2008, section 5), in the score as in the final parameters.
_SMOOTHING = {"alpha": 0.0, "floor": 1e-5}
_ML = ("ml", _SMOOTHING)
_CR = ("cr", _SMOOTHING)


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Name the three orders."""
    yield StructureLearnerMethod(
        name="omi",
        factory="bnplug_cmi_order.learners:ConditionalInformationOrder",
        summary="Greedy parents along an order by I(C; X | all earlier features).",
        reference=_PAPER,
        needs_score=True,
        constraints=True,
    )
    yield StructureLearnerMethod(
        name="omisp",
        factory="bnplug_cmi_order.learners:SingleParentInformationOrder",
        summary="Greedy parents along an order by I(C; X | the best single earlier feature).",
        reference=_PAPER,
        needs_score=True,
        constraints=True,
    )
    yield StructureLearnerMethod(
        name="ro",
        factory="bnplug_cmi_order.learners:RandomOrder",
        summary="Greedy parents along a random order.",
        reference=_PAPER,
        stochastic=True,
        needs_score=True,
        constraints=True,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name the paper's classifiers with maximum-likelihood parameters."""
    structures: dict[str, tuple[Component, str]] = {
        "NB-ML": ("nb", "Naive Bayes."),
        "TAN-CMI-ML": (("tan", {"correction": None}), "The generative tree: largest I(Xi; Xj | C)."),
        "TAN-OMI-CR-ML": (("omi", {"score": _CR}), "A tree along the OMI order, by classification rate."),
        "TAN-OMISP-CR-ML": (("omisp", {"score": _CR}), "A tree along the OMISP order, by classification rate."),
        "TAN-RO-CR-ML": (("ro", {"score": _CR}), "A tree along a random order, by classification rate."),
        "TAN-CR-ML": (
            ("hill-climb", {"score": _CR, "tree": True}),
            "A tree by classification rate over all edges: the naive greedy search.",
        ),
        "2-tree-OMI-CR-ML": (
            ("omi", {"score": ("cr", {**_SMOOTHING, "cv": 5}), "k": 2}),
            "Up to two parents along the OMI order, by cross-validated classification rate.",
        ),
    }
    for name, (structure, summary) in structures.items():
        yield Recipe(
            name=name,
            structure=structure,
            parameters=_ML,
            summary=summary,
            reference=_PAPER,
            requires=_REQUIRES,
            featured=name == "TAN-OMI-CR-ML",
        )
