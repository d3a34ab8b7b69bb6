"""Discovery and containment of plugins: finds them, asks their hooks, and leaves out what is broken.

Each plugin gets a ``pluggy.PluginManager`` of its own: in a shared one a failed registration leaves the
plugin half registered, and one raising implementation aborts the call for all. The built-in methods
come the same way as everybody's, and first.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any, NoReturn, TypeVar

import pluggy

from bnplug import __version__
from bnplug.errors import ContractError, PluginError, PluginWarning, did_you_mean, one_line
from bnplug.hooks import specs
from bnplug.hooks.descriptors import (
    ClassifierMethod,
    Descriptor,
    DiscretizerMethod,
    InferenceEngineMethod,
    ParameterLearnerMethod,
    Recipe,
    Reproduction,
    ScoreFunctionMethod,
    StructureLearnerMethod,
    check_descriptor,
)
from bnplug.hooks.specs import PROJECT

#: What each hook returns an iterable of.
HOOKS: dict[str, type[Descriptor]] = {
    "bnplug_structure_learners": StructureLearnerMethod,
    "bnplug_score_functions": ScoreFunctionMethod,
    "bnplug_parameter_learners": ParameterLearnerMethod,
    "bnplug_inference_engines": InferenceEngineMethod,
    "bnplug_classifiers": ClassifierMethod,
    "bnplug_discretizers": DiscretizerMethod,
    "bnplug_recipes": Recipe,
    "bnplug_reproductions": Reproduction,
}

#: What a method is found by: its kind and its name.
_Key = tuple[str, str]

# Characters of an exception's message that are told of a plugin that is left out.
_LONGEST_CAUSE = 300

_T = TypeVar("_T")


@dataclass(frozen=True)
class PluginInfo:
    """What became of one plugin.

    Parameters
    ----------
    name : str
        The name of its entry point.
    distribution, version : str
        The installed distribution that brings it.
    status : str
        ``"ok"``, ``"partial"`` (names it claims are taken), ``"failed"`` or ``"disabled"``.
    cause : str
        Why it is not ``"ok"``, in one line.
    hooks : tuple of str
        The hooks it implements.
    names : mapping of str to tuple of str
        The names of its registered methods, by kind.
    """

    name: str
    distribution: str
    version: str
    status: str
    cause: str
    hooks: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.name})"

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class FoundPlugin:
    """A plugin that is installed and not yet imported: ``load()`` returns the module or object that has its hooks."""

    name: str
    distribution: str
    version: str
    load: Callable[[], object]

    def info(
        self,
        status: str,
        cause: str = "",
        hooks: Iterable[str] = (),
        descriptors: Iterable[Descriptor] = (),
    ) -> PluginInfo:
        """Return what became of this plugin."""
        names: dict[str, tuple[str, ...]] = {}
        for descriptor in descriptors:
            kind = descriptor.kind.value
            names[kind] = (*names.get(kind, ()), descriptor.name)
        return PluginInfo(self.name, self.distribution, self.version, status, cause, tuple(hooks), names)


@dataclass(frozen=True)
class Discovery:
    """What one round of discovery found: every plugin, and each method with the plugin that brought it."""

    plugins: tuple[PluginInfo, ...]
    methods: Mapping[_Key, Descriptor]
    providers: Mapping[_Key, PluginInfo]


def normalize(name: str) -> str:
    """Return a distribution's name in its normal form.

    Examples
    --------
    >>> normalize("Bnplug_CMI.order")
    'bnplug-cmi-order'
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def contain(where: str, call: Callable[[], _T]) -> _T:
    """Call a plugin's code, and turn whatever it raises into a `PluginError` with a one-line cause.

    ``SystemExit`` and the panics of compiled extensions are no ``Exception``, and are contained too.

    Examples
    --------
    >>> import sys
    >>> contain("import", sys.exit)
    Traceback (most recent call last):
    bnplug.errors.PluginError: import: SystemExit
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except ContractError as error:
        raise PluginError(one_line(error, _LONGEST_CAUSE)) from error
    except BaseException as error:
        cause = f"{where}: {type(error).__name__}: {one_line(error, _LONGEST_CAUSE)}"
        raise PluginError(cause.removesuffix(": ")) from error


def find_plugins() -> list[FoundPlugin]:
    """Return the built-in plugin, then the installed ones by distribution and entry point."""
    builtin = FoundPlugin("builtin", PROJECT, __version__, partial(importlib.import_module, "bnplug.builtin"))
    installed: dict[str, list[FoundPlugin]] = {}
    for distribution in importlib.metadata.distributions():
        if f"[{PROJECT}]" in _entry_points_text(distribution):
            name, version = _identity(distribution)
            if normalize(name) not in installed:  # of two copies, Python imports the first on its path
                installed[normalize(name)] = _plugins_of(distribution, name, version)
    return [builtin, *(plugin for name in sorted(installed) for plugin in installed[name])]


def _entry_points_text(distribution: importlib.metadata.Distribution) -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except Exception:
        # What cannot be read cannot be told to be a plugin's: not ours to report.
        return ""


def _identity(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    try:
        name, version = distribution.metadata["Name"], distribution.version
    except Exception:
        name = version = ""
    return name or "(nameless distribution)", version or "(no version)"


def _plugins_of(distribution: importlib.metadata.Distribution, name: str, version: str) -> list[FoundPlugin]:
    try:
        points = sorted(distribution.entry_points.select(group=PROJECT), key=lambda point: point.name)
    except Exception as error:
        damage = ContractError(f"its entry_points.txt is damaged: {one_line(error, _LONGEST_CAUSE)}")
        return [FoundPlugin("unreadable", name, version, partial(_fail, damage))]
    return [FoundPlugin(point.name, name, version, point.load) for point in points]


def _fail(error: Exception) -> NoReturn:
    raise error


def _load(plugin: FoundPlugin) -> dict[str, list[Descriptor]]:
    """Return what a plugin's hooks bring, by hook, all of it checked; else raise `PluginError`."""
    loaded = contain("import", plugin.load)
    callers = contain("registration", partial(_register, loaded))
    return {hook: contain(hook, partial(_ask, hook, caller)) for hook, caller in callers.items()}


