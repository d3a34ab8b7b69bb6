"""What holds for every plugin as a whole."""

from __future__ import annotations

import os
import subprocess
import sys

from bnplug.classifier import recipe
from bnplug.hooks import recipes
from bnplug.hooks.descriptors import Recipe
from bnplug.testing import _common_checks
from bnplug.testing._common_checks import Check
from bnplug.testing._subjects import PluginSubject, require

_HEAVY = ("pgmpy", "numba")

_PROBE = f"""
import sys
from bnplug.hooks import discovery
wanted = tuple(sys.argv[1:])
(found,) = [plugin for plugin in discovery.find_plugins() if (plugin.name, plugin.distribution) == wanted]
discovery.discover([found])
print("loaded:", *(set({_HEAVY!r}) & set(sys.modules)))
"""


def check_everything_is_registered(subject: PluginSubject) -> None:
    """The plugin loads, its hooks answer, and no name that it claims is taken."""
    info = subject.info
    require(info.status == "ok", f"{info} is {info.status}: {info.cause}")
    require(not info.clashes, f"{info}: {'; '.join(info.clashes)}; take a name that nobody has")


def check_loads_without_pgmpy_or_numba(subject: PluginSubject) -> None:
    """Its entry point loads and its hooks answer without importing pgmpy or numba, in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, subject.info.name, subject.info.distribution],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        check=False,
        capture_output=True,
        text=True,
    )
    *_, last = ["", *done.stdout.splitlines()]
    require(done.returncode == 0 and last.startswith("loaded:"), f"it does not load by itself: {done.stderr.strip()}")
    require(
        last == "loaded:",
        f"its entry point imports {last.removeprefix('loaded:').strip()}; give factories as 'module:Class', "
        "which is imported when the method is created",
    )


def check_recipes_can_be_made(subject: PluginSubject) -> None:
    """Every recipe can be made, or names in ``requires`` the distributions that it lacks."""
    for found in subject.descriptors:
        if isinstance(found, Recipe):
            reason = recipes.availability(found).reason
            require(not reason or bool(found.requires), f"recipe {found.name!r}: {reason}, and it requires nothing")
            if not reason:
                recipe(found.name)


#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    check_everything_is_registered,
    _common_checks.check_described,
    check_loads_without_pgmpy_or_numba,
    check_recipes_can_be_made,
)
