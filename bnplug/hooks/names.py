"""Resolution of names: which method a name means if several distributions use it.

A bare name means the built-in method of that name, or else the only method that claims it. A qualified name,
``distribution:name``, always works, and is required if several plugins claim a name. Earlier names of a method, its
aliases, are claimed like names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bnplug.hooks.descriptors import Descriptor
from bnplug.hooks.specs import PROJECT

# The conventional prefix of plugin distributions, optional in qualified names.
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
    """A method that claims a name, and the normalized name of its distribution."""

    distribution: str
    method: Descriptor


class Names:
    """The names of the methods of some distributions.

    Parameters
    ----------
    brought : iterable of Claim
        Every method. Within a distribution, the methods of a kind have distinct names.

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
        names = [(claim.method.name, claim) for claim in self.brought]
        aliases = [(alias, claim) for claim in self.brought for alias in claim.method.aliases]
        for name, claim in (*names, *aliases):  # within a distribution, a name takes precedence over an alias
            self._claims.setdefault((claim.method.kind, name), {}).setdefault(claim.distribution, claim)

    def claims(self, kind: str, word: str) -> list[Claim]:
        """Return the methods of a kind that a word may mean: none, one, or several if it is ambiguous."""
        distribution, _, name = word.partition(":")
        claims = self._claims.get((kind, name), {})
        full = normalize(distribution)
        for known in (full, _PREFIX + full):
            # A qualified name takes precedence over a bare name that contains a colon.
            if known in claims:
                return [claims[known]]
        bare = self._claims.get((kind, word), {})
        return [bare[PROJECT]] if PROJECT in bare else list(bare.values())

    def others(self, claim: Claim) -> list[str]:
        """Return the other distributions that claim the name of a method."""
        claimed = self._claims[claim.method.kind, claim.method.name]
        return [distribution for distribution in claimed if distribution != claim.distribution]

    def qualified(self, claim: Claim) -> str:
        """Return ``distribution:name``, without the prefix of the distribution if that is unambiguous."""
        short = claim.distribution.removeprefix(_PREFIX)
        return f"{claim.distribution if short in self._distributions else short}:{claim.method.name}"

    def shortest(self, claim: Claim) -> str:
        """Return the shortest name that means this method alone."""
        name = claim.method.name
        return name if self.claims(claim.method.kind, name) == [claim] else self.qualified(claim)
