"""Pictures of a classifier's graph: the one place that draws a network, as SVG or with matplotlib.

The class is accented, and the edges that leave it are pale and behind the others.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from bnplug.exchange.files import write_atomically
from bnplug.notebook._text import xml_text
from bnplug.show import palette
from bnplug.show._graph import CheckedGraph, checked_graph
from bnplug.show._labels import FONT_SIZE
from bnplug.show._rows import BOX_HEIGHT
from bnplug.show.layout import Arrow, Box, Picture, Point, picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["new_axes", "new_panels", "plot", "save_picture", "to_dot", "to_mermaid", "to_svg"]

# What matplotlib writes.
_DRAWN = (".png", ".pdf", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")

_EDGE_WIDTH, _BORDER_WIDTH, _CORNER = 1.4, 1.3, 6.0


def to_svg(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    marked: Collection[str] = (),
    clickable: bool = False,
) -> str:
    """Draw a classifier's graph as one self-contained SVG element.

    Parameters
    ----------
    names, edges, target
        As for :func:`bnplug.show.layout.layout`.
    marked : collection of str
        Nodes to highlight, such as the Markov blanket of the class.
    clickable : bool
        Give each node's group, of class ``bn-node``, its name as ``data-node``, for a page's script.

    Returns
    -------
    str
        The SVG, on white paper of its own. Hovering over a node shows its whole name and its parents.

    Examples
    --------
    >>> svg = to_svg(["a", "y"], [("y", "a")], "y")
    >>> svg.startswith("<svg "), svg.endswith("</svg>")
    (True, True)
    """
    picture = picture_of(names, edges, target, marked)
    left, top, width, height = (_number(length) for length in picture.frame())
    # No height: browsers then keep the proportions where the page is narrower than the picture.
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left} {top} {width} {height}" width="{width}" '
        f'style="max-width:100%" role="img" aria-label={_attribute(_summary(picture.graph))} '
        f'font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif" font-size="{_number(FONT_SIZE)}" '
        'text-anchor="middle">',
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="{_CORNER}" fill="{palette.PAPER}"/>',
        *(_svg_line(f"M{_points(rail)}", palette.CLASS_EDGE) for rail in picture.rails),
        *(_svg_edge(edge, picture.graph) for edge in picture.edges),
        *(_svg_node(box, picture, clickable) for box in picture.boxes),
        "</svg>",
    ]
    return "\n".join(lines)


def to_dot(names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()) -> str:
    """Return a classifier's graph in the language of Graphviz, for whoever lays it out there.

    Parameters
    ----------
    names, edges, target, marked
        As for :func:`to_svg`.

    Examples
    --------
    >>> print(to_dot(["a", 'say "b"'], [("a", 'say "b"')], "a"))
    digraph classifier {
      node [shape=box, style="rounded,filled", fontname="Helvetica"];
      "a" [fillcolor="#...", color="#...", fontcolor="#..."];
      "say \\"b\\"" [fillcolor="#...", color="#...", fontcolor="#..."];
      "a" -> "say \\"b\\"" [color="#..."];
    }
    """
    picture = picture_of(names, edges, target, marked)
    own = [_dot_text(name) for name in picture.graph.names]
    lines = ["digraph classifier {", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
    for node, name in enumerate(own):
        fill, line, ink = _colours(picture, node)
        lines.append(f'  {name} [fillcolor="{fill}", color="{line}", fontcolor="{ink}"];')
    for edge in picture.edges:
        colour = palette.CLASS_EDGE if edge.parent == picture.graph.target else palette.FEATURE_EDGE
        lines.append(f'  {own[edge.parent]} -> {own[edge.child]} [color="{colour}"];')
    return "\n".join([*lines, "}"])


def to_mermaid(
    names: Sequence[str], edges: Iterable[tuple[str, str]], target: str, marked: Collection[str] = ()
) -> str:
    """Return a classifier's graph in the language of Mermaid, which GitHub and many notebooks draw in Markdown.

    Parameters
    ----------
    names, edges, target, marked
        As for :func:`to_svg`.

    Examples
    --------
    >>> print(to_mermaid(["a", 'say "b"'], [("a", 'say "b"')], "a"))
    flowchart TD
      n0["a"]:::target
      n1["say #34;b#34;"]
      n0 --> n1
      classDef default fill:#...,stroke:#...,color:#...
      classDef marked fill:#...,stroke:#...,color:#...
      classDef target fill:#...,stroke:#...,color:#...
    """
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


def plot(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    marked: Collection[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw a classifier's graph with matplotlib.

    Parameters
    ----------
    names, edges, target, marked
        As for :func:`to_svg`.
    ax : matplotlib Axes, optional
        Where to draw. By default a figure of its own, as large as the graph needs; no window opens.

    Returns
    -------
    matplotlib Axes
        The picture; ``.figure`` is the figure that holds it.

    Examples
    --------
    >>> axes = plot(["a", "y"], [("y", "a")], "y")
    >>> sorted(text.get_text() for text in axes.texts)
    ['a', 'y']
    """
    picture = picture_of(names, edges, target, marked)
    left, top, width, height = picture.frame()
    if ax is None:
        ax = new_axes((width / 96, height / 96))
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(left, left + width), ylim=(top + height, top), aspect="equal")
    ax.set_axis_off()
    space = ax.get_window_extent()
    points_per_pixel = min(space.width / width, space.height / height) * 72 / ax.figure.dpi
    _plot_edges(ax, picture, points_per_pixel)
    _plot_nodes(ax, picture, points_per_pixel)
    return ax


