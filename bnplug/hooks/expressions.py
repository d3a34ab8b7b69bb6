"""Expressions: compositions without a recipe, written in one line.

``tan+ccbn-w`` is a structure learner with a parameter learner, ``hill-climb[cr]`` a structure learner with a score.
Parts may have parameters: ``hill-climb(max_parents=2)[cr(cv=5)]+ml(alpha=0.5)``. A registered name takes precedence,
even if it contains these characters.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NoReturn, cast

from bnplug.errors import AmbiguousNameError, UnknownMethodError, article, did_you_mean
from bnplug.hooks import discovery, recipes, registry
from bnplug.hooks.descriptors import Component, Kind, Method, Recipe, as_written, name_and_parameters

#: The structure learner of an expression that names only a score.
SEARCH = "hill-climb"

#: The kinds an expression may begin with, in order of precedence.
WHOLES = (Kind.RECIPE, Kind.CLASSIFIER, Kind.STRUCTURE_LEARNER)

_NAME = re.compile(r"[^\s()\[\]+,=]+")
_QUALIFIER = re.compile(r"([\w.-]+:)?")
_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r"""'(\\.|[^'\\])*'|"(\\.|[^"\\])*["]""", re.DOTALL)


@dataclass(frozen=True)
class Expression:
    """A parsed expression; omitted parts are None. Its text parses to the same expression.

    Examples
    --------
    >>> str(Expression(("kdb", {"k": 1}), parameters="ml"))
    'kdb(k=1)+ml'
    """

    structure: Component | None = None
    score: Component | None = None
    parameters: Component | None = None

    def __str__(self) -> str:
        score = "" if self.score is None else f"[{as_written(self.score)}]"
        parameters = "" if self.parameters is None else f"+{as_written(self.parameters)}"
        return ("" if self.structure is None else as_written(self.structure)) + score + parameters


def parse(text: str) -> Expression:
    """Parse an expression.

    Parameters
    ----------
    text : str
        ``STRUCTURE``, ``STRUCTURE[SCORE]``, ``STRUCTURE+PARAMETERS`` or ``STRUCTURE[SCORE]+PARAMETERS``; the structure
        may be omitted from all but the first. Each part is a name, or a name with parameters in parentheses,
        ``NAME=VALUE``. Values are numbers, quoted strings, True, False, None, or lists, tuples and dicts of these.

    Raises
    ------
    ValueError
        If the text is not an expression; the message gives the position and what was expected there.

    Examples
    --------
    >>> parse("hill-climb[cr(cv=5)]+ml")
    Expression(structure='hill-climb', score=('cr', {'cv': 5}), parameters='ml')
    >>> parse("kdb(k=1")
    Traceback (most recent call last):
    ValueError: 'kdb(k=1' cannot be read at character 4: the parenthesis is not closed
    """
    return _Reader(text).expression()


def split(text: str) -> list[str]:
    """Split a list of expressions at its commas, except those in parentheses, brackets and quotes.

    Examples
    --------
    >>> split("nb, kdb(k=1, minimum=0.1),hill-climb[cr(cv=5)]")
    ['nb', 'kdb(k=1, minimum=0.1)', 'hill-climb[cr(cv=5)]']
    """
    parts, depth, start, position = [], 0, 0, 0
    while position < len(text):
        quoted = _QUOTED.match(text, position) if depth else None
        sign = text[position]
        if sign == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
        depth = max(depth + (sign in "([") - (sign in ")]"), 0) if quoted is None else depth
        position = position + 1 if quoted is None else quoted.end()
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def find_whole(name: str) -> Recipe | Method:
    """Return the recipe, classifier or structure learner of this name."""
    for kind in WHOLES:
        try:
            return cast("Recipe | Method", registry.find(kind, name))
        except AmbiguousNameError:
            raise
        except UnknownMethodError:
            continue
    raise UnknownMethodError(_why_no_whole(name))


