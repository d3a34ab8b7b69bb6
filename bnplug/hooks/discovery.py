"""Discovery and containment of plugins: finds them, asks their hooks, and leaves out what is broken.

Each plugin gets a ``pluggy.PluginManager`` of its own: in a shared one a failed registration leaves the
plugin half registered, and one raising implementation aborts the call for all. The built-in methods
come the same way as everybody's, and first.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NoReturn, TypeVar

import pluggy

from bnplug import __version__
from bnplug.errors import ContractError, PluginError, PluginWarning, did_you_mean, one_line, printable
from bnplug.hooks import specs
from bnplug.hooks._guarding import noticing_interrupts, within_limits
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
from bnplug.hooks.names import Claim, Names, normalize
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

# A name that a distribution has given away: the distribution, the kind, the name.
_Owned = tuple[str, str, str]

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
        ``"ok"``, ``"partial"`` (something of it is left out), ``"failed"`` or ``"disabled"``.
    cause : str
        Why it is not ``"ok"``, in one line.
    hooks : tuple of str
        The hooks it implements.
    names : mapping of str to tuple of str
        The names of its registered methods, by kind; qualified ones where others have the name too.
    clashes : tuple of str
        Who has those names too, in one line for each.
    """

    name: str
    distribution: str
    version: str
    status: str
    cause: str
    hooks: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    clashes: tuple[str, ...] = ()

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

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.name})"


@dataclass(frozen=True)
class Discovery:
    """What one round of discovery found.

    Parameters
    ----------
    plugins : tuple of PluginInfo
        Every plugin.
    methods, providers : mapping of (str, str)
        Each method, and the plugin that brought it, by its kind and the shortest name that means it alone.
    names : Names
        What every other word means.
    """

    plugins: tuple[PluginInfo, ...]
    methods: Mapping[_Key, Descriptor]
    providers: Mapping[_Key, PluginInfo]
    names: Names


def contain(where: str, call: Callable[[], _T]) -> _T:
    """Call a plugin's code, and turn whatever it raises into a `PluginError` with a one-line cause.

    ``SystemExit`` and the panics of compiled extensions are no ``Exception``, and are contained too; so is a
    ``KeyboardInterrupt``, unless it is the user's.

    Examples
    --------
    >>> import sys
    >>> contain("import", sys.exit)
    Traceback (most recent call last):
    bnplug.errors.PluginError: import: SystemExit
    """
    try:
        with noticing_interrupts() as interrupts:
            return call()
    except ContractError as error:
        raise PluginError(one_line(error, _LONGEST_CAUSE)) from error
    except BaseException as error:
        if interrupts and isinstance(error, KeyboardInterrupt):
            raise
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


@dataclass
class _Asked:
    """A plugin that was asked for its methods: what became of it so far."""

    plugin: FoundPlugin
    status: str = "ok"
    causes: list[str] = field(default_factory=list)
    hooks: tuple[str, ...] = ()
    methods: list[Descriptor] = field(default_factory=list)

    def leave_out(self, cause: str, status: str = "partial", error: BaseException | None = None) -> None:
        """Note what is left out of it and why; under ``BNPLUG_STRICT`` that is an error."""
        if os.environ.get("BNPLUG_STRICT", "") not in ("", "0"):
            raise PluginError(f"{self.plugin}: {cause}") from error
        self.status = status
        self.causes.append(cause)


def _load(asked: _Asked) -> list[str]:
    """Ask a plugin's hooks, and check what they bring; return why some are left out: this version knows none such."""
    loaded = contain("import", partial(within_limits, asked.plugin.load))
    implemented = contain("registration", partial(_register, loaded))
    unknown = [_no_hook(name) for name in implemented if name not in HOOKS]
    known = tuple(hook for hook in HOOKS if hook in implemented)
    if unknown and not known:
        raise PluginError("; ".join(unknown))
    brought = [contain(hook, partial(within_limits, partial(_ask, hook, implemented[hook]))) for hook in known]
    asked.hooks, asked.methods = known, list(chain.from_iterable(brought))
    return unknown


