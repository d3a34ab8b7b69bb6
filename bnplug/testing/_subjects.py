"""What is checked: a method, seen through its descriptor, or a plugin with all that it brings.

The checks of :mod:`bnplug.testing` ask a subject to make an instance, to run it, and whether two results agree;
how that is done differs by kind and is said here.
"""

from __future__ import annotations

import pkgutil
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data.table import Table
from bnplug.hooks import registry
from bnplug.hooks.descriptors import (
    ClassifierMethod,
    Descriptor,
    DiscretizerMethod,
    InferenceEngineMethod,
    Method,
    ParameterLearnerMethod,
    ScoreFunctionMethod,
    StructureLearnerMethod,
)
from bnplug.hooks.discovery import PluginInfo
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.model.log_tables import LogTable, LogTables
from bnplug.search import Graph, Neighbourhood
from bnplug.testing import data

#: Scores of the same graph on the same rows may differ by what the order of summation makes, relatively.
SCORE_NOISE = 1e-9

# Posteriors may differ by this much: minimisers that stop at a tolerance magnify noise.
_POSTERIOR_NOISE = 1e-3

# And on average by this much, where the same problem is put in other words.
_MEAN_NOISE = 1e-2


def require(condition: bool | np.bool_, otherwise: str) -> None:
    """Fail the check unless `condition` holds, whether or not Python strips assertions."""
    if not condition:
        raise AssertionError(otherwise)


class MethodSubject(ABC):
    """A learner or a score under check.

    Parameters
    ----------
    method : Method
        Its descriptor; it need not be registered.
    """

    kind: ClassVar[str]

    def __init__(self, method: Method) -> None:
        self.method = method

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.method.name

    @property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """The descriptors under check: its own."""
        return (self.method,)

    @cached_property
    def factory(self) -> Any:
        """The class that the descriptor names."""
        factory = self.method.factory
        return pkgutil.resolve_name(factory) if isinstance(factory, str) else factory

    def make(self, **params: Any) -> Any:
        """Return a new instance, with a fixed ``random_state`` where it takes one."""
        made = self.factory()
        seed = {"random_state": 0} if "random_state" in made.get_params(deep=False) else {}
        return self.factory(**{**seed, **params})

    def has(self, parameter: str) -> bool:
        """Whether the constructor takes a parameter of this name."""
        return parameter in self.factory().get_params(deep=False)

    def run(self, table: Table, **params: Any) -> Any:
        """Return what a new instance makes of `table`."""
        return self.call(self.make(**params), *self.arguments(table))

    def call(self, instance: Any, *arguments: Any, seed: int = 0) -> Any:
        """Return what an instance makes of its arguments; the global random generators start at `seed`."""
        with _global_seed(seed):
            return self._call(instance, *arguments)

    @cached_property
    def result(self) -> Any:
        """What a new instance makes of the standard table; learned once for all checks."""
        return self.run(data.standard())

    def run_with_jobs(self, table: Table, n_jobs: int) -> Any:
        """Return what an instance makes of `table` with `n_jobs`, which it has as a parameter."""
        return self.run(table, n_jobs=n_jobs)

    def indifferent_to_order(self, table: Table, complete: Table) -> bool:
        """Whether the order of the features' states does not matter, as far as the `complete` rows show it."""
        usual, turned = (self.run(each, **self.indifferent) for each in (table, data.turned(table)))
        return self.alike(usual, self._turned_back(turned), complete)

    def takes_gaps_for_first_state(self, table: Table) -> bool:
        """Whether the result is, to the last bit, the one for which each missing cell is in the first state."""
        usual, first, last = (self.run(each) for each in (table, data.filled(table, 0), data.filled(table, -1)))
        return self.same(usual, first) and not self.same(first, last)

    def _turned_back(self, result: Any) -> Any:
        """Return the result from a table whose features' states were in reverse order as that of the usual one."""
        return result

    @property
    def indifferent(self) -> dict[str, Any]:
        """Parameters with which no other component makes the result depend on the order of the rows."""
        return {}

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return what the method's one verb is called with."""
        return table, table.dag(data.tree(table))

    @abstractmethod
    def _call(self, instance: Any, *arguments: Any) -> Any:
        """Call the verb."""

    @abstractmethod
    def same(self, one: Any, other: Any) -> bool:
        """Whether two results are the same, bit for bit."""

    @abstractmethod
    def alike(self, one: Any, other: Any, table: Table) -> bool:
        """Whether two results are the same but for rounding."""

    @abstractmethod
    def require_usable(self, result: Any, table: Table) -> None:
        """Fail unless the result can be used at all."""


