"""Reports of a structure search: the moves in words, and a picture of the score and of the resulting network.

They work for every classifier whose structure learner keeps its trace, such as ``rmcv`` and ``hill-climb``.
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from bnplug.show.drawing import new_axes, plot
from bnplug.show.palette import ACCENT, INK, finish
from bnplug.show.summary import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug.classifier import BayesianNetworkClassifier

_WIDTH = 100
_CURVE_HEIGHT, _SMALLEST_WIDTH = 3.2, 6.5


def describe_search(model: BayesianNetworkClassifier) -> str:
    """Describe how the structure of a fitted classifier was found: the moves, their scores, and the Markov blanket.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        Fitted by a structure learner that has the attributes ``trace_`` and ``moves_``.

    Examples
    --------
    >>> from itertools import product
    >>> import bnplug, pandas as pd
    >>> X = pd.DataFrame(list(product("01", repeat=3)) * 4, columns=["a", "b", "idle"])
    >>> model = bnplug.BayesianNetworkClassifier("hill-climb", "ml").fit(X, X["a"] == X["b"])
    >>> print(describe_search(model))
    3 moves from score -100.8529 to -78.6722; 42 candidates scored.
       1. add a -> b            -82.1379
       2. delete class -> a     -80.4051
       3. delete class -> idle  -78.6722
    The class 'class' depends on 2 of 3 features, its Markov blanket: a, b.
    Where these are known, the others change nothing: idle.
    """
    learner = _searcher(model)
    trace, moves = learner.trace_, learner.moves_
    width = max((len(move) for move in moves), default=0)
    scored = counted(learner.n_evaluations_, "candidate")
    lines = [f"{counted(len(moves), 'move')} from score {trace[0]:.4f} to {trace[-1]:.4f}; {scored} scored."]
    for number, (move, value) in enumerate(zip(moves, trace[1:], strict=True), start=1):
        lines.append(f"{number:4}. {move:<{width}}  {value:.4f}")
    blanket = model.markov_blanket()
    remarks = [
        f"The class {model.target_!r} depends on {len(blanket)} of {model.n_features_in_} features, its Markov "
        f"blanket: {', '.join(blanket) or 'none'}."
    ]
    left_out = [name for name in model.tables_.names if name not in (*blanket, model.target_)]
    if left_out:
        remarks.append(f"Where these are known, the others change nothing: {', '.join(left_out)}.")
    lines += [fill(remark, _WIDTH, break_on_hyphens=False, break_long_words=False) for remark in remarks]
    return "\n".join(lines)


def plot_search(model: BayesianNetworkClassifier) -> Axes:
    """Draw the score along the moves and, below, the network with the Markov blanket of the class marked.

    The model is as for :func:`describe_search`. Returns the axes of the score; ``.figure`` has both.
    """
    from matplotlib.ticker import MaxNLocator

    trace = _searcher(model).trace_
    graph = (model.tables_.names, model.tables_.edges, model.target_, model.markov_blanket())
    network_width, network_height = plot(*graph).figure.get_figure(root=True).get_size_inches()
    width = max(_SMALLEST_WIDTH, network_width)
    height = _CURVE_HEIGHT + network_height
    ax = new_axes((width, height))
    share = network_height / height
    ax.set_position((0.75 / width, share + 0.55 / height, 1 - 1.0 / width, 1 - share - 0.95 / height))
    ax.plot(range(len(trace)), trace, color=ACCENT, marker="o", markersize=4, linewidth=1.6)
    ax.set_xlabel("move", color=INK)
    ax.set_ylabel("score", color=INK)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(ax)
    below = ax.figure.add_axes((0.5 - network_width / width / 2, 0.0, network_width / width, share))
    plot(*graph, ax=below)
    return ax


def _searcher(model: Any) -> Any:
    """Return the fitted structure learner; raise if it has no trace."""
    learner = getattr(model, "structure_", None)
    if not all(hasattr(learner, name) for name in ("trace_", "moves_", "n_evaluations_")):
        raise ValueError(
            f"the structure of {type(model).__name__} was not found by a search that kept its moves; fit it with "
            "'rmcv' or 'hill-climb' (a model that was loaded has no learner)"
        )
    return learner