def components(expression: Expression) -> dict[str, Component]:
    """Return the parameters of the `BayesianNetworkClassifier` that an expression describes.

    The structure of the expression is a structure learner, a recipe, which provides structure and discretizer, or None.

    Raises
    ------
    UnknownMethodError
        If a part is not registered, or is of another kind.
    TypeError
        If a part has no such parameter, or the structure learner has no score.

    Examples
    --------
    >>> components(parse("hill-climb[cr]+ml(alpha=0.5)"))
    {'structure': ('hill-climb', {'score': 'cr'}), 'parameters': ('ml', {'alpha': 0.5})}
    """
    parts = _of_structure(expression)
    if expression.score is not None:
        name, params = name_and_parameters(parts.get("structure", SEARCH))
        _check_takes_score(name, params)
        registry.build(Kind.SCORE_FUNCTION, expression.score)
        parts["structure"] = (name, {**params, "score": expression.score})
    if expression.parameters is not None:
        parts["parameters"] = expression.parameters
    for parameter in parts.keys() & {"structure", "parameters"}:
        registry.build(parameter, parts[parameter])
    return parts


def everything() -> list[str]:
    """Return expressions that together use every registered method.

    These are all recipes, classifiers and structure learners; `SEARCH` with each score that no available recipe
    contains; and ``tan`` with each such parameter learner. The search is limited to two parents, since edges never
    lower some scores, such as the likelihood.

    Examples
    --------
    >>> "tan" in everything(), "hill-climb(max_parents=2)[bdeu]" in everything()
    (True, True)
    """
    available = [each.recipe for each in recipes.availabilities() if each.available]
    parts = [part for recipe in available for part in recipes.components(recipe)]
    used = {(kind, registry.name_of(registry.find(kind, name))) for kind, name in parts}
    scores = [name for name in _names(Kind.SCORE_FUNCTION) if (Kind.SCORE_FUNCTION, name) not in used]
    learners = [name for name in _names(Kind.PARAMETER_LEARNER) if (Kind.PARAMETER_LEARNER, name) not in used]
    return [
        *(str(registry.name_of(recipe)) for recipe in available),
        *_names(Kind.CLASSIFIER),
        *_names(Kind.STRUCTURE_LEARNER),
        *(f"{SEARCH}(max_parents=2)[{name}]" for name in scores),
        *(f"tan+{name}" for name in learners),
    ]


def _of_structure(expression: Expression) -> dict[str, Component]:
    """Return the structure of an expression, and the discretizer if it begins with a recipe."""
    if expression.structure is None:
        return {}
    name, params = name_and_parameters(expression.structure)
    method = find_whole(name)
    if isinstance(method, Recipe) and not params and expression.score is None:
        recipe = recipes.at_home(method)
        return {"structure": recipe.structure, "discretizer": recipe.discretizer}
    if method.kind != Kind.STRUCTURE_LEARNER:
        raise TypeError(
            f"{str(expression)!r}: {name!r} is {article(method.kind)}, which is complete; add a score to a "
            "structure learner, and parameters to a structure learner or a recipe"
        )
    return {"structure": expression.structure}


def _check_takes_score(name: str, params: Mapping[str, Any]) -> None:
    learner = cast(Method, registry.find(Kind.STRUCTURE_LEARNER, name))
    if "score" not in dict(registry.signature(learner)):
        takers = [str(registry.name_of(one)) for one in registry.methods(Kind.STRUCTURE_LEARNER, needs_score=True)]
        raise TypeError(f"structure learner {name!r} takes no score; these do: {', '.join(takers)}")
    if "score" in params:
        raise TypeError(f"structure learner {name!r} has two scores, one in its parentheses and one in brackets")


def _why_no_whole(name: str) -> str:
    names = discovery.discovered().names
    kinds = [kind for kind in (Kind.PARAMETER_LEARNER, Kind.SCORE_FUNCTION) if names.claims(kind, name)]
    ways = {
        Kind.PARAMETER_LEARNER: f"a parameter learner; write '+{name}', or 'tan+{name}' with a structure",
        Kind.SCORE_FUNCTION: f"a score function; write '[{name}]', or '{SEARCH}[{name}]' with a structure",
    }
    if kinds:
        return f"{name!r} is {' and '.join(ways[kind] for kind in kinds)}"
    known = [one for kind in WHOLES for one in _names(kind)]
    return (
        f"there is no method {name!r}.{did_you_mean(name, known)} There are: {', '.join(known)}; "
        f"and what they make with parameters and scores, such as tan+ml and {SEARCH}[cr]"
    )


