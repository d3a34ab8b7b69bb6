"""The base classes that plugins implement.

Constructors only store their parameters; ``learn``, ``score`` and ``fit`` receive the data. Results of a search are
stored in attributes that end with an underscore. The plugin system is loaded when a component is created by name.
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

from bnplug._compiled_network import CompiledNetwork as CompiledNetwork
from bnplug._compiled_network import CountingNetwork as CountingNetwork
from bnplug._compiled_network import Weigh as Weigh
from bnplug.structure import Structure
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from bnplug.model.log_tables import LogTables
    from bnplug.scoring.walking import Walk
    from bnplug.structure import Learned
    from bnplug.table.table import Table

#: New parents of some variables, as numbers: one candidate of a search.
Changes = Mapping[int, Sequence[int]]

#: Returns what a value, a name or a (name, parameters) pair, means as a parameter: of an owner, by its name.
Resolver = Callable[[Any, str, Any], Any]


class Composite(BaseEstimator):  # type: ignore[misc]
    """An estimator with components among its parameters, each of them an instance or a registered name.

    ``set_params(score__cv=5)`` reaches into a component given by name too: the name becomes an instance.

    Attributes
    ----------
    components : mapping of str to str
        The parameters that hold a component, and the kind of each: ``"structure"``, ``"score"``, ``"parameters"``,
        ``"engine"``, ``"discretizer"`` or ``"classifier"``. A class inherits those of its base classes.
    """

    components: ClassVar[Mapping[str, str]] = {}
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
    """Learns a directed acyclic graph. If it searches with a score, that is its constructor parameter ``score``.

    Attributes
    ----------
    components : mapping of str to str
        As for :class:`Composite`; by default ``{"score": "score"}``.
    relative_weights : bool
        As for :class:`ParameterLearner`.

    Examples
    --------
    >>> class Independent(StructureLearner):
    ...     def learn(self, table):
    ...         return Structure(table.names, [[] for name in table.names])
    """

    components: ClassVar[Mapping[str, str]] = {"score": "score"}
    relative_weights: ClassVar[bool] = False

    def fewest_parameters(self, table: Table) -> int:
        """Return the fewest parameters that a structure of this learner has, for ``max_parameters``; 0 if unknown."""
        return 0

    @abstractmethod
    def learn(self, table: Table) -> Structure | Learned | Any:
        """Return a :class:`~bnplug.Structure` over the variables of `table`, or anything :meth:`Structure.of` accepts.

        A learner that found more than a structure, such as an equivalence class or edge probabilities, returns
        :class:`~bnplug.Learned`.
        """


class InnerFold(NamedTuple):
    """A part of the training rows held out, and what was learned without it.

    Attributes
    ----------
    train : Table
        The other rows, with cuts, states and classes of their own.
    structure : Structure
        The structure learned from them.
    held_out : Table
        The rows that are held out, encoded like `train`. Rows whose class `train` does not have are omitted.
    """

    train: Table
    structure: Structure
    held_out: Table


class ParameterLearner(Composite, ABC):
    """Learns the parameters of a given structure.

    ``table.missing_policy`` says how to learn from rows with missing cells. If it is "em", all known cells of a row
    count, and a row may have no class: its code is ``table.missing``. :class:`bnplug.CountsLearner` implements EM.

    Attributes
    ----------
    n_inner_folds : int
        The number of inner folds that the learner needs to choose something on held-out rows, by an attribute or a
        property; 0 by default. If it is positive, the classifier sets `inner_folds_` before it calls :meth:`fit`.
    inner_folds_ : sequence of InnerFold or None
        Folds in which cuts and structure, too, were learned without the held-out rows. There may be fewer than
        `n_inner_folds`, even none. None if :meth:`fit` is called with a table only: then a learner splits `table` and
        keeps the structure. The classifier removes the attribute after fitting.
    discretizer : str, (str, mapping) or transformer
        The discretizer of numeric columns for ``discretizer="auto"``, by an attribute or a property. By default
        ``"mdl"``: few bins that separate the classes.
    takes_unlabeled : bool
        Whether :meth:`fit` accepts rows without a class if ``table.missing_policy`` is "em"; False by default.
    relative_weights : bool
        Whether only the ratios of row weights matter. Set it to True for leave-one-out learners: a row of weight 2 is
        left out as a whole, but of two equal rows only one is left out at a time. By default, it is equivalent to two.
    generative : bool
        Whether the parameters estimate the joint distribution of all variables, so ``calibrate="evidence"`` calibrates
        them; False by default.
    """

    n_inner_folds: int = 0
    inner_folds_: Sequence[InnerFold] | None = None
    discretizer: Any = "mdl"
    takes_unlabeled: ClassVar[bool] = False
    relative_weights: ClassVar[bool] = False
    generative: ClassVar[bool] = False

    @abstractmethod
    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return log parameters for every variable, given its parents in `structure`."""


