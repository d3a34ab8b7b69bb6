"""The local terms of decomposable scores, which the learners of this plugin ask for in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bnplug.contracts import Evaluator
from bnplug.hooks.components import component

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import FloatArray

#: Returns the local term of each family ``(child, *parents)``.
LocalScores = Callable[[Iterable[Sequence[int]]], "FloatArray"]


def evaluator_of(learner: Any, table: Table) -> tuple[Evaluator, LocalScores]:
    """Return the evaluator of a learner's score, and its local terms; a ``TypeError`` if the score has none."""
    score = component("score function", learner.score, learner)
    if not hasattr(score, "local_scores"):
        raise TypeError(f"{type(score).__name__} is not decomposable; choose a score such as 'bdeu' or 'mdl'")
    evaluator = score.evaluator(table, learner.n_jobs)
    return evaluator, getattr(evaluator, "local_scores", partial(score.local_scores, table))


def check_limits(learner: Any, *names: str) -> None:
    """Raise a ``ValueError`` for negative limits."""
    for name in names:
        value = getattr(learner, name)
        if value is not None and value < 0:
            raise ValueError(f"{name}={value} must not be negative; None means no limit")
