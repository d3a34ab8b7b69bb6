"""The hook contract: what a plugin may implement.

Hooks only *discover*. Each returns an iterable of descriptors (:mod:`bnplug.hooks.descriptors`); no learning runs
through a hook. A plugin is a module or object with any of these functions, marked by ``hookimpl`` and
named by an entry point in the group ``bnplug``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from bnplug.hooks.descriptors import (
        ClassifierMethod,
        DiscretizerMethod,
        InferenceEngineMethod,
        ParameterLearnerMethod,
        Recipe,
        Reproduction,
        ScoreFunctionMethod,
        StructureLearnerMethod,
    )

PROJECT = "bnplug"

#: The version of this contract. A descriptor says which one its author wrote it for.
HOOK_API = 2

#: The versions that this host still understands.
HOOK_API_ACCEPTED = range(1, HOOK_API + 1)

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:  # type: ignore[empty-body]
    """Name the structure learners this plugin brings.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_structure_learners():
    ...     yield bnplug.StructureLearnerMethod(
    ...         name="my-tree", factory="my_plugin.tree:MyTree", api=1,
    ...         summary="A tree of my own.", reference="Me (2026)", needs_score=True)
    """


@hookspec
def bnplug_score_functions() -> Iterable[ScoreFunctionMethod]:  # type: ignore[empty-body]
    """Name the scores this plugin brings.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_score_functions():
    ...     yield bnplug.ScoreFunctionMethod(
    ...         name="my-score", factory="my_plugin.score:MyScore", api=1,
    ...         summary="Counts what I care about.", reference="Me (2026)", decomposable=True)
    """


@hookspec
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:  # type: ignore[empty-body]
    """Name the parameter learners this plugin brings.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_parameter_learners():
    ...     yield bnplug.ParameterLearnerMethod(
    ...         name="my-estimate", factory="my_plugin.estimate:MyEstimate", api=1,
    ...         summary="Shrinks as I like it.", reference="Me (2026)")
    """


@hookspec
def bnplug_inference_engines() -> Iterable[InferenceEngineMethod]:  # type: ignore[empty-body]
    """Name the engines of inference this plugin brings.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_inference_engines():
    ...     yield bnplug.InferenceEngineMethod(
    ...         name="my-sampler", factory="my_plugin.sampler:MySampler", api=2,
    ...         summary="Answers by drawing.", reference="Me (2026)", exact=False, stochastic=True)
    """


@hookspec
def bnplug_classifiers() -> Iterable[ClassifierMethod]:  # type: ignore[empty-body]
    """Name the whole classifiers this plugin brings, such as ensembles of networks.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_classifiers():
    ...     yield bnplug.ClassifierMethod(
    ...         name="my-mixture", factory="my_plugin.mixture:MyMixture", api=2,
    ...         summary="A mixture of trees.", reference="Me (2026)", stochastic=True)
    """


@hookspec
def bnplug_discretizers() -> Iterable[DiscretizerMethod]:  # type: ignore[empty-body]
    """Name the discretisers this plugin brings.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_discretizers():
    ...     yield bnplug.DiscretizerMethod(
    ...         name="my-bins", factory="my_plugin.bins:MyBins", api=2,
    ...         summary="Cuts where I would.", reference="Me (2026)", supervised=True)
    """


@hookspec
def bnplug_recipes() -> Iterable[Recipe]:  # type: ignore[empty-body]
    """Name compositions of registered methods, such as a paper's own classifiers.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_recipes():
    ...     yield bnplug.Recipe(
    ...         name="KDB-2-ML", structure=("kdb", {"k": 2}), parameters="ml",
    ...         summary="Two feature parents each.", reference="Sahami (1996)")
    """


@hookspec
def bnplug_reproductions() -> Iterable[Reproduction]:  # type: ignore[empty-body]
    """Name the papers whose protocol this plugin can run.

    Examples
    --------
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_reproductions():
    ...     yield bnplug.Reproduction(
    ...         name="me2026", run="my_plugin.reproduction:run",
    ...         summary="Tables 1 and 2.", reference="Me (2026)")
    """
