"""The page of a reproduction: our figures beside the published ones, claims, and missing data sets.

The same parts give the same page, byte for byte: it has no date.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bnplug.experiments import frame_table
from bnplug.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_CELL = 160
_INTRODUCTION = """# Reproductions

What the papers claim, and what this project measures: one page for each paper, made of the results of its run by
`bnplug reproduce PAPER --page-only`. Each has our figures beside the published ones, those that are off with a reason
that was tested or none, and the data that were missing. All of it is `bnplug reproduce --all`."""

_VERDICTS = {True: "yes", False: "no", None: "not testable here"}


class Page:
    """A Markdown page with tables, pictures and claims, built part by part.

    Parameters
    ----------
    name : str
        The name of the reproduction; the page is ``NAME.md``, its pictures are ``NAME-....png``.
    title : str
        The heading.
    reference : str
        The paper.

    Attributes
    ----------
    claims : list of (claim, verdict, evidence)
        The claims so far.

    Examples
    --------
    >>> page = Page("me2026", "Trees again", "Me (2026)")
    >>> page.section("Table 1")
    >>> ours = pd.DataFrame({"dataset": ["iris"], "method": ["tan"], "accuracy": [94.5]})
    >>> published = pd.DataFrame({"dataset": ["iris", "vote"], "method": ["tan", "tan"], "accuracy": [94.0, 90.0]})
    >>> page.table(beside(ours, published, "accuracy"))
    >>> page.claim("Trees are better than nothing.", True, "94.5% on iris")
    >>> page.missing_data(["vote"])
    >>> print(page.to_markdown())
    # Trees again
    <BLANKLINE>
    Me (2026)
    <BLANKLINE>
    ## Table 1
    <BLANKLINE>
    | dataset | method | ours | published | difference |
    | --- | ---: | ---: | ---: | ---: |
    | iris | tan | 94.50 | 94.00 | 0.50 |
    | vote | tan | – | 90.00 | – |
    <BLANKLINE>
    ## Claims
    <BLANKLINE>
    - **yes**: Trees are better than nothing. (94.5% on iris)
    <BLANKLINE>
    ## Data that were missing
    <BLANKLINE>
    vote
    <BLANKLINE>
    """

    def __init__(self, name: str, title: str, reference: str) -> None:
        self.name = name
        self._parts = [f"# {title}", reference]
        self.claims: list[tuple[str, str, str]] = []
        self._missing: list[str] = []
        self._pictures: dict[str, Axes] = {}

    def section(self, title: str) -> None:
        """Begin a section."""
        self._parts.append(f"## {title}")

    def text(self, text: str) -> None:
        """Add a paragraph of Markdown."""
        self._parts.append(text.strip())

    def table(self, frame: pd.DataFrame, caption: str = "", digits: int = 2, index: str = "") -> None:
        """Add a frame as a table; numbers with fractions get `digits` decimals. A note replaces an empty frame.

        Parameters
        ----------
        frame : frame
        caption : str
            A paragraph before it.
        digits : int
        index : str
            The heading of the frame's index, which becomes the first column; without a heading it is omitted.
        """
        if index:
            frame = frame.rename_axis(index).rename_axis(columns=None).reset_index()
        if caption:
            self.text(caption)
        if frame.empty:
            self.text("There is nothing to show here yet.")
        else:
            self._parts.append(frame_table(frame.set_index(frame.columns[0]), digits).to_markdown())

    def picture(self, ax: Axes, name: str, caption: str) -> None:
        """Add a picture, written to its own file together with the page."""
        file = f"{self.name}-{name}.png"
        if file in self._pictures:
            raise ValueError(f"there is a picture {name!r} on this page already")
        self._pictures[file] = ax
        self._parts.append(f"![{caption}]({file})")

    def claim(
        self,
        claim: str,
        holds: bool | None,
        evidence: str,
        coverage: tuple[int, int] | None = None,
        unit: str = "tasks",
    ) -> None:
        """Add a claim of the paper.

        Parameters
        ----------
        claim : str
            The statement of the paper.
        holds : bool or None
            Whether our figures confirm it; None: not testable here.
        evidence : str
            Our figures.
        coverage : pair of int, optional
            How many of how many repetitions, data sets or tasks the verdict is based on; shown if not all.
        unit : str
            The unit of `coverage`.
        """
        n, m = coverage or (0, 0)
        partly = f", on {n} of {m} {unit}" if n < m else ""
        self.claims.append((claim, f"{_VERDICTS[holds]}{partly}", evidence))

    def missing_data(self, names: Iterable[str], note: str = "") -> None:
        """List data sets of the paper that were not available."""
        listed = ", ".join(names)
        if listed:
            self._missing.append(f"{listed}{f': {note}' if note else ''}")

    def to_markdown(self) -> str:
        """Return the page; claims and missing data come last."""
        parts = list(self._parts)
        if self.claims:
            listed = [f"- **{verdict}**: {claim} ({evidence})" for claim, verdict, evidence in self.claims]
            parts += ["## Claims", "\n".join(listed)]
        if self._missing:
            parts += ["## Data that were missing", "\n\n".join(self._missing)]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the page and its pictures to a folder, created if needed; return the path of the page."""
        from bnplug.experiments.pictures import save_figure

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for file, ax in self._pictures.items():
            save_figure(ax, folder / file)
        path = folder / f"{self.name}.md"
        write_atomically(path, self.to_markdown())
        return path

    @staticmethod
    def index(pages: Iterable[Page]) -> str:
        """Return a Markdown page that lists the claims of several pages."""
        pages = sorted(pages, key=lambda page: page.name)
        rows = ["| paper | claim | does it hold? | our figure |", "| --- | --- | --- | --- |"]
        for page in pages:
            for claim, verdict, evidence in page.claims:
                cells = [f"[{page.name}]({page.name}.md)", _cell(claim), verdict, _cell(_shortened(evidence))]
                rows.append(f"| {' | '.join(cells)} |")
        listed = ["```{toctree}", ":maxdepth: 1", ":hidden:", "", *(page.name for page in pages), "```"]
        return "\n\n".join([_INTRODUCTION, "\n".join(rows), "\n".join(listed)]) + "\n"


