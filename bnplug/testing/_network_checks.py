"""Checks of parameter learners and of engines; an exact engine answers as enumeration does, on small networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from bnplug.contracts import CompiledNetwork
from bnplug.gradient import objective
from bnplug.inference.complete import posterior
from bnplug.model.log_tables import LogTables
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import essential, only_if
from bnplug.testing._subjects import EngineSubject, ParameterSubject, require
from bnplug.typing import CodeArray, FloatArray

# Of rows that leave no doubt about their class, this share is classified right by any parameters that make sense.
_TOLD = 0.8

# Cells of log joints in a block of rows, where a table as small as ours is to have several.
_FEW_CELLS = 24

_NOISE = 1e-9

# numpy's types do not allow for axes given as lists.
_einsum: Any = np.einsum

#: What is asked of each network: variables, and evidence by the code of a state or by a likelihood of each.
_QUESTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("class",), {}),
    (("x2", "x1"), {}),
    (("class", "x3"), {"x2": 1}),
    (("x1",), {"class": 2, "x3": 0}),
    (("class",), {"x2": [0.2, 0.0, 3.0]}),
    (("x3", "class"), {"x1": [0.5, 0.1], "x2": 2}),
)


@essential
def check_returns_log_tables(subject: ParameterSubject) -> None:
    """``fit`` returns `LogTables` of the table's variables, with its states."""
    table, result = data.standard(), subject.result
    require(isinstance(result, LogTables), f"fit returned a {type(result).__name__}, not LogTables")
    require(result.names == table.names, f"the tables are those of {result.names}, not of {table.names}")
    require(result.states == table.states, f"the states are {result.states}, in the table {table.states}")


def check_columns_sum_to_one(subject: ParameterSubject) -> None:
    """On a tree every CPT column sums to one; ``tables.normalize()`` sees to that, and keeps the posterior."""
    node = subject.result.unnormalized_node()
    require(node is None, f"{node!r} has columns that do not sum to one; return tables.normalize() on C1 structures")


@essential
def check_structure_unchanged(subject: ParameterSubject) -> None:
    """The parents in the tables are those in the graph."""
    table = data.standard()
    expected = {table.names[v]: tuple(table.names[p] for p in ps) for v, ps in enumerate(data.tree(table))}
    require(subject.result.parents == expected, f"the parents are {subject.result.parents}, in the graph {expected}")


def check_parent_order_irrelevant(subject: ParameterSubject) -> None:
    """The order in which the edges of the graph were added does not matter."""
    table = data.standard()
    result = subject.call(subject.make(), table, data.backwards(table, data.tree(table)))
    require(subject.same(subject.result, result), "the same graph, its edges in another order, gives other parameters")


def check_parents_in_their_places(subject: ParameterSubject) -> None:
    """The axes of a table are the variable and its parents in their order: what the parents tell is told."""
    for parents in (data.tree(data.standard()), data.complete_below_class(data.standard())):
        for cards in ((3, 3, 3, 3), (2, 4, 3, 5)):
            table = data.told_by_parents(parents, cards)
            try:
                result = subject.call(subject.make(), table, table.dag(parents))
            except ValueError:
                # Some learn on trees alone, and say so.
                if max(map(len, parents)) > 2:
                    continue
                raise
            share = subject.accuracy(result, table)
            require(
                share >= _TOLD,
                f"the parents {parents} of variables with {cards} states tell the class, and the parameters "
                f"tell it in a share of {share:.2f} of the rows; the axes must be (variable, *parents), the parents "
                "ascending by their position in table.names",
            )


def check_unseen_configurations(subject: ParameterSubject) -> None:
    """Where a state or a configuration never occurs, every column still leaves some state possible."""
    subject.require_usable_on(data.with_unseen_configurations())