class StructureSubject(MethodSubject):
    """A structure learner under check; its result is a DAG."""

    kind = StructureLearnerMethod.kind
    method: StructureLearnerMethod

    @property
    def indifferent(self) -> dict[str, Any]:
        """A score that is a sum over all rows, where the learner takes one."""
        return {"score": "mdl"} if self.method.needs_score else {}

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return the table alone."""
        return (table,)

    def _call(self, instance: Any, *arguments: Any) -> Any:
        learned = instance.learn(*arguments)
        if isinstance(learned, Sequence) and not isinstance(learned, str):
            (table,) = arguments
            try:
                return table.dag(learned)
            except (TypeError, ValueError) as error:
                raise AssertionError(f"learn returned numbers that make no DAG: {error}") from error
        return learned

    def same(self, one: Any, other: Any) -> bool:
        """Whether the edges are the same."""
        return set(one.edges) == set(other.edges)

    def alike(self, one: Any, other: Any, table: Table) -> bool:
        """Whether the edges are the same."""
        return self.same(one, other)

    def takes_gaps_for_first_state(self, table: Table) -> bool:
        """Whether it does so cannot be told from edges, which coincide for many reasons."""
        return False

    def require_usable(self, result: Any, table: Table) -> None:
        """Fail on an edge between what are no variables, or from one to itself."""
        odd = [(u, v) for u, v in result.edges if u not in table.names or v not in table.names or u == v]
        require(not odd, f"these are no edges between variables of the table: {odd}")


class ScoreSubject(MethodSubject):
    """A score under check; its result is an array: the score of a graph, then those along an evaluator's way."""

    kind = ScoreFunctionMethod.kind
    method: ScoreFunctionMethod

    def _call(self, instance: Any, *arguments: Any) -> FloatArray:
        return self._values(instance, *arguments)

    def run_with_jobs(self, table: Table, n_jobs: int) -> FloatArray:
        """Return the scores of an evaluator with `n_jobs` threads."""
        with _global_seed(0):
            return self._values(self.make(), table, self.arguments(table)[1], n_jobs)

    def _values(self, instance: Any, table: Table, dag: Any, n_jobs: int = 1) -> FloatArray:
        evaluator = instance.evaluator(table, n_jobs)
        began = [instance.score(table, dag), evaluator.start(data.tree(table)), evaluator.step()]
        return np.array([*began, *evaluator.propose_many(self.candidates(table))], dtype=np.float64)

    def candidates(self, table: Table) -> list[dict[int, list[int]]]:
        """Return every deletion, reversal and addition of an edge of the tree."""
        graph = Graph(data.tree(table))
        return [graph.changes(move) for move in Neighbourhood(graph).moves()]

    def same(self, one: Any, other: Any) -> bool:
        """Whether all scores are the same."""
        return np.array_equal(one, other, equal_nan=True)

    def alike(self, one: Any, other: Any, table: Table) -> bool:
        """Whether all scores are the same but for noise."""
        return np.allclose(one, other, rtol=SCORE_NOISE, atol=SCORE_NOISE)

    def require_usable(self, result: Any, table: Table) -> None:
        """Fail on a score that is not finite."""
        require(bool(np.isfinite(result).all()), f"some scores are not finite: {np.asarray(result).tolist()}")


