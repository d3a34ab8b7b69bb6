"""A page for each public name, and the list that leads to them: both from ``api.md``, which has an entry for each.

``api.md`` is written for people who change the code: one place that says what is public. The build takes its entries
apart, writes each on a page of its own under ``api/``, and shows in their place one line each. Nothing but
:func:`setup` and the functions that it registers needs Sphinx.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "api"
_BLOCK = re.compile(r"^```\{eval-rst\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)

#: Up to a full stop that is not in code.
_SENTENCE = re.compile(r"(?:``.*?``|`[^`]*`|[^`])*?(?:\.(?= |$)|$)")


@dataclass
class Entry:
    """A name with the directive that documents it."""

    name: str
    module: str
    directive: str
    body: list[str]
    document: str = ""

    @property
    def text(self) -> str:
        """The page."""
        title = f"``{self.name}``"
        lines = [title, "=" * len(title), "", f".. currentmodule:: {self.module}", "", self.directive, *self.body]
        return "\n".join(lines).rstrip() + "\n"


@dataclass
class Section:
    """A heading with what stands below it: entries, and lines that stay as they are."""

    title: str
    parts: list[Entry | str] = field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        """The names of the section, in their order."""
        return [part for part in self.parts if isinstance(part, Entry)]


def sections(text: str | None = None) -> list[Section]:
    """Return the sections of the reference.

    Examples
    --------
    >>> (found,) = sections("```{eval-rst}\\nSearches\\n--------\\n\\n.. autofunction:: bnplug.search.climb\\n```")
    >>> found.title, [entry.document for entry in found.entries]
    ('Searches', ['api/bnplug.search.climb'])
    """
    (block,) = _BLOCK.findall(reference.PAGE.read_text() if text is None else text)
    found: list[Section] = []
    module, chunks = "bnplug", _chunks(block)
    for head, body in chunks:
        if body and re.fullmatch("-+", body[0]):
            found.append(Section(head, [line for line in body[1:] if line]))
        elif (directive := reference.DIRECTIVE.match(head)) is None:
            found[-1].parts += [head, *body]
        elif directive[2] in ("currentmodule", "automodule"):
            module = directive[3]
            found[-1].parts += ["", f".. {directive[2]}:: {module}", ""]
            members = reference.members(module, body[0] if body else "")
            found[-1].parts += [_member(module, name) for name in members]
        else:
            name = directive[3] if directive[3].startswith("bnplug.") else f"{module}.{directive[3]}"
            home, _, own = name.rpartition(".")
            found[-1].parts.append(Entry(name, home, head.replace(directive[3], own, 1), body))
    _give_documents([entry for section in found for entry in section.entries])
    return found


def _chunks(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each line at the margin with the lines that belong to it: indented ones, and the line under a title."""
    head, body = "", []
    for line in block.splitlines():
        if line and not line.startswith(" ") and not re.fullmatch("-+", line):
            if head:
                yield head, body
            head, body = line, []
        else:
            body.append(line)
    yield head, body


def _member(module: str, name: str) -> Entry:
    """Return the entry of a name that `automodule` brings."""
    thing, body = getattr(reference.resolve(module), name), []
    if inspect.isclass(thing):
        kind, body = "exception" if issubclass(thing, BaseException) else "class", ["   :members:"]
    else:
        kind = "function" if inspect.isroutine(thing) else "data"
    return Entry(f"{module}.{name}", module, f".. auto{kind}:: {name}", body)


def _give_documents(entries: list[Entry]) -> None:
    """Name the pages; names that differ in capitals alone would be one file on some systems."""
    shared = Counter(entry.name.lower() for entry in entries)
    for entry in entries:
        kind = entry.directive.split()[1].removeprefix("auto").removeprefix("py:").rstrip(":")
        ending = f"-{kind}" if shared[entry.name.lower()] > 1 else ""
        entry.document = f"{FOLDER}/{entry.name}{ending}"


def summary(entry: Entry) -> str:
    """Return the first sentence about a name, on one line."""
    if ".. auto" not in entry.directive:
        words = "\n".join(line.strip() for line in entry.body)
    elif "autodata" in entry.directive:
        words = _comment(entry.name)
    else:
        words = inspect.getdoc(reference.resolve(entry.name)) or ""
    paragraph = " ".join(words.strip().split("\n\n")[0].split())
    return _SENTENCE.match(paragraph)[0]  # type: ignore[index]


def _comment(constant: str) -> str:
    """Return the comment with a colon that stands before a constant, in its module or in one that this has it from."""
    from sphinx.pycode import ModuleAnalyzer

    module, _, name = constant.rpartition(".")
    home = reference.resolve(module).__name__
    for own in (home, *sorted(other for other in sys.modules if other.startswith(f"{home}."))):
        found = ModuleAnalyzer.for_module(own).find_attr_docs().get(("", name))
        if found:
            return "\n".join(found)
    return ""


def listing(section: Section) -> Iterator[str]:
    """Yield a section with one line for each name, and what leads to their pages."""
    yield from (section.title, "-" * len(section.title), "")
    before = False
    for part in section.parts:
        if isinstance(part, Entry):
            if not before:
                yield from ("", ".. list-table::", "   :class: api-names", "   :widths: 40 60", "")
            yield f"   * - :doc:`{part.name.removeprefix('bnplug.')} </{part.document}>`"
            yield f"     - {summary(part)}"
        else:
            if before:
                yield ""
            yield part
        before = isinstance(part, Entry)
    yield from ("", ".. toctree::", "   :hidden:", "")
    yield from (f"   /{entry.document}" for entry in section.entries)
    yield ""


def write_pages(source: Path) -> None:
    """Write the pages that are new or have changed, and remove those of names that are gone."""
    folder = source / FOLDER
    folder.mkdir(exist_ok=True)
    wanted = {source / f"{entry.document}.rst": entry.text for section in sections() for entry in section.entries}
    for path in set(folder.glob("*.rst")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def siblings(document: str, found: Iterable[Section]) -> tuple[str, list[Entry]]:
    """Return the section of a page, and the names in it."""
    (section,) = [own for own in found if document in {entry.document for entry in own.entries}]
    return section.title, section.entries


def _list_names(app: Sphinx, document: str, source: list[str]) -> None:
    if document == reference.PAGE.stem:
        found = sections(source[0])
        lines = [line for section in found for line in listing(section)]
        source[0] = _BLOCK.sub(lambda _: "\n".join(["```{eval-rst}", *lines, "```"]), source[0])


def _add_siblings(app: Sphinx, document: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if document.startswith(f"{FOLDER}/"):
        title, entries = siblings(document, app.api_sections)  # type: ignore[attr-defined]
        context["api_section"], context["api_siblings"] = title, entries


def _tell_constant(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Say of a constant what its comment does, not what its type is."""
    comment = _comment(name) if what == "data" else ""
    if comment:
        lines[:] = [*comment.splitlines(), ""]


def _begin(app: Sphinx) -> None:
    app.api_sections = sections()  # type: ignore[attr-defined]
    write_pages(Path(app.srcdir))


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", _begin)
    app.connect("source-read", _list_names)
    app.connect("autodoc-process-docstring", _tell_constant)
    app.connect("html-page-context", _add_siblings)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
