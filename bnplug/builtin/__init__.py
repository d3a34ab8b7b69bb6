"""The built-in methods, registered through the same hooks as those of plugins."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug.hooks.descriptors import (
    DiscretizerMethod,
    EngineMethod,
    NetworkFormat,
    ParameterLearnerMethod,
    Recipe,
    ScoreFunctionMethod,
    StructureLearnerMethod,
)
from bnplug.hooks.specs import hookimpl

_DOUGHERTY = "Dougherty, Kohavi, Sahami: Supervised and unsupervised discretization of continuous features (1995)"
_FAYYAD = (
    "Fayyad, Irani: Multi-interval discretization of continuous-valued attributes for classification learning (1993)"
)
_DUDA = "Duda, Hart: Pattern Classification and Scene Analysis (1973)"
_FRIEDMAN = "Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997)"
_GROSSMAN = "Grossman, Domingos: Learning Bayesian network classifiers by maximizing conditional likelihood (2004)"
_HECKERMAN = (
    "Heckerman, Geiger, Chickering: Learning Bayesian networks: the combination of knowledge and statistical "
    "data (1995)"
)
_PERNKOPF = "Pernkopf, Bilmes: Order-based discriminative structure learning for Bayesian network classifiers (2008)"
_PETITJEAN = (
    "Petitjean, Buntine, Webb, Zaidi: Accurate parameter estimation for Bayesian network classifiers using "
    "hierarchical Dirichlet processes (2018)"
)
_SAHAMI = "Sahami: Learning limited dependence Bayesian classifiers (1996)"


@hookimpl
def bnplug_structure_learners() -> Iterable[StructureLearnerMethod]:
    """Naive Bayes and the classic augmented ones."""
    yield StructureLearnerMethod(
        name="nb",
        factory="bnplug.builtin.structures.nb:NaiveBayes",
        summary="Naive Bayes: the class is the only parent of every feature.",
        reference=_DUDA,
    )
    yield StructureLearnerMethod(
        name="tan",
        factory="bnplug.builtin.structures.tan:TreeAugmentedNaiveBayes",
        summary="Naive Bayes plus a maximum spanning tree over I(Xi; Xj | C).",
        reference=_FRIEDMAN,
        constraints=True,
    )
    yield StructureLearnerMethod(
        name="kdb",
        factory="bnplug.builtin.structures.kdb:KDependence",
        summary="Naive Bayes plus up to k earlier features as parents of each feature.",
        reference=_SAHAMI,
        constraints=True,
    )
    yield StructureLearnerMethod(
        name="hill-climb",
        factory="bnplug.builtin.structures.hill_climb:HillClimb",
        summary="The best single change of an edge, again and again, by any score.",
        reference=_HECKERMAN,
        needs_score=True,
        constraints=True,
        needs_target=False,
    )


@hookimpl
def bnplug_recipes() -> Iterable[Recipe]:
    """Name the classifiers that everybody knows."""
    yield Recipe(
        name="NB",
        structure="nb",
        summary="Naive Bayes: every feature depends on the class alone.",
        reference=_DUDA,
        featured=True,
    )
    yield Recipe(
        name="TAN",
        structure="tan",
        summary="Naive Bayes and a tree over the features, by I(Xi; Xj | C).",
        reference=_FRIEDMAN,
        featured=True,
    )
    yield Recipe(
        name="KDB-2",
        structure=("kdb", {"k": 2}),
        summary="Naive Bayes and up to two more parents of each feature.",
        reference=_SAHAMI,
    )


@hookimpl
def bnplug_score_functions() -> Iterable[ScoreFunctionMethod]:
    """Scores that are a sum over families, and scores of predictions."""
    yield ScoreFunctionMethod(
        name="ll",
        factory="bnplug.builtin.scores.ll:LogLikelihood",
        summary="The log-likelihood.",
        reference=_FRIEDMAN,
        decomposable=True,
        score_equivalent=True,
        needs_target=False,
    )
    yield ScoreFunctionMethod(
        name="mdl",
        factory="bnplug.builtin.scores.mdl:MDL",
        summary="The log-likelihood less the minimum description length of the parameters.",
        reference="Lam, Bacchus: Learning Bayesian belief networks: an approach based on the MDL principle (1994)",
        decomposable=True,
        score_equivalent=True,
        needs_target=False,
    )
    yield ScoreFunctionMethod(
        name="k2",
        factory="bnplug.builtin.scores.k2:K2",
        summary="The marginal likelihood under uniform priors.",
        reference="Cooper, Herskovits: A Bayesian method for the induction of probabilistic networks from data (1992)",
        decomposable=True,
        needs_target=False,
    )
    yield ScoreFunctionMethod(
        name="bdeu",
        factory="bnplug.builtin.scores.bdeu:BDeu",
        summary="The marginal likelihood under likelihood-equivalent uniform priors.",
        reference=_HECKERMAN,
        decomposable=True,
        score_equivalent=True,
        needs_target=False,
    )
    yield ScoreFunctionMethod(
        name="cr",
        factory="bnplug.builtin.scores.hit_rate:HitRate",
        summary="The share of rows whose class is predicted, on the training rows or by cross-validation.",
        reference=_PERNKOPF,
        stochastic=True,
    )
    yield ScoreFunctionMethod(
        name="cll",
        factory="bnplug.builtin.scores.cll:ConditionalLogLikelihood",
        summary="The log-likelihood of the class given the features.",
        reference=_FRIEDMAN,
        stochastic=True,
    )
    yield ScoreFunctionMethod(
        name="cmdl",
        factory="bnplug.builtin.scores.cmdl:ConditionalMDL",
        summary="The conditional log-likelihood less the description length of the parameters.",
        reference=_GROSSMAN,
    )


@hookimpl
def bnplug_parameter_learners() -> Iterable[ParameterLearnerMethod]:
    """Estimates from counts."""
    yield ParameterLearnerMethod(
        name="ml",
        factory="bnplug.builtin.parameters.ml:MaximumLikelihood",
        summary="Smoothed relative frequencies.",
        reference="Peharz, Tschiatschek, Pernkopf: The most generative maximum margin Bayesian networks (2013), eq. 4",
        needs_target=False,
    )
    yield ParameterLearnerMethod(
        name="backoff",
        factory="bnplug.builtin.parameters.backoff:BackOff",
        summary="Relative frequencies that lean on fewer parents where rows are few.",
        reference=_PETITJEAN,
        needs_target=False,
    )


@hookimpl
def bnplug_engines() -> Iterable[EngineMethod]:
    """Variable elimination, pgmpy's junction tree, draws."""
    yield EngineMethod(
        name="elimination",
        factory="bnplug.builtin.engines.elimination:EliminationEngine",
        summary="Variable elimination: exact, each row instantiated with what it knows.",
        reference="Zhang, Poole: Exploiting causal independence in Bayesian network inference (1996)",
    )
    yield EngineMethod(
        name="junction-tree",
        factory="bnplug.builtin.engines.junction_tree:JunctionTreeEngine",
        summary="pgmpy's junction tree and belief propagation: exact, in Python.",
        reference="Lauritzen, Spiegelhalter: Local computations with probabilities on graphical structures and their "
        "application to expert systems (1988)",
    )
    yield EngineMethod(
        name="sampling",
        factory="bnplug.builtin.engines.sampling:SamplingEngine",
        summary="Likelihood weighting: estimates with a standard error, for cliques too large to be summed.",
        reference="Fung, Chang: Weighing and integrating evidence for stochastic simulation in Bayesian networks "
        "(1990)",
        exact=False,
        stochastic=True,
    )


