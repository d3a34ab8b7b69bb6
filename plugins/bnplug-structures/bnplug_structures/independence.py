"""Tests of conditional independence, counted in batches by compiled code.

A question is about one variable, a conditioning set and any number of other variables; the tables of a whole batch of
questions are counted in one pass over the rows. The statistics are G, 2 n I(X; Y | S), and Pearson's chi-squared.

Degrees of freedom are adjusted for empty slices and states: each configuration of the conditioning set adds
(r - 1)(c - 1), where r and c are the numbers of states of the two variables that occur in it. A conditioning set is
reliable if there are enough rows for the degrees of freedom of all configurations that occur, with all states that
occur anywhere. An unreliable set never separates two variables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray, IntArray

#: The statistics of tests that count, by name.
STATISTICS = ("g", "chi-squared")

#: A test given by the user: the p-value of independence of two variables given others, all by name.
AskedTest = Callable[[str, str, tuple[str, ...]], float]

# A table with more cells is not counted. Cells that a thread counts at once, and those of one pass over many blocks.
_MOST_CELLS, _CELLS, _CELLS_IN_PASS = 1 << 22, 1 << 16, 1 << 22

_ROWS, _LANES = 2048, 4


class Question(NamedTuple):
    """Is a variable independent of each of `others`, given `given`?"""

    variable: int
    given: tuple[int, ...]
    others: tuple[int, ...]


class Answers(NamedTuple):
    """Results of tests, one for each of the others of all questions, in their order.

    Attributes
    ----------
    p_values : array
    strengths : array
        How far from independent: the statistic, rounded, to compare tests whose p-values are 0.
    reliable : bool array
    """

    p_values: FloatArray
    strengths: FloatArray
    reliable: BoolArray

    def separated(self, alpha: float) -> BoolArray:
        """Return whether each pair is independent at the level `alpha`, by a reliable test."""
        return self.reliable & (self.p_values > alpha)


class IndependenceTest(ABC):
    """Answers questions about a table, and counts the tests in `n_tests`."""

    n_tests: int = 0

    def ask(self, questions: Sequence[Question]) -> Answers:
        """Return the answers to all questions."""
        self.n_tests += sum(len(question.others) for question in questions)
        return self._answer(questions)

    @abstractmethod
    def _answer(self, questions: Sequence[Question]) -> Answers:
        """Return the answers to all questions."""


def independence_test(
    test: str | AskedTest, table: Table, min_rows: float = 1.0, n_jobs: int | None = None
) -> IndependenceTest:
    """Return a test on a table.

    Parameters
    ----------
    test : "g", "chi-squared" or callable
        A callable receives the names of two variables and the tuple of names of the conditioning set, and returns a
        p-value: an oracle returns 1 for independent variables and 0 for others.
    table : Table
    min_rows : float
        A conditioning set is reliable if there are at least so many rows for each degree of freedom.
    n_jobs : int, optional
        Threads that count. The results do not depend on it.
    """
    if callable(test):
        return _Asked(test, table.names)
    if test not in STATISTICS:
        raise ValueError(f"test={test!r}: expected one of {list(STATISTICS)} or a function of x, y and given")
    return _Counted(test, table, min_rows, n_jobs)


def check_levels(learner: Any) -> None:
    """Raise a ``ValueError`` unless the parameters alpha, max_conditions and min_rows of a learner are in range."""
    if not (isinstance(learner.alpha, float | np.floating) and 0 < learner.alpha < 1):
        raise ValueError(f"alpha={learner.alpha!r}: the significance level is a number above 0 and below 1")
    most = learner.max_conditions
    if most is not None and not (isinstance(most, int | np.integer) and most >= 0):
        raise ValueError(f"max_conditions={most!r}: expected a whole number of at least 0, or None for no limit")
    if not learner.min_rows >= 0:
        raise ValueError(f"min_rows={learner.min_rows!r}: expected a number of at least 0")


class Separation:
    """An oracle for tests: d-separation in a known graph.

    Parameters
    ----------
    structure : Structure
        The graph.

    Examples
    --------
    >>> oracle = Separation(Structure(["a", "b", "c"], [[], [], [0, 1]]))
    >>> oracle("a", "b", ()), oracle("a", "b", ("c",))
    (1.0, 0.0)
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._position = {name: v for v, name in enumerate(structure.names)}

    def __call__(self, x: str, y: str, given: tuple[str, ...]) -> float:
        """Return 1 if x and y are d-separated by `given`, otherwise 0."""
        parents, children = self.structure.parents, self.structure.children
        known = {self._position[name] for name in given}
        ancestors, waiting = set(known), list(known)
        while waiting:
            new = [u for u in parents[waiting.pop()] if u not in ancestors]
            ancestors.update(new)
            waiting += new
        # Bayes ball: (variable, whether it is reached from a child).
        reached, open_ends = set[tuple[int, bool]](), [(self._position[x], True)]
        while open_ends:
            v, from_child = open_ends.pop()
            if (v, from_child) in reached:
                continue
            reached.add((v, from_child))
            if v not in known:
                open_ends += [(child, False) for child in children[v]]
            if v not in known if from_child else v in ancestors:
                open_ends += [(parent, True) for parent in parents[v]]
        target = self._position[y]
        return float((target, True) not in reached and (target, False) not in reached)


