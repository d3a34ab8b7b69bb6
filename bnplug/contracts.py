"""The base classes that plugins implement.

Constructors only store their parameters; ``learn``, ``score`` and ``fit`` receive the data. Results of a search are
stored in attributes that end with an underscore. Importing this module does not load the plugin system, which is loaded
when a component given by name is created (see `resolve_with`).
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from bnplug.typing import CodeArray, FloatArray

if TYPE_CHECKING:
    from bnplug.model.log_tables import LogTables
    from bnplug.scoring.walking import Walk
    from bnplug.table.table import Table
    from bnplug.typing import DAG

#: New parents of some variables, as numbers: one candidate of a search.
Changes = Mapping[int, Sequence[int]]

#: Returns weights of rows, of the shape (rows, classes), from their log joint, and the slice that says which they are.
Weigh = Callable[[FloatArray, slice], FloatArray]

#: Returns what a value, a name or a (name, parameters) pair, means as a parameter: of an owner, by its name.
Resolver = Callable[[Any, str, Any], Any]


class Composite(BaseEstimator):  # type: ignore[misc]
    """An estimator with components among its parameters, each of them an instance or a registered name.

    ``set_params(score__cv=5)`` reaches into a component given by name too: the name becomes an instance.
    """

    _resolver: ClassVar[Resolver | None] = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``component__parameter`` reaches into a component."""
        known = self.get_params(deep=False)
        if any(key.partition("__")[0] not in known for key in params):
            registry = import_module("bnplug.hooks.registry")
            method = registry.method_of(self)
            params = params if method is None else registry.renamed(method, params)
        for name in known:
            if name in params:
                setattr(self, name, params.pop(name))
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and not hasattr(getattr(self, name), "set_params"):
                setattr(self, name, self._make(name, getattr(self, name)))
        super().set_params(**params)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced = super().__reduce_ex__(protocol)
        registering = sys.modules.get("bnplug.hooks.registering")  # absent if nothing has been registered
        return reduced if registering is None else registering.with_registered(reduced)

    def _make(self, parameter: str, spec: Any) -> Any:
        """Return what `spec`, a name or a pair, means as the value of `parameter`."""
        if Composite._resolver is None:
            import_module("bnplug.hooks.components")  # which calls resolve_with
        assert Composite._resolver is not None
        return Composite._resolver(self, parameter, spec)


def resolve_with(resolver: Resolver) -> None:
    """Let `resolver` make the components that are given by name."""
    Composite._resolver = staticmethod(resolver)


class StructureLearner(Composite, ABC):
    """Learns a DAG. If it searches with a score, that is its constructor parameter ``score``.

    Attributes
    ----------
    relative_weights : bool
        Whether only the ratios of row weights matter, as for :class:`ParameterLearner`.

    Examples
    --------
    >>> class Independent(StructureLearner):
    ...     def learn(self, table):
    ...         return table.dag([[] for name in table.names])
    """

    relative_weights: ClassVar[bool] = False

    def fewest_parameters(self, table: Table) -> int:
        """Return how many parameters a structure that this learner returns has at least; 0 where that is not known.

        The classifier asks before anything is learned, and refuses what cannot keep to its ``max_parameters``.
        """
        return 0

    @abstractmethod
    def learn(self, table: Table) -> DAG | Sequence[Iterable[int]]:
        """Return a DAG whose nodes are ``table.names``, or the parents of every variable as numbers.

        ``table.dag(parents)`` makes the one of the other, and imports pgmpy only where somebody looks at the graph.
        """


class InnerFold(NamedTuple):
    """A part of the training rows held out, and what was learned without it.

    Attributes
    ----------
    train : Table
        The other rows, with cuts, states and classes of their own.
    dag : DAG
        The structure learned from them.
    held_out : Table
        The rows that are held out, coded as `train` is. A row whose class the others do not have is not among them.
    """

    train: Table
    dag: DAG
    held_out: Table


