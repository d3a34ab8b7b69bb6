"""pgmpy's junction tree: exact answers by belief propagation, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from bnplug.contracts import CompiledNetwork, Engine
from bnplug.inference._cliques import known_states, listed, written
from bnplug.inference._orders import best_order, cliques
from bnplug.inference.class_free import compile_without_class
from bnplug.inference.complete import log_joint, log_rest, terms
from bnplug.inference.marginals import MAX_CLIQUE_SIZE
from bnplug.inference.queries import check_variables, impossible, split_evidence
from bnplug.model.log_tables import LogTables
from bnplug.typing import CodeArray, FloatArray

if TYPE_CHECKING:
    from bnplug.model.pgmpy import JunctionTrees

# pgmpy uses a letter for each variable of a clique.
_MAX_VARIABLES = 52


class JunctionTreeEngine(Engine):
    """Exact answers by belief propagation on pgmpy's junction tree.

    The junction tree covers the whole network, whatever the evidence, and each row sends messages between all cliques
    in Python. `elimination` gives the same answers hundreds of times faster, and also on networks with larger cliques.
    Messages are logarithms, so small probabilities do not underflow.

    Parameters
    ----------
    max_clique_size : int, optional
        The number of cells that the largest clique may have; None takes the classifier's.

    References
    ----------
    Lauritzen, Spiegelhalter: Local computations with probabilities on graphical structures and their application to
    expert systems (1988).
    """

    def __init__(self, max_clique_size: int | None = None) -> None:
        self.max_clique_size = max_clique_size

    def compile(self, tables: LogTables, target: str | None = None) -> CompiledNetwork:
        """Compile the network `tables`; a ``ValueError`` if a clique is too large for pgmpy or for memory."""
        if target is None:
            return compile_without_class(self.compile, tables)
        limit = MAX_CLIQUE_SIZE if self.max_clique_size is None else self.max_clique_size
        sizes = [len(states) for states in tables.states.values()]
        scopes = [(v, *parents) for v, parents in enumerate(tables.structure.parents)]
        found = []
        for clique in cliques(best_order(sizes, scopes), scopes):
            names, size = [tables.names[v] for v in sorted(clique)], prod(sizes[v] for v in clique)
            if size > limit:
                raise _refusal(f"its clique {listed(names)} has {written(size)} cells, more than {limit:,}")
            if len(names) > _MAX_VARIABLES:
                raise _refusal(f"a clique has {len(names)} variables, and pgmpy takes up to {_MAX_VARIABLES}")
            found.append(tuple(names))
        return JunctionTreeNetwork(tables, target, found)


class JunctionTreeNetwork(CompiledNetwork):
    """A network as pgmpy's junction tree of given cliques, each family in one of them."""

    def __init__(self, tables: LogTables, target: str, cliques: Sequence[tuple[str, ...]]) -> None:
        from bnplug.model.pgmpy import JunctionTrees

        self.tables = tables
        self.target = target
        self.cliques = cliques
        self._terms = terms(tables, target)
        self._number = {name: v for v, name in enumerate(tables.names)}
        self._families = [self._numbers((name, *tables[name].parents)) for name in tables.names]
        factors = [tables[name].values for name in tables.names]
        sizes = [len(tables.states[name]) for name in tables.names]
        with _refused_without_memory():
            self._trees: JunctionTrees = JunctionTrees(
                sizes, list(zip(self._families, factors, strict=True)), [self._numbers(clique) for clique in cliques]
            )

    def __getstate__(self) -> dict[str, Any]:
        # The trees are rebuilt on loading: skops cannot save their dictionaries, whose keys are cliques.
        return {"tables": self.tables, "target": self.target, "cliques": self.cliques}

    def __setstate__(self, state: dict[str, Any]) -> None:
        JunctionTreeNetwork.__init__(self, **state)

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return log P(c, evidence of row m), of shape (rows, classes).

        Unless `complete`, it is up to a constant of each row. Only distinct rows with missing cells need messages.
        """
        self.refuse_shares(shares)
        joint = log_joint(self._terms, codes)
        if complete:
            joint += log_rest(self.tables, self.target, codes)[:, None]
        rows, places = _distinct(codes, self._number[self.target])
        holes = (rows == np.iinfo(rows.dtype).max).any(axis=1)
        answers = np.zeros((len(rows), joint.shape[1]))
        for i in np.flatnonzero(holes):
            with _refused_without_memory():
                known = self._row(rows[i])
                answers[i] = self._trees.belief((self._number[self.target],), known)
                if complete:
                    total = logsumexp(answers[i])
                    answers[i] += self._trees.log_total(known) - (total if np.isfinite(total) else 0.0)
        joint[holes[places]] = answers[places[holes[places]]]
        return joint

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        """Return P(variables | evidence), one axis for each of `variables`."""
        check_variables(self.tables, variables, split_evidence(self.tables, evidence)[0])
        with _refused_without_memory():
            answer = self._joint(self._numbers(variables), self._given(evidence))
        if answer is None:
            raise impossible(evidence)
        return answer

    def log_probability(self, evidence: Mapping[str, int | npt.ArrayLike]) -> float:
        """Return log P(evidence), relative to no evidence."""
        with _refused_without_memory():
            return self._trees.log_total(self._given(evidence)) - self._trees.log_total({})

    def _given(self, evidence: Mapping[str, int | npt.ArrayLike]) -> dict[int, FloatArray]:
        """Return the log likelihoods of evidence, by the number of its variable."""
        known, soft = split_evidence(self.tables, evidence)
        return self._likelihoods(known) | {self._number[name]: logs for name, logs in soft.items()}

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        """Return the expected counts of every family, weighted; see :class:`bnplug.CompiledNetwork`."""
        target = self._number[self.target]
        counts = [np.zeros(self.tables[name].values.shape) for name in self.tables.names]
        rows, places = _distinct(codes, target)
        summed = np.zeros((len(rows), len(self.tables.states[self.target])))
        np.add.at(summed, places, weights)
        for row, row_weights in zip(rows, summed, strict=True):
            for c in np.flatnonzero(row_weights):
                with _refused_without_memory():
                    known = {**self._row(row), target: self._observed(target, int(c))}
                    beliefs = self._trees.beliefs(self._families, known)
                for total, share in zip(counts, beliefs or [], strict=beliefs is not None):
                    total += row_weights[c] * share
        return counts

    def _joint(self, variables: tuple[int, ...], known: dict[int, FloatArray]) -> FloatArray | None:
        """Return P(variables | known) by the chain rule, state by state; None if `known` is impossible."""
        n = len(variables)
        while not self._trees.together(variables[:n]):
            n -= 1
        beliefs = self._trees.beliefs([variables[:n]], known)
        if beliefs is None:
            return None
        (first,) = beliefs
        if n == len(variables):
            return first
        rest = variables[n:]
        sizes = [len(self.tables.states[self.tables.names[v]]) for v in rest]
        answer = np.zeros((*first.shape, *sizes))
        for cell in np.argwhere(first > 0):
            # Each variable keeps the likelihood of its state.
            more = {v: known.get(v, 0.0) + self._observed(v, state) for v, state in zip(variables, cell, strict=False)}
            given = self._joint(rest, {**known, **more})
            if given is not None:
                answer[tuple(cell)] = first[tuple(cell)] * given
        return answer

    def _observed(self, v: int, state: int) -> FloatArray:
        """Return the log likelihoods of observing a state of a variable: 0 for it, -inf for the others."""
        return np.where(np.arange(len(self.tables.states[self.tables.names[v]])) == state, 0.0, -np.inf)

    def _likelihoods(self, known: Mapping[str, int]) -> dict[int, FloatArray]:
        """Return the log likelihoods of each known variable, by its number."""
        return {self._number[name]: self._observed(self._number[name], state) for name, state in known.items()}

    def _row(self, row: CodeArray) -> dict[int, FloatArray]:
        return self._likelihoods(known_states(self.tables, self.target, row))

    def _numbers(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._number[name] for name in names)


def _distinct(codes: CodeArray, target: int) -> tuple[CodeArray, npt.NDArray[np.intp]]:
    """Return the rows with distinct features, and the number of each row among them."""
    features = codes.copy()
    features[target] = 0
    rows, places = np.unique(features, axis=1, return_inverse=True)
    return rows.T, places.ravel()


def _refusal(reason: str) -> ValueError:
    return ValueError(
        f"junction-tree cannot be used on this network: {reason}. Use engine='elimination', whose cliques contain "
        "only the features that a row lacks, or engine='sampling'"
    )


@contextmanager
def _refused_without_memory() -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise _refusal(f"memory is too small for its cliques ({error})") from None