class _Asked(IndependenceTest):
    """Calls a function of the user for each test."""

    def __init__(self, test: AskedTest, names: Sequence[str]) -> None:
        self._test, self._names = test, names

    def _answer(self, questions: Sequence[Question]) -> Answers:
        p_values = np.array([self._p_value(*question[:2], u) for question in questions for u in question.others])
        if not ((p_values >= 0) & (p_values <= 1)).all():
            raise ValueError(f"the test {self._test!r} returned {p_values.min()}..{p_values.max()}, not p-values")
        return Answers(p_values, 1 - p_values, np.ones(len(p_values), dtype=bool))

    def _p_value(self, variable: int, given: tuple[int, ...], other: int) -> float:
        x, y = sorted((variable, other))
        return float(self._test(self._names[x], self._names[y], tuple(self._names[v] for v in sorted(given))))


class _Batch(NamedTuple):
    """Questions as arrays. Each table has axes (variable, given, other), and one more cell for incomplete rows."""

    variables: IntArray  # (questions,)
    given: IntArray  # the conditioning sets, one after the other
    given_at: IntArray  # (questions + 1,): where each begins
    others: IntArray
    others_at: IntArray  # (questions + 1,)
    starts: IntArray  # (others + 1,): where the table of each begins; too large tables are empty

    @classmethod
    def of(cls, questions: Sequence[Question], cards: list[int]) -> _Batch:
        """Lay out the tables of some questions."""
        cells = [_n_cells(question, u, cards) for question in questions for u in question.others]
        return cls(
            np.array([question.variable for question in questions], dtype=np.int64),
            np.array([v for question in questions for v in question.given], dtype=np.int64),
            _ends([len(question.given) for question in questions]),
            np.array([v for question in questions for v in question.others], dtype=np.int64),
            _ends([len(question.others) for question in questions]),
            _ends([n + 1 if n <= _MOST_CELLS else 0 for n in cells]),
        )


def _n_cells(question: Question, other: int, cards: list[int]) -> int:
    return cards[question.variable] * cards[other] * prod(cards[v] for v in question.given)


def _ends(sizes: list[int]) -> IntArray:
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    ends[1:] = np.cumsum(sizes, dtype=np.int64)
    return ends