class ParameterSubject(MethodSubject):
    """A parameter learner under check; its result are log tables on a tree."""

    kind = ParameterLearnerMethod.kind
    method: ParameterLearnerMethod

    def _call(self, instance: Any, *arguments: Any) -> Any:
        return instance.fit(*arguments)

    def same(self, one: LogTables, other: LogTables) -> bool:
        """Whether parents and log parameters are the same; the labels of states may differ."""
        return one.parents == other.parents and all(
            np.array_equal(one.tables[name].values, other.tables[name].values) for name in one.names
        )

    def alike(self, one: LogTables, other: LogTables, table: Table) -> bool:
        """Whether the posterior of the class is the same in every row: all that matters to a classifier."""
        return bool(np.max(_distances(one, other, table)) <= _POSTERIOR_NOISE)

    def indifferent_to_order(self, table: Table, complete: Table) -> bool:
        """Whether posteriors are the same on average; a minimiser that stops early goes another way at single rows."""
        usual, turned = (self.run(each, **self.indifferent) for each in (table, data.turned(table)))
        return bool(np.mean(_distances(usual, self._turned_back(turned), complete)) <= _MEAN_NOISE)

    def accuracy(self, result: LogTables, table: Table) -> float:
        """Return the share of rows to which the parameters give their class."""
        decided = log_joint(terms(result, table.target), table.codes).argmax(axis=1)
        return float((decided == table.codes[table.target_index]).mean())

    def _turned_back(self, result: LogTables) -> LogTables:
        def turned(name: str) -> LogTable:
            parents, values = result.tables[name]
            axes = tuple(axis for axis, own in enumerate((name, *parents)) if own != data.NAMES[data.TARGET])
            return LogTable(parents, np.flip(values, axes))

        return LogTables(result.names, result.states, {name: turned(name) for name in result.names}, result.target)

    def require_usable(self, result: LogTables, table: Table) -> None:
        """Fail where no state is possible in a configuration of the parents."""
        for name, (parents, values) in result.tables.items():
            impossible = np.argwhere(np.isneginf(values).all(axis=0)).tolist()
            require(
                not impossible,
                f"{name!r}: no state is possible in these configurations of its parents {parents}: {impossible}; "
                "bnplug.model.log_tables.estimate makes them uniform",
            )


class EngineSubject(MethodSubject):
    """An engine of inference under check; its result is an array of all that it answers about a small network."""

    kind = InferenceEngineMethod.kind
    method: InferenceEngineMethod

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return a network of the table's variables, and every row there can be."""
        return data.network(table, data.tree(table)), data.every_row(table)

    def _call(self, instance: Any, *arguments: Any) -> FloatArray:
        return self.answers(instance, *arguments)

    def answers(self, engine: Any, tables: LogTables, codes: CodeArray) -> FloatArray:
        """Return what the compiled network answers: posteriors, a query, expected counts."""
        target = data.NAMES[data.TARGET]
        compiled = engine.compile(tables, target)
        weights = np.ones((codes.shape[1], len(tables.states[target])))
        parts = [
            posterior(compiled.log_joint(codes)),
            compiled.query([target], {}),
            *compiled.expected_counts(codes, weights),
        ]
        return np.concatenate([np.ravel(part) for part in parts])

    def same(self, one: Any, other: Any) -> bool:
        """Whether all numbers are the same."""
        return np.array_equal(one, other)

    def alike(self, one: Any, other: Any, table: Table) -> bool:
        """Whether all numbers are the same but for noise."""
        return np.allclose(one, other, rtol=SCORE_NOISE, atol=SCORE_NOISE)

    def require_usable(self, result: Any, table: Table) -> None:
        """Fail on an answer that is not finite."""
        require(bool(np.isfinite(result).all()), "some answers are not finite")


