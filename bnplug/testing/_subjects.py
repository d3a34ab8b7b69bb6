"""The subjects of checks: a method, given by its descriptor, or a plugin.

A subject creates an instance, runs it, and compares two results, in a way that depends on the kind of the method.
"""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bnplug.contracts import CountingNetwork, begin_step
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Descriptor, Method
from bnplug.hooks.discovery import PluginInfo
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.model.log_tables import LogTable, LogTables
from bnplug.search import Graph, Neighbourhood
from bnplug.structure import Learned, Structure
from bnplug.table.table import Table
from bnplug.testing import data
from bnplug.typing import FloatArray

#: Relative tolerance for scores of the same graph: the order of summation may differ.
SCORE_NOISE = 1e-9

# Tolerance for posteriors: minimizers that stop at a tolerance magnify noise.
_POSTERIOR_NOISE = 1e-3

# Tolerance for the mean difference of posteriors if the same problem is presented differently.
_MEAN_NOISE = 1e-2


def require(condition: bool | np.bool_, otherwise: str) -> None:
    """Fail the check unless `condition` holds, whether or not Python strips assertions."""
    if not condition:
        raise AssertionError(otherwise)


class MethodSubject:
    """A learner or a score under check, given by its descriptor, which need not be registered."""

    kind: ClassVar[str]

    def __init__(self, method: Any) -> None:
        self.method = method
        self.name = str(method.name)
        self.descriptors: tuple[Descriptor, ...] = (method,)

    @cached_property
    def factory(self) -> Any:
        factory = self.method.factory
        return pkgutil.resolve_name(factory) if isinstance(factory, str) else factory

    def make(self, **params: Any) -> Any:
        """Return a new instance, with a fixed ``random_state`` if it takes one."""
        seed = {"random_state": 0} if self.has("random_state") else {}
        return self.factory(**{**seed, **params})

    def has(self, parameter: str) -> bool:
        """Return whether the constructor takes a parameter of this name."""
        return parameter in self.factory().get_params(deep=False)

    def run(self, table: Table, **params: Any) -> Any:
        """Return the result of a new instance on `table`."""
        return self.call(self.make(**params), *self.arguments(table))

    def call(self, instance: Any, *arguments: Any, seed: int = 0) -> Any:
        """Return the result of an instance; the global random generators start at `seed`."""
        with _global_seed(seed):
            return self._call(instance, *arguments)

    @cached_property
    def result(self) -> Any:
        """The result of a new instance on the standard table; computed once for all checks."""
        return self.run(data.standard())

    def run_with_jobs(self, table: Table, n_jobs: int) -> Any:
        """Return the result of an instance on `table` with `n_jobs`, which is one of its parameters."""
        return self.run(table, n_jobs=n_jobs)

    def indifferent_to_order(self, table: Table, complete: Table) -> bool:
        """Return whether the order of the features' states does not matter, judged by the `complete` rows."""
        return self.alike(*self._run_turned(table), complete)

    def _run_turned(self, table: Table) -> tuple[Any, Any]:
        """Return the result on `table`, and that with the features' states in reverse order, turned back."""
        usual, turned = (self.run(each, **self.indifferent) for each in (table, data.turned(table)))
        return usual, self._turned_back(turned)

    def takes_gaps_for_first_state(self, table: Table) -> bool:
        """Return whether filling each missing cell with the first state gives the same result, bit for bit."""
        usual, first, last = (self.run(each) for each in (table, data.filled(table, 0), data.filled(table, -1)))
        return self.same(usual, first) and not self.same(first, last)

    def _turned_back(self, result: Any) -> Any:
        """Return the result on a table with the features' states in reverse order as one of the usual order."""
        return result

    @property
    def indifferent(self) -> dict[str, Any]:
        """Parameters with which no other component makes the result depend on the order of the rows."""
        return {}

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return the arguments of the method's one verb."""
        return table, Structure(table.names, data.tree(table))

    def _call(self, instance: Any, *arguments: Any) -> Any:
        """Call the method's one verb."""
        raise NotImplementedError

    def same(self, one: Any, other: Any) -> bool:
        """Return whether two results are the same, bit for bit."""
        return np.array_equal(one, other)

    def alike(self, one: Any, other: Any, table: Table) -> bool:
        """Return whether two results are the same except for rounding."""
        return np.allclose(one, other, rtol=SCORE_NOISE, atol=SCORE_NOISE)

    def require_usable(self, result: Any, table: Table) -> None:
        """Fail on a number that is not finite."""
        require(bool(np.isfinite(result).all()), f"some scores are not finite: {np.asarray(result).tolist()}")

    def require_usable_on(self, table: Table) -> None:
        """Fail unless the result on `table` can be used."""
        self.require_usable(self.run(table), table)

    @property
    def has_relative_weights(self) -> bool:
        """Whether only the ratios of weights matter to the method."""
        return bool(getattr(self.make(), "relative_weights", False))