def check_incomplete_rows(subject: ParameterSubject) -> None:
    """It learns from missing cells under ``missing_policy="em"``, and from rows without a class if it says so."""
    takes = getattr(subject.make(), "takes_unlabeled", False)
    require(isinstance(takes, bool), f"takes_unlabeled is {takes!r}; say True or False")
    for unlabeled in (False, True)[: 1 + takes]:
        subject.require_usable_on(data.to_be_learned_by_em(unlabeled))


def check_blocks_do_not_matter(subject: ParameterSubject) -> None:
    """Where a loss of its own is minimised by `bnplug.gradient.Objective`, each row counts for itself."""
    table = data.standard()
    with patch.object(objective, "_BLOCK_CELLS", _FEW_CELLS):
        in_blocks = subject.run(table)
    require(
        subject.alike(subject.result, in_blocks, table),
        "the parameters depend on which rows share a block; a loss is a sum of one term for each row, which sees "
        "that row alone",
    )


def check_limits_respected(subject: ParameterSubject) -> None:
    """``max_iter`` is kept to, where it has it: ``n_iter_`` says how many steps were made."""
    if subject.has("max_iter"):
        learner = subject.make(max_iter=1)
        subject.call(learner, *subject.arguments(data.standard()))
        steps = getattr(learner, "n_iter_", None)
        require(steps is not None and steps <= 1, f"max_iter=1 and yet n_iter_ is {steps}")


def check_parts_add_up(subject: ParameterSubject) -> None:
    """Where it has ``partial_fit``, rows that come in two parts give what all of them give."""
    if not hasattr(subject.factory, "partial_fit"):
        return
    table, _ = data.reweighted()
    dag, first = table.dag(data.tree(table)), np.arange(table.n_rows) % 3 > 0
    learner = subject.make()
    subject.call(learner, table.take(first), dag)
    require(
        subject.alike(subject.run(table), learner.partial_fit(table.take(~first), dag), table),
        "fit on some rows and partial_fit on the others give other parameters than fit on all; derive the learner from "
        "bnplug.CountsLearner, whose partial_fit adds up counts, and implement from_counts alone",
    )


@essential
def check_returns_compiled_network(subject: EngineSubject) -> None:
    """``compile`` returns a `CompiledNetwork`, whose answers have the shapes that the contract gives."""
    table = data.with_missing_cells()
    tables = data.network(table, data.tree(table))
    compiled = subject.make().compile(tables, table.target)
    require(
        isinstance(compiled, CompiledNetwork),
        f"compile returned a {type(compiled).__name__}, not bnplug.CompiledNetwork",
    )
    n_classes = int(table.cards[table.target_index])
    shape = np.shape(compiled.log_joint(table.codes))
    require(shape == (table.n_rows, n_classes), f"log_joint has the shape {shape}, not (rows, classes)")
    counts = compiled.expected_counts(table.codes, np.ones((table.n_rows, n_classes)))
    shapes, expected = [np.shape(each) for each in counts], [tables[name].values.shape for name in tables.names]
    require(shapes == expected, f"expected_counts have the shapes {shapes}; those of the tables are {expected}")


def check_refuses_in_a_sentence(subject: EngineSubject) -> None:
    """A kind of network that it cannot answer about is a ``ValueError`` of one line, which says why."""
    for tables in _small_networks():
        try:
            subject.make().compile(tables, data.NAMES[data.TARGET])
        except Exception as error:
            require(
                isinstance(error, ValueError) and len(str(error)) > 0 and "\n" not in str(error),
                f"compile raised {type(error).__name__}: {str(error)!r}; raise a ValueError whose message says in one "
                "line what it cannot answer about, and which engine to use",
            )


@only_if(lambda method: not method.exact)
def check_estimates_are_near(subject: EngineSubject) -> None:
    """On average over rows, the posteriors of one that is not exact are within 0.1 of those of enumeration."""
    for answers, expected, possible, *_ in _posteriors(subject):
        far = float(np.abs(answers - expected)[possible].mean())
        require(far <= 0.1, f"posteriors are off by {far:.2f} on average; draw more often")