class DiscretizerSubject(MethodSubject):
    """A discretiser under check; its result are the cuts of every column."""

    kind = DiscretizerMethod.kind
    method: DiscretizerMethod

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return numbers and classes."""
        return data.numbers()

    def _call(self, instance: Any, *arguments: Any) -> Any:
        return instance.fit(*arguments).cut_points_

    def fit(self, instance: Any, *arguments: Any) -> Any:
        """Return an instance, fitted; the global random generators start at 0."""
        self.call(instance, *arguments)
        return instance

    def same(self, one: Any, other: Any) -> bool:
        """Whether all cuts are the same."""
        return len(one) == len(other) and all(map(np.array_equal, one, other))

    def alike(self, one: Any, other: Any, table: Table) -> bool:
        """Whether all cuts are the same."""
        return self.same(one, other)

    def require_usable(self, result: Any, table: Table) -> None:
        """Fail on a cut that is not finite."""
        require(all(own is None or bool(np.isfinite(own).all()) for own in result), "some cuts are not finite")


class ClassifierSubject(MethodSubject):
    """A plugin's classifier under check; its result are the posteriors of the rows that it learned from."""

    kind = ClassifierMethod.kind
    method: ClassifierMethod

    def arguments(self, table: Table) -> tuple[Any, ...]:
        """Return columns as they come, and classes."""
        return data.mixed()

    def _call(self, instance: Any, *arguments: Any) -> FloatArray:
        X, _ = arguments
        return np.asarray(instance.fit(*arguments).predict_proba(X))

    def fit(self, instance: Any, X: Any, y: Any) -> Any:
        """Return what fitting returns; the global random generators start at 0."""
        with _global_seed(0):
            return instance.fit(X, y)

    def same(self, one: Any, other: Any) -> bool:
        """Whether all probabilities are the same."""
        return np.array_equal(one, other)

    def alike(self, one: Any, other: Any, table: Any = None) -> bool:
        """Whether all probabilities are the same but for noise."""
        return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=0.0, atol=_POSTERIOR_NOISE)

    def require_usable(self, result: Any, table: Any) -> None:
        """Fail unless each row has a probability for every class, which sum to one."""
        values = np.asarray(result, dtype=np.float64)
        require(
            values.ndim == 2 and len(values) == len(table) and values.shape[1] > 1,
            f"predict_proba must return a row for each of {len(table)} rows and a column for each class, not the "
            f"shape {values.shape}",
        )
        require(
            bool((values >= 0).all() and np.allclose(values.sum(axis=1), 1.0)),
            "predict_proba returns rows that are no probabilities: they must be finite, not negative, and sum to one",
        )


class PluginSubject:
    """A plugin under check: what became of it, and all its descriptors."""

    kind = "plugin"

    def __init__(self, info: PluginInfo) -> None:
        self.info = info

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.info.name

    @property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """Everything that the plugin has registered."""
        return tuple(registry.find(kind, name) for kind, names in self.info.names.items() for name in names)

    @property
    def methods(self) -> list[MethodSubject]:
        """Its learners and scores, as subjects of their own."""
        return [
            subject_of(found) for found in self.descriptors if found.kind in _SUBJECTS and isinstance(found, Method)
        ]


#: Whatever a check is given.
Subject = MethodSubject | PluginSubject

_SUBJECTS: dict[str, type[MethodSubject]] = {
    subject.kind: subject
    for subject in (
        StructureSubject,
        ScoreSubject,
        ParameterSubject,
        EngineSubject,
        ClassifierSubject,
        DiscretizerSubject,
    )
}


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
            f"{method!r} is neither the name of a plugin nor the descriptor of a learner or a score, such as "
            "bnplug.ScoreFunctionMethod(...)"
        )
    return _SUBJECTS[method.kind](method)


def _distances(one: LogTables, other: LogTables, table: Table) -> FloatArray:
    """Return how far the posteriors of two networks are apart, for each row and class."""
    of_one, of_other = (posterior(log_joint(terms(tables, table.target), table.codes)) for tables in (one, other))
    return np.abs(of_one - of_other)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Let the global random generators start at `seed`, and give them back as they were."""
    ours, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)  # noqa: NPY002
