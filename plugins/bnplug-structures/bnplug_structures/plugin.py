"""The methods of this plugin; a method's module is imported when an instance is created."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import StructureLearnerMethod, hookimpl


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Yield the structure learners."""
    yield StructureLearnerMethod(
        name="chow-liu",
        factory="bnplug_structures.chow_liu:ChowLiu",
        summary="The tree with the largest mutual information.",
        reference="Chow, Liu: Approximating discrete probability distributions with dependence trees (1968)",
        constraints=True,
        needs_target=False,
    )
    yield StructureLearnerMethod(
        name="tabu",
        factory="bnplug_structures.tabu:Tabu",
        summary="Tabu search over all graphs, with restarts.",
        reference="Glover: Tabu search, part I (1989)",
        needs_score=True,
        constraints=True,
        needs_target=False,
        needs_decomposable=True,
    )
    yield StructureLearnerMethod(
        name="ges",
        factory="bnplug_structures.ges:GES",
        summary="Greedy search over equivalence classes of graphs.",
        reference="Chickering: Optimal structure identification with greedy search (2002)",
        needs_score=True,
        constraints=True,
        needs_target=False,
        needs_decomposable=True,
    )
    yield StructureLearnerMethod(
        name="exact",
        factory="bnplug_structures.exact:Exact",
        summary="A graph with the highest score of all.",
        reference="Yuan, Malone: Learning optimal Bayesian networks: a shortest path perspective (2013)",
        needs_score=True,
        constraints=True,
        needs_target=False,
        needs_decomposable=True,
        max_variables=25,
    )
    yield StructureLearnerMethod(
        name="pc",
        factory="bnplug_structures.pc:PC",
        summary="The equivalence class by tests of conditional independence (PC-stable), and one of its graphs.",
        reference="Colombo, Maathuis: Order-independent constraint-based causal structure learning (2014)",
        constraints=True,
        needs_target=False,
    )
    yield StructureLearnerMethod(
        name="mcmc",
        factory="bnplug_structures.mcmc:StructureMCMC",
        summary="Graphs drawn from their posterior: probabilities of edges, and the best graph.",
        reference="Grzegorczyk, Husmeier: Improving the structure MCMC sampler for Bayesian networks by introducing a "
        "new edge reversal move (2008)",
        stochastic=True,
        constraints=True,
        needs_score=True,
        needs_target=False,
        needs_decomposable=True,
    )
    yield StructureLearnerMethod(
        name="blanket",
        factory="bnplug_structures.blanket:MarkovBlanket",
        summary="The class with its Markov blanket (HITON-MB), and edges among them by a score.",
        reference="Aliferis, Statnikov, Tsamardinos, Mani, Koutsoukos: Local causal and Markov blanket induction for "
        "causal discovery and feature selection for classification part I: algorithms and empirical evaluation (2010)",
        constraints=True,
        needs_score=True,
    )
