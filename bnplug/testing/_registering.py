"""A method that is checked need not be registered, and some checks are about what is: saving goes by names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from bnplug.hooks import discovery, registry
from bnplug.hooks.descriptors import Method
from bnplug.hooks.discovery import FoundPlugin
from bnplug.hooks.specs import hookimpl


@contextmanager
def registered(method: Method) -> Iterator[str]:
    """Give the name under which a method is registered: its own, or one for as long as the context lasts."""
    if method in registry.methods():
        yield str(registry.name_of(method))
        return
    hook = next(name for name, described in discovery.HOOKS.items() if isinstance(method, described))
    plugin = SimpleNamespace(**{hook: hookimpl(lambda: [method])})
    with discovery._as_if_installed(FoundPlugin("under-check", "bnplug-under-check", "0", lambda: plugin)):
        yield str(registry.name_of(method))