class ScoreFunction(Composite, ABC):
    """Scores structures on a table; higher is better.

    :meth:`score` is enough. A score that evaluates small changes faster overrides :meth:`evaluator`; one with a
    parameter that is chosen by data overrides :meth:`choose_parameters`.

    Attributes
    ----------
    resamples : bool
        Whether the score of one graph changes from step to step of a search, because something is drawn at each.
    decomposable : bool or None
        Whether the score is a sum of terms, one per family, for a class that is not registered. None by default: False
        if the class does not override :meth:`evaluator`, otherwise unknown.
    """

    resamples: ClassVar[bool] = False
    decomposable: ClassVar[bool | None] = None

    @abstractmethod
    def score(self, table: Table, structure: Structure) -> float:
        """Return the score of `structure` on `table`."""

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return an evaluator for a search; the default calls :meth:`score` for each candidate."""
        return ScoringEvaluator(self, table)

    def choose_parameters(self, table: Table) -> ScoreFunction:
        """Return this score with every parameter that is chosen by data, such as ``lam="cv"``, chosen on `table`.

        The choice is the one that its evaluator would make. A search with several evaluators chooses once.
        """
        return self


class Engine(Composite, ABC):
    """Compute marginals of a network. An engine with a parameter ``max_clique_size`` gets the classifier's value.

    EM uses the classifier's engine if its compiled network is a :class:`CountingNetwork`, and `elimination` otherwise.

    Attributes
    ----------
    saved_limits : mapping of str to number
        Upper bounds on parameters that are read from a model folder, which may come from anywhere. Set a bound for
        each parameter that determines how long an answer takes. Empty by default.
    """

    saved_limits: ClassVar[Mapping[str, float]] = {}

    @abstractmethod
    def compile(self, tables: LogTables, target: str | None = None) -> CompiledNetwork:
        """Compile the network `tables`, whose class is `target`.

        Without a class, `log_joint` returns log P(known cells) of each row, of shape (rows, 1). An engine that needs a
        class raises a ``ValueError``, or calls :func:`bnplug.inference.class_free.compile_without_class`.
        """


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
    """A plugin's discretizer: a scikit-learn transformer. On files and Dask, it must derive from `bnplug.Discretizer`.

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
    """Scores the neighbors of a current graph. Variables are numbers: positions in ``table.names``.

    A search needs three methods and `value`. These classes add optional methods: :class:`ProposesInTurn`,
    :class:`Resamples`, :class:`Walks` and :class:`PrefersLargeBatches`.

    Attributes
    ----------
    value : float
        The score of the current graph.
    n_evaluations : int
        The number of candidates scored so far, for reports; an evaluator need not count.
    decomposable : bool
        Whether the score is a sum of terms, one per family, so that a change of one family gains the same whatever the
        others are. A search then asks for each change only once. False by default.
    """

    value: float
    n_evaluations: int = 0
    decomposable: bool = False

    @abstractmethod
    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the graph in which ``parents[v]`` are the parents of v the current one; return its score."""

    @abstractmethod
    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of each candidate: of the graph in which each of its keys v has the parents of its value.

        The current graph stays as it is. The score of a candidate strictly below `at_least` may be ``-inf``.
        """

    @abstractmethod
    def commit(self, changes: Changes) -> float:
        """Make `changes` to the current graph; return its new score."""


class ProposesInTurn(Evaluator):
    """An evaluator that can stop scoring at the first candidate that is good enough."""

    @abstractmethod
    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that is good enough.

        Candidate i qualifies if its score reaches ``at_least[i]``; one strictly below may get ``-inf``.
        """


def propose_in_turn(evaluator: Evaluator, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
    """Return the scores of candidates up to the first that reaches its `at_least`, by any evaluator."""
    if isinstance(evaluator, ProposesInTurn):
        return evaluator.propose_in_turn(candidates, at_least)
    return _up_to_first(evaluator.propose_many(candidates, float(np.min(at_least, initial=np.inf))), at_least)


def _up_to_first(scores: FloatArray, at_least: FloatArray) -> FloatArray:
    reached = np.flatnonzero(np.asarray(scores) >= at_least)
    return np.asarray(scores[: reached[0] + 1] if len(reached) else scores)


class Resamples(Evaluator):
    """An evaluator that may draw something anew for each step of a search, such as held-out rows.

    Attributes
    ----------
    resamples : bool
        Whether :meth:`step` may change the score of the current graph. Scores from before a step are then not compared
        with scores after it.
    random : RandomState or None
        The generator of :meth:`step`. A search that continues with another evaluator passes the state of this one on.
    """

    resamples: bool = True
    random: np.random.RandomState | None = None

    @abstractmethod
    def step(self) -> float:
        """Begin a step of a search, and return the current graph's score for it."""


def begin_step(evaluator: Evaluator) -> float:
    """Begin a step of a search by any evaluator, and return the current graph's score for it."""
    return float(evaluator.step() if isinstance(evaluator, Resamples) else evaluator.value)


class Walks(Evaluator):
    """An evaluator that can make many tries of a random walk (:class:`bnplug.scoring.Walk`) in one call."""

    @abstractmethod
    def walk(self, walk: Walk) -> bool:
        """Continue a random walk by many tries at once, some hundredths of a second; if False, nothing was done.

        The tries are those that proposals in turn and commits would make, to the last bit.
        """


class PrefersLargeBatches(Evaluator):
    """An evaluator whose calls cost messages to other machines: a search proposes all neighbors in one call."""


class ScoringEvaluator(ProposesInTurn, Resamples):
    """The default evaluator, for any score: each candidate is scored as a whole structure."""

    def __init__(self, function: ScoreFunction, table: Table) -> None:
        self.function = function
        self.table = table
        self.resamples = function.resamples

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Score the given graph and keep it."""
        self.parents = [tuple(family) for family in parents]
        self.value = self._score(self.parents)
        return self.value

    def step(self) -> float:
        """Return the score of the current graph."""
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score of the current graph with `changes`; subclasses that compute it faster override this."""
        return self._score(self._changed(changes))

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Score the current graph with each of the changes."""
        return np.array([self.propose(changes) for changes in candidates], dtype=np.float64)

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

    def _changed(self, changes: Changes) -> list[tuple[int, ...]]:
        return [tuple(changes.get(v, parents)) for v, parents in enumerate(self.parents)]

    def _score(self, parents: list[tuple[int, ...]]) -> float:
        self.n_evaluations += 1
        return float(self.function.score(self.table, Structure(self.table.names, parents)))