class ParameterLearner(Composite, ABC):
    """Learns the parameters of a given DAG.

    One that chooses something by rows held out says in `inner_folds` how many folds it wants, and takes one argument
    more: ``fit(table, dag, folds=None)``. The classifier then hands it a list of :class:`InnerFold`, in each of which
    cuts and structure too were learned without the rows held out. Who calls ``fit`` with a table alone has no raw
    columns to cut again: without `folds` a learner makes do, as by splitting `table` and keeping `dag`. There may be
    fewer folds than it asked for, and none at all where no class has rows for two.

    ``table.missing_policy`` says how to learn from rows with missing cells. If it is "em", all known cells of a row
    count, and a row may have no class: its code is ``table.missing``. Such rows come to a learner that says in
    `takes_unlabeled` that it learns from them; to others they are an error that the classifier raises. Parameters that
    follow from the counts of families are learned by EM without more work: see :class:`bnplug.CountsLearner`.

    Attributes
    ----------
    discretizer : str, (str, mapping) or transformer
        What numeric columns should be cut by, for a classifier that leaves it to its parameters
        (``discretizer="auto"``). ``"mdl"``, few bins that tell the classes apart, unless a class says otherwise, by an
        attribute or a property: one that does not trust cells of a row or two may ask for finer bins.
    takes_unlabeled : bool
        Whether :meth:`fit` accepts rows without a class if ``table.missing_policy`` is "em". False by default.
    relative_weights : bool
        Whether only the ratios of row weights matter, so that multiplying all of them by a constant changes nothing.
        Set it to True for leave-one-out learners: a row of weight 2 is left out as a whole, but of two equal rows only
        one is left out at a time. False by default: a row of weight 2 is equivalent to two rows.
    """

    discretizer: Any = "mdl"
    takes_unlabeled: ClassVar[bool] = False
    relative_weights: ClassVar[bool] = False

    @property
    def inner_folds(self) -> int:
        """How many folds the learner wants; none unless a class says otherwise, by an attribute or a property."""
        return 0

    @abstractmethod
    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return log parameters for every node of `dag`, whose structure stays as it is.

        Where `inner_folds` is positive it is called as ``fit(table, dag, folds=folds)``, a list of :class:`InnerFold`.
        """


class ScoreFunction(Composite, ABC):
    """Says how good a DAG is for a table; higher is better.

    :meth:`score` is enough. A score that can tell a small change faster overrides :meth:`evaluator`; one with a
    parameter that the data choose overrides :meth:`choose_parameters`.

    Attributes
    ----------
    resamples : bool
        Whether the score of one graph changes from step to step of a search, because something is drawn anew at
        each. False unless a class says otherwise.
    """

    resamples: ClassVar[bool] = False

    @abstractmethod
    def score(self, table: Table, dag: DAG) -> float:
        """Return the score of `dag` on `table`."""

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return what a search talks to; this one calls :meth:`score` for each candidate."""
        return ScoringEvaluator(self, table)

    def choose_parameters(self, table: Table) -> ScoreFunction:
        """Return this score with every parameter that is chosen by data, such as ``lam="cv"``, chosen on `table`.

        A search that makes several evaluators chooses the parameters of its score once, so that all of them agree. A
        score makes the same choice as its evaluator would. It returns itself if there is nothing to choose.
        """
        return self


class Engine(Composite, ABC):
    """Compute marginals of a network. An engine with a parameter ``max_clique_size`` gets the classifier's value.

    Attributes
    ----------
    saved_limits : mapping of str to number
        Upper bounds on parameters that are read from a model folder, which may come from anywhere. Set a bound for
        each parameter that determines how long an answer takes. Empty by default.
    """

    saved_limits: ClassVar[Mapping[str, float]] = {}

    @abstractmethod
    def compile(self, tables: LogTables, target: str) -> CompiledNetwork:
        """Return what answers questions about the network `tables`, whose class is `target`."""


class CompiledNetwork(ABC):
    """A compiled network: what is known goes in, probabilities come out.

    Codes are an unsigned array of shape (variables, rows), variables in the order of ``tables.names``; the largest
    value of its type means missing.
    """

    @abstractmethod
    def log_joint(self, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
        """Return L[m, c] = log P(c, what row m knows), of shape (rows, classes).

        A summand that is the same for all classes of a row may be left out. What `codes` say about the class is not
        read. A row that is impossible under every class is all ``-inf``.
        """

    @abstractmethod
    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence), one axis for each of `variables`.

        Evidence is the code of a state, or a likelihood for each state of the variable (soft evidence).
        """

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), ``-inf`` if it is impossible; evidence is as for :meth:`query`.

        If the tables do not sum to one, the result is relative to no evidence. The probability of soft evidence is its
        mean likelihood. This default multiplies answers of :meth:`query`, one for each finding; a finding whose
        probability is below the range of floats counts as impossible. Engines that compute with logarithms should
        override it.
        """
        total = 0.0
        before: dict[str, int | npt.ArrayLike] = {}
        for name, finding in evidence.items():
            posterior, weights = self.query([name], before), np.asarray(finding)
            share = float(posterior[weights] if weights.ndim == 0 else posterior @ weights)
            if share == 0:
                return -np.inf
            total += float(np.log(share))
            before[name] = finding
        return total

    @abstractmethod
    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return for each family the sum over rows m and classes c of ``weights[m, c] P(cell | c, what row m knows)``.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            What it says about the class is not read.
        weights : float64 array of shape (rows, classes)
            They may be negative. A class that is impossible for a row adds nothing.

        Returns
        -------
        list of float64 arrays
            For each of ``tables.names`` an array of the shape of its table: its own axis first, then its parents'.
        """

    def expectation(self, codes: CodeArray, weigh: Weigh, n_jobs: int | None = None) -> list[FloatArray]:
        """Return the :meth:`expected_counts` of rows whose weights depend on their log joint, as in a step of EM.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
        weigh : callable
            ``weigh(joint, rows)`` gets the log joint of the rows of a slice, and returns their weights, of the same
            shape. Each row comes once, in any order and thread. An engine may answer in one pass through the rows, as
            `elimination` does, which leaves nothing out of these log joints.
        n_jobs : int, optional
            Threads, as joblib counts them. The result does not depend on it.
        """
        joint = self.log_joint(codes, n_jobs)
        return self.expected_counts(codes, weigh(joint, slice(0, len(joint))))


@runtime_checkable
class ClassifierLike(Protocol):
    """A plugin's classifier: any scikit-learn classifier with ``predict_proba``; ``fit`` receives the raw columns."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from a frame and the class of every row."""

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class, in the order of ``classes_``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters of the constructor."""


@runtime_checkable
class DiscretizerLike(Protocol):
    """A plugin's discretizer: a scikit-learn transformer.

    ``fit`` sets ``cut_points_``: an ascending array for each column, or None for a column that it does not cut. A value
    equal to a cut belongs to the bin below it.
    """

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the cuts of every column."""

    def transform(self, X: Any) -> Any:
        """Put numbers into bins."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters of the constructor."""


