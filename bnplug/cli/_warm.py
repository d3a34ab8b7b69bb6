"""Compiling everything once: every registered method runs on each kind of table that kernels tell apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from bnplug.errors import one_line
from bnplug.hooks import registry
from bnplug.inference.complete import log_posterior, posterior
from bnplug.inference.marginals import Marginalizer
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.testing import data
from bnplug.typing import IntArray


def run(say: Callable[[str], Any] = print) -> None:
    """Run every registered method on tables of both common code types, weighted and not, quietly."""
    for kind, name, call in _jobs():
        started = time.perf_counter()
        try:
            for table in data.for_kernels():
                call(name, table)
        except Exception as error:
            say(f"{kind} {name}: not compiled: {one_line(error)}")
        else:
            say(f"{kind} {name}: {time.perf_counter() - started:.1f} s")


def _jobs() -> Iterator[tuple[str, str, Callable[[str, Table], Any]]]:
    calls: dict[str, Callable[[str, Table], Any]] = {
        "structure learner": lambda name, table: registry.structure_learner(name).learn(table),
        "score function": _score,
        "parameter learner": _predict,
        "engine": _answer,
        "classifier": _classify,
        "discretizer": lambda name, table: registry.discretizer(name).fit(*_numbers(table)),
    }
    for kind, call in calls.items():
        for method in registry.methods(kind):
            yield kind, str(registry.name_of(method)), call


def _score(name: str, table: Table) -> None:
    score, c = registry.score_function(name), table.target_index
    score.score(table, Structure(table.names, table.naive_bayes()))
    evaluator = score.evaluator(table)
    evaluator.start(table.naive_bayes())
    candidates = [{0: [1, c]}, {1: [0, c]}]
    evaluator.propose_many(candidates, at_least=evaluator.value)
    evaluator.commit(candidates[0])


def _answer(name: str, table: Table) -> None:
    tables = registry.parameter_learner("ml").fit(table, Structure(table.names, data.complete(table)))
    registry.engine(name).compile(tables, table.target).log_joint(table.codes)


def _classify(name: str, table: Table) -> None:
    X, y = _numbers(table)
    registry.classifier(name).fit(X, y).predict_proba(X)


def _numbers(table: Table) -> tuple[pd.DataFrame, IntArray]:
    """Return the codes of the features as a frame of numbers, and those of the class."""
    X = pd.DataFrame({table.names[v]: table.codes[v].astype(float) for v in table.features})
    return X, table.codes[table.target_index].astype(np.int64)


def _predict(name: str, table: Table) -> None:
    """Learn on a tree and on a structure that needs cliques; answer complete and incomplete rows."""
    some_missing = table.codes.copy()
    some_missing[0, ::2] = some_missing[1, ::3] = table.missing
    some_missing.flags.writeable = False
    for parents in (data.tree(table), data.complete(table)):
        tables = registry.parameter_learner(name).fit(table, Structure(table.names, parents))
        marginalizer = Marginalizer(tables, table.target)
        for codes in (table.codes, some_missing):
            joint = marginalizer.log_joint(codes)
            posterior(joint), log_posterior(joint)
