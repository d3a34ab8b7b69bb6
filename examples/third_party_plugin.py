"""
A whole third-party plugin
==========================

Three files make a score that every search and every classifier can use. This script writes the files of a distribution,
installs it, checks it with the conformance kit, and uses it. Everything happens in a temporary folder, and separate
processes use the installed package.

Run: ``python examples/third_party_plugin.py`` (needs pip and hatchling)
"""

# %%
# The distribution is called ``bnplug-brier``. The important line of its ``pyproject.toml`` is an entry point in the
# group ``bnplug``, which names the module with the hooks.
import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
source, site = folder / "bnplug-brier", folder / "site"
package = source / "bnplug_brier"
package.mkdir(parents=True)
(source / "pyproject.toml").write_text("""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "bnplug-brier"
version = "1.0"
dependencies = ["bnplug"]

[project.entry-points.bnplug]
brier = "bnplug_brier"
""")

# %%
# The package's ``__init__.py`` registers the methods. The factory is a string, so discovery imports nothing heavy. A
# recipe is a complete classifier under one name.
(package / "__init__.py").write_text('''\
"""The Brier score, for searches over the structures of classifiers."""

from collections.abc import Iterator

from bnplug import Recipe, ScoreFunctionMethod, hookimpl

PAPER = "Brier: Verification of forecasts expressed in terms of probability (1950)"


@hookimpl
def bnplug_score_functions() -> Iterator[ScoreFunctionMethod]:
    yield ScoreFunctionMethod(
        name="brier",
        factory="bnplug_brier.score:Brier",
        summary="The negative mean squared error of the posterior.",
        reference=PAPER,
        stochastic=True,
    )


@hookimpl
def bnplug_recipes() -> Iterator[Recipe]:
    yield Recipe(
        name="TAN-Brier",
        structure=("hill-climb", {"score": ("brier", {"cv": 5}), "tree": True}),
        summary="The tree with the best Brier score in five folds.",
        reference=PAPER,
        requires=("bnplug-brier",),
    )
''')

# %%
# The score consists of the gain of a row, which bnplug compiles, and a class that names it. The descriptor says
# ``stochastic=True`` because folds depend on ``random_state``.
(package / "score.py").write_text('''\
"""Minus the sum over classes of (P(class | features) - [it is the class])^2, averaged over rows."""

import numpy as np

from bnplug.scoring import PredictiveScore
from bnplug.typing import FloatArray, IntArray


def negative_brier(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for c in range(1, L.shape[1]):
            largest = max(largest, L[m, c])
        total = 0.0
        for c in range(L.shape[1]):
            total += np.exp(L[m, c] - largest)
        out[m] = 0.0
        for c in range(L.shape[1]):
            p = np.exp(L[m, c] - largest) / total
            out[m] -= (p - (c == y[m])) ** 2


class Brier(PredictiveScore):
    """The Brier score of the posterior; its parameters are those of PredictiveScore."""

    gain = negative_brier
    aggregate = "mean"
''')

# %%
# Install it. (``--target`` keeps it out of the environment that runs this; usually ``pip install .`` is enough.)
command = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target"]
subprocess.run([sys.executable, "-m", "pip", *command, str(site), str(source)], check=True)


def run(*arguments: str) -> None:
    """Run Python with the plugin installed, and print its output."""
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(done.stderr)


# %%
# The command line lists it.
run("-m", "bnplug", "methods", "brier")

# %%
# The conformance kit runs the checks that the built-in scores pass.
run("-c", "from bnplug.testing import check_plugin; report = check_plugin('brier'); print(report); assert report.ok")

# %%
# It works with everything else: as the score of any search, and as a recipe in a comparison.
run(
    "-c",
    """
from bnplug.experiments import compare

print(compare(["nb", "tan", "TAN-Brier"], ["corral", "tic-tac-toe"], cv=5).to_text("cll"))
""",
)
