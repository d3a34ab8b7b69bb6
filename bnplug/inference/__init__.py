"""Answers of a network: complete rows, marginals, queries, explanations, samples.

``complete`` scores rows without a hole, ``marginals`` those with any, by the compiled pass of ``elimination``;
``queries`` answers about any variables, ``batches`` for many rows at once. ``most_probable`` finds the best joint
state, ``what_next`` the feature that would tell most, ``sensitivity`` what an answer hangs on, and ``conflict`` whether
findings go together; ``explain`` says what each feature contributes, ``sample`` draws rows.
"""

from bnplug.inference.complete import Terms, full_log_joint, log_joint, log_posterior, posterior, terms
from bnplug.inference.explain import contributions
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.queries import query

__all__ = [
    "Marginalizer",
    "Terms",
    "contributions",
    "full_log_joint",
    "log_joint",
    "log_posterior",
    "posterior",
    "query",
    "terms",
]
