"""Rows without a class: which learners take them."""

from __future__ import annotations

from typing import Any

from bnplug.data.table import Table
from bnplug.errors import PluginError
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Kind, as_written


def check_unlabeled(table: Table, learner: Any, written: Any) -> None:
    """Raise a ``ValueError`` where rows have no class, and a parameter learner does not take such; it says which do.

    Parameters
    ----------
    table : Table
    learner : ParameterLearner
    written : str, pair or instance
        What a user calls it.
    """
    # A learner need not derive from the contract's class.
    if table.lacks_classes and not getattr(learner, "takes_unlabeled", False):
        raise ValueError(
            f"some rows have no class, and parameters={as_written(written)!r} do not learn from such rows; drop them, "
            f"or use one of {_that_take_them()}"
        )


def _that_take_them() -> list[str]:
    """Return the registered parameter learners that take rows without a class."""
    found = []
    for method in registry.methods(Kind.PARAMETER_LEARNER):
        name = str(registry.name_of(method))
        try:
            made = registry.parameter_learner(name)
        except (PluginError, TypeError):
            continue
        if getattr(made, "takes_unlabeled", False):
            found.append(name)
    return found
