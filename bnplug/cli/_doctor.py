"""The command of ``bnplug`` that says what is installed and whether it works: what an error report needs.

The self-check runs every registered method on a small table and compares answers with plain enumeration. Nothing that
it finds stops it; the exit code is 1 where something does not work.
"""

from __future__ import annotations

import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

import bnplug
from bnplug.cli._plugins import installed_plugins
from bnplug.errors import one_line

if TYPE_CHECKING:
    from bnplug.hooks.descriptors import Method

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "joblib", "numba", "pgmpy", "pluggy", "networkx")
_OPTIONAL = ("matplotlib", "pyarrow", "polars", "pyagrum", "cvxpy")
_SETTINGS = (
    "BNPLUG_DISABLE", "BNPLUG_PLUGINS", "BNPLUG_STRICT", "LOKY_MAX_CPU_COUNT", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip

Check = Callable[[], Any]


@click.command("doctor")
def doctor_command() -> None:
    """Check that every method works. Error reports need the versions, plugins and failures that it prints."""
    for title, lines in (("versions", _versions()), ("plugins", _plugins()), ("threads", _threads())):
        click.echo(f"{title}:")
        for line in lines:
            click.echo(f"  {line}")
    failed = [str(plugin) for plugin in installed_plugins() if plugin.status in ("failed", "partial")]
    click.echo("self-check:")
    for name, check in _checks():
        problem = _problem_of(check)
        click.echo(f"  FAILED {name}: {problem}" if problem else f"  ok {name}")
        failed += [name] if problem else []
    if failed:
        count = "1 thing does" if len(failed) == 1 else f"{len(failed)} things do"
        click.echo(f"{count} not work: {'; '.join(failed)}")
        raise SystemExit(1)
    click.echo("everything works")


def _versions() -> Iterator[str]:
    yield f"bnplug {bnplug.__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    yield "optional: " + ", ".join(f"{name} {_version(name)}" for name in _OPTIONAL)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(absent)"


def _plugins() -> Iterator[str]:
    from bnplug.hooks import recipes

    for plugin in installed_plugins():
        count = sum(map(len, plugin.names.values()))
        yield f"{plugin}: {plugin.status}, {count} methods" + (f"; cause: {plugin.cause}" if plugin.cause else "")
        yield from plugin.clashes
    for one in recipes.availabilities():
        if not one.available:
            yield f"recipe {one.recipe.name} is not available: {one.reason}"


def _threads() -> Iterator[str]:
    import joblib
    import threadpoolctl

    from bnplug.table._counting import index_rows

    yield f"{os.cpu_count()} processors, of which joblib takes {joblib.effective_n_jobs(-1)}"
    for pool in threadpoolctl.threadpool_info():
        yield f"{pool['internal_api']} {pool['version'] or ''} ({pool['user_api']}): {pool['num_threads']} threads"
    kept_in = str(index_rows.stats.cache_path).replace(os.path.expanduser("~"), "~")
    yield f"compiled kernels are cached in {kept_in}" if kept_in else "compiled kernels are not cached"
    given = [f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ]
    yield "environment: " + (", ".join(given) or "nothing set")


def _problem_of(check: Check) -> str:
    """Run a check; return what went wrong in one line, or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check()
        except Exception as error:  # whatever a plugin raises is what the report is for
            return f"{type(error).__name__}: {one_line(error)}"
    return ""


def _checks() -> Iterator[tuple[str, Check]]:
    """Yield every check with its name."""
    from bnplug.hooks import registry

    elimination, cr = registry.find("engine", "elimination"), registry.find("score function", "cr")
    yield (
        "answers agree with enumeration, also with missing features",
        partial(_check_method, cast("Method", elimination), "check_log_joint_agrees"),
    )
    yield (
        "the number of threads does not change a result",
        partial(_check_method, cast("Method", cr), "check_n_jobs_does_not_matter"),
    )
    yield "a saved and loaded model gives the same answers", _check_files
    for kind in registry.CONTRACTS:
        for method in registry.methods(kind):
            yield f"{kind} {registry.name_of(method)}", partial(_check_method, cast("Method", method))


def _check_method(method: Method, name: str = "") -> None:
    """Make one check of the conformance kit, or all those without which nothing works."""
    from bnplug.testing import checks_of

    for check in checks_of(method, essential=not name):
        if name in ("", check.name):
            check()


def _check_files() -> None:
    from bnplug.testing import data

    table = data.standard()
    model = bnplug.BayesianNetworkClassifier.from_tables(data.network(table, data.tree(table)))
    rows = model.sample(50, random_state=0).drop(columns=table.target)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        model.to_bif(Path(folder, "model.bif"))
        for again in (bnplug.load(Path(folder, "model")), bnplug.read_bif(Path(folder, "model.bif"), table.target)):
            if (again.predict(rows) != model.predict(rows)).any():
                raise AssertionError("the model that was read predicts another class")


COMMANDS = [doctor_command]
