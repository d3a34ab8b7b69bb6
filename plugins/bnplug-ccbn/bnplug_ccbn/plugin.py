"""What this plugin brings; the methods' own modules are imported when one is created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bnplug import ParameterLearnerMethod, Recipe, hookimpl
from bnplug.hooks.descriptors import Component

_PAPER = (
    "Zaidi, Webb, Carman, Petitjean, Buntine, Hynes, De Sterck: "
    "Efficient parameter learning of Bayesian network classifiers (2017)"
)
_ORDER_PAPER = "Pernkopf, Bilmes: Order-based discriminative structure learning for Bayesian network classifiers (2008)"
_CMI_ORDER = ("bnplug-cmi-order",)

_LEARNERS = {
    "d": (
        "Discriminative",
        "Maximum conditional likelihood over free log parameters: logistic regression on NB.",
    ),
    "e": ("Extended", "Maximum conditional likelihood over proper networks: a softmax for each column."),
    "w": ("Weighted", "Maximum conditional likelihood over weights of the generative log parameters."),
}
_STRUCTURES: dict[str, Component] = {
    "NB": "nb",
    "TAN": ("tan", {"correction": None}),
    "KDB-1": ("kdb", {"k": 1, "correction": None}),
}

# Zero probabilities become 1e-5 (Pernkopf and Bilmes 2008, section 5), in the score as in the parameters that CL starts
# from.
_SMOOTHING: dict[str, Any] = {"alpha": 0.0, "floor": 1e-5}
_CR: Component = ("cr", _SMOOTHING)
_CR_OF_5_FOLDS: Component = ("cr", {**_SMOOTHING, "cv": 5})


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Name the three parameterisations."""
    for letter, (factory, summary) in _LEARNERS.items():
        yield ParameterLearnerMethod(
            name=f"ccbn-{letter}",
            factory=f"bnplug_ccbn.learners:{factory}",
            summary=summary,
            reference=_PAPER,
            stochastic=True,
        )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name this paper's classifiers, and those of Pernkopf and Bilmes with conditional-likelihood parameters."""
    yield from _weighted_and_others()
    yield from _conditional_likelihood()


def _weighted_and_others() -> Iterator[Recipe]:
    """Yield NBw, NBw(I), TANd, ...: as in the paper, (I) starts at the generative estimates, else at zeros."""
    for title, structure in _STRUCTURES.items():
        for letter in _LEARNERS:
            for suffix, init, start in (("", "zeros", "zeros"), ("(I)", "generative", "the generative estimates")):
                yield Recipe(
                    name=f"{title}{letter}{suffix}",
                    structure=structure,
                    parameters=(f"ccbn-{letter}", {"init": init, "l2": 0.0}),
                    summary=f"{title} with ccbn-{letter} parameters, started at {start}.",
                    reference=_PAPER,
                    featured=(title, letter, init) == ("TAN", "w", "generative"),
                )


def _conditional_likelihood() -> Iterator[Recipe]:
    structures: dict[str, tuple[Component, tuple[str, ...]]] = {
        "NB": ("nb", ()),
        "TAN-CMI": (("tan", {"correction": None}), ()),
        "TAN-OMI-CR": (("omi", {"score": _CR}), _CMI_ORDER),
        "TAN-OMISP-CR": (("omisp", {"score": _CR}), _CMI_ORDER),
        "TAN-RO-CR": (("ro", {"score": _CR}), _CMI_ORDER),
        "TAN-CR": (("hill-climb", {"score": _CR, "tree": True}), ()),
        "2-tree-OMI-CR": (("omi", {"score": _CR_OF_5_FOLDS, "k": 2}), _CMI_ORDER),
    }
    for title, (structure, requires) in structures.items():
        yield Recipe(
            name=f"{title}-CL",
            structure=structure,
            parameters=("ccbn-e", {"max_iter": 20, "l2": 0.0, **_SMOOTHING}),
            summary=f"The structure of {title}-ML with 20 steps towards the maximum conditional likelihood.",
            reference=_ORDER_PAPER,
            requires=requires,
        )
