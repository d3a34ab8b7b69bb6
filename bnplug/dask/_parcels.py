"""What goes to a worker: pickled once for all tasks of a pass, compiled functions by their names."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import cloudpickle
from numba.extending import is_jitted

from bnplug.data.blocks import EachBlock


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles a compiled function by its name, where it has one: by its content, each worker would compile it anew."""

    def reducer_override(self, obj: Any) -> Any:
        if is_jitted(obj):
            function: Any = obj.py_func
            if getattr(sys.modules.get(function.__module__), function.__name__, None) is obj:
                return _named, (function.__module__, function.__name__)
        return super().reducer_override(obj)


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def pack(content: Any) -> bytes:
    """Return something as bytes; a function that is not of a module goes with them whole."""
    file = io.BytesIO()
    _Pickler(file).dump(content)
    return file.getvalue()


def unpack(parcel: bytes) -> Any:
    """Return what :func:`pack` made bytes of.

    Examples
    --------
    >>> unpack(pack((len, [1, 2])))
    (<built-in function len>, [1, 2])
    """
    return cloudpickle.loads(parcel)


class Calls:
    """What is to be called in a pass: packed once, or for every task where some arguments are of single blocks.

    Parameters
    ----------
    content : sequence of sequence
        Each a function or the name of a method, and its arguments; one may be an
        :class:`~bnplug.data.blocks.EachBlock`.
    """

    def __init__(self, content: Sequence[Sequence[Any]]) -> None:
        self._content = [list(own) for own in content]
        self.each = any(isinstance(argument, EachBlock) for own in content for argument in own)
        self._packed: bytes | None = None

    def of(self, numbers: Sequence[int]) -> bytes:
        """Return the calls of some blocks; :func:`unpack` gives those of the first, the second, ..."""
        if self.each:
            return pack([[EachBlock.of(own, number) for own in self._content] for number in numbers])
        if self._packed is None:
            self._packed = pack([self._content])
        return self._packed


def for_each(calls: list[list[list[Any]]], n: int) -> list[list[list[Any]]]:
    """Return the calls of n blocks from those that were unpacked: the same for all, or others for each.

    Examples
    --------
    >>> for_each([[["a"]]], 2)
    [[['a']], [['a']]]
    """
    return calls if len(calls) == n else calls * n
