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
    ...     yield StructureLearnerMethod("my-tree", "my_plugin.tree:MyTree", "A tree.", "Me (2026)", needs_score=True)
    """


@hookspec
def bnplug_score_functions() -> Iterable[descriptors.ScoreFunctionMethod]:  # type: ignore[empty-body]
    """Return the scores of this plugin.

    >>> @hookimpl
    ... def bnplug_score_functions():
    ...     yield ScoreFunctionMethod("my-score", "my_plugin.score:MyScore", "A count.", "Me (2026)", decomposable=True)
    """


@hookspec
def bnplug_parameter_learners() -> Iterable[descriptors.ParameterLearnerMethod]:  # type: ignore[empty-body]
    """Return the parameter learners of this plugin.

    >>> @hookimpl
    ... def bnplug_parameter_learners():
    ...     yield ParameterLearnerMethod("my-estimate", "my_plugin.estimate:MyEstimate", "Shrinks.", "Me (2026)")
    """


@hookspec
def bnplug_engines() -> Iterable[descriptors.EngineMethod]:  # type: ignore[empty-body]
    """Return the engines of this plugin.

    >>> @hookimpl
    ... def bnplug_engines():
    ...     yield EngineMethod("my-draws", "my_plugin.draws:Draws", "Draws.", "Me (2026)", exact=False, stochastic=True)
    """


@hookspec
def bnplug_classifiers() -> Iterable[descriptors.ClassifierMethod]:  # type: ignore[empty-body]
    """Return the classifiers of this plugin, such as ensembles of networks.

    >>> @hookimpl
    ... def bnplug_classifiers():
    ...     yield ClassifierMethod("my-mixture", "my_plugin.mixture:MyMixture", "A mixture of trees.", "Me (2026)")
    """


@hookspec
def bnplug_discretizers() -> Iterable[descriptors.DiscretizerMethod]:  # type: ignore[empty-body]
    """Return the discretizers of this plugin.

    >>> @hookimpl
    ... def bnplug_discretizers():
    ...     yield DiscretizerMethod("my-bins", "my_plugin.bins:MyBins", "My bins.", "Me (2026)", supervised=True)
    """


@hookspec
def bnplug_recipes() -> Iterable[descriptors.Recipe]:  # type: ignore[empty-body]
    """Return named compositions of registered methods, such as the classifiers of a paper.

    >>> @hookimpl
    ... def bnplug_recipes():
    ...     yield Recipe("KDB-2-ML", ("kdb", {"k": 2}), "ml", summary="Two parents each.", reference="Sahami (1996)")
    """


@hookspec
def bnplug_reproductions() -> Iterable[descriptors.Reproduction]:  # type: ignore[empty-body]
    """Return the papers whose protocol this plugin can run.

    >>> @hookimpl
    ... def bnplug_reproductions():
    ...     yield Reproduction("me2026", "my_plugin.reproduction:run", "Tables 1 and 2.", "Me (2026)")
    """


@hookspec
def bnplug_formats() -> Iterable[descriptors.NetworkFormat]:  # type: ignore[empty-body]
    """Return the formats of network files in this plugin.

    >>> @hookimpl
    ... def bnplug_formats():
    ...     yield NetworkFormat("mine", (".mine",), "my_plugin.mine:write", "my_plugin.mine:read", "My files.")
    """


@hookspec
def bnplug_commands() -> Iterable[descriptors.PluginCommand | click.Command]:  # type: ignore[empty-body]
    """Return the commands of this plugin under ``bnplug``, as descriptors or as click commands.

    >>> @hookimpl
    ... def bnplug_commands():
    ...     yield PluginCommand(name="hello", command="my_plugin.commands:hello", summary="Greet the user.")
    """
