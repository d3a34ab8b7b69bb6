"""Names: which method a word means, where several distributions may claim it.

A bare name belongs to whoever alone claims it; a built-in keeps its own. Of a name that several plugins claim each is
reached by its qualified name, ``distribution:name``, which goes for every method always. An older name of a method, an
alias, is claimed like a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bnplug.hooks.descriptors import Descriptor
from bnplug.hooks.specs import PROJECT

# What the distributions of plugins are called by convention, and may be left out of a qualified name.
_PREFIX = f"{PROJECT}-"


def normalize(name: str) -> str:
    """Return a distribution's name in its normal form.

    Examples
    --------
    >>> normalize("Bnplug_CMI.order")
    'bnplug-cmi-order'
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@dataclass(frozen=True)
class Claim:
    """A method that claims a word, and the distribution, in its normal form, that brings it."""

    distribution: str
    method: Descriptor


class Names:
    """What words mean among the methods of some distributions.

    Parameters
    ----------
    brought : iterable of Claim
        Every method. Those of one distribution and kind have distinct names.

    Examples
    --------
    >>> from bnplug import Recipe
    >>> one, two = (Recipe("TREE", part, summary="A tree.", reference="Me (2026)") for part in ("tan", "kdb"))
    >>> names = Names([Claim("bnplug-oak", one), Claim("bnplug-elm", two)])
    >>> [names.qualified(claim) for claim in names.claims("recipe", "TREE")]
    ['oak:TREE', 'elm:TREE']
    >>> names.claims("recipe", "oak:TREE")[0].method.structure
    'tan'
    """

    def __init__(self, brought: Iterable[Claim]) -> None:
        self.brought = tuple(brought)
        self._distributions = {claim.distribution for claim in self.brought}
        self._claims: dict[tuple[str, str], dict[str, Claim]] = {}
        for claim in self.brought:
            self._claim(claim.method.name, claim)
        for claim in self.brought:
            for alias in claim.method.aliases:
                self._claim(alias, claim)

    def _claim(self, word: str, claim: Claim) -> None:
        """Let a method claim a word, unless another of its distribution has it."""
        self._claims.setdefault((claim.method.kind, word), {}).setdefault(claim.distribution, claim)

    def claims(self, kind: str, word: str) -> list[Claim]:
        """Return the methods of a kind that a word may mean: none, one, or several where it is ambiguous."""
        distribution, _, name = word.partition(":")
        theirs = self._claims.get((kind, name), {})
        full = normalize(distribution)
        for known in (full, _PREFIX + full):
            # Before a method whose own name has a colon: a qualified name always means the same.
            if known in theirs:
                return [theirs[known]]
        bare = self._claims.get((kind, word), {})
        return [bare[PROJECT]] if PROJECT in bare else list(bare.values())

    def others(self, claim: Claim) -> list[str]:
        """Return the other distributions that claim the name of a method."""
        claimed = self._claims[claim.method.kind, claim.method.name]
        return [distribution for distribution in claimed if distribution != claim.distribution]

    def qualified(self, claim: Claim) -> str:
        """Return a method's name with its distribution's, without that one's prefix where nobody else is called so."""
        short = claim.distribution.removeprefix(_PREFIX)
        return f"{claim.distribution if short in self._distributions else short}:{claim.method.name}"

    def shortest(self, claim: Claim) -> str:
        """Return the shortest name that means this method alone."""
        name = claim.method.name
        return name if self.claims(claim.method.kind, name) == [claim] else self.qualified(claim)