def new_axes(size: tuple[float, float]) -> Axes:
    """Make axes on a figure of their own, outside pyplot: no window, no change of the backend.

    Parameters
    ----------
    size : (width, height)
        The size of the figure in inches.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Where matplotlib is not installed.

    Examples
    --------
    >>> new_axes((4, 3)).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    return new_panels(1, 1, size)[0][0]


def new_panels(rows: int, columns: int, size: tuple[float, float]) -> list[list[Axes]]:
    """Make several axes on a figure of their own, as :func:`new_axes` does: a list for each row.

    Examples
    --------
    >>> [len(row) for row in new_panels(2, 3, (9, 6))]
    [3, 3]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plotting needs matplotlib: pip install "bnplug[plot]"') from error
    figure = Figure(figsize=size, layout="constrained")
    panels: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False).tolist()
    return panels


def save_picture(
    path: str | os.PathLike[str],
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    target: str,
    marked: Collection[str] = (),
) -> None:
    """Write a picture of a classifier's graph to a file, whole or not at all.

    Parameters
    ----------
    path : path-like
        Its ending is the format: ``.svg``, ``.dot`` (or ``.gv``; Graphviz), ``.mmd`` (Mermaid), or what needs
        matplotlib, ``.png``, ``.pdf``, ``.eps``, ``.ps``, ``.jpg``, ``.tif``, ``.webp``.
    names, edges, target, marked
        As for :func:`to_svg`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_picture(Path(folder, "nb.svg"), ["a", "y"], [("y", "a")], "y")
    ...     Path(folder, "nb.svg").read_text(encoding="utf-8")[:4]
    '<svg'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    texts = {".svg": to_svg, ".dot": to_dot, ".gv": to_dot, ".mmd": to_mermaid}
    if suffix not in (*texts, *_DRAWN):
        raise ValueError(
            f"a picture is saved as {', '.join((*texts, *_DRAWN))}: give {str(path)!r} one of these endings"
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save {path.name!r} in: make it first")
    if suffix in texts:
        write_atomically(path, texts[suffix](names, edges, target, marked))
    else:
        drawn = io.BytesIO()
        plot(names, edges, target, marked).figure.canvas.print_figure(drawn, format=suffix[1:], dpi=192)
        write_atomically(path, drawn.getvalue())


def _number(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _attribute(text: str) -> str:
    return quoteattr(xml_text(text))


def _dot_text(text: str) -> str:
    """Return a name as Graphviz reads it, a line end as a line end."""
    escaped = xml_text(text).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\r", "").replace("\n", "\\n") + '"'


def _mermaid_text(text: str) -> str:
    """Return a name on one line; what Mermaid or HTML could take for something else goes by its number."""
    plain = " ".join(xml_text(text).split()) or " "
    return "".join(f"#{ord(letter)};" if letter in '"#<>&`\\;' else letter for letter in plain)


def _title(text: str) -> str:
    return f"<title>{escape(xml_text(text))}</title>"


def _summary(graph: CheckedGraph) -> str:
    return (
        f"Bayesian network classifier; class: {graph.names[graph.target]}; "
        f"features: {len(graph.names) - 1}; edges: {len(graph.edges)}"
    )


def _svg_line(path: str, colour: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{_EDGE_WIDTH}"/>'


def _svg_edge(edge: Arrow, graph: CheckedGraph) -> str:
    colour = palette.CLASS_EDGE if edge.parent == graph.target else palette.FEATURE_EDGE
    steps = "".join(("L" if len(step) == 1 else "C") + _points(step) for step in edge.shaft())
    return (
        f'<g class="bn-edge">{_title(f"{graph.names[edge.parent]} → {graph.names[edge.child]}")}'
        f"{_svg_line(f'M{_points([edge.start])}{steps}', colour)}"
        f'<path d="M{_points(edge.head())}Z" fill="{colour}"/></g>'
    )


def _colours(picture: Picture, node: int) -> tuple[str, str, str]:
    """Fill, border and text colour of a node."""
    if node == picture.graph.target:
        return palette.CLASS
    if node in picture.graph.marked:
        return palette.MARKED
    return palette.FEATURE


def _svg_node(box: Box, picture: Picture, clickable: bool) -> str:
    graph, name = picture.graph, picture.graph.names[box.node]
    parents = ", ".join(graph.names[parent] for parent in graph.parents[box.node]) or "none"
    title = _title(f"{name}\nparents: {parents}")
    fill, line, ink = _colours(picture, box.node)
    data = f' data-node={_attribute(name)} cursor="pointer"' if clickable else ""
    bold = ' font-weight="bold"' if box.node == graph.target else ""
    return (
        f'<g class="bn-node"{data}>{title}'
        f'<rect x="{_number(box.x - box.width / 2)}" y="{_number(box.y - BOX_HEIGHT / 2)}" '
        f'width="{_number(box.width)}" height="{_number(BOX_HEIGHT)}" rx="{_number(_CORNER)}" '
        f'fill="{fill}" stroke="{line}" stroke-width="{_BORDER_WIDTH}"/>'
        f'<text x="{_number(box.x)}" y="{_number(box.baseline)}" fill="{ink}"{bold}>'
        f"{escape(box.label)}</text></g>"
    )


def _plot_edges(ax: Axes, picture: Picture, scale: float) -> None:
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path as Curve

    target = picture.graph.target
    curves = [Curve(rail) for rail in picture.rails]
    for edge in picture.edges:
        points = [edge.start, *(point for step in edge.shaft() for point in step)]
        codes = [Curve.LINETO if len(step) == 1 else Curve.CURVE4 for step in edge.steps for _ in step]
        curves.append(Curve(points, [Curve.MOVETO, *codes]))
    colours = [palette.CLASS_EDGE if edge.parent == target else palette.FEATURE_EDGE for edge in picture.edges]
    lines = PathCollection(curves, facecolors="none", edgecolors=[palette.CLASS_EDGE] * len(picture.rails) + colours)
    lines.set(linewidth=_EDGE_WIDTH * scale, zorder=1)
    ax.add_collection(lines, autolim=False)
    heads = PolyCollection([edge.head() for edge in picture.edges], facecolors=colours, zorder=1)
    ax.add_collection(heads, autolim=False)


def _plot_nodes(ax: Axes, picture: Picture, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    left, top, width, height = picture.frame()
    ax.add_patch(Rectangle((left, top), width, height, facecolor=palette.PAPER, edgecolor="none", zorder=0))
    style = f"round,pad=0,rounding_size={_CORNER}"
    for box in picture.boxes:
        fill, line, ink = _colours(picture, box.node)
        corner = (box.x - box.width / 2, box.y - BOX_HEIGHT / 2)
        patch = FancyBboxPatch(corner, box.width, BOX_HEIGHT, style, facecolor=fill, edgecolor=line)
        patch.set(linewidth=_BORDER_WIDTH * scale, zorder=2)
        ax.add_patch(patch)
        text = ax.text(box.x, box.baseline, box.label, color=ink, ha="center", va="baseline", zorder=3)
        text.set(size=FONT_SIZE * scale, parse_math=False)
        text.set_fontweight("bold" if box.node == picture.graph.target else "normal")
