"""Pages and docstrings are spelled as the dictionary of pyspellchecker has it, or as docs/words.txt has it.

The dictionary comes with the package, so nothing of the system is asked. It is American; British endings go by rule.
"""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from spellchecker import SpellChecker

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = {"_build", "_generated", "auto_examples", "api"}
#: Names, the field's words and abbreviations.
OWN = {word.casefold() for word in (DOCS / "words.txt").read_text().split()}
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("plugins/**/README.md")]
    + [
        path
        for path in DOCS.rglob("*")
        if path.suffix in (".md", ".ipynb") and not BUILT & set(path.relative_to(DOCS).parts)
    ]
)
CODE = sorted(
    path
    for folder in ("bnplug", "plugins", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "tests" not in path.parts
)
BRITISH = [(r"is(e[ds]?|ers?|ing|ations?)$", r"iz\1"), (r"our", "or"), (r"tre(s?)$", r"ter\1"), (r"yse(d?)$", r"yze\1")]


@cache
def dictionary():
    return SpellChecker(language="en")


@cache
def is_known(word):
    word = word.casefold().rstrip("'").removesuffix("'s")
    spellings = [word, *(re.sub(ending, other, word) for ending, other in BRITISH)]
    return word in OWN or any(spelling in dictionary() for spelling in spellings)


def words(text):
    """Return the words of prose: no code, no addresses, no word that has a capital or a digit inside."""
    text = re.sub(r"^ *(```+).*?^ *\1", " ", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"``.*?``|`[^`]*`|\]\([^)]*\)|<[^>\n]+>|\S+://\S+|\{[\w:]+\}|:\w+:", " ", text, flags=re.DOTALL)
    return re.findall(r"(?<![\w\\-])[A-Za-z][a-z']+(?![\w])", text)


def docstrings(source):
    """Return the prose of all docstrings: no examples, no lines that give a parameter its type."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            text = re.sub(r"^ *>>>.*?(?:\n\s*\n|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
            yield re.sub(r"^[\w*, ]+ : .*$", "", text, flags=re.MULTILINE)


def prose(page):
    """Return the text of a page; of a notebook, that of its cells that are no code."""
    if page.suffix == ".md":
        return page.read_text()
    cells = json.loads(page.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def unknown(text):
    return sorted({word for word in words(text) if not is_known(word)})


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_is_spelled_right(page):
    assert not unknown(prose(page)), "mend it, or add the word to docs/words.txt"


@pytest.mark.parametrize("module", CODE, ids=name_of)
def test_docstrings_are_spelled_right(module):
    found = [word for text in docstrings(module.read_text()) for word in unknown(text)]
    assert not found, "mend it, or add the word to docs/words.txt"


def test_the_list_of_words_is_in_order_and_has_none_that_is_known_anyway():
    listed = (DOCS / "words.txt").read_text().split()
    assert listed == sorted(listed, key=str.casefold)
    assert not [word for word in listed if word.casefold() in dictionary()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The acuracy of a clasifier.", ["acuracy", "clasifier"]),
        ("Normalised colours, a neighbour's centre; Wilcoxon.", []),
        ("`acuracy` and [a link](acuracy.md), ``teh``", []),
        ("```text\nteh\n```\nteh", ["teh"]),
    ],
)
def test_a_word_that_is_wrong_is_found(text, found):
    assert unknown(text) == found
