"""Drop-in replacements for pgmpy's exact inference: change one import line, and bnplug answers.

``from bnplug.pgmpy import VariableElimination`` in place of ``from pgmpy.inference import VariableElimination``. The
classes take a pgmpy `DiscreteBayesianNetwork`, have pgmpy's signatures, and return pgmpy's `DiscreteFactor`. Answers
differ from pgmpy's where pgmpy is wrong: see :class:`VariableElimination` and :func:`predict`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from bnplug.errors import did_you_mean
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Asked, Marginalizer
from bnplug.inference.most_probable import most_probable
from bnplug.inference.predicting import query_rows
from bnplug.inference.queries import log_probability, posterior, relevant, split_evidence
from bnplug.inference.sample import draw_missing, fill_most_probable
from bnplug.model.log_tables import LogTables
from bnplug.table.coding import smallest_dtype
from bnplug.typing import CodeArray, FloatArray

__all__ = ["BeliefPropagation", "VariableElimination", "predict", "predict_probability"]

_Finding = int | FloatArray
_Evidence = Mapping[Hashable, Any] | None
_Virtual = Iterable[TabularCPD] | None


class _Network:
    """A pgmpy network as tables, and the names of its nodes and states."""

    def __init__(self, model: DiscreteBayesianNetwork) -> None:
        self.tables = LogTables.from_network(model)
        self.nodes: list[Hashable] = list(model.nodes())
        self.names = dict(zip(self.nodes, self.tables.names, strict=True))
        self.codes = {
            node: {state: code for code, state in enumerate(self.tables.states[name])}
            for node, name in self.names.items()
        }

    def name(self, node: Hashable) -> str:
        """Return the name of a node; a ``ValueError`` if there is none."""
        if node not in self.names:
            raise ValueError(f"there is no variable {node!r} in the model.{did_you_mean(str(node), self.tables.names)}")
        return self.names[node]

    def code(self, node: Hashable, state: Any) -> int:
        """Return the position of a state; a ``KeyError``, as pgmpy raises, if the variable does not have it."""
        self.name(node)
        try:
            return self.codes[node][state]
        except (KeyError, TypeError):
            states = self.tables.states[self.names[node]]
            raise KeyError(f"variable {node!r} has no state {state!r}; its states are {list(states)}") from None

    def findings(self, evidence: _Evidence, virtual: _Virtual) -> dict[str, _Finding]:
        """Return evidence by names and positions; virtual evidence is multiplied into likelihoods."""
        known = {self.name(node): self.code(node, state) for node, state in (evidence or {}).items()}
        weights: dict[str, FloatArray] = {}
        for cpd in virtual or ():
            name, likelihood = self._likelihood(cpd)
            weights[name] = weights.get(name, 1.0) * likelihood
        found: dict[str, _Finding] = {**known, **weights}
        for name in known.keys() & weights.keys():
            found[name] = np.where(np.arange(len(weights[name])) == known[name], weights[name], 0.0)
        return found

    def _likelihood(self, cpd: TabularCPD) -> tuple[str, FloatArray]:
        if not isinstance(cpd, TabularCPD) or len(cpd.variables) != 1:
            raise ValueError(f"virtual evidence is a TabularCPD of one variable, not {cpd!r}")
        node = cpd.variables[0]
        states, values = self.tables.states[self.name(node)], np.asarray(cpd.values, dtype=np.float64).ravel()
        if len(values) != len(states):
            raise ValueError(f"virtual evidence on {node!r} has {len(values)} states, and the model {len(states)}")
        labels = cpd.state_names[node]
        # Without names, pgmpy numbers the states.
        order = range(len(values)) if labels == [*range(len(values))] else [self.code(node, label) for label in labels]
        likelihood = np.empty(len(values))
        likelihood[list(order)] = values
        return self.names[node], likelihood

    def factor(self, nodes: Sequence[Hashable], values: FloatArray) -> DiscreteFactor:
        """Return a pgmpy factor over nodes."""
        states = {node: list(self.tables.states[self.names[node]]) for node in nodes}
        return DiscreteFactor(list(nodes), [len(labels) for labels in states.values()], values, state_names=states)

    def encode(self, data: pd.DataFrame) -> CodeArray:
        """Return rows as codes; absent columns and missing cells are missing."""
        unknown = [column for column in data.columns if column not in self.names]
        if unknown:
            raise ValueError(f"data has columns {unknown}, which are not variables of the model")
        dtype = smallest_dtype([len(states) for states in self.tables.states.values()])
        codes = np.full((len(self.nodes), len(data)), np.iinfo(dtype).max, dtype=dtype)
        for v, node in enumerate(self.nodes):
            if node in data.columns:
                column = data[node]
                known = column.notna().to_numpy()
                codes[v, known] = [self.code(node, state) for state in column[known]]
        return codes


class _Inference:
    """The questions that both classes answer."""

    def __init__(self, model: DiscreteBayesianNetwork, max_clique_size: int = MAX_CLIQUE_SIZE) -> None:
        self.model, self.max_clique_size = model, max_clique_size
        self.network = _Network(model)

    @cached_property
    def _kept(self) -> Asked:
        return Asked(self.network.tables, self.max_clique_size)

    def _query(
        self, variables: Sequence[Hashable], evidence: _Evidence, virtual: _Virtual, joint: bool
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        nodes = _listed(variables, evidence)
        if not nodes:
            raise ValueError("variables: name at least one variable")
        findings = self.network.findings(evidence, virtual)
        if joint:
            return self.network.factor(nodes, self._posterior(nodes, findings))
        return {node: self.network.factor([node], self._posterior([node], findings)) for node in nodes}

    def _posterior(self, nodes: Sequence[Hashable], findings: Mapping[str, _Finding]) -> FloatArray:
        return posterior(self._kept, [self.network.name(node) for node in nodes], findings)

    def _map_query(
        self, variables: Sequence[Hashable] | None, evidence: _Evidence, virtual: _Virtual
    ) -> dict[Hashable, Any]:
        nodes = _listed(variables or [], evidence)
        findings, names = self.network.findings(evidence, virtual), [self.network.name(node) for node in nodes]
        states = most_probable(self.network.tables, findings, variables=names or None, asked=self._kept)
        labels = {name: self.network.tables.states[name][code] for name, code in states.items()}
        return {node: labels[name] for node, name in self.network.names.items() if name in labels}


class VariableElimination(_Inference):
    """Exact inference with the interface of pgmpy's `VariableElimination`.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        It is read once; changes to the model afterwards have no effect.
    max_clique_size : int
        The maximum number of cells of a table; a question that needs a larger one is a ``ValueError``.

    Notes
    -----
    `elimination_order` and `show_progress` are accepted and have no effect. Unlike pgmpy 1.1, the variables of a factor
    are in the order in which they are asked for; `map_query` and `max_marginal` without `variables` respect the
    evidence; of tied states, `map_query` takes the first; impossible evidence is a ``ValueError`` in place of NaN.

    Examples
    --------
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> from pgmpy.factors.discrete import TabularCPD
    >>> model = DiscreteBayesianNetwork([("rain", "wet")])
    >>> model.add_cpds(
    ...     TabularCPD("rain", 2, [[0.8], [0.2]], state_names={"rain": ["no", "yes"]}),
    ...     TabularCPD("wet", 2, [[0.9, 0.2], [0.1, 0.8]], ["rain"], [2],
    ...                state_names={"wet": ["no", "yes"], "rain": ["no", "yes"]}))
    >>> inference = VariableElimination(model)
    >>> inference.query(["rain"], {"wet": "yes"}).values.round(3)
    array([0.333, 0.667])
    >>> inference.map_query(evidence={"wet": "yes"})
    {'rain': 'yes'}
    """

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: _Evidence = None,
        virtual_evidence: _Virtual = None,
        elimination_order: object = "greedy",
        joint: bool = True,
        show_progress: bool = True,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        """Return P(variables | evidence) as a factor or, unless `joint`, a factor for each variable."""
        return self._query(variables, evidence, virtual_evidence, joint)

    def map_query(
        self,
        variables: Sequence[Hashable] | None = None,
        evidence: _Evidence = None,
        virtual_evidence: _Virtual = None,
        elimination_order: object = "MinFill",
        show_progress: bool = True,
    ) -> dict[Hashable, Any]:
        """Return the most probable joint state of `variables`, by default of all without evidence."""
        return self._map_query(variables, evidence, virtual_evidence)

    def max_marginal(
        self,
        variables: Sequence[Hashable] | None = None,
        evidence: _Evidence = None,
        elimination_order: object = "greedy",
        show_progress: bool = True,
    ) -> float:
        """Return the largest normalized max-marginal of `variables`.

        The other ancestors of `variables` and evidence are maximized over. Without `variables`, return the probability
        of the most probable joint state, given the evidence.
        """
        nodes, findings = _listed(variables or [], evidence), self.network.findings(evidence, None)
        names, tables = [self.network.name(node) for node in nodes], self.network.tables
        known, soft = split_evidence(tables, findings)
        if not names:
            total = log_probability(self._kept, findings)
            largest, _ = self._kept.largest([name for name in tables.names if name not in known], known, soft)
            return float(np.exp(largest - total))
        others = relevant(tables, {*names, *known}) - {*names, *known}
        maxima = self._kept.log_measure(names, known, soft, maximized=sorted(others))
        shares = np.exp(maxima - maxima.max())
        return float(1.0 / shares.sum())


class BeliefPropagation(_Inference):
    """Exact inference with the interface of pgmpy's `BeliefPropagation`; see :class:`VariableElimination`.

    Messages are computed when a question needs them, and kept.
    """

    def calibrate(self) -> None:
        """Do nothing: questions do not need it."""

    def max_calibrate(self) -> None:
        """Do nothing: questions do not need it."""

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: _Evidence = None,
        virtual_evidence: _Virtual = None,
        joint: bool = True,
        show_progress: bool = True,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        """Return P(variables | evidence) as a factor or, unless `joint`, a factor for each variable."""
        return self._query(variables, evidence, virtual_evidence, joint)

    def map_query(
        self,
        variables: Sequence[Hashable] | None = None,
        evidence: _Evidence = None,
        virtual_evidence: _Virtual = None,
        show_progress: bool = True,
    ) -> dict[Hashable, Any]:
        """Return the most probable joint state of `variables`, by default of all without evidence."""
        return self._map_query(variables, evidence, virtual_evidence)


def predict(
    model: DiscreteBayesianNetwork,
    data: pd.DataFrame,
    stochastic: bool = False,
    n_jobs: int | None = None,
    seed: int | None = None,
) -> pd.DataFrame:
    """Return `data` with absent columns and missing cells filled in, as ``model.predict(data)`` of pgmpy.

    Each row gets its most probable joint state or, if `stochastic`, one drawn from their joint distribution. Unlike
    pgmpy 1.1, rows stay in their order, and repeated labels of the index stay as they are. A value that is not a state
    of the model is a ``KeyError``.

    Examples
    --------
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> from pgmpy.factors.discrete import TabularCPD
    >>> model = DiscreteBayesianNetwork([("a", "b")])
    >>> model.add_cpds(TabularCPD("a", 2, [[0.6], [0.4]]), TabularCPD("b", 2, [[0.9, 0.2], [0.1, 0.8]], ["a"], [2]))
    >>> predict(model, pd.DataFrame({"b": [1, 0]}, index=["y", "x"]))
       b  a
    y  1  1
    x  0  0
    """
    network, codes = _incomplete(model, data)
    if stochastic:
        filled = draw_missing(network.tables, codes, seed, n_jobs)
    else:
        filled = fill_most_probable(network.tables, codes)
    columns = {}
    for node in [*data.columns, *(node for node in network.nodes if node not in data.columns)]:
        states = network.tables.states[network.names[node]]
        columns[node] = pd.Series(states).take(filled[network.nodes.index(node)]).array
    return pd.DataFrame(columns, index=data.index)


def predict_probability(model: DiscreteBayesianNetwork, data: pd.DataFrame, n_jobs: int | None = None) -> pd.DataFrame:
    """Return the posterior of each absent column in each row, as ``model.predict_probability(data)`` of pgmpy.

    The columns are named ``variable_state``. Unlike pgmpy 1.1, rows stay in their order, and missing cells are
    marginalized; columns are in the order of the model's nodes. Impossible rows are NaN.
    """
    network, codes = _incomplete(model, data)
    columns: dict[str, FloatArray] = {}
    for node in network.nodes:
        if node not in data.columns:
            name = network.names[node]
            answers = query_rows(
                network.tables, [name], lambda target: Marginalizer(network.tables, target), codes, n_jobs
            )
            columns |= {f"{node}_{state}": answers[:, code] for code, state in enumerate(network.tables.states[name])}
    return pd.DataFrame(columns, index=data.index)


def _incomplete(model: DiscreteBayesianNetwork, data: pd.DataFrame) -> tuple[_Network, CodeArray]:
    network = _Network(model)
    codes = network.encode(data)
    if set(network.nodes) == set(data.columns) and not data.isna().to_numpy().any():
        raise ValueError("data has all variables of the model and no missing cell: there is nothing to predict")
    return network, codes


def _listed(variables: Sequence[Hashable], evidence: _Evidence) -> list[Hashable]:
    if isinstance(variables, str):
        raise TypeError(f"variables must be a list, not the string {variables!r}")
    nodes = list(variables)
    both = [node for node in nodes if node in (evidence or {})]
    if both:
        raise ValueError(f"{both} are among both the variables and the evidence; leave them out of one")
    return nodes
