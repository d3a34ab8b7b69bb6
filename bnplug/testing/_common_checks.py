"""Checks of methods of every kind and of plugins, and what checks share: marks, scores as probes, registration."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest.mock import patch
from zlib import crc32

import joblib
import numpy as np
from sklearn.base import clone

from bnplug.classifier import recipe
from bnplug.contracts import ScoreFunction
from bnplug.errors import NotInMemoryError
from bnplug.hooks import discovery, recipes, registry
from bnplug.hooks.descriptors import Method, NetworkFormat, PluginCommand, Recipe, component_kinds
from bnplug.hooks.one_file import ONE_FILE
from bnplug.scoring import DecomposableScore
from bnplug.structure import Structure
from bnplug.table.block_table import BlockTable
from bnplug.table.table import Table
from bnplug.testing import data
from bnplug.testing._subjects import MethodSubject, PluginSubject, Subject, require

Check = Callable[[Any], None]


def only_if(holds: Callable[[Any], bool]) -> Callable[[Check], Check]:
    """Mark a check that is made only of methods whose descriptor fulfills a condition."""

    def mark(check: Check) -> Check:
        check.applies = holds  # type: ignore[attr-defined]
        return check

    return mark


def essential(check: Check) -> Check:
    """Mark a check without which nothing works; ``bnplug doctor`` makes these of every installed method."""
    check.essential = True  # type: ignore[attr-defined]
    return check


def checks_in(module: dict[str, Any], *subjects: str) -> tuple[Check, ...]:
    """Return the checks of these `subjects`, given as type names, in the ``globals()`` of a module, in their order."""
    checks = (value for name, value in module.items() if name.startswith("check_"))
    return tuple(check for check in checks if check.__annotations__["subject"] in subjects)


class FewEdges(ScoreFunction):
    """A minimal score: best with one edge for each feature."""

    def score(self, table: Table, structure: Any) -> float:
        """Return minus the difference between the numbers of edges and features."""
        return -float(abs(len(structure.edges) - len(table.features)))


class FewParents(DecomposableScore):
    """A minimal decomposable score: best with one parent for each variable but one."""

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: Any) -> float:
        """Return minus the difference between one and the number of parents."""
        return -float(abs(len(parents) - 1))


@dataclass(eq=False, repr=False)
class Taste(ScoreFunction):
    """A score that is a random number for each graph; `taste` is the seed, the other parameters are not used."""

    #: The ``random_state`` of each scored instance, inside `asked`.
    _asked: ClassVar[list[Any] | None] = None

    taste: int = 0
    random_state: Any = None
    n_jobs: int | None = None
    verbose: Any = None

    def score(self, table: Table, structure: Any) -> float:
        """Return the random number of a graph, scaled like a log-likelihood."""
        return -table.n_rows * self._drawn(sorted(structure.edges))

    def _drawn(self, graph: Any) -> float:
        if Taste._asked is not None:
            Taste._asked.append(self.random_state)
        number = crc32(repr((self.taste, graph)).encode())
        return float(np.random.RandomState(number).random_sample())

    @staticmethod
    def for_learner(method: Any, *args: Any, **params: Any) -> Taste:
        """Return a taste that a structure learner takes: a decomposable one if the learner needs that."""
        return (LocalTaste if getattr(method, "needs_decomposable", False) else Taste)(*args, **params)

    @classmethod
    @contextmanager
    def asked(cls) -> Iterator[list[Any]]:
        """Yield a list to which every call of `score` appends its ``random_state``."""
        cls._asked = []
        try:
            yield cls._asked
        finally:
            cls._asked = None


class LocalTaste(Taste, DecomposableScore):
    """A decomposable taste: the sum of a random number for each family."""

    decomposable = True
    score = DecomposableScore.score

    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: Any) -> float:
        """Return the random number of a family, scaled like a log-likelihood."""
        return -table.n_rows * self._drawn((child, parents))


@contextmanager
def registered(method: Method) -> Iterator[str]:
    """Yield the name of a method, which is registered inside this block if it is not already."""
    if method in registry.methods():
        yield str(registry.name_of(method))
        return
    with discovery._as_if_installed(method):
        yield str(registry.name_of(method))


def check_everything_is_registered(subject: PluginSubject) -> None:
    """The plugin and its commands load, its hooks return descriptors, and no other plugin has one of its names."""
    info = subject.info
    require(info.status == "ok", f"{info} is {info.status}: {info.cause}")
    require(not info.clashes, f"{info}: {'; '.join(info.clashes)}; choose a name that is not taken")
    for descriptor in subject.descriptors:
        if isinstance(descriptor, PluginCommand):
            registry.command(descriptor.name)


def check_described(subject: Subject) -> None:
    """Every descriptor has a summary of one line; methods, recipes and reproductions also have a reference."""
    for descriptor in subject.descriptors:
        needs_reference = not isinstance(descriptor, NetworkFormat | PluginCommand)
        for attribute in ("summary", "reference") if needs_reference else ("summary",):
            text = getattr(descriptor, attribute)
            require(
                isinstance(text, str) and text.strip() != "" and "\n" not in text.strip(),
                f"{descriptor.kind} {descriptor.name!r}: its {attribute} must be one line of text, not {text!r}",
            )


def check_cloneable(subject: MethodSubject) -> None:
    """It can be created without arguments, and the constructor stores its arguments unchanged and nothing else."""
    plain = subject.factory()
    for name in plain.get_params(deep=False):
        default = inspect.signature(subject.factory).parameters[name].default
        for given, made in ((default, plain), (mark := ["anything"], subject.factory(**{name: mark}))):
            kept = getattr(made, name)
            require(
                kept is given,
                f"the constructor was given {name}={given!r} and keeps {kept!r}; store it as it is, and check it later",
            )
    original = subject.make()
    copy = clone(original)
    require(
        joblib.hash(copy.get_params()) == joblib.hash(original.get_params()),
        f"the clone has the parameters {copy.get_params()}, the original {original.get_params()}",
    )


def check_components_declared(subject: MethodSubject) -> None:
    """Every declared component is a constructor parameter of a known kind."""
    component_kinds(subject.factory)
    absent = [name for name in vars(subject.factory).get("components", ()) if not subject.has(name)]
    require(not absent, f"components declares {', '.join(absent)}, and its constructor has no such parameter")


@only_if(lambda method: not getattr(method, "needs_target", True))
def check_works_without_class(subject: MethodSubject) -> None:
    """With ``needs_target=False``, it works on a table without a class variable, whose ``target_index`` is None."""
    table = data.without_class()
    subject.require_usable(subject.run(table, **subject.indifferent), table)


def check_parameters_untouched(subject: MethodSubject) -> None:
    """Running changes neither parameters nor components that are instances."""
    # A score as an instance, if the method takes one, with every parameter unset that it may inherit.
    taste = Taste.for_learner(subject.method)
    instance = subject.make(**({"score": taste} if getattr(subject.method, "needs_score", False) else {}))
    before = joblib.hash(instance.get_params())
    subject.call(instance, *subject.arguments(data.standard()))
    require(
        joblib.hash(instance.get_params()) == before,
        "running it changes its parameters; store results in attributes ending in _, and make components with "
        "bnplug.hooks.components.component",
    )


def check_input_not_mutated(subject: MethodSubject) -> None:
    """The given table, graph or frame is not modified."""
    table = data.standard()
    arguments = subject.arguments(data.with_weights(table, np.ones(table.n_rows)))
    before = [_digest_input(argument) for argument in arguments]
    subject.call(subject.make(), *arguments)
    require([_digest_input(argument) for argument in arguments] == before, "it changes the data or graph it is given")


def check_same_seed_same_result(subject: MethodSubject) -> None:
    """The same ``random_state`` gives the same result, bit for bit, independent of global random generators."""
    instance, arguments = subject.make(), subject.arguments(data.standard())
    first = subject.call(instance, *arguments, seed=0)
    for again in (subject.make(), instance):
        require(
            subject.same(first, subject.call(again, *arguments, seed=1)),
            "two runs differ; draw from sklearn.utils.check_random_state(self.random_state) alone",
        )


def check_n_jobs_does_not_matter(subject: MethodSubject) -> None:
    """One and two threads give the same result, bit for bit."""
    if subject.kind == "score function" or subject.has("n_jobs"):
        one, two = (subject.run_with_jobs(data.standard(), n_jobs) for n_jobs in (1, 2))
        require(subject.same(one, two), "n_jobs=1 and n_jobs=2 differ; add up in an order that follows from the data")


@only_if(lambda method: not method.stochastic)
def check_row_order_irrelevant(subject: MethodSubject) -> None:
    """The order of the rows does not matter, unless the descriptor says ``stochastic``."""
    table = data.standard()
    result = subject.run(data.shuffled(table), **subject.indifferent)
    require(
        subject.alike(subject.run(table, **subject.indifferent), result, table),
        "another order of the rows gives another result; if it draws from the rows, declare stochastic=True",
    )


def check_labels_of_any_type_agree(subject: MethodSubject) -> None:
    """State labels of any type (text, whole numbers, fractions, booleans) give the same result."""
    labels: tuple[Callable[[int], Any], ...] = (str, int, lambda state: state + 0.5, bool)
    first, *others = (subject.run(data.binary(label)) for label in labels)
    for kind, other in zip(("integers", "floats", "booleans"), others, strict=True):
        require(subject.same(first, other), f"states labeled by {kind} give another result than by strings")


def check_pickles(subject: MethodSubject) -> None:
    """It can be pickled before and after it runs, and keeps its parameters."""
    instance = subject.make()
    for _ in range(2):
        copy = pickle.loads(pickle.dumps(instance))
        require(joblib.hash(copy.get_params()) == joblib.hash(instance.get_params()), "pickling changes its parameters")
        subject.call(instance, *subject.arguments(data.standard()))


def check_constant_feature(subject: MethodSubject) -> None:
    """A feature with a single state is accepted."""
    subject.require_usable_on(data.with_constant_feature())


def check_single_feature(subject: MethodSubject) -> None:
    """A table of one feature and the class is accepted."""
    subject.require_usable_on(data.with_single_feature())


def check_missing_cells(subject: MethodSubject) -> None:
    """Rows may have missing cells."""
    subject.require_usable_on(data.with_missing_cells())


def check_missing_is_no_state(subject: MethodSubject) -> None:
    """A missing cell does not count as a state: the order of the states does not matter."""
    table = data.with_telling_gaps()
    complete = table.take((table.codes != table.missing).all(axis=0))
    # A method may take states in order for reasons of its own; then it must not be as if each gap were the first.
    if subject.method.stochastic or not subject.indifferent_to_order(complete, complete):
        holds = not subject.takes_gaps_for_first_state(table)
    else:
        holds = subject.indifferent_to_order(table, complete)
    require(holds, "missing cells count as a state; leave out cells that are table.missing, as bnplug.counts does")


def check_unit_weights_change_nothing(subject: MethodSubject) -> None:
    """Rows of weight 1 are equivalent to rows without weights."""
    table = data.standard()
    weighted = subject.run(data.with_weights(table, np.ones(table.n_rows)))
    require(subject.alike(subject.result, weighted, table), "a weight of 1 for every row changes the result")


@only_if(lambda method: not method.stochastic)
def check_weight_repeats_a_row(subject: MethodSubject) -> None:
    """A row of weight 2 is equivalent to two rows, unless it is ``stochastic`` or sets ``relative_weights``."""
    if subject.has_relative_weights:
        return
    weighted, repeated = data.reweighted()
    of_weighted, of_repeated = (subject.run(table, **subject.indifferent) for table in (weighted, repeated))
    require(
        subject.alike(of_weighted, of_repeated, weighted),
        "weights give another result than rows repeated as often; use table.total_weight and bnplug.counts.counting. "
        "If the method leaves rows out, set relative_weights = True",
    )


def check_relative_weights(subject: MethodSubject) -> None:
    """If the class sets ``relative_weights``, multiplying all weights by a constant changes nothing."""
    if not subject.has_relative_weights:
        return
    weighted, _ = data.reweighted()
    assert weighted.weights is not None
    scaled = data.with_weights(weighted, 3.7 * weighted.weights)
    of_weighted, of_scaled = (subject.run(table, **subject.indifferent) for table in (weighted, scaled))
    require(
        subject.alike(of_weighted, of_scaled, weighted),
        "with relative_weights, 3.7 times all weights gives another result; use table.with_relative_weights()",
    )


def check_rows_in_blocks(subject: MethodSubject) -> None:
    """Rows in many blocks give the same result as the same rows in memory."""
    table, _ = data.reweighted()
    try:
        of_blocks = subject.run(data.in_blocks(table))
    except NotInMemoryError as error:
        raise AssertionError(
            "it reads table.codes or table.weights, and the rows of a table may be in many blocks; take sums over them "
            "by table.counts, table.sum or table.spawn"
        ) from error
    require(
        subject.alike(subject.run(table), of_blocks, table),
        "rows in many blocks give another result than the same rows in memory; first add up over all blocks",
    )


def check_rows_are_not_gathered(subject: MethodSubject) -> None:
    """Rows in many blocks are not all copied into memory by ``table.gather()``; samples may be."""
    # Narrowed for the method first, which gathers rows.
    table, gather, take = data.in_blocks(subject.arguments(data.standard())[0]), BlockTable.gather, BlockTable.take
    samples: list[Table] = []
    gathered: list[int] = []

    def taken(self: BlockTable, rows: Any) -> Table:
        samples.append(take(self, rows))
        return samples[-1]

    def noted(self: BlockTable) -> Table:
        if not any(self is sample for sample in samples):
            gathered.append(self.n_rows)
        return gather(self)

    patches = patch.object(BlockTable, "gather", noted), patch.object(BlockTable, "take", taken)
    # check_rows_in_blocks detects methods that read rows that are not in memory.
    with patches[0], patches[1], suppress(NotInMemoryError):
        subject.run(table)
    require(
        not gathered,
        f"table.gather() copies all {table.n_rows} rows into memory, and tables may be larger than that; add up the "
        "results of blocks by table.counts, table.sum or table.spawn, or gather a sample, table.take(rows).gather(). "
        "If all rows are needed at once, say why in expected_failures",
    )


def _digest_input(argument: Any) -> Any:
    """Return the parts of data that must not change; a structure is immutable, but caches properties."""
    if isinstance(argument, Structure):
        return argument.names, argument.parents
    return joblib.hash(vars(argument) if isinstance(argument, Table) else argument)


_PROBE = """
import sys
from bnplug.hooks import discovery
wanted = tuple(sys.argv[1:])
discovery.discover([one for one in discovery.find_plugins() if (one.name, one.distribution) == wanted])
print("loaded:", *({"pgmpy", "numba"} & set(sys.modules)))
"""


def check_loads_without_pgmpy_or_numba(subject: PluginSubject) -> None:
    """The entry point loads and the hooks run without importing pgmpy or numba, in a new interpreter."""
    if subject.info.distribution == ONE_FILE:  # its methods are in the file that has its hooks
        return
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
        f"its entry point imports {last.removeprefix('loaded:').strip()}; give factories as 'module:Class'",
    )


def check_recipes_can_be_made(subject: PluginSubject) -> None:
    """Every recipe can be created, or lists missing distributions in ``requires``."""
    for method in subject.descriptors:
        if isinstance(method, Recipe):
            reason = recipes.availability(method).reason
            require(not reason or bool(method.requires), f"recipe {method.name!r}: {reason}, but requires is empty")
            if not reason:
                recipe(method.name)


#: Checks of methods of every kind; then all of those that learn from a table, and those of plugins, in their order.
BASIC_CHECKS: tuple[Check, ...] = (
    check_described,
    check_cloneable,
    check_components_declared,
    check_parameters_untouched,
    check_same_seed_same_result,
    check_pickles,
)
CHECKS = checks_in(globals(), "Subject", "MethodSubject")
PLUGIN_CHECKS = checks_in(globals(), "Subject", "PluginSubject")
