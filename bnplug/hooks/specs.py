"""The hook contract: what a plugin may implement.

Hooks only *discover* methods: each returns an iterable of descriptors (:mod:`bnplug.hooks.descriptors`). A plugin is a
module or object with any of these functions, marked by ``hookimpl`` and named by an entry point in the group
``bnplug``. The examples use names of ``bnplug``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from bnplug.hooks import descriptors

PROJECT = "bnplug"

#: The version of this contract, the default of a descriptor's ``api``.
HOOK_API = 1

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def bnplug_structure_learners() -> Iterable[descriptors.StructureLearnerMethod]:  # type: ignore[empty-body]
    """Return the structure learners of this plugin.

    >>> @hookimpl
    ... def bnplug_structure_learners():
    ...     yield StructureLearnerMethod(
    ...         name="my-tree", factory="my_plugin.tree:MyTree",
    ...         summary="A tree of my own.", reference="Me (2026)", needs_score=True)
    """


@hookspec
def bnplug_score_functions() -> Iterable[descriptors.ScoreFunctionMethod]:  # type: ignore[empty-body]
    """Return the scores of this plugin.

    >>> @hookimpl
    ... def bnplug_score_functions():
    ...     yield ScoreFunctionMethod(
    ...         name="my-score", factory="my_plugin.score:MyScore",
    ...         summary="Counts what I care about.", reference="Me (2026)", decomposable=True)
    """


@hookspec
def bnplug_parameter_learners() -> Iterable[descriptors.ParameterLearnerMethod]:  # type: ignore[empty-body]
    """Return the parameter learners of this plugin.

    >>> @hookimpl
    ... def bnplug_parameter_learners():
    ...     yield ParameterLearnerMethod(
    ...         name="my-estimate", factory="my_plugin.estimate:MyEstimate",
    ...         summary="Shrinks as I like it.", reference="Me (2026)")
    """


@hookspec
def bnplug_engines() -> Iterable[descriptors.EngineMethod]:  # type: ignore[empty-body]
    """Return the engines of this plugin.

    >>> @hookimpl
    ... def bnplug_engines():
    ...     yield EngineMethod(
    ...         name="my-sampler", factory="my_plugin.sampler:MySampler",
    ...         summary="Answers by drawing.", reference="Me (2026)", exact=False, stochastic=True)
    """


@hookspec
def bnplug_classifiers() -> Iterable[descriptors.ClassifierMethod]:  # type: ignore[empty-body]
    """Return the classifiers of this plugin, such as ensembles of networks.

    >>> @hookimpl
    ... def bnplug_classifiers():
    ...     yield ClassifierMethod(
    ...         name="my-mixture", factory="my_plugin.mixture:MyMixture",
    ...         summary="A mixture of trees.", reference="Me (2026)", stochastic=True)
    """


@hookspec
def bnplug_discretizers() -> Iterable[descriptors.DiscretizerMethod]:  # type: ignore[empty-body]
    """Return the discretizers of this plugin.

    >>> @hookimpl
    ... def bnplug_discretizers():
    ...     yield DiscretizerMethod(
    ...         name="my-bins", factory="my_plugin.bins:MyBins",
    ...         summary="Cuts where I would.", reference="Me (2026)", supervised=True)
    """


@hookspec
def bnplug_recipes() -> Iterable[descriptors.Recipe]:  # type: ignore[empty-body]
    """Return named compositions of registered methods, such as the classifiers of a paper.

    >>> @hookimpl
    ... def bnplug_recipes():
    ...     yield Recipe(
    ...         name="KDB-2-ML", structure=("kdb", {"k": 2}), parameters="ml",
    ...         summary="Two feature parents each.", reference="Sahami (1996)")
    """


@hookspec
def bnplug_reproductions() -> Iterable[descriptors.Reproduction]:  # type: ignore[empty-body]
    """Return the papers whose protocol this plugin can run.

    >>> @hookimpl
    ... def bnplug_reproductions():
    ...     yield Reproduction(
    ...         name="me2026", run="my_plugin.reproduction:run",
    ...         summary="Tables 1 and 2.", reference="Me (2026)")
    """


@hookspec
def bnplug_formats() -> Iterable[descriptors.NetworkFormat]:  # type: ignore[empty-body]
    """Return the formats of network files in this plugin.

    >>> @hookimpl
    ... def bnplug_formats():
    ...     yield NetworkFormat(
    ...         name="mine", endings=(".mine",), write="my_plugin.mine:write", read="my_plugin.mine:read",
    ...         summary="The files of my program.")
    """


@hookspec
def bnplug_commands() -> Iterable[descriptors.PluginCommand | click.Command]:  # type: ignore[empty-body]
    """Return the commands of this plugin under ``bnplug``, as descriptors or as click commands.

    >>> @hookimpl
    ... def bnplug_commands():
    ...     yield PluginCommand(name="hello", command="my_plugin.commands:hello", summary="Greet the user.")
    """