@hookimpl
def bnplug_discretizers() -> Iterable[DiscretizerMethod]:
    """Cuts by the class, by weight and by width."""
    yield DiscretizerMethod(
        name="mdl",
        factory="bnplug.builtin.discretizers.mdl:MDLDiscretizer",
        summary="Cuts where it tells classes apart, as long as the description gets shorter.",
        reference=_FAYYAD,
        supervised=True,
    )
    yield DiscretizerMethod(
        name="quantile",
        factory="bnplug.builtin.discretizers.equal_bins:QuantileDiscretizer",
        summary="Bins of equal weight.",
        reference=_DOUGHERTY,
    )
    yield DiscretizerMethod(
        name="log2-quantile",
        factory="bnplug.builtin.discretizers.equal_bins:Log2QuantileDiscretizer",
        summary="Bins of equal weight, max(3, log2 n) of them: for parameters that back off.",
        reference=_DOUGHERTY,
    )
    yield DiscretizerMethod(
        name="uniform",
        factory="bnplug.builtin.discretizers.equal_bins:UniformDiscretizer",
        summary="Bins of equal width.",
        reference=_DOUGHERTY,
    )


@hookimpl
def bnplug_formats() -> Iterable[NetworkFormat]:
    """Return the two interchange formats that most programs read, and the graph as text."""
    yield NetworkFormat(
        name="bif",
        endings=(".bif",),
        write="bnplug.io.bif:format_bif",
        read="bnplug.io.bif:parse_bif",
        summary="BIF: bnlearn, pgmpy, pyAgrum, JavaBayes.",
        signature=r"^\s*network\b",
    )
    yield NetworkFormat(
        name="xmlbif",
        endings=(".xml", ".xmlbif", ".bifxml"),
        write="bnplug.io.xmlbif:format_xmlbif",
        read="bnplug.io.xmlbif:parse_xmlbif",
        summary="XMLBIF 0.3: Weka, pgmpy, pyAgrum, JavaBayes.",
        signature=r"<BIF\b",
    )
    yield NetworkFormat(
        name="dot",
        endings=(".dot", ".gv"),
        write="bnplug.show.drawing:format_dot",
        read=None,
        summary="The graph alone, for Graphviz.",
        graph=True,
    )
    yield NetworkFormat(
        name="mermaid",
        endings=(".mmd",),
        write="bnplug.show.drawing:format_mermaid",
        read=None,
        summary="The graph alone, for Mermaid, which Markdown pages draw.",
        graph=True,
    )