@only_if(lambda method: method.exact)
def check_log_joint_is_exact(subject: EngineSubject) -> None:
    """Where cells are missing, the posterior of ``log_joint`` is that of summing over every completion."""
    for answers, expected, possible, tables, codes in _posteriors(subject):
        far = np.where(possible, np.abs(answers - expected).max(axis=1), 0.0)
        worst = int(far.argmax())
        require(
            bool(far[worst] <= _NOISE),
            f"the row {codes[:, worst].tolist()} of {tables.names} has the posterior {answers[worst]}, and "
            f"{expected[worst]} by enumeration; if answers are not exact, declare exact=False",
        )


@only_if(lambda method: method.exact)
def check_query_is_exact(subject: EngineSubject) -> None:
    """``query`` gives what enumeration gives, for states that are known and for likelihoods of them."""
    for compiled, tables, _ in _networks(subject):
        for variables, evidence in _QUESTIONS:
            expected = _query(tables, variables, evidence)
            if not np.isfinite(expected).all():
                continue  # the evidence is impossible
            answer = np.asarray(compiled.query(variables, evidence))
            require(
                answer.shape == expected.shape and np.allclose(answer, expected, rtol=0.0, atol=_NOISE),
                f"P({', '.join(variables)} | {evidence}) is {answer.tolist()}, and {expected.tolist()} by enumeration; "
                "one axis for each variable, in the order that was asked for",
            )


@only_if(lambda method: method.exact)
def check_expected_counts_are_exact(subject: EngineSubject) -> None:
    """``expected_counts`` gives what enumeration gives, for weights of either sign."""
    for compiled, tables, codes in _networks(subject):
        n_classes = len(tables.states[data.NAMES[data.TARGET]])
        weights = np.random.RandomState(8).normal(size=(codes.shape[1], n_classes))
        for name, answer, expected in zip(
            tables.names, compiled.expected_counts(codes, weights), _expected(tables, codes, weights), strict=True
        ):
            require(
                np.shape(answer) == expected.shape and np.allclose(answer, expected, rtol=0.0, atol=1e3 * _NOISE),
                f"the counts of {name!r} and its parents are {np.asarray(answer).tolist()}, and {expected.tolist()} by "
                "enumeration; weights may be negative, and a class that is impossible for a row adds nothing",
            )


def check_class_is_not_read(subject: EngineSubject) -> None:
    """What codes say about the class changes nothing: it is what is asked for."""
    table = data.with_missing_cells()
    compiled = subject.make().compile(data.network(table, data.tree(table)), table.target)
    hidden = table.codes.copy()
    hidden[table.target_index] = table.missing
    require(
        np.array_equal(compiled.log_joint(table.codes), compiled.log_joint(hidden)),
        "log_joint is another where the class is missing in codes; do not read its row",
    )


def check_network_not_mutated(subject: EngineSubject) -> None:
    """Neither the tables nor the codes that it is given are changed."""
    table = data.with_missing_cells()
    tables, codes = data.network(table, data.tree(table)), table.codes.copy()
    before = {name: table.values.copy() for name, table in tables.tables.items()}
    subject.call(subject.make(), tables, codes)
    changed = [name for name, values in before.items() if not np.array_equal(values, tables[name].values)]
    require(not changed, f"the tables of {changed} are others than before; work on copies")
    require(np.array_equal(codes, table.codes), "the codes are others than before; work on a copy")


def _networks(subject: EngineSubject) -> Iterator[tuple[Any, LogTables, CodeArray]]:
    """Yield the networks that an engine compiles, each with every row that there can be."""
    table = data.standard()
    every = data.every_row(table)
    for tables in _small_networks():
        try:
            compiled = subject.make().compile(tables, table.target)
        except Exception:
            continue  # another check looks at how it refuses
        yield compiled, tables, every