def _register(plugin: object) -> dict[str, pluggy.HookCaller]:
    """Return the hooks that a plugin implements, those apart that it says may be unknown."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    manager.register(plugin)
    callers = manager.get_hookcallers(plugin) or ()
    if not callers:
        raise ContractError("it implements no hook; mark its functions with @bnplug.hookimpl")
    return {caller.name: caller for caller in callers if caller.name in HOOKS or not _is_optional(caller)}


def _no_hook(name: str) -> str:
    # The prefix that all hooks have would make every two of them alike.
    prefix = f"{PROJECT}_"
    hint = did_you_mean(name.removeprefix(prefix), [hook.removeprefix(prefix) for hook in HOOKS])
    return f"there is no hook {name!r}." + hint.replace("mean '", f"mean '{prefix}")


def _is_optional(caller: pluggy.HookCaller) -> bool:
    return all(implementation.optionalhook for implementation in caller.get_hookimpls())


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
        The plugins to ask.

    Returns
    -------
    Discovery

    Raises
    ------
    PluginError
        If ``BNPLUG_STRICT`` is set and something is left out.

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
    taken: dict[_Owned, FoundPlugin] = {}
    asked = [_admit(plugin, taken) for plugin in found]
    claims = [[Claim(normalize(one.plugin.distribution), method) for method in one.methods] for one in asked]
    names = Names(chain.from_iterable(claims))
    plugins = [_info(one, own, names) for one, own in zip(asked, claims, strict=True)]
    methods: dict[_Key, Descriptor] = {}
    providers: dict[_Key, PluginInfo] = {}
    for info, own in zip(plugins, claims, strict=True):
        for claim in own:
            key = claim.method.kind, names.shortest(claim)
            methods[key], providers[key] = claim.method, info
    _warn([info for info in plugins if info.status in ("failed", "partial")])
    return Discovery(tuple(plugins), methods, providers, names)


def _admit(plugin: FoundPlugin, taken: dict[_Owned, FoundPlugin]) -> _Asked:
    """Ask a plugin, and keep its methods whose names nobody of its own distribution has taken before."""
    asked = _Asked(plugin)
    disabled = {normalize(name) for name in os.environ.get("BNPLUG_DISABLE", "").split(",")}
    if disabled & {normalize(plugin.name), normalize(plugin.distribution)}:
        asked.status, asked.causes = "disabled", ["BNPLUG_DISABLE names it"]
        return asked
    try:
        left_out = _load(asked)
    except PluginError as error:
        asked.leave_out(str(error), "failed", error.__cause__)
    else:
        for cause in [*left_out, *_take(asked, taken)]:
            asked.leave_out(cause)
    return asked


def _take(asked: _Asked, taken: dict[_Owned, FoundPlugin]) -> list[str]:
    """Keep the methods whose names are free in their distribution; for each of the others, say who has it."""
    refused: list[str] = []
    kept: list[Descriptor] = []
    for method in asked.methods:
        owner = taken.setdefault((normalize(asked.plugin.distribution), method.kind, method.name), asked.plugin)
        if owner is asked.plugin and all((other.kind, other.name) != (method.kind, method.name) for other in kept):
            kept.append(method)
        else:
            whose = "this plugin itself" if owner is asked.plugin else owner
            refused.append(f"the name of its {method.kind} {method.name!r} is taken by {whose}")
    asked.methods = kept
    return refused


def _info(asked: _Asked, claims: Iterable[Claim], names: Names) -> PluginInfo:
    """Return what became of a plugin, its methods by the names that they got."""
    listed: dict[str, tuple[str, ...]] = {}
    clashes = []
    for claim in claims:
        kind, name = claim.method.kind.value, names.shortest(claim)
        listed[kind] = (*listed.get(kind, ()), name)
        if name != claim.method.name:
            others = names.others(claim)
            clashes.append(
                f"its {kind} {claim.method.name!r} goes by {name!r}: {' and '.join(others)} has that name too"
            )
    plugin = asked.plugin
    name, distribution, version, cause = map(
        printable, (plugin.name, plugin.distribution, plugin.version, "; ".join(asked.causes))
    )
    return PluginInfo(name, distribution, version, asked.status, cause, asked.hooks, listed, tuple(clashes))


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

    def replace(self, found: Discovery) -> Discovery:
        with self._lock:
            before, self._discovery = self.recall(), found
            return before


_memory = _Memory()


def discovered() -> Discovery:
    """Return what is installed; plugins are asked once per process, when somebody first needs to know."""
    return _memory.recall()


@contextmanager
def _as_if_installed(plugin: FoundPlugin) -> Iterator[None]:
    """Let a plugin count as installed, the last of all, until the context ends."""
    before = _memory.replace(discover([*find_plugins(), plugin]))
    try:
        yield
    finally:
        _memory.replace(before)


def refresh() -> None:
    """Forget what was discovered, so that the next question asks all plugins again."""
    _memory.forget()