class _Counted(IndependenceTest):
    """Tests by the G or the chi-squared statistic."""

    def __init__(self, statistic: str, table: Table, min_rows: float, n_jobs: int | None) -> None:
        self._pearson = statistic == "chi-squared"
        self._table, self._min_rows, self._n_jobs = table, min_rows, n_jobs
        self._cards: list[int] = table.cards.tolist()

    def _answer(self, questions: Sequence[Question]) -> Answers:
        from scipy.special import gammaincc

        in_memory = self._table.n_blocks == 1
        chunks = list(self._chunks(questions, _CELLS if in_memory else _CELLS_IN_PASS))
        parts = run_in_threads(self._measure, chunks, n_jobs=self._n_jobs if in_memory else 1)
        statistics, degrees, nominal, rows = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0))
        p_values = np.ones(len(degrees))
        free = degrees > 0
        p_values[free] = gammaincc(degrees[free] / 2, statistics[free] / 2)
        n_given = np.array([len(question.given) for question in questions for _ in question.others])
        reliable = (n_given == 0) | ((rows > 0) & (rows >= self._min_rows * nominal))
        return Answers(p_values, np.where(free, np.round(statistics, 6), 0.0), reliable)

    def _chunks(self, questions: Sequence[Question], most: int) -> Iterator[list[Question]]:
        """Yield the questions in parts whose tables have about `most` cells."""
        part, total = list[Question](), 0
        for question in questions:
            cells = sum(n for u in question.others if (n := _n_cells(question, u, self._cards)) <= _MOST_CELLS)
            if part and total + cells > most:
                yield part
                part, total = [], 0
            part.append(question)
            total += cells
        if part:
            yield part

    def _measure(self, questions: list[Question]) -> FloatArray:
        """Return statistics, degrees of freedom, those without adjustment, and rows of each test."""
        batch = _Batch.of(questions, self._cards)
        counts = self._expected(questions, batch) if self._table.expects else self._table.sum(_count, batch)[0]
        result = np.zeros((4, len(batch.others)))
        _reduce(counts, self._table.cards, *batch, self._pearson, result)
        return result

    def _expected(self, questions: list[Question], batch: _Batch) -> FloatArray:
        """Return the expected counts of a table that is completed by a network."""
        counts = np.zeros(batch.starts[-1])
        families = [(q.variable, *q.given, u) for q in questions for u in q.others]
        places = [i for i in range(len(families)) if batch.starts[i + 1] > batch.starts[i]]
        for i, cells in zip(places, self._table.counts([families[i] for i in places]), strict=True):
            counts[batch.starts[i] : batch.starts[i + 1] - 1] = cells.ravel()
        return counts


def _count(block: Table, batch: _Batch) -> list[FloatArray]:
    """Return the tables of a batch of questions in a block of rows, as one array."""
    lanes = np.zeros((_LANES, batch.starts[-1]), dtype=np.int64 if block.weights is None else np.float64)
    counts = np.empty(batch.starts[-1])
    _tally(block.codes, block.missing, block.weights, block.cards, *batch, lanes, counts)
    return [counts]


@kernel
def _tally(codes, missing, weights, cards, variables, given, given_at, others, others_at, starts, lanes, counts):  # type: ignore[no-untyped-def]
    """Count the tables of a batch (see _Batch).

    codes: (variables, rows); weights: (rows,) or None; counts: (cells,), the sum of `lanes`, (4, cells), to which
    unweighted rows are added in turn, since adding to one cell twice in a row stalls.
    """
    base, cells = np.empty(_ROWS, np.uint32), np.empty(_ROWS, np.uint32)
    n_rows = codes.shape[1]
    for low in range(0, n_rows, _ROWS):
        size = min(_ROWS, n_rows - low)
        for q in range(variables.shape[0]):
            _find_base(
                codes[:, low : low + size], missing, cards, variables[q], given[given_at[q] : given_at[q + 1]], base
            )
            for i in range(others_at[q], others_at[q + 1]):
                n_cells = starts[i + 1] - starts[i] - 1
                if n_cells < 0:
                    continue
                column, card, sink = codes[others[i], low : low + size], np.uint32(cards[others[i]]), np.uint32(n_cells)
                for m in range(size):
                    cell = np.uint32(base[m] * card + np.uint32(column[m]))
                    cells[m] = sink if column[m] == missing or base[m] * card >= sink else cell
                _add(cells[:size], weights, low, lanes[:, starts[i] : starts[i + 1]])
    for i in range(counts.shape[0]):
        counts[i] = lanes[0, i] + lanes[1, i] + lanes[2, i] + lanes[3, i]


