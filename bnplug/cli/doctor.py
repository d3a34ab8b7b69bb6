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
from typing import TYPE_CHECKING, Any

import click

import bnplug
from bnplug.cli.errors import one_line_errors
from bnplug.errors import one_line

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.model.log_tables import LogTables

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "joblib", "numba", "pgmpy", "pluggy", "networkx")
_OPTIONAL = ("matplotlib", "pyarrow", "polars", "pyagrum", "cvxpy")
_SETTINGS = (
    "BNPLUG_DISABLE", "BNPLUG_STRICT", "LOKY_MAX_CPU_COUNT", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip

Check = Callable[[], Any]


@click.command("doctor")
@one_line_errors
def doctor_command() -> None:
    """Print versions, plugins, failures and threads, and check that every method works: for error reports."""
    for title, lines in (("versions", _versions()), ("plugins", _plugins()), ("threads", _threads())):
        click.echo(f"{title}:")
        for line in lines:
            click.echo(f"  {line}")
    failed = [str(plugin) for plugin in _found() if plugin.status in ("failed", "partial")]
    click.echo("self-check:")
    for name, check in _checks():
        problem = _problem_of(check)
        click.echo(f"  FAILED {name}: {problem}" if problem else f"  ok {name}")
        failed += [name] if problem else []
    if failed:
        click.echo(f"{len(failed)} things do not work: {'; '.join(failed)}")
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

    for plugin in _found():
        count = sum(map(len, plugin.names.values()))
        yield f"{plugin}: {plugin.status}, {count} methods" + (f"; cause: {plugin.cause}" if plugin.cause else "")
    for found in recipes.availabilities():
        if not found.available:
            yield f"recipe {found.recipe.name} cannot be made: {found.reason}"


def _found() -> list[Any]:
    with warnings.catch_warnings():
        # The listing says what the warning would.
        warnings.simplefilter("ignore", bnplug.PluginWarning)
        return bnplug.plugins()


def _threads() -> Iterator[str]:
    import joblib
    import threadpoolctl

    from bnplug.counts._numbering import find_cells

    yield f"{os.cpu_count()} processors, of which joblib takes {joblib.effective_n_jobs(-1)}"
    for pool in threadpoolctl.threadpool_info():
        yield f"{pool['internal_api']} {pool['version'] or ''} ({pool['user_api']}): {pool['num_threads']} threads"
    kept_in = str(find_cells.stats.cache_path).replace(str(Path.home()), "~")
    yield f"compiled kernels are kept in {kept_in}"
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

    yield "answers are those of enumeration, also with features missing", _check_answers
    yield "the number of threads does not change a result", _check_threads
    yield "a model that is saved and loaded answers the same", _check_files
    calls = {"structure learner": _check_structure, "score function": _check_score, "parameter learner": _check_fit}
    for kind, call in calls.items():
        for method in registry.methods(kind):
            yield f"{kind} {method.name}", partial(call, method.name)


def _table() -> Table:
    """Return a small table: three features that depend on the class and each other, with an idle fourth."""
    import numpy as np

    from bnplug.data.table import Table

    rng = np.random.default_rng(0)
    c = rng.integers(0, 2, 120)
    a = (c + (rng.random(120) < 0.2)) % 3
    b = np.where(rng.random(120) < 0.6, a, rng.integers(0, 3, 120))
    d = (c + b + (rng.random(120) < 0.3)) % 2
    codes = np.array([a, b, d, rng.integers(0, 2, 120), c], dtype=np.uint8)
    states = {"a": range(3), "b": range(3), "d": range(2), "idle": range(2), "c": ("no", "yes")}
    return Table(codes, tuple(states), states, "c")


def _check_answers() -> None:
    import numpy as np

    from bnplug.inference.complete import posterior
    from bnplug.inference.marginals import Marginalizer

    table = _table()
    codes = table.codes.copy()
    codes[0, ::2] = codes[1, ::3] = codes[2, ::5] = table.missing
    for structure in ("tan", "kdb"):
        tables = bnplug.parameter_learner("ml").fit(table, bnplug.structure_learner(structure).learn(table))
        answers = posterior(Marginalizer(tables, table.target).log_joint(codes))
        for row, answer in zip(codes.T, answers, strict=True):
            known = [int(code) if code != table.missing else None for code in row[:-1]]
            if not np.allclose(answer, _enumerate(tables, known), atol=1e-10):
                raise AssertionError(f"{structure}: P(c | {known}) is {answer}, not {_enumerate(tables, known)}")


def _enumerate(tables: LogTables, known: list[int | None]) -> Any:
    """Return P(class | known features) from the whole joint distribution; the class is the last variable."""
    import numpy as np

    letters = dict(zip(tables.names, "vwxyz", strict=True))
    parts = {
        "".join(letters[n] for n in (name, *own.parents)): np.exp(own.values) for name, own in tables.tables.items()
    }
    joint = np.einsum(f"{','.join(parts)}->{''.join(letters.values())}", *parts.values())
    cells = joint[tuple(slice(None) if state is None else slice(state, state + 1) for state in known)]
    of_class = cells.reshape(-1, joint.shape[-1]).sum(axis=0)
    return of_class / of_class.sum()


def _check_threads() -> None:
    one, two = (bnplug.structure_learner("hill-climb", score="cr", n_jobs=n) for n in (1, 2))
    table = _table()
    if set(one.learn(table).edges) != set(two.learn(table).edges) or one.trace_ != two.trace_:
        raise AssertionError("hill-climb ends elsewhere with two threads than with one")


def _check_files() -> None:
    table = _table()
    tables = bnplug.parameter_learner("ml").fit(table, bnplug.structure_learner("tan").learn(table))
    model = bnplug.BayesianNetworkClassifier.from_tables(tables)
    rows = model.sample(50, random_state=0).drop(columns="c")
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        model.to_bif(Path(folder, "model.bif"))
        for again in (bnplug.load(Path(folder, "model")), bnplug.read_bif(Path(folder, "model.bif"), "c")):
            if (again.predict(rows) != model.predict(rows)).any():
                raise AssertionError("the model that was read predicts another class")


def _check_structure(name: str) -> None:
    from bnplug.model.checks import check_dag

    learner = bnplug.structure_learner(name)
    check_dag(learner.learn(_table()), _table(), learner)


def _check_score(name: str) -> None:
    from math import isfinite

    table = _table()
    value = bnplug.score_function(name).score(table, bnplug.structure_learner("tan").learn(table))
    if not isfinite(value):
        raise AssertionError(f"the score of a TAN is {value}")


def _check_fit(name: str) -> None:
    from bnplug.model.checks import check_tables

    table, learner = _table(), bnplug.parameter_learner(name)
    dag = bnplug.structure_learner("tan").learn(table)
    check_tables(learner.fit(table, dag), table, table.parents(dag), learner)


COMMANDS = [doctor_command]