def _register(plugin: object) -> dict[str, pluggy.HookCaller]:
    """Return the hooks that a plugin implements."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    manager.register(plugin)
    implemented = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
    if not implemented:
        raise ContractError("it implements no hook; mark its functions with @bnplug.hookimpl")
    for name, caller in implemented.items():
        optional = all(implementation.optionalhook for implementation in caller.get_hookimpls())
        if name not in HOOKS and not optional:
            raise ContractError(f"there is no hook {name!r}.{did_you_mean(name, HOOKS)}")
    return {hook: implemented[hook] for hook in HOOKS if hook in implemented}


def _ask(hook: str, caller: pluggy.HookCaller) -> list[Descriptor]:
    """Call a hook, exhaust what it returns, and check every descriptor."""
    expected = HOOKS[hook]
    descriptors = []
    for answer in caller() or [None]:  # pluggy drops a returned None
        if not isinstance(answer, Iterable):
            raise ContractError(f"{hook} must return an iterable of {expected.__name__}, not {answer!r}")
        for descriptor in answer:
            if not isinstance(descriptor, expected):
                raise ContractError(f"{hook} must give {expected.__name__} only, not {descriptor!r}")
            check_descriptor(descriptor)
            descriptors.append(descriptor)
    return descriptors


def discover(found: Iterable[FoundPlugin]) -> Discovery:
    """Ask each plugin for its methods; leave out the broken ones, with one warning that names them all.

    Parameters
    ----------
    found : iterable of FoundPlugin
        The plugins to ask, in the order in which they may claim names.

    Returns
    -------
    Discovery

    Raises
    ------
    PluginError
        If ``BNPLUG_STRICT`` is set and a plugin is broken or claims a name that is taken.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import bnplug
    >>> @bnplug.hookimpl
    ... def bnplug_recipes():
    ...     yield bnplug.Recipe("TAN", "tan", summary="A tree.", reference="Friedman et al. (1997)")
    >>> plugin = SimpleNamespace(bnplug_recipes=bnplug_recipes)
    >>> found = discover([FoundPlugin("mine", "bnplug-mine", "1.0", lambda: plugin)])
    >>> found.plugins[0].names
    {'recipe': ('TAN',)}
    """
    plugins: list[PluginInfo] = []
    methods: dict[_Key, Descriptor] = {}
    providers: dict[_Key, PluginInfo] = {}
    for plugin in found:
        info, descriptors = _admit(plugin, providers)
        plugins.append(info)
        for descriptor in descriptors:
            methods[descriptor.kind, descriptor.name] = descriptor
            providers[descriptor.kind, descriptor.name] = info
    _warn([info for info in plugins if info.status in ("failed", "partial")])
    return Discovery(tuple(plugins), methods, providers)


def _admit(plugin: FoundPlugin, providers: Mapping[_Key, PluginInfo]) -> tuple[PluginInfo, list[Descriptor]]:
    """Return what became of a plugin, and its methods whose names nobody claimed before it."""
    disabled = {normalize(name) for name in os.environ.get("BNPLUG_DISABLE", "").split(",")}
    if disabled & {normalize(plugin.name), normalize(plugin.distribution)}:
        return plugin.info("disabled", "BNPLUG_DISABLE names it"), []
    try:
        brought = _load(plugin)
    except PluginError as error:
        return _unless_strict(plugin.info("failed", str(error)), error.__cause__), []
    kept, refused = _claim(chain.from_iterable(brought.values()), providers)
    if refused:
        return _unless_strict(plugin.info("partial", "; ".join(refused), brought, kept)), kept
    return plugin.info("ok", "", brought, kept), kept


def _claim(
    descriptors: Iterable[Descriptor], providers: Mapping[_Key, PluginInfo]
) -> tuple[list[Descriptor], list[str]]:
    """Return the methods whose names are free, and for each of the others a line that says who has it."""
    kept: dict[_Key, Descriptor] = {}
    refused = []
    for descriptor in descriptors:
        key = (descriptor.kind, descriptor.name)
        if key in providers or key in kept:
            owner = providers.get(key, "this plugin itself")
            refused.append(f"the name of its {descriptor.kind} {descriptor.name!r} is taken by {owner}")
        else:
            kept[key] = descriptor
    return list(kept.values()), refused


def _unless_strict(info: PluginInfo, error: BaseException | None = None) -> PluginInfo:
    if os.environ.get("BNPLUG_STRICT", "") not in ("", "0"):
        raise PluginError(f"{info}: {info.cause}") from error
    return info


def _warn(left_out: list[PluginInfo]) -> None:
    if left_out:
        heading = (
            "these plugins, or some of their methods, are left out (`bnplug plugins` lists all; "
            "BNPLUG_DISABLE=NAME blocks one, BNPLUG_STRICT=1 raises):"
        )
        lines = [f"  {info}: {info.cause}" for info in left_out]
        warnings.warn("\n".join([heading, *lines]), PluginWarning, stacklevel=2)


class _Memory:
    """The discovery of this process: made when first asked for, by one thread, not from inside itself."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._running = False
        self._discovery: Discovery | None = None

    def recall(self) -> Discovery:
        with self._lock:
            if self._running:
                raise ContractError("it asks bnplug for methods while bnplug is asking it; return names only")
            if self._discovery is None:
                self._running = True
                try:
                    self._discovery = discover(find_plugins())
                finally:
                    self._running = False
            return self._discovery

    def forget(self) -> None:
        with self._lock:
            self._discovery = None


_memory = _Memory()


def discovered() -> Discovery:
    """Return what is installed; plugins are asked once per process, when somebody first needs to know."""
    return _memory.recall()


def refresh() -> None:
    """Forget what was discovered, so that the next question asks all plugins again."""
    _memory.forget()