@inner_kernel
def _find_base(codes, missing, cards, variable, given, base):  # type: ignore[no-untyped-def]
    """Fill base[m] with the joint state of a variable and its conditioning set; behind the last if incomplete."""
    n_states, n_rows = np.uint32(cards[variable]), codes.shape[1]
    for m in range(n_rows):
        base[m] = codes[variable, m]
    for i in range(given.shape[0]):
        column, card = codes[given[i]], np.uint32(cards[given[i]])
        n_states *= card
        for m in range(n_rows):
            base[m] = base[m] * card + np.uint32(column[m])
    column = codes[variable]
    for m in range(n_rows):
        base[m] = n_states if column[m] == missing else base[m]
    for i in range(given.shape[0]):
        column = codes[given[i]]
        for m in range(n_rows):
            base[m] = n_states if column[m] == missing else base[m]


@inner_kernel
def _add(cells, weights, low, lanes):  # type: ignore[no-untyped-def]
    """Add the weight of row low + m to cells[m] of one of four lanes."""
    n_rows = cells.shape[0]
    one, two, three, four = lanes[0], lanes[1], lanes[2], lanes[3]
    if weights is None:
        whole = n_rows - n_rows % _LANES
        for m in range(0, whole, _LANES):
            one[cells[m]] += 1
            two[cells[m + 1]] += 1
            three[cells[m + 2]] += 1
            four[cells[m + 3]] += 1
        for m in range(whole, n_rows):
            one[cells[m]] += 1
    else:
        for m in range(n_rows):
            one[cells[m]] += weights[low + m]


@kernel
def _reduce(counts, cards, variables, given, given_at, others, others_at, starts, pearson, result):  # type: ignore[no-untyped-def]
    """Fill result, (4, others), with statistic, degrees of freedom, the same without adjustment, and rows."""
    for q in range(variables.shape[0]):
        n_x, n_given = cards[variables[q]], 1
        for i in range(given_at[q], given_at[q + 1]):
            n_given *= cards[given[i]]
        for i in range(others_at[q], others_at[q + 1]):
            if starts[i + 1] > starts[i]:
                n_y = cards[others[i]]
                cells = counts[starts[i] : starts[i + 1] - 1].reshape(n_x, n_given, n_y)
                _measure(cells, pearson, result[:, i])


@inner_kernel
def _measure(cells, pearson, result):  # type: ignore[no-untyped-def]
    """Measure one table with axes (x, given, y)."""
    n_x, n_given, n_y = cells.shape
    of_x, of_y = np.empty(n_x), np.empty(n_y)
    x_occurs, y_occurs = np.zeros(n_x, np.bool_), np.zeros(n_y, np.bool_)
    statistic, degrees, slices, rows = 0.0, 0, 0, 0.0
    for g in range(n_given):
        of_x[:] = 0.0
        of_y[:] = 0.0
        total, part = 0.0, 0.0
        for x in range(n_x):
            for y in range(n_y):
                n = cells[x, g, y]
                if n > 0:
                    of_x[x] += n
                    of_y[y] += n
                    total += n
                    if not pearson:
                        part += n * np.log(n)
        if total <= 0:
            continue
        occur_x, occur_y = 0, 0
        for x in range(n_x):
            if of_x[x] > 0:
                x_occurs[x] = True
                occur_x += 1
                part -= 0.0 if pearson else of_x[x] * np.log(of_x[x])
        for y in range(n_y):
            if of_y[y] > 0:
                y_occurs[y] = True
                occur_y += 1
                part -= 0.0 if pearson else of_y[y] * np.log(of_y[y])
        if pearson:
            for x in range(n_x):
                for y in range(n_y):
                    if of_x[x] > 0 and of_y[y] > 0:
                        expected = of_x[x] * of_y[y] / total
                        part += (cells[x, g, y] - expected) ** 2 / expected
        else:
            part = 2 * (part + total * np.log(total))
        statistic += part if part > 0 else 0.0
        degrees += (occur_x - 1) * (occur_y - 1)
        slices += 1
        rows += total
    nominal = max(x_occurs.sum() - 1, 0) * max(y_occurs.sum() - 1, 0) * slices
    result[0], result[1], result[2], result[3] = statistic, degrees, nominal, rows
