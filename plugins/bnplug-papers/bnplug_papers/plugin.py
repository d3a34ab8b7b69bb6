"""The hook implementation of this plugin; protocols are imported when one is run."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import Reproduction, hookimpl

#: The reference and the summary of each paper.
_PAPERS = {
    "kelner2012": (
        "Kelner, Lerner: Learning Bayesian network classifiers by risk minimization (2012)",
        "The paper's tables 2, 3 and 5 to 13 and its figures, on 22 UCI sets and all graphs of five variables.",
    ),
    "peharz2013": (
        "Peharz, Tschiatschek, Pernkopf: The most generative maximum margin Bayesian networks (2013)",
        "The paper's Table 1, likelihoods relative to ML and figures 1 to 4, on 25 of its 27 sets.",
    ),
    "pernkopf2008": (
        "Pernkopf, Bilmes: Order-based discriminative structure learning for Bayesian network classifiers (2008)",
        "The paper's tables 1, 2 and 4 and figures 1 and 3, on UCI sets and MNIST.",
    ),
    "pernkopf2013": (
        "Pernkopf, Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers (2013)",
        "The paper's tables 1 to 3 and figures 2 to 5, on MNIST, USPS and Spambase.",
    ),
    "zaidi2017": (
        "Zaidi, Webb, Carman, Petitjean, Buntine, Hynes, De Sterck: "
        "Efficient parameter learning of Bayesian network classifiers (2017)",
        "The paper's tables 4 to 6, its figures of errors, convergence and times, and its tests, on UCI sets.",
    ),
}


@hookimpl
def bnplug_reproductions() -> Iterable[Reproduction]:
    """Return the protocols of five papers."""
    for name, (reference, summary) in _PAPERS.items():
        yield Reproduction(name=name, run=f"bnplug_papers.{name}:PAPER", summary=summary, reference=reference)
