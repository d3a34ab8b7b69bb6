"""Register methods from scripts and notebooks, and pass them on to other processes.

A pickled estimator (:class:`bnplug.contracts.Composite`) carries the methods that this process registered: names then
mean the same in the workers of joblib and Dask. ``cloudpickle`` stores classes of ``__main__`` by value.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from bnplug.hooks import discovery, one_file
from bnplug.hooks.descriptors import Descriptor, as_descriptor, check_descriptor

if TYPE_CHECKING:
    import click


def register(descriptor: Descriptor | click.Command, /) -> None:
    """Register a method in this process, as if a plugin had it.

    Call it in a script, in a notebook, or in a file that ``bnplug --plugin FILE.py`` loads. The method then works by
    name everywhere: in estimators, recipes, grid searches, model folders and worker processes.

    Parameters
    ----------
    descriptor : descriptor or click.Command
        What a hook returns, such as a :class:`~bnplug.ScoreFunctionMethod`; its factory may be a class. Registering a
        name again from the same file or notebook replaces the earlier registration.

    Raises
    ------
    ValueError
        If another plugin has a method of this kind and name.
    ContractError
        If a field of the descriptor holds something that its class does not document.

    Examples
    --------
    >>> import bnplug
    >>> class Chain(bnplug.StructureLearner):
    ...     def learn(self, table):
    ...         v = table.target_index
    ...         return [[] if u == v else [v] for u in range(len(table.names))]
    >>> bnplug.register(
    ...     bnplug.StructureLearnerMethod("all-alike", Chain, "Naive Bayes again.", "Me (2026)"))
    >>> bnplug.structure_learner("all-alike")
    Chain()
    """
    described = as_descriptor(descriptor)
    if not isinstance(described, Descriptor):
        raise TypeError(f"expected a descriptor such as bnplug.ScoreFunctionMethod(...), got {descriptor!r}")
    check_descriptor(described)
    owner = one_file.owner_of(sys._getframe(1).f_globals)
    if one_file.is_importing(owner):
        # Clashes are found when all files are loaded.
        one_file.REGISTERED.setdefault(owner, {})[described.kind, described.name] = described
    else:
        _add(owner, described)
        _Travelling.is_ours = True


def _add(owner: str, method: Descriptor) -> None:
    """Register a method that belongs to `owner`; raise a ``ValueError`` if its name is taken."""
    registered, current = one_file.REGISTERED.get(owner, {}), discovery.discovered()
    for name in (method.name, *method.aliases):
        for claim in current.names.claims(method.kind, name):
            if claim.method is not registered.get((claim.method.kind, claim.method.name)):
                taker = current.providers[claim.method.kind, current.names.shortest(claim)]
                raise ValueError(f"{taker} has a {method.kind} {name!r} already; register yours under another name")
    if reason := discovery.reserved(method):
        raise ValueError(reason)
    one_file.REGISTERED[owner] = {**registered, (method.kind, method.name): method}
    discovery.add_registered(owner)
    _Travelling.content = None


def forget() -> None:
    """Forget everything that this process registered."""
    one_file.REGISTERED.clear()
    _Travelling.content, _Travelling.is_ours = b"", False
    _Travelling.known.clear()
    discovery.refresh()


class _Travelling:
    """What this process registered, pickled; None if it is to be pickled again.

    `is_ours` says whether this process registered anything itself. Otherwise it passes on what it received last.
    """

    content: bytes | None = b""
    is_ours = False
    known: ClassVar[set[bytes]] = set()


def with_registered(reduced: Any) -> Any:
    """Return what ``__reduce_ex__`` of an estimator returned, extended by what this process registered."""
    if _Travelling.content is None:
        _Travelling.content = _pickled()
        _Travelling.known.add(_Travelling.content)
    if not _Travelling.content or not isinstance(reduced, tuple):
        return reduced
    function, arguments, *state = reduced
    return (_rebuild, (_Travelling.content, function, arguments), *state)


def _rebuild(content: bytes, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Register the methods that a pickled estimator carries, and make the estimator."""
    if content not in _Travelling.known:
        for owner, method in pickle.loads(content):
            # If its class cannot be imported or its name is taken, the name keeps its meaning in this process.
            with suppress(Exception):
                _add(owner, pickle.loads(method))
        _Travelling.known.add(content)
        _Travelling.content = None if _Travelling.is_ours else content
    return function(*arguments)


def _pickled() -> bytes:
    """Return the registered methods, pickled one by one; files are known to workers by the environment."""
    try:  # the version that joblib pickles with
        from joblib.externals import cloudpickle
    except ImportError:
        import cloudpickle
    packed = []
    for owner, methods in one_file.REGISTERED.items():
        if owner not in one_file.plugin_files():
            for method in methods.values():
                with suppress(Exception):  # such as a class that holds an open file
                    packed.append((owner, cloudpickle.dumps(method)))
    return pickle.dumps(packed) if packed else b""
