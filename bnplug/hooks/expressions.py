"""Expressions: compositions that have no name of their own, written in one line.

``tan+ccbn-w`` is a structure with parameters, ``hill-climb[cr]`` a structure by a score, and each part may have
parameters: ``hill-climb(max_parents=2)[cr(cv=5)]+ml(alpha=0.5)``. What is registered under a name is always that,
whatever signs the name holds.
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

from bnplug.errors import AmbiguousNameError, UnknownMethodError, did_you_mean
from bnplug.hooks import discovery, recipes, registry
from bnplug.hooks.descriptors import Component, Kind, Method, Recipe, as_written, name_and_parameters

#: The structure learner that a score goes with where none is written.
SEARCH = "hill-climb"

#: What may stand first in an expression, or alone; a name that several have is the first one's.
WHOLES = (Kind.RECIPE, Kind.CLASSIFIER, Kind.STRUCTURE_LEARNER)

_NAME = re.compile(r"[^\s()\[\]+,=]+")
_QUALIFIER = re.compile(r"([\w.-]+:)?")
_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r"""'(\\.|[^'\\])*'|"(\\.|[^"\\])*["]""", re.DOTALL)


@dataclass(frozen=True)
class Expression:
    """A composition as it was written: parts that were not are None. Its text parses to the same expression.

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
    """Return the expression that a text is.

    Parameters
    ----------
    text : str
        ``STRUCTURE``, ``STRUCTURE[SCORE]``, ``STRUCTURE+PARAMETERS`` or ``STRUCTURE[SCORE]+PARAMETERS``, where the
        structure may be left out of all but the first. Each part is a name, or a name with parameters in parentheses,
        ``NAME=VALUE``, whose values are numbers, quoted texts, True, False, None, or lists, tuples and dicts of these.

    Raises
    ------
    ValueError
        If it is none; the message says where it stops being one, and what was expected there.

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
    """Return the expressions in a list that commas separate, those in parentheses, brackets and quotes apart.

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
    """Return the recipe, the classifier or the structure learner of this name; else an error that says what there is.

    Examples
    --------
    >>> find_whole("tan").kind.value
    'structure learner'
    >>> find_whole("ml")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: 'ml' is a parameter learner; write '+ml', or 'tan+ml' with a structure
    """
    for kind in WHOLES:
        try:
            return cast("Recipe | Method", registry.find(kind, name))
        except AmbiguousNameError:
            raise
        except UnknownMethodError:
            continue
    raise UnknownMethodError(_why_no_whole(name))


def components(expression: Expression) -> dict[str, Component]:
    """Return the parameters of a Bayesian-network classifier that a composition of learners stands for.

    Parameters
    ----------
    expression : Expression
        Its structure is a structure learner, a recipe, whose structure and discretiser are taken, or None.

    Raises
    ------
    UnknownMethodError
        If a part is not registered, or is of another kind.
    TypeError
        If a part has no such parameter, or the structure learner takes no score.

    Examples
    --------
    >>> components(parse("hill-climb[cr]+ml(alpha=0.5)"))
    {'structure': ('hill-climb', {'score': 'cr'}), 'parameters': ('ml', {'alpha': 0.5})}
    """
    found = _of_structure(expression)
    if expression.score is not None:
        name, params = name_and_parameters(found.get("structure", SEARCH))
        _check_takes_score(name, params)
        registry.build(Kind.SCORE_FUNCTION, expression.score)
        found["structure"] = (name, {**params, "score": expression.score})
    if expression.parameters is not None:
        found["parameters"] = expression.parameters
    for parameter in found.keys() & {"structure", "parameters"}:
        registry.build(registry.NESTED[parameter], found[parameter])
    return found


def everything() -> list[str]:
    """Return an expression for every recipe, classifier and structure learner, and one for all else that none has.

    A score that is in no available recipe is listed with `SEARCH`, such a parameter learner with ``tan``, so that
    nothing which registers is left out. The search has a limit of parents there: a score that no edge can lower, as the
    likelihood, would otherwise lead to tables that nothing has room for.

    Examples
    --------
    >>> "tan" in everything(), "hill-climb(max_parents=2)[bdeu]" in everything()
    (True, True)
    """
    available = [found.recipe for found in recipes.availabilities() if found.available]
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
    """Return what the first part says: a recipe's parts but for its parameters, or a structure."""
    if expression.structure is None:
        return {}
    name, params = name_and_parameters(expression.structure)
    found = find_whole(name)
    if isinstance(found, Recipe) and not params and expression.score is None:
        settled = recipes.at_home(found)
        return {"structure": settled.structure, "discretizer": settled.discretizer}
    if found.kind != Kind.STRUCTURE_LEARNER:
        raise TypeError(
            f"{str(expression)!r}: {name!r} is a {found.kind}, and whole; a score goes with a structure learner, "
            "parameters with a structure learner or a recipe"
        )
    return {"structure": expression.structure}


def _check_takes_score(name: str, params: Mapping[str, Any]) -> None:
    learner = cast(Method, registry.find(Kind.STRUCTURE_LEARNER, name))
    if "score" not in dict(registry.signature(learner)):
        learners = registry.methods(Kind.STRUCTURE_LEARNER)
        takers = [str(registry.name_of(one)) for one in learners if getattr(one, "needs_score", False)]
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
        """Return the next character that is no space, or nothing at the end."""
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
        """Return the longest registered name that stands here and that the signs of an expression would cut off."""
        methods = [method for kind in kinds for method in registry.methods(kind)]
        names = [name for one in methods for name in (one.name, *one.aliases) if not _NAME.fullmatch(name)]
        alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        pattern = rf"{_QUALIFIER.pattern}({alternatives})(?=[\s()\[\]+,]|$)"
        return re.compile(pattern).match(self.text, self.position) if names else None

    def _parameters(self) -> dict[str, Any]:
        """Return what stands in parentheses, and go past them."""
        call, end = self._call()
        params: dict[str, Any] = {}
        for place, name, value in self._arguments(call):
            if name is None or name in params:
                self._fail(f"{name!r} is there twice" if name else "a parameter is NAME=VALUE", place)
            try:
                params[name] = ast.literal_eval(value)
            except (ValueError, TypeError, MemoryError, RecursionError):
                written = ast.unparse(value)
                self._fail(f"{written} is no value; a text is quoted, {name}={written!r}", place)
        self.position = end
        return params

    def _call(self) -> tuple[ast.Call, int]:
        """Return the parentheses as Python reads them, and where they end: at the first that it can read."""
        ends = [match.end() for match in re.finditer(r"\)", self.text[self.position :])]
        for end in ends:
            with warnings.catch_warnings(), suppress(SyntaxError, ValueError, MemoryError, RecursionError):
                warnings.simplefilter("ignore")
                found = ast.parse(f"f{self.text[self.position : self.position + end]}", mode="eval").body
                if isinstance(found, ast.Call):
                    return found, self.position + end
        self._fail("parameters are NAME=VALUE, with commas between" if ends else "the parenthesis is not closed")

    def _arguments(self, call: ast.Call) -> Iterator[tuple[int, str | None, ast.expr]]:
        """Yield where each argument begins, its name and its value; Python counts lines, and bytes in a line."""
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