def _names(kind: Kind) -> list[str]:
    return [str(registry.name_of(method)) for method in registry.methods(kind)]


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def expression(self) -> Expression:
        """Return the whole text as an expression."""
        structure = score = parameters = None
        if self._next() not in ("[", "+"):
            structure = self._part(*WHOLES)
        if self._next() == "[":
            self.position += 1
            score = self._part(Kind.SCORE_FUNCTION)
            if self._next() != "]":
                self._fail("']' is expected after the score")
            self.position += 1
        if self._next() == "+":
            self.position += 1
            parameters = self._part(Kind.PARAMETER_LEARNER)
        if self._next():
            self._fail("'[SCORE]', '+PARAMETERS' or the end is expected, in this order")
        return Expression(structure, score, parameters)

    def _next(self) -> str:
        """Return the next character that is not a space, or an empty string at the end."""
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        return self.text[self.position : self.position + 1]

    def _part(self, *kinds: Kind) -> Component:
        self._next()
        name = self._registered(kinds) or _NAME.match(self.text, self.position)
        if not name:
            self._fail(f"the name of a {' or '.join(kinds)} is expected")
        self.position = name.end()
        params = self._parameters() if self._next() == "(" else {}
        return (name.group(), params) if params else name.group()

    def _registered(self, kinds: Iterable[Kind]) -> re.Match[str] | None:
        """Match the longest registered name here among those that contain characters of the syntax."""
        methods = [method for kind in kinds for method in registry.methods(kind)]
        names = [name for one in methods for name in (one.name, *one.aliases) if not _NAME.fullmatch(name)]
        alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        pattern = rf"{_QUALIFIER.pattern}({alternatives})(?=[\s()\[\]+,]|$)"
        return re.compile(pattern).match(self.text, self.position) if names else None

    def _parameters(self) -> dict[str, Any]:
        """Read parameters in parentheses."""
        call, end = self._call()
        params: dict[str, Any] = {}
        for place, name, value in self._arguments(call):
            if name is None or name in params:
                self._fail(f"{name!r} is given twice" if name else "a parameter is NAME=VALUE", place)
            try:
                params[name] = ast.literal_eval(value)
            except (ValueError, TypeError, MemoryError, RecursionError):
                written = ast.unparse(value)
                self._fail(f"{written} is not a value; quote text, {name}={written!r}", place)
        self.position = end
        return params

    def _call(self) -> tuple[ast.Call, int]:
        """Return the parentheses parsed as a Python call, and their end: the first one that parses."""
        ends = [match.end() for match in re.finditer(r"\)", self.text[self.position :])]
        for end in ends:
            with warnings.catch_warnings(), suppress(SyntaxError, ValueError, MemoryError, RecursionError):
                warnings.simplefilter("ignore")
                parsed = ast.parse(f"f{self.text[self.position : self.position + end]}", mode="eval").body
                if isinstance(parsed, ast.Call):
                    return parsed, self.position + end
        self._fail("parameters are NAME=VALUE, with commas between" if ends else "the parenthesis is not closed")

    def _arguments(self, call: ast.Call) -> Iterator[tuple[int, str | None, ast.expr]]:
        """Yield position, name and value of each argument; ``ast`` counts lines, and bytes within a line."""
        source = f"f{self.text[self.position :]}".splitlines(keepends=True)
        lines = [0, *accumulate(map(len, source))]
        arguments: list[tuple[int, int, str | None, ast.expr]]
        arguments = [(node.lineno, node.col_offset, None, node) for node in call.args]
        arguments += [(node.lineno, node.col_offset, node.arg, node.value) for node in call.keywords]
        for line, n_bytes, name, value in arguments:
            before = source[line - 1].encode()[:n_bytes].decode()
            yield self.position - 1 + lines[line - 1] + len(before), name, value

    def _fail(self, why: str, place: int | None = None) -> NoReturn:
        place = self.position if place is None else place
        where = f"at character {place + 1}" if place < len(self.text) else "at its end"
        raise ValueError(f"{self.text!r} cannot be read {where}: {why}")
