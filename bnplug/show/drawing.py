"""Pictures of a classifier's graph, as SVG, Graphviz or Mermaid text, or with matplotlib.

The class is accented; its outgoing edges are pale and behind the others.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnplug.files import write_atomically
from bnplug.html._kit import render, xml_text
from bnplug.model.wettig import blanket_of
from bnplug.show import palette
from bnplug.show._routes import FONT_SIZE, Arrow, Picture, picture_of, svg_number, svg_path
from bnplug.show._sheet import BOX_HEIGHT, checked_graph

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bnplug.model.log_tables import LogTables

# The formats that matplotlib writes.
_DRAWN = (".png", ".pdf", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")

_EDGE_WIDTH, _BORDER, _CORNER = 1.4, 1.3, 6.0


def to_svg(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    marked: Collection[str] = (),
    clickable: bool = False,
) -> str:
    """Draw a classifier's graph as one self-contained SVG element, on a white background.

    Hovering over a node shows its whole name and its parents.

    Parameters
    ----------
    names : sequence of str
        The nodes, in the order of the table.
    edges : iterable of (parent, child)
        The edges, as pairs of names.
    target : str
        The name of the class.
    marked : collection of str
        Nodes to highlight, such as the Markov blanket of the class.
    clickable : bool
        Whether the group of each node, of class ``bn-node``, has the name as ``data-node``, for a page's script.
    """
    picture = picture_of(names, edges, target, marked)
    return render(
        "graph.svg",
        picture=picture,
        graph=picture.graph,
        frame=list(map(svg_number, picture.frame)),
        clickable=clickable,
        colours=[_colours(picture, node) for node in range(len(names))],
        edge_colours=[_edge_colour(edge, picture) for edge in picture.edges],
        palette=palette,
        length=svg_number,
        path=svg_path,
        sizes={"font": FONT_SIZE, "height": BOX_HEIGHT, "corner": _CORNER, "border": _BORDER, "line": _EDGE_WIDTH},
    )


def to_dot(names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()) -> str:
    """Return a classifier's graph in the language of Graphviz; parameters as for :func:`to_svg`."""
    picture = picture_of(names, edges, target, marked)
    names = [_dot_text(name) for name in picture.graph.names]
    lines = ["digraph classifier {", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
    for node, name in enumerate(names):
        fill, line, ink = _colours(picture, node)
        lines.append(f'  {name} [fillcolor="{fill}", color="{line}", fontcolor="{ink}"];')
    for edge in picture.edges:
        lines.append(f'  {names[edge.parent]} -> {names[edge.child]} [color="{_edge_colour(edge, picture)}"];')
    return "\n".join([*lines, "}"])


def to_mermaid(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> str:
    """Return a classifier's graph in the language of Mermaid, for Markdown; parameters as for :func:`to_svg`."""
    graph = checked_graph(names, edges, target, marked)
    lines = ["flowchart TD"]
    for node, name in enumerate(graph.names):
        kind = ":::target" if node == graph.target else ":::marked" if node in graph.marked else ""
        lines.append(f'  n{node}["{_mermaid_text(name)}"]{kind}')
    lines += [f"  n{parent} --> n{child}" for parent, child in graph.edges]
    for kind, colours in (("default", palette.FEATURE), ("marked", palette.MARKED), ("target", palette.CLASS)):
        fill, line, ink = colours
        lines.append(f"  classDef {kind} fill:{fill},stroke:{line},color:{ink}")
    return "\n".join(lines)


def format_dot(tables: LogTables, encoder: object = None) -> str:
    """Return the content of a Graphviz file, with the Markov blanket of the class highlighted (format ``dot``)."""
    return to_dot(tables.names, tables.edges, tables.target or "", _to_mark(tables)) + "\n"


def format_mermaid(tables: LogTables, encoder: object = None) -> str:
    """Return the content of a Mermaid file, with the Markov blanket of the class highlighted (format ``mermaid``)."""
    return to_mermaid(tables.names, tables.edges, tables.target or "", _to_mark(tables)) + "\n"


def _to_mark(tables: LogTables) -> list[str]:
    """Return the Markov blanket of the class, unless it is all features."""
    blanket = blanket_of(tables)
    return blanket if len(blanket) < len(tables.names) - 1 else []


def plot(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    marked: Collection[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw a classifier's graph with matplotlib; return the axes. Parameters are as for :func:`to_svg`.

    By default, the axes are on a new figure as large as the graph needs. No window opens.
    """
    picture = picture_of(names, edges, target, marked)
    left, top, width, height = picture.frame
    if ax is None:
        ax = new_axes((width / 96, height / 96))
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    from matplotlib.patches import FancyBboxPatch, Rectangle

    ax.set(xlim=(left, left + width), ylim=(top + height, top), aspect="equal")
    ax.set_axis_off()
    space = ax.get_window_extent()
    scale = min(space.width / width, space.height / height) * 72 / ax.figure.dpi
    _plot_edges(ax, picture, scale)
    ax.add_patch(Rectangle((left, top), width, height, facecolor=palette.PAPER, edgecolor="none", zorder=0))
    style = f"round,pad=0,rounding_size={_CORNER}"
    for box in picture.boxes:
        fill, line, ink = _colours(picture, box.node)
        corner = (box.x - box.width / 2, box.y - BOX_HEIGHT / 2)
        patch = FancyBboxPatch(corner, box.width, BOX_HEIGHT, style, facecolor=fill, edgecolor=line)
        patch.set(linewidth=_BORDER * scale, zorder=2)
        ax.add_patch(patch)
        text = ax.text(box.x, box.baseline, box.label, color=ink, ha="center", va="baseline", zorder=3)
        text.set(size=FONT_SIZE * scale, parse_math=False)
        text.set_fontweight("bold" if box.node == picture.graph.target else "normal")
    return ax


def new_axes(size: tuple[float, float]) -> Axes:
    """Make axes on a new figure of this width and height in inches, outside pyplot: no window opens."""
    return new_panels(1, 1, size)[0][0]


def new_panels(rows: int, columns: int, size: tuple[float, float]) -> list[list[Axes]]:
    """Make several axes on a new figure, as :func:`new_axes` does: a list for each row."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plotting needs matplotlib: pip install "bnplug[plot]"') from error
    figure = Figure(figsize=size, layout="constrained")
    panels: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False).tolist()
    return panels


def plot_explanation(explanation: pd.DataFrame, label: object, title: str, ax: Axes | None = None) -> Axes:
    """Draw the contributions to the log odds of a class in one row as bars, the largest on top; return the axes.

    `explanation` is the result of a classifier's ``explain`` for one row. By default, the axes are on a new figure.
    """
    from bnplug.inference.explain import PRIOR

    chosen = explanation[explanation["class"] == label].set_index("feature")["contribution"]
    chosen = chosen[(chosen != 0) | (chosen.index == PRIOR)].sort_values(key=np.abs)
    axes = new_axes((7, 1.2 + 0.3 * len(chosen))) if ax is None else ax
    colours = [palette.AGAINST if value < 0 else palette.FOR for value in chosen]
    axes.barh(range(len(chosen)), chosen.to_numpy(), color=colours)
    axes.set_yticks(range(len(chosen)), [str(name) for name in chosen.index])
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("contribution to the log odds")
    axes.set_title(title)
    return axes


def save_picture(
    path: str | os.PathLike[str],
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    marked: Collection[str] = (),
) -> None:
    """Write a picture of a classifier's graph to a file, whole or not at all; parameters as for :func:`to_svg`.

    The suffix of the path is the format: ``.svg``, ``.dot`` (or ``.gv``; Graphviz), ``.mmd`` (Mermaid), or with
    matplotlib ``.png``, ``.pdf``, ``.eps``, ``.ps``, ``.jpg``, ``.tif``, ``.webp``.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    texts = {".svg": to_svg, ".dot": to_dot, ".gv": to_dot, ".mmd": to_mermaid}
    endings = (*texts, *_DRAWN)
    if suffix not in endings:
        raise ValueError(f"a picture is saved as {', '.join(endings)}: give {str(path)!r} one of these endings")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save {path.name!r} in: create it first")
    if suffix in texts:
        write_atomically(path, texts[suffix](names, edges, target, marked))
    else:
        drawn = io.BytesIO()
        plot(names, edges, target, marked).figure.canvas.print_figure(drawn, format=suffix[1:], dpi=192)
        write_atomically(path, drawn.getvalue())


def _dot_text(text: str) -> str:
    """Quote a name for Graphviz, keeping its line ends."""
    escaped = xml_text(text).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\r", "").replace("\n", "\\n") + '"'


def _mermaid_text(text: str) -> str:
    """Return a name on one line, with special characters of Mermaid and HTML as character codes."""
    plain = " ".join(xml_text(text).split()) or " "
    return "".join(f"#{ord(letter)};" if letter in '"#<>&`\\;' else letter for letter in plain)


def _edge_colour(edge: Arrow, picture: Picture) -> str:
    return palette.CLASS_EDGE if edge.parent == picture.graph.target else palette.FEATURE_EDGE


def _colours(picture: Picture, node: int) -> tuple[str, str, str]:
    """Return the fill, border and text color of a node."""
    if node == picture.graph.target:
        return palette.CLASS
    return palette.MARKED if node in picture.graph.marked else palette.FEATURE


def _plot_edges(ax: Axes, picture: Picture, scale: float) -> None:
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path as Curve

    curves = [Curve(rail) for rail in picture.rails]
    for edge in picture.edges:
        points = [edge.start, *(point for step in edge.shaft() for point in step)]
        codes = [Curve.LINETO if len(step) == 1 else Curve.CURVE4 for step in edge.steps for _ in step]
        curves.append(Curve(points, [Curve.MOVETO, *codes]))
    colours = [_edge_colour(edge, picture) for edge in picture.edges]
    lines = PathCollection(curves, facecolors="none", edgecolors=[palette.CLASS_EDGE] * len(picture.rails) + colours)
    lines.set(linewidth=_EDGE_WIDTH * scale, zorder=1)
    ax.add_collection(lines, autolim=False)
    heads = PolyCollection([edge.head() for edge in picture.edges], facecolors=colours, zorder=1)
    ax.add_collection(heads, autolim=False)
