"""What holds for every engine of inference: an exact one answers as enumeration does, on small networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bnplug.arrays import CodeArray, FloatArray
from bnplug.contracts import Marginals
from bnplug.inference.complete import posterior
from bnplug.model.log_tables import LogTables
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import Check, essential, only_if
from bnplug.testing._subjects import EngineSubject, require

_NOISE = 1e-9

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
def check_returns_marginals(subject: EngineSubject) -> None:
    """``compile`` returns `Marginals`, whose answers have the shapes that the contract gives."""
    table = data.with_missing_cells()
    tables = data.network(table, data.tree(table))
    compiled = subject.make().compile(tables, table.target)
    require(isinstance(compiled, Marginals), f"compile returned a {type(compiled).__name__}, not bnplug.Marginals")
    n_classes = int(table.cards[table.target_index])
    shape = np.shape(compiled.log_joint(table.codes))
    require(shape == (table.n_rows, n_classes), f"log_joint has the shape {shape}, not (rows, classes)")
    counts = compiled.expected_counts(table.codes, np.ones((table.n_rows, n_classes)))
    shapes, expected = [np.shape(own) for own in counts], [tables[name].values.shape for name in tables.names]
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
    for compiled, tables, codes in _networks(subject):
        answers, expected = compiled.log_joint(codes), _log_joint(tables, codes)
        possible = ~np.isneginf(expected).all(axis=1)
        far = float(np.abs(posterior(answers) - posterior(expected))[possible].mean())
        require(far <= 0.1, f"posteriors are off by {far:.2f} on average; draw more often")


@only_if(lambda method: method.exact)
def check_log_joint_is_exact(subject: EngineSubject) -> None:
    """Where cells are missing, the posterior of ``log_joint`` is that of summing over every completion."""
    for compiled, tables, codes in _networks(subject):
        answers, expected = compiled.log_joint(codes), _log_joint(tables, codes)
        # What is the same for all classes may be left out, also where it makes a row impossible.
        possible = ~np.isneginf(expected).all(axis=1)
        far = np.where(possible, np.abs(posterior(answers) - posterior(expected)).max(axis=1), 0.0)
        worst = int(far.argmax())
        require(
            bool(far[worst] <= _NOISE),
            f"the row {codes[:, worst].tolist()} of {tables.names} has the posterior {posterior(answers)[worst]}, and "
            f"{posterior(expected)[worst]} by enumeration; if answers are not exact, declare exact=False",
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
    before = {name: own.values.copy() for name, own in tables.tables.items()}
    subject.answers(subject.make(), tables, codes)
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
    """Return P of every configuration, one axis for each variable."""
    total = np.ones([len(tables.states[name]) for name in tables.names])
    for name in tables.names:
        parents, values = tables[name]
        axes = [tables.names.index(variable) for variable in (name, *parents)]
        shape = [size if axis in axes else 1 for axis, size in enumerate(total.shape)]
        total = total * np.exp(values).transpose(np.argsort(axes)).reshape(shape)
    return total


def _consistent(joint: FloatArray, row: CodeArray) -> FloatArray:
    """Return P of every configuration that a row allows, 0 of others; whatever it says about the class."""
    missing = np.iinfo(row.dtype).max
    for axis, state in enumerate(row):
        if axis != data.TARGET and state != missing:
            joint = joint * _along(np.arange(joint.shape[axis]) == state, axis, joint.ndim)
    return joint


def _along(values: Any, axis: int, n_axes: int) -> Any:
    return np.asarray(values, dtype=np.float64).reshape([-1 if other == axis else 1 for other in range(n_axes)])


def _summed(joint: FloatArray, kept: Sequence[int]) -> FloatArray:
    """Return the sums over all axes but those that are kept, in their order."""
    others = tuple(axis for axis in range(joint.ndim) if axis not in kept)
    summed: FloatArray = joint.sum(axis=others).transpose(np.argsort(np.argsort(kept)))
    return summed


def _log_joint(tables: LogTables, codes: CodeArray) -> FloatArray:
    joint = _joint(tables)
    with np.errstate(divide="ignore"):
        return np.log([_summed(_consistent(joint, row), [data.TARGET]) for row in codes.T])


def _query(tables: LogTables, variables: Sequence[str], evidence: Mapping[str, Any]) -> FloatArray:
    joint = _joint(tables)
    for name, value in evidence.items():
        axis = tables.names.index(name)
        likelihood = np.arange(joint.shape[axis]) == value if np.ndim(value) == 0 else value
        joint = joint * _along(likelihood, axis, joint.ndim)
    summed = _summed(joint, [tables.names.index(name) for name in variables])
    with np.errstate(invalid="ignore"):
        answer: FloatArray = summed / summed.sum()
    return answer


def _expected(tables: LogTables, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
    whole = _joint(tables)
    total = np.zeros_like(whole)
    for row, own in zip(codes.T, weights, strict=True):
        joint = _consistent(whole, row)
        of_class = _summed(joint, [data.TARGET])
        scale = np.divide(own, of_class, out=np.zeros_like(own), where=of_class > 0)
        total += joint * _along(scale, data.TARGET, joint.ndim)
    families = [[tables.names.index(variable) for variable in (name, *tables[name].parents)] for name in tables.names]
    return [_summed(total, family) for family in families]


#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    _common_checks.check_described,
    _common_checks.check_cloneable,
    _common_checks.check_parameters_untouched,
    _common_checks.check_same_seed_same_result,
    _common_checks.check_n_jobs_does_not_matter,
    _common_checks.check_pickles,
    check_returns_marginals,
    check_refuses_in_a_sentence,
    check_estimates_are_near,
    check_log_joint_is_exact,
    check_query_is_exact,
    check_expected_counts_are_exact,
    check_class_is_not_read,
    check_network_not_mutated,
)
