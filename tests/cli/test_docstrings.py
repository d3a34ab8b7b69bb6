"""What authors say of parameters: types, words, entries for several names, the words of base classes."""

from typing import Any

import pytest

from bnplug.cli._plugins import Item, described_parameters, plain, section
from bnplug.hooks import registry


class Base:
    """A base.

    Parameters
    ----------
    k, m : int
        How many, by ``k``
        and :class:`~bnplug.LogTables`.

    Returns
    -------
    nothing
    """

    def __init__(self, k: int = 2, m: int = 3, other: "float | None" = None, bare: Any = 1, **more: Any) -> None: ...


class Derived(Base):
    """Without a section of its parameter.

    Parameters
    ----------
    m : int, optional
        See :class:`Base`.
    """


def test_a_section_ends_where_the_next_begins():
    words = "How many, by ``k`` and :class:`~bnplug.LogTables`."
    assert section(Base, "Parameters") == [Item("k", "int", words), Item("m", "int", words)]
    assert section(Base, "Attributes") == []


@pytest.mark.parametrize("cls", [Base, Derived])
def test_parameters_with_defaults_types_and_plain_words(cls):
    said = "How many, by k and bnplug.LogTables."
    assert described_parameters(cls) == [
        *(Item("k", "int", said, 2), Item("m", "int", said, 3)),
        *(Item("other", "float | None", "", None), Item("bare", "", "", 1)),
    ]


def test_markup_goes():
    assert plain("``a``, `b` and :meth:`~c.d`") == "a, b and c.d"


def test_every_parameter_of_every_method_is_described():
    methods = [method for method in registry.methods() if hasattr(method, "factory")]
    silent = [
        f"{method.name}: {parameter.name}"
        for method in methods
        for parameter in described_parameters(registry._factory(method))
        if not (parameter.text or parameter.type)
    ]
    assert len(methods) > 30
    assert silent == []
