"""docs/references.md has every paper once, and whatever cites one does it in the words of that page."""

import ast
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from bnplug.hooks import recipes, registry

ROOT = Path(__file__).parents[1]
#: Authors: title (year), and after the full stop where it appeared.
ENTRY = re.compile(r"^- (.+?: .+? \(\d{4}\))\.", re.MULTILINE)
PAPERS = ENTRY.findall((ROOT / "docs/references.md").read_text("utf-8"))
SOURCES = [*ROOT.glob("bnplug/**/*.py"), *ROOT.glob("plugins/bnplug-*/bnplug_*/**/*.py")]
METHODS = [method for method in registry.methods() if method.kind not in ("format", "command")]
METHODS += [found.recipe for found in recipes.availabilities()]


def paper_of(citation):
    """Return the paper that a citation names; what follows it, such as an equation, is a place in it."""
    return next((paper for paper in PAPERS if re.fullmatch(re.escape(paper) + r"(, [a-z].*)?", citation)), None)


def cited(docstring):
    """Return what the section of references in a docstring names."""
    _, found, section = inspect.cleandoc(docstring or "").partition("References\n----------\n")
    text = " ".join(section.split("\n\n")[0].split())
    return re.findall(r"(.+?\(\d{4}\))\.(?: |$)", text) if found else []


def docstrings(path):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [ast.get_docstring(node) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)]


def test_every_paper_has_one_entry_and_they_are_in_order():
    lines = [line for line in (ROOT / "docs/references.md").read_text("utf-8").splitlines() if line.startswith("- ")]
    assert len(PAPERS) == len(lines) == len(set(PAPERS))
    titles = [paper.partition(": ")[2] for paper in PAPERS]
    assert len(set(titles)) == len(titles)
    assert sorted(PAPERS) == PAPERS


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.kind} {method.name}")
def test_what_a_method_goes_back_to_is_listed(method):
    assert paper_of(method.reference), method.reference


@pytest.mark.parametrize("method", [m for m in METHODS if hasattr(m, "factory")], ids=lambda m: f"{m.kind} {m.name}")
def test_a_method_and_its_class_cite_the_same_paper(method):
    factory = method.factory if not isinstance(method.factory, str) else pkgutil.resolve_name(method.factory)
    citations = cited(factory.__doc__)
    assert not citations or paper_of(method.reference) in map(paper_of, citations)


def test_docstrings_cite_in_the_words_of_the_page():
    found = {}
    for path in SOURCES:
        for text in docstrings(path):
            if "References\n----------\n" in inspect.cleandoc(text or ""):
                found[path.name, text[:40]] = cited(text)
    assert len(found) > 10
    assert {where: papers for where, papers in found.items() if not papers or None in map(paper_of, papers)} == {}


def test_a_citation_may_name_a_place_and_nothing_else():
    assert paper_of("Duda, Hart: Pattern Classification and Scene Analysis (1973), eq. 4")
    assert paper_of("Duda, Hart: Pattern Classification (1973)") is None
    assert cited("A.\n\nReferences\n----------\nA: B (1999). C, D: E: f\ng (2000).\n\nExamples\n") == [
        "A: B (1999)",
        "C, D: E: f g (2000)",
    ]