@runtime_checkable
class SavesState(Protocol):
    """What a plugin's classifier offers to be saved and loaded without pickle."""

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what fitting found: a dict that JSON can hold, and named arrays."""

    def restore_state(self, state: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
        """Take over what :meth:`saved_state` returned, on an instance with the same parameters; return it."""


class Evaluator(ABC):
    """Scores the neighbours of a current graph. Variables are numbers: positions in ``table.names``.

    Attributes
    ----------
    value : float
        The score of the current graph.
    n_evaluations : int
        How many candidates were scored.
    decomposable : bool
        Whether the score is a sum of terms, one per family: a change then gains the same whatever
        the other families are, and a search need not ask again.
    resamples : bool
        Whether :meth:`step` may change the score of the current graph: a score from before a step is then not to be
        compared with one from after it.
    random : RandomState or None
        What :meth:`step` draws from, where it draws: a search that stops here and goes on with another evaluator
        hands its state on. None unless a class says otherwise.
    prefers_large_batches : bool
        Whether a search that need not look at the clock proposes all neighbours in one call, and not some hundreds at a
        time: each call costs messages to other machines.
    """

    value: float
    n_evaluations: int = 0
    decomposable: bool = False
    resamples: bool = False
    random: np.random.RandomState | None = None
    prefers_large_batches: bool = False

    @abstractmethod
    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the graph in which ``parents[v]`` are the parents of v the current one; return its score."""

    def step(self) -> float:
        """Begin a step of a search, and return the current graph's score for it."""
        return self.value

    @abstractmethod
    def propose(self, changes: Changes) -> float:
        """Return the score if each v in `changes` had the parents ``changes[v]``; changes nothing."""

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; one strictly below `at_least` may get ``-inf``."""
        return np.array([self.propose(changes) for changes in candidates], dtype=np.float64)

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that is good enough.

        Candidate i qualifies if its score reaches ``at_least[i]``; one strictly below may get ``-inf``.
        """
        scores = np.asarray(self.propose_many(candidates, at_least=float(np.min(at_least, initial=np.inf))))
        reached = np.flatnonzero(scores >= at_least)
        return scores[: reached[0] + 1] if len(reached) else scores

    @abstractmethod
    def commit(self, changes: Changes) -> float:
        """Make `changes` to the current graph; return its new score."""

    def walk(self, walk: Walk) -> bool:
        """Go on with a random walk by many tries at once; return whether this evaluator does so.

        The tries are those that proposals in turn and commits would make, to the last bit; there may be so many that
        they take some hundredths of a second. By default False: then nothing was done.
        """
        return False


class ScoringEvaluator(Evaluator):
    """The evaluator of any score: each candidate becomes a DAG and is scored whole."""

    def __init__(self, function: ScoreFunction, table: Table) -> None:
        self.function = function
        self.table = table
        self.resamples = function.resamples

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Score the given graph and keep it."""
        self.parents = [sorted(family) for family in parents]
        self.value = self._score(self.parents)
        return self.value

    def propose(self, changes: Changes) -> float:
        """Score the current graph with `changes`."""
        return self._score(self._changed(changes))

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Score the candidates one by one, so that none is scored in vain."""
        scores: list[float] = []
        for changes, least in zip(candidates, at_least, strict=True):
            scores.append(self.propose(changes))
            if scores[-1] >= least:
                break
        return np.array(scores, dtype=np.float64)

    def commit(self, changes: Changes) -> float:
        """Score the current graph with `changes` and keep it."""
        return self.start(self._changed(changes))

    def _changed(self, changes: Changes) -> list[list[int]]:
        return [sorted(changes.get(v, parents)) for v, parents in enumerate(self.parents)]

    def _score(self, parents: list[list[int]]) -> float:
        self.n_evaluations += 1
        return float(self.function.score(self.table, self.table.dag(parents)))