def beside(
    ours: pd.DataFrame, published: pd.DataFrame, value: str, by: Iterable[str] = ("dataset", "method")
) -> pd.DataFrame:
    """Put our figures beside the published ones, in the order of the published.

    Parameters
    ----------
    ours, published : frame
        Each with the columns `by` and `value`.
    value : str
        The figure.
    by : iterable of str
        The columns that identify a figure. A figure that one side lacks is NaN there.

    Returns
    -------
    frame
        `by`, ``ours``, ``published`` and ``difference``, ours minus published.
    """
    keys = list(by)
    for name, frame in (("ours", ours), ("published", published)):
        if frame.duplicated(keys).any():
            raise ValueError(f"{name}: more than one figure for the same {' and '.join(keys)}")
    columns: dict[str, pd.Series[Any]] = {
        "ours": ours.set_index(keys)[value], "published": published.set_index(keys)[value]
    }  # fmt: skip
    order = columns["published"].index.append(columns["ours"].index.difference(columns["published"].index, sort=False))
    result = pd.DataFrame({name: column.reindex(order) for name, column in columns.items()})
    return result.assign(difference=result["ours"] - result["published"]).reset_index()


def _shortened(text: str) -> str:
    """Return a text, cut at a semicolon or a comma if it is too long for a cell."""
    if len(text) <= _LONGEST_CELL:
        return text
    kept = text[:_LONGEST_CELL]
    return kept[: max(kept.rfind("; "), kept.rfind(", "), _LONGEST_CELL // 2)] + " ..."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