def _posteriors(subject: EngineSubject) -> Iterator[tuple[FloatArray, FloatArray, Any, LogTables, CodeArray]]:
    """Yield posteriors, those by enumeration, and which rows are possible, for each network and its rows."""
    for compiled, tables, codes in _networks(subject):
        expected = _log_joint(tables, codes)
        # An engine may omit what is the same for all classes, even if it makes a row impossible.
        possible = ~np.isneginf(expected).all(axis=1)
        yield posterior(compiled.log_joint(codes)), posterior(expected), possible, tables, codes


def _small_networks() -> Iterator[LogTables]:
    """Yield networks of several shapes, without zeros, with some, and with columns that do not sum to one."""
    table = data.standard()
    random = np.random.RandomState(7)
    for parents in (*data.graphs(table), data.complete_below_class(table)):
        yield data.network(table, parents)
        yield data.network(table, parents, zeros=0.2)
        tables = data.network(table, parents, zeros=0.2)
        for name in tables.names:
            tables[name].values[...] += random.normal(size=tables[name].values.shape)
        yield LogTables(tables.names, tables.states, tables.tables, table.target)


def _joint(tables: LogTables) -> FloatArray:
    """Return the probability of every configuration, one axis per variable."""
    factors: list[Any] = []
    for name in tables.names:
        parents, values = tables[name]
        factors += [np.exp(values), [tables.names.index(variable) for variable in (name, *parents)]]
    return np.asarray(_einsum(*factors, list(range(len(tables.names)))))


def _consistent(joint: FloatArray, row: CodeArray) -> FloatArray:
    """Set the probability of configurations that contradict the features of a row to 0."""
    missing = np.iinfo(row.dtype).max
    for axis, state in enumerate(row):
        if axis != data.TARGET and state != missing:
            joint = _times(joint, np.arange(joint.shape[axis]) == state, axis)
    return joint


def _times(joint: FloatArray, values: Any, axis: int) -> FloatArray:
    """Multiply along one axis."""
    axes = list(range(joint.ndim))
    return np.asarray(_einsum(joint, axes, np.asarray(values, dtype=np.float64), [axis], axes))


def _summed(joint: FloatArray, kept: Sequence[int]) -> FloatArray:
    """Sum over all axes except `kept`; return these in the given order."""
    return np.asarray(_einsum(joint, list(range(joint.ndim)), list(kept)))


def _log_joint(tables: LogTables, codes: CodeArray) -> FloatArray:
    joint = _joint(tables)
    with np.errstate(divide="ignore"):
        return np.log([_summed(_consistent(joint, row), [data.TARGET]) for row in codes.T])


def _query(tables: LogTables, variables: Sequence[str], evidence: Mapping[str, Any]) -> FloatArray:
    joint = _joint(tables)
    for name, value in evidence.items():
        axis = tables.names.index(name)
        joint = _times(joint, np.arange(joint.shape[axis]) == value if np.ndim(value) == 0 else value, axis)
    summed = _summed(joint, [tables.names.index(name) for name in variables])
    with np.errstate(invalid="ignore"):
        answer: FloatArray = summed / summed.sum()
    return answer


def _expected(tables: LogTables, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
    whole = _joint(tables)
    total = np.zeros_like(whole)
    for row, weight in zip(codes.T, weights, strict=True):
        joint = _consistent(whole, row)
        of_class = _summed(joint, [data.TARGET])
        total += _times(joint, np.divide(weight, of_class, out=np.zeros_like(weight), where=of_class > 0), data.TARGET)
    families = [[tables.names.index(variable) for variable in (name, *tables[name].parents)] for name in tables.names]
    return [_summed(total, family) for family in families]


#: In the order in which they are made.
PARAMETER_CHECKS = (*_common_checks.CHECKS, *_common_checks.checks_in(globals(), "ParameterSubject"))
ENGINE_CHECKS = (
    *_common_checks.BASIC_CHECKS,
    _common_checks.check_n_jobs_does_not_matter,
    *_common_checks.checks_in(globals(), "EngineSubject"),
)