class StructureSubject(MethodSubject):
    """A structure learner under check; its result is a `Structure`."""

    kind = "structure learner"

    @property
    def indifferent(self) -> dict[str, Any]:
        """A score that is a sum over all rows, if the learner takes one."""
        return {"score": "mdl"} if self.method.needs_score else {}

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return the table, with no more variables than the learner takes."""
        return (data.narrowed(table, self.method.max_variables),)

    def _call(self, instance: Any, *arguments: Any) -> Any:
        (table,) = arguments
        learned = instance.learn(table)
        try:
            return Learned.of(learned, table).structure
        except (TypeError, ValueError) as error:
            raise AssertionError(f"learn did not return a structure over the variables: {error}") from error

    def same(self, one: Any, other: Any) -> bool:
        return set(one.edges) == set(other.edges)

    def alike(self, one: Any, other: Any, table: Table) -> bool:
        return self.same(one, other)

    def takes_gaps_for_first_state(self, table: Table) -> bool:
        """Return False: edges coincide for many reasons, so they do not show it."""
        return False

    def require_usable(self, result: Any, table: Table) -> None:
        """Fail on an edge that does not join two variables of the table."""
        odd = [(u, v) for u, v in result.edges if u not in table.names or v not in table.names or u == v]
        require(not odd, f"these are not edges between variables of the table: {odd}")


class ScoreSubject(MethodSubject):
    """A score under check; its result is the score of a graph, followed by values of an evaluator."""

    kind = "score function"

    def _call(self, instance: Any, *arguments: Any) -> FloatArray:
        table, structure, *n_jobs = arguments
        evaluator = instance.evaluator(table, *n_jobs)
        began = [instance.score(table, structure), evaluator.start(data.tree(table)), begin_step(evaluator)]
        return np.array([*began, *evaluator.propose_many(self.candidates(table))], dtype=np.float64)

    def run_with_jobs(self, table: Table, n_jobs: int) -> Any:
        return self.call(self.make(), *self.arguments(table), n_jobs)

    def candidates(self, table: Table) -> list[dict[int, list[int]]]:
        """Return every deletion, reversal and addition of an edge of the tree."""
        graph = Graph(data.tree(table))
        return [graph.changes(move) for move in Neighbourhood(graph).moves()]

    def same(self, one: Any, other: Any) -> bool:
        return np.array_equal(one, other, equal_nan=True)


class ParameterSubject(MethodSubject):
    """A parameter learner under check; its result is a `LogTables` on a tree."""

    kind = "parameter learner"

    def _call(self, instance: Any, *arguments: Any) -> Any:
        return instance.fit(*arguments)

    def same(self, one: LogTables, other: LogTables) -> bool:
        """Return whether parents and log parameters are the same; the labels of states may differ."""
        return one.parents == other.parents and all(
            np.array_equal(one.tables[name].values, other.tables[name].values) for name in one.names
        )

    def alike(self, one: LogTables, other: LogTables, table: Table) -> bool:
        """Return whether the posterior of the class is the same in every row, which is all a classifier uses."""
        return bool(np.max(_distances(one, other, table)) <= _POSTERIOR_NOISE)

    def indifferent_to_order(self, table: Table, complete: Table) -> bool:
        """Return whether posteriors agree on average; a minimizer that stops early may differ at single rows."""
        return bool(np.mean(_distances(*self._run_turned(table), complete)) <= _MEAN_NOISE)

    def accuracy(self, result: LogTables, table: Table) -> float:
        """Return the share of rows whose class the parameters predict."""
        decided = log_joint(terms(result, table.target), table.codes).argmax(axis=1)
        return float((decided == table.codes[table.target_index]).mean())

    def _turned_back(self, result: LogTables) -> LogTables:
        tables = {}
        for name, (parents, values) in result.tables.items():
            axes = tuple(axis for axis, v in enumerate((name, *parents)) if v != data.NAMES[data.TARGET])
            tables[name] = LogTable(parents, np.flip(values, axes))
        return LogTables(result.names, result.states, tables, result.target)

    def require_usable(self, result: LogTables, table: Table) -> None:
        """Fail if a configuration of the parents leaves no state possible."""
        for name, (parents, values) in result.tables.items():
            impossible = np.argwhere(np.isneginf(values).all(axis=0)).tolist()
            require(
                not impossible,
                f"{name!r}: no state is possible in these configurations of its parents {parents}: {impossible}; "
                "bnplug.model.log_tables.estimate makes them uniform",
            )


class EngineSubject(MethodSubject):
    """An engine under check; its result is an array of all answers about a small network."""

    kind = "engine"

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return a network of the table's variables, and every possible row."""
        return data.network(table, data.tree(table)), data.every_row(table)

    def _call(self, instance: Any, *arguments: Any) -> FloatArray:
        tables, codes = arguments
        target = data.NAMES[data.TARGET]
        compiled = instance.compile(tables, target)
        answers = [posterior(compiled.log_joint(codes)), compiled.query([target], {})]
        if isinstance(compiled, CountingNetwork):
            answers += compiled.expected_counts(codes, np.ones((codes.shape[1], len(tables.states[target]))))
        return np.concatenate([np.ravel(answer) for answer in answers])


