"""What bnplug raises and warns with, apart from Python's own exceptions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class BnplugWarning(UserWarning):
    """Base of every warning that bnplug gives."""


class PluginWarning(BnplugWarning):
    """A plugin, or one of its methods, was left out."""


class DeprecatedNameWarning(BnplugWarning, DeprecationWarning):
    """A method or a parameter was asked for by a name that it had before."""


class UnseenValueWarning(BnplugWarning):
    """A value or class that training never saw, or a declared category without training rows."""


class UselessColumnWarning(BnplugWarning):
    """A column without any value, or one that names the rows, is left out of the model."""


class PooledStatesWarning(BnplugWarning):
    """Rare states of a column with many are one state, "other"."""


class AmbiguousValueWarning(BnplugWarning):
    """Values of a column are states that files do not keep apart, such as 1 and "1", or empty text."""


class TargetLeakageWarning(BnplugWarning):
    """A feature determines the class; it may have been derived from the class."""


class ConstantPredictionWarning(BnplugWarning):
    """No feature affects the prediction: every row is predicted by the class prior."""


class MissingColumnWarning(BnplugWarning):
    """A column the model knows is absent from the data, and is marginalized."""


class MissingFeatureWarning(BnplugWarning):
    """Features are missing where the parameters determine the posterior of complete rows only."""


class SearchWarning(BnplugWarning):
    """A search ended before it was done, and returned the best graph it had found."""


class SearchInterruptedWarning(SearchWarning):
    """It ended because of an interrupt from the keyboard, which is thereby answered."""


class UnknownMethodError(LookupError):
    """No method of that kind is registered under that name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class AmbiguousNameError(UnknownMethodError):
    """Several distributions have a method with this name; each is available as ``distribution:name``."""


class ContractError(TypeError):
    """A plugin returned something that its contract does not allow."""


class PluginError(RuntimeError):
    """A plugin failed where it was needed, or anywhere at all under ``BNPLUG_STRICT``."""


class NotInMemoryError(TypeError):
    """Somebody asked for all rows of a table at once, and they are in many blocks."""


class ClusterError(RuntimeError):
    """A cluster cannot do the work: it has no worker, its workers die, or they have too little memory."""


class NotRepresentableError(ValueError):
    """A classifier has no Bayesian network with its structure and the same posterior."""


class ModelFileError(ValueError):
    r"""A model file or folder is damaged, cut off, or not one of ours.

    The message may quote the file, so control characters are escaped.

    Examples
    --------
    >>> print(ModelFileError("there is no table for 'a\x1b[2J'"))
    there is no table for 'a\x1b[2J'
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*map(printable, args))


def warn_deprecated(message: str) -> None:
    """Give a `DeprecatedNameWarning` at the line outside of bnplug that used an older name."""
    warn_outside(message, DeprecatedNameWarning)


def warn_outside(message: str, category: type[Warning]) -> None:
    """Give a warning at the line outside of bnplug that called it, once per process and message, whatever its figures.

    Python, too, shows a warning once for each line, but forgets that whenever some library changes the filters for a
    moment: cross-validation would repeat it in every fold. Filters such as "always" and "error" work as usual.
    """
    import re
    import sys
    import warnings

    level = 1
    while sys._getframe(level).f_back and sys._getframe(level).f_globals.get("__name__", "").split(".")[0] == "bnplug":
        level += 1
    module = str(sys._getframe(level).f_globals.get("__name__", ""))
    if _is_shown_once(message, category, module):
        # Figures differ from fold to fold; digits in names do not.
        key = category, re.sub(r"(?<![\w'])[0-9][0-9,.]*", "0", message)
        if key in _GIVEN:
            return
        _GIVEN.add(key)
    warnings.warn(message, category, stacklevel=level + 1)


# The warnings that were given, with 0 for figures.
_GIVEN: set[tuple[type[Warning], str]] = set()


def _is_shown_once(message: str, category: type[Warning], module: str) -> bool:
    """Return whether the first filter for a warning, or Python's default, shows it once for each line or less often."""
    import warnings

    for action, text, kind, where, line in warnings.filters:
        matches = (text is None or _matches(text, message)) and (where is None or _matches(where, module))
        if matches and issubclass(category, kind) and line == 0:
            return action in ("default", "module", "once")
    return True


def _matches(pattern: Any, text: str) -> bool:
    # Filters of the command line and the environment are plain text in some versions of Python.
    return pattern == text if isinstance(pattern, str) else pattern.match(text) is not None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error message: the known word nearest to a mistyped one, or an empty string.

    Examples
    --------
    >>> did_you_mean("TNA", ["nb", "tan", "kdb"])
    " Did you mean 'tan'?"
    >>> did_you_mean("kbd", ["NBd", "kdb"])
    " Did you mean 'kdb'?"
    >>> did_you_mean("forest", ["nb", "tan", "kdb"])
    ''
    """
    import difflib

    by_lower_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=len(by_lower_case) or 1)
    # Its letters in another order are a slip of the fingers, which is likelier than another letter.
    nearest = min(near, key=lambda name: sorted(name) != sorted(word.lower()), default=None)
    return "" if nearest is None else f" Did you mean {by_lower_case[nearest]!r}?"


def article(noun: str) -> str:
    """Return a noun with its indefinite article.

    Examples
    --------
    >>> article("engine"), article("A2deClassifier")
    ('an engine', 'an A2deClassifier')
    """
    return f"an {noun}" if noun[:1].lower() in set("aeiou") else f"a {noun}"


def one_line(problem: object, limit: int | None = None) -> str:
    """Return the message of an exception or a warning in one line, cut between words after `limit` characters.

    Examples
    --------
    >>> one_line(ValueError("a column\\n   is missing"))
    'a column is missing'
    >>> one_line("a column is missing", limit=12)
    'a column ...'
    """
    import textwrap

    try:
        text = str(problem)
    except Exception:
        text = "(its message cannot be shown)"
    return " ".join(text.split()) if limit is None else textwrap.shorten(text, limit, placeholder=" ...")


def printable(words: object) -> str:
    r"""Return text with line ends and control characters, which a terminal would obey, as escapes.

    Examples
    --------
    >>> print(printable("tan\x1b[2J"))
    tan\x1b[2J
    """
    text = str(words)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
