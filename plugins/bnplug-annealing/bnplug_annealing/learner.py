"""Simulated annealing over trees of features, and over richer structures, by any score.

After Pernkopf and Wohlmayr (2013), section 4.3.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_random_state

from bnplug import Structure
from bnplug.contracts import ScoreFunction, StructureLearner
from bnplug.errors import SearchInterruptedWarning, SearchWarning
from bnplug.hooks import registry
from bnplug.hooks.components import check_numbers, component
from bnplug.search import Constraints, TopGraphs, first_best
from bnplug_annealing.chain import Chain, Rules, Schedule, State
from bnplug_annealing.checkpoints import Checkpoint, chain_path, check_state, digest

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table

#: The paper's r (its footnote 5), by the score's registered name.
PAPER_R = {"cr": 1.0, "mm": 100.0}

# On rows drawn anew something improves at every temperature; at 0.8^50 the walk is frozen all the same.
_TEMPERATURES_OF_REDRAWN = 50

#: Why a search ended before it was done.
INTERRUPTED = "was interrupted"

_WHOLE = ("max_try", "max_success", "max_rejections", "max_evaluations")


class SimulatedAnnealing(StructureLearner):
    """Walks over structures at a falling temperature and returns the best one it visits.

    The walk starts at naive Bayes, or at `start`. A candidate gives a random feature a random new feature parent. It
    is accepted if the score does not fall, or with probability ``exp(change / (r T))`` if it does. The temperature T
    starts at 1 and is multiplied by `D` after `max_try` candidates or `max_success` accepted ones. The walk ends when,
    between two temperatures, `max_rejections` candidates have been rejected since the last improvement; when no
    candidate is left; or after a temperature at which no candidate changed the score. N is the number of features.

    Edges are added and replaced, never deleted. So with ``k=1``, once the tree spans all features its root stays the
    root; `restarts` try others.

    Parameters
    ----------
    score : str or ScoreFunction
        What to maximize. One that draws its rows anew does so at every temperature, of which there are then at most 50.
    k : int
        The largest number of feature parents. 1 gives a forest, as in the paper. With more, a new parent is added
        while a feature has fewer than `k`, else it takes the place of one of them.
    D : float
        The cooling factor, between 0 and 1.
    r : float, optional
        The scale of the score's changes. By default the paper's: 1 for `cr`, 100 for `mm`; for any other score such
        that a change for the worse, as large as those of the first candidates are on average, is accepted with
        probability 0.8 at the start.
    max_try, max_success, max_rejections : int, optional
        By default the paper's 50 N, 5 N and 100 N.
    restarts : int
        How many chains are run, each with a seed of its own; the best structure of all is returned.
    max_evaluations : int, optional
        How many candidates each chain may try.
    max_time : float, optional
        Seconds after which the best structure so far is returned, with a warning. An interrupt from the keyboard does
        the same. What a score chooses for itself, such as ``lam="cv"``, comes before, and is not cut short.
    checkpoint : path, optional
        A file that keeps where the search is, from temperature to temperature; further chains have files of their own
        beside it. A search that finds its own file goes on from there, and ends in the same result as one that was
        never stopped; another search's file is an error. Give a `random_state` with it.
    n_jobs : int, optional
        Chains in parallel; with one chain, threads that score candidates. The result does not depend on it.
    random_state : int or RandomState, optional
        Draws the candidates, and is handed to a score that has none of its own.
    verbose : int, optional
        1 tells once a second about changes, the best score and candidates.
    start : "nb", DAG or list of edges
        Where every chain starts: edges ``(parent, child)`` between features, by name. The class is a parent of every
        feature in any case, and what is required is there.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the structure has, and that it does not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    trace_ : list of float
        The score of the start, and after each change of the chain that found the best structure.
    evaluations_ : list of int
        How many candidates that chain had tried by each entry of `trace_`.
    temperatures_ : list of float
        The temperatures of that chain.
    r_ : float
        The scale that it used.
    n_evaluations_ : int
        How many candidates were tried, by all chains together.
    chain_scores_ : list of float
        The best score of each chain.
    best_structures_ : list of lists of edges
        The best structures of the chains, as edges ``(parent, child)`` by name, each once, the best of them first.

    References
    ----------
    Pernkopf, Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers (2013).

    Examples
    --------
    >>> from bnplug import Table, datasets
    >>> X, y = datasets.p08_synthetic()
    >>> learner = SimulatedAnnealing(score="cr", random_state=0)
    >>> structure = learner.learn(Table.from_frame(X.assign(C=y), "C"))
    >>> max(learner.trace_) > learner.trace_[0]
    True
    """

    def __init__(
        self,
        score: Any = "cr",
        k: int = 1,
        D: float = 0.8,
        r: float | None = None,
        max_try: int | None = None,
        max_success: int | None = None,
        max_rejections: int | None = None,
        restarts: int = 1,
        max_evaluations: int | None = None,
        max_time: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        start: Any = "nb",
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
    ) -> None:
        self.score = score
        self.k = k
        self.D = D
        self.r = r
        self.max_try = max_try
        self.max_success = max_success
        self.max_rejections = max_rejections
        self.restarts = restarts
        self.max_evaluations = max_evaluations
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.start = start
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers

    def learn(self, table: Table) -> Structure:
        """Return the best structure that any chain visited."""
        self._check()
        constraints = Constraints.of(self, table)
        start = self._start(constraints)
        score = component("score function", self.score, self)
        chains = self._chains(constraints, start, score)
        why = self._run(chains, table, score)
        best = self._keep([chain.state for chain, _ in chains], table.names)
        if why:
            message = f"sa {why}; the best structure so far is returned, after {self.n_evaluations_} evaluations"
            category = SearchInterruptedWarning if why == INTERRUPTED else SearchWarning
            warnings.warn(message, category, stacklevel=2)
        return Structure(table.names, best)

    def _check(self) -> None:
        check_numbers(
            self, "D", *(name for name in ("r", "max_time") if getattr(self, name) is not None), positive=True
        )
        if not self.D < 1:
            raise ValueError(f"D={self.D}: the cooling factor lies between 0 and 1")
        for name in ("k", "restarts", *_WHOLE):
            value = getattr(self, name)
            if not (value is None and name in _WHOLE) and not (isinstance(value, int | np.integer) and value >= 1):
                raise ValueError(f"{name}={value!r} is not a whole number of at least 1")

    def _start(self, constraints: Constraints) -> list[list[int]]:
        """Return the parents of every variable where the chains start."""
        table = constraints.table
        least = constraints.augmented("sa", most=self.k)
        if isinstance(self.start, str):
            if self.start != "nb":
                raise ValueError(f"start={self.start!r} is not 'nb', a DAG or a list of edges")
            return least
        given = constraints.start(self.start)
        parents = [sorted({*family, *more}) for family, more in zip(given, least, strict=True)]
        for v, family in enumerate(parents):
            names = [table.names[u] for u in family]
            most = 0 if v == table.target_index else self.k + 1
            if len(family) > most:
                raise ValueError(
                    f"the start, with the class and what is required, gives {table.names[v]!r} the parents {names}; "
                    + (f"k={self.k}" if most else "sa gives the class none")
                )
        return parents

    def _chains(
        self, constraints: Constraints, start: list[list[int]], score: ScoreFunction
    ) -> list[tuple[Chain, Checkpoint | None]]:
        """Return the chains, each where its file has it or at the start."""
        table = constraints.table
        rules = Rules.of(constraints, self.k)
        n = len(table.features)
        schedule = Schedule(
            D=float(self.D),
            r=_paper_r(score) if self.r is None else float(self.r),
            max_try=self.max_try or 50 * n,
            max_success=self.max_success or 5 * n,
            max_rejections=self.max_rejections or 100 * n,
            max_evaluations=self.max_evaluations,
            max_temperatures=_TEMPERATURES_OF_REDRAWN if score.resamples else None,
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        c = table.target_index
        chains = []
        for number in range(self.restarts):
            state = State.at(start, np.random.SeedSequence([seed, number]))
            checkpoint = self._checkpoint(number, constraints, start, score, schedule)
            kept = None if checkpoint is None else checkpoint.read()
            if checkpoint is not None and kept is not None:
                check_state(kept, constraints, int(self.k), checkpoint.path)
            label = "sa" if self.restarts == 1 else f"sa chain {number + 1} of {self.restarts}"
            chains.append((Chain(kept or state, schedule, c, self.k, label, self.verbose, rules), checkpoint))
        return chains

    def _checkpoint(
        self, number: int, constraints: Constraints, start: list[list[int]], score: ScoreFunction, schedule: Schedule
    ) -> Checkpoint | None:
        """Return the file of a chain, with what the result depends on: limits of time or evaluations are not."""
        if self.checkpoint is None:
            return None
        search = {
            **{name: getattr(schedule, name) for name in ("D", "r", "max_try", "max_success", "max_rejections")},
            "k": int(self.k),
            "table": digest(constraints.table),
            "start": None if start == constraints.table.naive_bayes() else start,
            "constraints": None if constraints.free else str(joblib.hash((constraints.required, constraints.allowed))),
            "score": str(joblib.hash(_without_threads(score))),
            # None differs at every run: then the file has the last word.
            "random_state": None if self.random_state is None else str(joblib.hash(self.random_state)),
            "chain": number,
        }
        return Checkpoint(chain_path(Path(self.checkpoint), number), search)

    def _run(self, chains: list[tuple[Chain, Checkpoint | None]], table: Table, score: ScoreFunction) -> str | None:
        """Run the chains to their ends; return why they did not get there, if so."""
        deadline = None if self.max_time is None else time.time() + self.max_time
        workers = min(int(effective_n_jobs(self.n_jobs)), len(chains))
        if isinstance(getattr(score, "random_state", None), np.random.RandomState):
            # It would draw other folds for the evaluator of every temperature.
            score.set_params(random_state=int(score.random_state.randint(2**31 - 1)))
        with joblib.parallel_config(n_jobs=effective_n_jobs(self.n_jobs)):
            score = score.choose_parameters(table)
        inner = self.n_jobs if workers == 1 else 1
        jobs = (delayed(_run_chain)(*pair, score, table, deadline, inner) for pair in chains)
        try:
            done = Parallel(n_jobs=workers, prefer="threads", return_as="generator")(jobs)
            for number, chain in enumerate(done):
                chains[number] = (chain, chains[number][1])
        except KeyboardInterrupt:
            for chain, _ in chains:
                chain.interrupted = True
            while any(chain.at_work for chain, _ in chains):
                time.sleep(0.01)
            if not any(chain.state.trace for chain, _ in chains):
                raise
            return INTERRUPTED
        return f"reached max_time={self.max_time}" if any(chain.out_of_time for chain, _ in chains) else None

    def _keep(self, states: list[State], names: Sequence[str]) -> list[list[int]]:
        """Leave what the chains found in attributes; return the best structure."""
        self.chain_scores_ = [state.best_value for state in states]
        met = TopGraphs(len(states))
        for state in states:
            met.add(state.best_value, state.best)
        self.best_structures_ = met.edges(names)
        winner = states[first_best(np.array(self.chain_scores_)) or 0]
        self.trace_, self.evaluations_ = winner.visited()
        self.temperatures_ = winner.temperatures
        self.r_ = winner.r
        self.n_evaluations_ = sum(state.n_evaluations for state in states)
        return winner.best


def _run_chain(
    chain: Chain,
    checkpoint: Checkpoint | None,
    score: ScoreFunction,
    table: Table,
    deadline: float | None,
    n_jobs: int | None,
) -> Chain:
    """Run a chain, and keep its states; whatever ends it, the last one is in its file."""
    chain.at_work = True
    try:
        for state in chain.run(partial(score.evaluator, table, n_jobs), deadline):
            if checkpoint is not None:
                checkpoint.save(state)
    finally:
        try:
            if checkpoint is not None and chain.saved.trace:
                checkpoint.write(chain.saved)
        finally:
            chain.at_work = False
    return chain


def _without_threads(score: ScoreFunction) -> ScoreFunction:
    """Return a copy of a score without what its results do not depend on."""
    copy: ScoreFunction = clone(score)
    return copy.set_params(**{name: None for name in ("n_jobs", "verbose") if name in copy.get_params(deep=False)})


def _paper_r(score: ScoreFunction) -> float | None:
    """Return the r that the paper gives for a score, None if it gives none."""
    return PAPER_R.get(registry.name_of(score) or "")
