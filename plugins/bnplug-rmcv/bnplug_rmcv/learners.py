"""Structure learners of Kelner and Lerner (2012): hill climbing over unrestricted graphs by the risk on held-out rows.

The search is the core's ``hill-climb``. It never scores a change that leaves the terms of the class as they are, scores
both ends of a reversed edge at once, and of large sets of parents counts only the configurations that occur.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bnplug.contracts import StructureLearner
from bnplug.hooks.components import component
from bnplug.structure import markov_blanket
from bnplug_rmcv.scores import CrossValidatedHitRate, HoldOutHitRate, RedrawnHoldOutHitRate

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table


# Parameters that mean the same to the search.
_HANDED_ON = ("max_parents", "max_iter", "max_time", "required", "forbidden", "tiers")


class RiskMinimization(StructureLearner):
    """`rmcv`: the structure with the smallest cross-validated error that single changes of edges lead to.

    The class may have parents, and features may lose it. The best addition, deletion or reversal of an edge
    is made until none is strictly better; of tied ones deletions come before reversals before additions, then the
    position of the parent and of the child decides.

    Parameters
    ----------
    start : {"nb", "empty"}, DAG or list of edges
        Where to start; edges are pairs ``(parent, child)`` of names.
    cv : int or splitter
        The folds of the score, the same for the whole search.
    alpha, floor : float
        How the score smooths its parameters; the paper's has ``alpha=0``.
    max_parents : int, optional
        The largest number of parents of a variable, the class included.
    max_iter : int, optional
        The largest number of moves.
    max_time : float, optional
        Seconds after which the graph found so far is returned, with a warning.
    n_jobs : int, optional
        Threads that score candidates. The result does not depend on it.
    random_state : int or RandomState, optional
        Shuffles the rows before they are put into folds; without it they are taken in their order.
    verbose : int, optional
        1 tells once a second about moves, score and evaluations; 2 tells about every move.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the structure has, and that it does not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    trace_ : list of float
        The score of the start, and after each move: the share of held-out rows whose class is predicted.
    moves_ : list of str
        The moves, such as ``"add outlook -> wind"``.
    markov_blanket_ : list of str
        The features that matter, in the order of the table: parents, children and co-parents of the class. The
        others are never looked at where these are known.
    n_evaluations_ : int
        How many candidates were scored.
    best_structures_ : list of lists of edges
        The graphs that the search was at, as edges ``(parent, child)`` by name, the best of them first.

    References
    ----------
    Kelner, Lerner: Learning Bayesian network classifiers by risk minimization (2012).

    Examples
    --------
    The class says whether exactly one of two features is 1; a third has nothing to do with it.

    >>> from itertools import product
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame(list(product([0, 1], repeat=3)) * 4, columns=["a", "b", "idle"])
    >>> table = Table.from_frame(frame.assign(odd=frame["a"] ^ frame["b"]), "odd")
    >>> learner = RiskMinimization(random_state=0)
    >>> structure = learner.learn(table)
    >>> learner.trace_[-1], learner.moves_
    (1.0, ['add a -> b'])
    """

    #: The score, and whether edges are reversed.
    hit_rate: ClassVar[type[CrossValidatedHitRate]] = CrossValidatedHitRate
    reversals: ClassVar[bool] = True

    def __init__(
        self,
        start: Any = "nb",
        cv: Any = 4,
        alpha: float = 1.0,
        floor: float = 0.0,
        max_parents: int | None = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
    ) -> None:
        self.start = start
        self.cv = cv
        self.alpha = alpha
        self.floor = floor
        self.max_parents = max_parents
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers

    def learn(self, table: Table) -> Structure:
        """Return the graph at which the search ends."""
        limits = {name: getattr(self, name) for name in _HANDED_ON}
        parameters = {"score": self._score(), "start": self.start, "reversals": self.reversals, **limits}
        search = component("structure learner", ("hill-climb", parameters), self)
        structure: Structure = search.learn(table)
        self.trace_: list[float] = search.trace_
        self.moves_: list[str] = search.moves_
        self.n_evaluations_: int = search.n_evaluations_
        self.best_structures_: list[list[tuple[str, str]]] = search.best_structures_
        blanket = markov_blanket(dict(enumerate(structure.parents)), table.target_index)
        self.markov_blanket_ = [table.names[v] for v in blanket]
        return structure

    def _score(self) -> CrossValidatedHitRate:
        return self.hit_rate(alpha=self.alpha, floor=self.floor, cv=self.cv)


class HoldOutRiskMinimization(RiskMinimization):
    """`rmho-f`: as `rmcv`, but one K-th of the rows is held out, the same for the whole search.

    Its parameters and attributes are those of :class:`RiskMinimization`; `cv` says what K is.
    """

    hit_rate = HoldOutHitRate


class AdditiveHoldOutRiskMinimization(HoldOutRiskMinimization):
    """`rmho-ar`: as `rmho-f`, but edges are added and deleted only, never reversed.

    Its parameters and attributes are those of :class:`RiskMinimization`.
    """

    reversals = False


class RedrawnHoldOutRiskMinimization(RiskMinimization):
    """`rmho`: as `rmho-f`, but each step draws the rows that it holds out.

    A move is made only if on the new draw it is strictly better than the current graph was on the draw on which that
    won, or, with ``keep=False``, than the current graph is on the new draw. In the second case a search can come back
    to where it was; `max_iter` is needed in both.

    Its other parameters and its attributes are those of :class:`RiskMinimization`; each figure in ``trace_`` is of
    other rows.

    Parameters
    ----------
    keep : bool
        Whether the current graph keeps the score of the draw on which it won, which is the best of many and ends a
        search early. The paper does not say; keeping leads to its figures, ``keep=False`` to better networks.
    """

    hit_rate: ClassVar[type[RedrawnHoldOutHitRate]] = RedrawnHoldOutHitRate

    def __init__(
        self,
        start: Any = "nb",
        cv: Any = 4,
        alpha: float = 1.0,
        floor: float = 0.0,
        max_parents: int | None = None,
        max_iter: int | None = 100,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
        keep: bool = True,
    ) -> None:
        limits = (max_parents, max_iter, max_time)
        super().__init__(start, cv, alpha, floor, *limits, n_jobs, random_state, verbose, required, forbidden, tiers)
        self.keep = keep

    def _score(self) -> RedrawnHoldOutHitRate:
        return self.hit_rate(alpha=self.alpha, floor=self.floor, cv=self.cv, keep=self.keep)

    def learn(self, table: Table) -> Structure:
        """Return the graph at which the search ends."""
        if self.max_iter is None:
            raise ValueError("rmho holds other rows out at each step and can go in circles; give a number as max_iter")
        return super().learn(table)
