"""How a saboteur says which check it must fail."""

from dataclasses import dataclass

from bnplug.hooks.descriptors import Method


@dataclass(frozen=True)
class Saboteur:
    """A method that is healthy but for one thing, and the check that must find it."""

    method: Method
    check: str
    also: tuple[str, ...] = ()

    @property
    def checks(self):
        """What it fails: its own check, and those that cannot but find the same fault."""
        return {self.check, *self.also}


def register(saboteurs, descriptor, check, also=(), **described):
    """Return a decorator that adds a class to `saboteurs`: it must fail `check`, and no other but `also`."""

    def add(cls):
        fields = {"summary": "A saboteur.", "reference": "Nobody (2026)", **described}
        saboteurs.append(Saboteur(descriptor(name=cls.__name__, factory=cls, **fields), check, tuple(also)))
        return cls

    return add
