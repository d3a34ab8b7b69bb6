"""Checks of engines, whose answers about small networks are compared with enumeration.

Required accuracy depends on the descriptor. An engine with ``exact=True`` must agree up to rounding. One that is not
exact and does not draw must agree on trees, where message passing is exact, and be close on small networks with loops.
One that draws (``stochastic=True``, or it takes a ``random_state``) must be close on all networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from bnplug.contracts import CompiledNetwork, CountingNetwork
from bnplug.inference.complete import posterior
from bnplug.model.log_tables import LogTables
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import essential
from bnplug.testing._subjects import EngineSubject, require
from bnplug.typing import CodeArray, FloatArray

# The largest error of an exact engine, and of one that is exact on trees, whose messages converge.
_NOISE, _CONVERGED = 1e-9, 1e-3

# The largest mean error of approximate answers: of distributions, in total variation, and of logarithms.
_NEAR, _NEAR_LOGS = 0.1, 0.25

# The largest relative error of the sum of expected counts, which is the sum of the weights however they are estimated.
_SUM = 0.02

# numpy's types do not allow for axes given as lists.
_einsum: Any = np.einsum

#: What is asked of each network: variables, and evidence by the code of a state or by a likelihood of each.
_QUESTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("class",), {}),
    (("x2", "x1"), {}),
    (("x2",), {"x3": 1}),
    (("x1",), {"x3": 0}),
    (("class", "x3"), {"x2": 1}),
    (("x1",), {"class": 2, "x3": 0}),
    (("class",), {"x2": [0.2, 0.0, 3.0]}),
    (("x3", "class"), {"x1": [0.5, 0.1], "x2": 2}),
)

# Trees in which evidence travels along paths of three edges, in every order of the variables.
_TREES: tuple[list[list[int]], ...] = (
    [[], [0], [1], [2]],  # x1 -> x2 -> class -> x3
    [[1], [2], [3], []],  # x3 -> class -> x2 -> x1
    [[2], [0], [], [2]],  # x2 <- x1 <- class -> x3
    [[], [], [0, 1], [2]],  # x1 -> class <- x2, class -> x3
    [[2], [2], [], [2]],  # naive Bayes
)


@essential
def check_returns_compiled_network(subject: EngineSubject) -> None:
    """``compile`` returns a `CompiledNetwork`, whose results have the documented shapes."""
    table = data.with_missing_cells()
    tables = data.network(table, data.tree(table))
    compiled = subject.make().compile(tables, table.target)
    require(
        isinstance(compiled, CompiledNetwork),
        f"compile returned a {type(compiled).__name__}, not bnplug.CompiledNetwork",
    )
    n_classes = int(table.cards[table.target_index])
    shapes = [np.shape(compiled.log_joint(table.codes, complete=complete)) for complete in (False, True)]
    require(shapes == [(table.n_rows, n_classes)] * 2, f"log_joint has the shapes {shapes}, not (rows, classes)")
    if isinstance(compiled, CountingNetwork):
        counts = compiled.expected_counts(table.codes, np.ones((table.n_rows, n_classes)))
        shapes, expected = [np.shape(each) for each in counts], [tables[name].values.shape for name in tables.names]
        require(shapes == expected, f"expected_counts have the shapes {shapes}; those of the tables are {expected}")


def check_refuses_in_a_sentence(subject: EngineSubject) -> None:
    """A network that it does not support raises a ``ValueError`` of one line that says why."""
    for tables in _small_networks():
        try:
            subject.make().compile(tables, data.NAMES[data.TARGET])
        except Exception as error:
            _require_sentence(error)


def check_log_joint_agrees(subject: EngineSubject) -> None:
    """If cells are missing, the posterior of ``log_joint`` agrees with the sum over all completions."""
    for case in _cases(subject):
        full = _log_joint(case.tables, case.codes)
        # An engine may omit what is the same for all classes, even if it makes a row impossible.
        rows = np.flatnonzero(~np.isneginf(full).all(axis=1))
        labels = [f"the posterior of the row {row}" for row in case.codes.T[rows].tolist()]
        answers = posterior(np.asarray(case.compiled.log_joint(case.codes)))
        case.require_near("posteriors", labels, answers[rows], posterior(full)[rows])


def check_full_log_joint_agrees(subject: EngineSubject) -> None:
    """With ``complete=True``, ``log_joint`` includes factors that are the same for all classes."""
    for case in _cases(subject):
        full = _log_joint(case.tables, case.codes).ravel()
        answers = np.asarray(case.compiled.log_joint(case.codes, complete=True)).ravel()
        possible = np.isfinite(full)
        if case.noise is not None:
            require(
                bool(np.isneginf(answers[~possible]).all()),
                "with complete=True, log_joint is finite where class and known cells are impossible; return -inf",
            )
        elif not case.positive:
            continue
        labels = [f"log_joint(complete=True)[{i}]" for i in np.argwhere(possible.reshape(case.codes.shape[1], -1))]
        errors = np.abs(answers - np.where(possible, full, 0.0))[possible]
        case.require_near("full log joints", labels, answers[possible], full[possible], errors, _NEAR_LOGS)


def check_query_agrees(subject: EngineSubject) -> None:
    """``query`` agrees with enumeration, for known states and for likelihoods (soft evidence)."""
    for case in _cases(subject):
        labels, answers, exact = [], [], []
        for variables, evidence in _QUESTIONS:
            expected = _query(case.tables, variables, evidence)
            if not np.isfinite(expected).all():
                continue  # the evidence is impossible
            answer, label = (
                np.asarray(case.compiled.query(variables, evidence)),
                f"P({', '.join(variables)} | {evidence})",
            )
            require(
                answer.shape == expected.shape,
                f"{label} has the shape {answer.shape}, not {expected.shape}; its axes are the variables, in order",
            )
            labels.append(label)
            answers.append(answer)
            exact.append(expected)
        case.require_near("answers of query", labels, answers, exact)


def check_expected_counts_agree(subject: EngineSubject) -> None:
    """``expected_counts``, if offered, agree with enumeration, for weights of either sign."""
    for case in _cases(subject):
        if not isinstance(case.compiled, CountingNetwork):
            continue
        drawn = np.random.RandomState(8).normal(size=(case.codes.shape[1], len(case.tables.states["class"])))
        weights = drawn if case.noise is not None else np.abs(drawn)
        answers = [np.asarray(each) for each in case.compiled.expected_counts(case.codes, weights)]
        sums = [round(float(answer.sum()), 2) for answer in answers]
        require(
            case.noise is not None or not case.positive or np.allclose(sums, weights.sum(), rtol=_SUM),
            f"the expected counts of the families add up to {sums}, the weights of the rows to {weights.sum():.2f}",
        )
        expected = _expected(case.tables, case.codes, weights)
        errors = [np.abs(a - e).sum() / np.abs(weights).sum() for a, e in zip(answers, expected, strict=True)]
        labels = [f"the expected count of {name!r} and its parents" for name in case.tables.names]
        case.require_near("expected counts", labels, answers, expected, np.array(errors))


def check_network_without_a_class(subject: EngineSubject) -> None:
    """``compile(tables)`` works without a class, or raises a ``ValueError`` of one line."""
    for tables in (data.network(data.standard(), parents) for parents in _TREES):
        try:
            compiled = subject.make().compile(tables)
        except Exception as error:
            _require_sentence(error)
            continue
        codes = data.every_row(data.standard())
        shape = np.shape(compiled.log_joint(codes))
        require(shape == (codes.shape[1], 1), f"without a class, log_joint has the shape {shape}, not (rows, 1)")
        hidden = codes.copy()
        hidden[data.TARGET] = np.iinfo(codes.dtype).max
        expected = np.logaddexp.reduce(_log_joint(tables, hidden), axis=1)
        far = float(np.abs(np.ravel(compiled.log_joint(hidden)) - expected).mean())
        require(
            far <= (_NEAR_LOGS if _draws(subject) else _CONVERGED),
            f"without a class, log_joint is off by {far:.2g} on average; return the full log P(known cells)",
        )


def check_shares_are_not_ignored(subject: EngineSubject) -> None:
    """An engine that does not support interpolated features refuses ``shares`` with a ``ValueError`` of one line."""
    table = data.standard()
    compiled = subject.make().compile(data.network(table, data.tree(table)), table.target)
    plain = compiled.log_joint(table.codes)
    try:
        shared = compiled.log_joint(table.codes, shares=np.full(table.codes.shape, 0.5))
    except Exception as error:
        _require_sentence(error)
    else:
        require(not np.array_equal(shared, plain), "log_joint ignores `shares`; call self.refuse_shares(shares)")


def check_class_is_not_read(subject: EngineSubject) -> None:
    """The codes of the class are not read."""
    table = data.with_missing_cells()
    compiled = subject.make().compile(data.network(table, data.tree(table)), table.target)
    hidden = table.codes.copy()
    hidden[table.target_index] = table.missing
    require(
        np.array_equal(compiled.log_joint(table.codes), compiled.log_joint(hidden)),
        "log_joint is another where the class is missing in codes; do not read its row",
    )


def check_network_not_mutated(subject: EngineSubject) -> None:
    """The given tables and codes are not modified."""
    table = data.with_missing_cells()
    tables, codes = data.network(table, data.tree(table)), table.codes.copy()
    before = {name: table.values.copy() for name, table in tables.tables.items()}
    subject.call(subject.make(), tables, codes)
    changed = [name for name, values in before.items() if not np.array_equal(values, tables[name].values)]
    require(not changed, f"the tables of {changed} are others than before; work on copies")
    require(np.array_equal(codes, table.codes), "the codes are others than before; work on a copy")


class _Case(NamedTuple):
    """A small network as an engine compiles it, with every row that there can be, and what is demanded of the answers.

    `noise` is the largest error of any answer; None if only the mean error is limited. `positive` says whether all
    parameters are probabilities above 0.
    """

    compiled: Any
    tables: LogTables
    codes: CodeArray
    noise: float | None
    positive: bool
    advice: str

    def require_near(
        self,
        what: str,
        labels: Sequence[str],
        answers: Sequence[Any] | FloatArray,
        expected: Sequence[Any] | FloatArray,
        errors: FloatArray | None = None,
        near: float = _NEAR,
    ) -> None:
        """Fail if `errors`, by default in total variation, are too large; `labels` describe the answers."""
        if errors is None:
            errors = np.array([0.5 * np.abs(a - e).sum() for a, e in zip(answers, expected, strict=True)])
        if len(errors) > 0 and self.noise is not None:
            i = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
            far = np.abs(answers[i] - expected[i])
            cell = np.unravel_index(int(np.argmax(far)), far.shape)
            place = f"[{', '.join(map(str, cell))}]" if cell else ""
            message = f"{labels[i]}{place} is {answers[i][cell]:.6g}, and {expected[i][cell]:.6g} by enumeration"
            require(errors[i] <= self.noise, f"{message}; {self.advice}")
        elif len(errors) > 0:
            mean = float(np.mean(errors))
            require(mean <= near, f"{what} are off by {mean:.2f} on average, more than {near}; {self.advice}")


def _cases(subject: EngineSubject) -> Iterator[_Case]:
    """Yield the networks that an engine compiles and must answer about."""
    table, method = data.standard(), subject.method
    every = data.every_row(table)
    # Trees are no harder than other networks for an engine that draws, which takes its time.
    for tables in _small_networks(() if _draws(subject) else _TREES):
        positive = all(np.isfinite(each.values).all() for each in tables.tables.values()) and tables.normalized
        if method.exact:
            noise, advice = _NOISE, "if answers are not exact, declare exact=False"
        elif _draws(subject):
            noise, advice = None, "draw more often"
        elif _is_tree(tables):
            noise, advice = (
                _CONVERGED,
                "on trees, an engine that does not draw must be exact: iterate until it converges. One that draws "
                "declares stochastic=True",
            )
        elif positive:
            noise, advice = None, "on a small network with loops, an approximation must be closer"
        else:
            continue
        try:
            compiled = subject.make().compile(tables, table.target)
        except Exception:
            continue  # check_refuses_in_a_sentence looks at the error
        yield _Case(compiled, tables, every, noise, positive, advice)


def _draws(subject: EngineSubject) -> bool:
    return not subject.method.exact and (subject.method.stochastic or subject.has("random_state"))


def _is_tree(tables: LogTables) -> bool:
    """Return whether the graph without directions has no cycle."""
    graph = nx.Graph(tables.edges)
    return len(graph) == 0 or nx.is_forest(graph)


def _small_networks(trees: Sequence[list[list[int]]] = _TREES) -> Iterator[LogTables]:
    """Yield networks of several shapes, without zeros, with some, and with columns that do not sum to one."""
    table = data.standard()
    random = np.random.RandomState(7)
    for parents in (*data.graphs(table), data.complete_below_class(table), *trees):
        yield data.network(table, parents)
        yield data.network(table, parents, zeros=0.2)
        tables = data.network(table, parents, zeros=0.2)
        for name in tables.names:
            tables[name].values[...] += random.normal(size=tables[name].values.shape)
        yield LogTables(tables.names, tables.states, tables.tables, table.target)


def _require_sentence(error: Exception) -> None:
    message = str(error)
    require(
        isinstance(error, ValueError) and len(message) > 0 and "\n" not in message,
        f"{type(error).__name__}: {message!r}; raise a ValueError that says in one line what is not supported",
    )


def _joint(tables: LogTables, factors: Sequence[Any] = (), kept: Sequence[int] | None = None) -> FloatArray:
    """Return the probability of every configuration, one axis per variable.

    It is multiplied by further `factors`, arrays that each are followed by their axes, and summed over all axes except
    `kept`. The axis after those of the variables is that of rows.
    """
    operands: list[Any] = list(factors)
    for name in tables.names:
        parents, values = tables[name]
        operands += [np.exp(values), [tables.names.index(variable) for variable in (name, *parents)]]
    return np.asarray(_einsum(*operands, list(range(len(tables.names))) if kept is None else list(kept)))


def _known(tables: LogTables, codes: CodeArray) -> list[Any]:
    """Return a factor for each feature: whether its states agree with the cell of each row."""
    factors: list[Any] = []
    for axis, cells in enumerate(codes[:, :, None]):
        if axis != data.TARGET:
            states = np.arange(len(tables.states[tables.names[axis]]))
            factors += [(cells == states) | (cells == np.iinfo(codes.dtype).max), [len(codes), axis]]
    return factors


def _log_joint(tables: LogTables, codes: CodeArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(_joint(tables, _known(tables, codes), [len(codes), data.TARGET]))


def _query(tables: LogTables, variables: Sequence[str], evidence: Mapping[str, Any]) -> FloatArray:
    factors: list[Any] = []
    for name, value in evidence.items():
        likelihood = np.arange(len(tables.states[name])) == value if np.ndim(value) == 0 else value
        factors += [np.asarray(likelihood, dtype=np.float64), [tables.names.index(name)]]
    answer = _joint(tables, factors, [tables.names.index(name) for name in variables])
    with np.errstate(invalid="ignore"):
        return np.asarray(answer / answer.sum())


def _expected(tables: LogTables, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
    of_class = np.exp(_log_joint(tables, codes))
    shares = np.divide(weights, of_class, out=np.zeros_like(weights), where=of_class > 0)
    factors = [*_known(tables, codes), shares, [len(codes), data.TARGET]]
    families = ((name, *tables[name].parents) for name in tables.names)
    return [_joint(tables, factors, [tables.names.index(variable) for variable in family]) for family in families]


#: In the order in which they are made.
CHECKS = (
    *_common_checks.BASIC_CHECKS,
    _common_checks.check_n_jobs_does_not_matter,
    *_common_checks.checks_in(globals(), "EngineSubject"),
)
