"""What a search did, for a reader: in words, and as a picture of its score and of the network it found.

Any fitted classifier goes whose structure learner kept its trace, such as ``rmcv`` and ``hill-climb``.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from bnplug.show.drawing import new_axes, plot
from bnplug.show.palette import ACCENT, INK, finish
from bnplug.show.summary import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug import BayesianNetworkClassifier

_WIDTH = 100
_CURVE_HEIGHT, _SMALLEST_WIDTH = 3.2, 6.5


def describe_search(model: BayesianNetworkClassifier) -> str:
    """Tell how a fitted classifier's structure was found: the moves, the score after each, and what matters in the end.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        Fitted, by a structure learner that leaves ``trace_`` and ``moves_``.

    Returns
    -------
    str
        Lines of text.

    Examples
    --------
    >>> from itertools import product
    >>> import bnplug, pandas as pd
    >>> X = pd.DataFrame(list(product("01", repeat=3)) * 4, columns=["a", "b", "idle"])
    >>> model = bnplug.recipe("RMCV", random_state=0).fit(X, X["a"] == X["b"])
    >>> print(describe_search(model))
    1 move from score 0.2812 to 1.0000; 23 candidates scored.
       1. add a -> b  1.0000
    The class 'class' depends on 3 of 3 features, its Markov blanket: a, b, idle.
    """
    learner = _searcher(model)
    trace, moves = learner.trace_, learner.moves_
    width = max((len(move) for move in moves), default=0)
    lines = [_headline(trace, moves, learner.n_evaluations_)]
    for number, (move, value) in enumerate(zip(moves, trace[1:], strict=True), start=1):
        lines.append(f"{number:4}. {move:<{width}}  {value:.4f}")
    return "\n".join([*lines, *_blanket(model)])


def plot_search(model: BayesianNetworkClassifier) -> Axes:
    """Draw the score along the moves and, below, the network with the Markov blanket of the class marked.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        As for :func:`describe_search`.

    Returns
    -------
    matplotlib Axes
        Those of the score; ``.figure`` holds both.

    Examples
    --------
    >>> import bnplug
    >>> from bnplug.datasets import iris
    >>> ax = plot_search(bnplug.recipe("RMCV", random_state=0).fit(*iris()))
    >>> ax.get_xlabel(), len(ax.figure.axes)
    ('move', 2)
    """
    graph = (model.tables_.names, model.tables_.edges, model.target_, model.markov_blanket())
    return draw_search(_searcher(model).trace_, *graph)


def draw_search(
    trace: Sequence[float], names: Sequence[str], edges: Sequence[tuple[str, str]], target: str, blanket: Sequence[str]
) -> Axes:
    """Draw what :func:`plot_search` does, of a search of which only this was kept."""
    graph = (names, edges, target, blanket)
    network_width, network_height = plot(*graph).figure.get_figure(root=True).get_size_inches()
    width = max(_SMALLEST_WIDTH, network_width)
    height = _CURVE_HEIGHT + network_height
    ax = new_axes((width, height))
    share = network_height / height
    ax.set_position((0.75 / width, share + 0.55 / height, 1 - 1.0 / width, 1 - share - 0.95 / height))
    _draw_trace(ax, trace)
    below = ax.figure.add_axes((0.5 - network_width / width / 2, 0.0, network_width / width, share))
    plot(*graph, ax=below)
    return ax


def _searcher(model: Any) -> Any:
    """Return the fitted structure learner, if it kept what a report needs."""
    learner = getattr(model, "structure_", None)
    if not all(hasattr(learner, name) for name in ("trace_", "moves_", "n_evaluations_")):
        raise ValueError(
            f"the structure of {type(model).__name__} was not found by a search that kept its moves; fit it with "
            "'rmcv' or 'hill-climb' (a model that was loaded has no learner)"
        )
    return learner


def _headline(trace: list[float], moves: list[str], n_evaluations: int) -> str:
    return (
        f"{counted(len(moves), 'move')} from score {trace[0]:.4f} to {trace[-1]:.4f}; "
        f"{counted(n_evaluations, 'candidate')} scored."
    )


def _blanket(model: BayesianNetworkClassifier) -> list[str]:
    blanket = model.markov_blanket()
    left_out = [name for name in model.tables_.names if name not in (*blanket, model.target_)]
    text = (
        f"The class {model.target_!r} depends on {len(blanket)} of {model.n_features_in_} features, its Markov "
        f"blanket: {', '.join(blanket) or 'none'}."
    )
    lines = [_wrapped(text)]
    if left_out:
        lines.append(_wrapped(f"Where these are known, the others change nothing: {', '.join(left_out)}."))
    return lines


def _wrapped(text: str) -> str:
    return fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False)


def _draw_trace(ax: Axes, trace: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.plot(range(len(trace)), trace, color=ACCENT, marker="o", markersize=4, linewidth=1.6)
    ax.set_xlabel("move", color=INK)
    ax.set_ylabel("score", color=INK)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(ax)