class DiscretizerSubject(MethodSubject):
    """A discretizer under check; its result is a list of the cuts of every column."""

    kind = "discretizer"

    def arguments(self, table: Table) -> tuple[Any, ...]:
        return data.numbers()

    def _call(self, instance: Any, *arguments: Any) -> Any:
        return instance.fit(*arguments).cut_points_

    def fit(self, *arguments: Any) -> Any:
        """Return a new instance, fitted to numbers and classes, by default those of the kit."""
        instance = self.make()
        self.call(instance, *(arguments or data.numbers()))
        return instance

    def same(self, one: Any, other: Any) -> bool:
        return len(one) == len(other) and all(map(np.array_equal, one, other))


class ClassifierSubject(MethodSubject):
    """A plugin's classifier under check; its result is the posterior of each training row."""

    kind = "classifier"

    def arguments(self, table: Table) -> tuple[Any, ...]:
        return data.mixed()

    def _call(self, instance: Any, *arguments: Any) -> FloatArray:
        X, _ = arguments
        return np.asarray(instance.fit(*arguments).predict_proba(X))

    def fit(self, X: Any, y: Any) -> Any:
        """Return what ``fit`` of a new instance returns; the global random generators start at 0."""
        with _global_seed(0):
            return self.make().fit(X, y)

    def alike(self, one: Any, other: Any, table: Any = None) -> bool:
        return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=0.0, atol=_POSTERIOR_NOISE)

    def require_usable(self, result: Any, table: Any) -> None:
        """Fail unless each row has a probability for every class, and they sum to one."""
        values = np.asarray(result, dtype=np.float64)
        require(
            values.ndim == 2 and len(values) == len(table) and values.shape[1] > 1,
            f"predict_proba must return {len(table)} rows and a column for each class, not the shape {values.shape}",
        )
        require(
            bool((values >= 0).all() and np.allclose(values.sum(axis=1), 1.0)),
            "predict_proba returns rows that are not probabilities: they must be finite, not negative, and sum to one",
        )


class PluginSubject:
    """A plugin under check, with all its descriptors."""

    kind = "plugin"

    def __init__(self, info: PluginInfo) -> None:
        self.info = info
        self.name = info.name
        self.descriptors = tuple(registry.find(kind, name) for kind, names in info.names.items() for name in names)

    @property
    def methods(self) -> list[MethodSubject]:
        """Its learners and scores, as subjects."""
        return [subject_of(each) for each in self.descriptors if each.kind in _SUBJECTS and isinstance(each, Method)]


#: The argument of a check.
Subject = MethodSubject | PluginSubject

_SUBJECTS: dict[str, type[MethodSubject]] = {subject.kind: subject for subject in MethodSubject.__subclasses__()}


def subject_of(method: Method) -> MethodSubject:
    """Return a method as a subject of checks.

    Parameters
    ----------
    method : Method
        The descriptor of a learner or a score; it need not be registered.

    Examples
    --------
    >>> subject = subject_of(registry.find("parameter learner", "ml"))
    >>> subject.make(alpha=2.0)
    MaximumLikelihood(alpha=2.0, random_state=0)
    """
    if not isinstance(method, Method) or method.kind not in _SUBJECTS:
        raise TypeError(
            f"expected the name of a plugin or the descriptor of a method with checks, such as "
            f"bnplug.ScoreFunctionMethod(...); got {method!r}"
        )
    return _SUBJECTS[method.kind](method)


def _distances(one: LogTables, other: LogTables, table: Table) -> FloatArray:
    """Return the absolute differences of the posteriors of two networks, for each row and class."""
    of_one, of_other = (posterior(log_joint(terms(tables, table.target), table.codes)) for tables in (one, other))
    return np.abs(of_one - of_other)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Start the global random generators at `seed`, and restore them afterwards."""
    ours, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)  # noqa: NPY002
