"""Discovery of plugins: find them, call their hooks, and leave out the broken ones.

Each plugin gets a ``pluggy.PluginManager`` of its own: in a shared manager a failed registration leaves the plugin half
registered, and one implementation that raises aborts the call for all. The built-in methods are a plugin too, the
first one.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any, NoReturn

import pluggy

from bnplug import __version__
from bnplug.errors import ContractError, PluginError, PluginWarning, did_you_mean, one_line, printable
from bnplug.hooks import descriptors, one_file, specs
from bnplug.hooks.containing import LONGEST_CAUSE, contain, within_limits
from bnplug.hooks.descriptors import BUILTIN_COMMANDS, Descriptor, Kind, as_descriptor, check_descriptor
from bnplug.hooks.names import Claim, Names, normalize
from bnplug.hooks.one_file import ONE_FILE
from bnplug.hooks.specs import PROJECT

#: The descriptor class of each hook.
HOOKS: dict[str, type[Descriptor]] = {
    "bnplug_structure_learners": descriptors.StructureLearnerMethod,
    "bnplug_score_functions": descriptors.ScoreFunctionMethod,
    "bnplug_parameter_learners": descriptors.ParameterLearnerMethod,
    "bnplug_engines": descriptors.EngineMethod,
    "bnplug_classifiers": descriptors.ClassifierMethod,
    "bnplug_discretizers": descriptors.DiscretizerMethod,
    "bnplug_recipes": descriptors.Recipe,
    "bnplug_reproductions": descriptors.Reproduction,
    "bnplug_formats": descriptors.NetworkFormat,
    "bnplug_commands": descriptors.PluginCommand,
}

_Key = tuple[str, str]


@dataclass(frozen=True)
class _Plugin:
    name: str
    distribution: str
    version: str

    def __str__(self) -> str:
        is_file = self.distribution == ONE_FILE
        return f"one-file plugin {self.name}" if is_file else f"{self.distribution} {self.version} ({self.name})"


@dataclass(frozen=True)
class FoundPlugin(_Plugin):
    """A plugin before its import: ``load()`` returns the module or object with its hooks.

    ``owner`` is the path of a one-file plugin, or the name of the module that registered methods.
    """

    load: Callable[[], object]
    owner: str = ""


@dataclass(frozen=True)
class PluginInfo(_Plugin):
    """The state of a plugin after discovery.

    Parameters
    ----------
    name : str
        The name of its entry point.
    distribution, version : str
        The distribution it is installed from.
    status : str
        ``"ok"``, ``"partial"`` (some of its methods are left out), ``"failed"`` or ``"disabled"``.
    cause : str
        Why the status is not ``"ok"``, in one line.
    hooks : tuple of str
        The hooks it implements.
    names : mapping of str to tuple of str
        The names of its registered methods, by kind; qualified if another plugin uses the same name.
    clashes : tuple of str
        One line for each name that another plugin uses too.
    """

    status: str
    cause: str
    hooks: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    clashes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Discovery:
    """The result of discovery.

    ``methods`` and ``providers`` have each method and the plugin that provides it, by kind and shortest unambiguous
    name; ``names`` resolves all other names.
    """

    plugins: tuple[PluginInfo, ...]
    methods: Mapping[_Key, Descriptor]
    providers: Mapping[_Key, PluginInfo]
    names: Names
    loaded: Sequence[_Loaded] = field(default=(), repr=False)


def find_plugins() -> list[FoundPlugin]:
    """Return the built-in plugin, then the installed ones by distribution and entry point, then one-file plugins."""
    builtin = FoundPlugin("builtin", PROJECT, __version__, partial(importlib.import_module, "bnplug.builtin"))
    installed: dict[str, list[FoundPlugin]] = {}
    for distribution in importlib.metadata.distributions():
        # An unreadable distribution cannot be recognized as a plugin.
        with suppress(Exception):
            if f"[{PROJECT}]" not in (distribution.read_text("entry_points.txt") or ""):
                continue
            name, version = _identity(distribution)
            if normalize(name) not in installed:  # of two copies, Python imports the first on its path
                installed[normalize(name)] = _plugins_of(distribution, name, version)
    files = map(_one_file, one_file.plugin_files())
    return [builtin, *(plugin for name in sorted(installed) for plugin in installed[name]), *files]


def _one_file(owner: str) -> FoundPlugin:
    """Return the plugin of a file, or of a module that registered methods."""
    in_environment = owner in one_file.plugin_files()
    load = partial(one_file.import_file, owner) if in_environment else SimpleNamespace
    return FoundPlugin(os.path.basename(owner), ONE_FILE, "", load, owner)


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
        damage = ContractError(f"its entry_points.txt is damaged: {one_line(error, LONGEST_CAUSE)}")

        def fail() -> NoReturn:
            raise damage

        return [FoundPlugin("unreadable", name, version, fail)]
    return [FoundPlugin(point.name, name, version, point.load) for point in points]


@dataclass
class _Loaded:
    """A plugin during discovery, with its methods."""

    plugin: FoundPlugin
    status: str = "ok"
    causes: list[str] = field(default_factory=list)
    hooks: tuple[str, ...] = ()
    methods: list[Descriptor] = field(default_factory=list)

    def leave_out(self, cause: str, status: str = "partial", error: BaseException | None = None) -> None:
        """Record why something is left out; under ``BNPLUG_STRICT`` raise an error."""
        if os.environ.get("BNPLUG_STRICT", "") not in ("", "0"):
            raise PluginError(f"{self.plugin}: {cause}") from error
        self.status = status
        self.causes.append(cause)


def discover(installed: Iterable[FoundPlugin]) -> Discovery:
    """Load plugins and collect their methods; broken ones are left out, with one warning that names them all.

    If ``BNPLUG_STRICT`` is set, the first one is a `PluginError` instead.
    """
    loaded: list[_Loaded] = []
    for plugin in installed:
        loaded.append(_load(plugin, loaded))
    left_out = [f"  {one.plugin}: {'; '.join(one.causes)}" for one in loaded if one.status in ("failed", "partial")]
    if left_out:
        heading = (
            "these plugins, or some of their methods, are left out (`bnplug plugins` lists all; "
            "BNPLUG_DISABLE=NAME blocks one, BNPLUG_STRICT=1 raises):"
        )
        warnings.warn("\n".join([heading, *map(printable, left_out)]), PluginWarning, stacklevel=2)
    return _discovery_of(loaded)


def _discovery_of(loaded: list[_Loaded]) -> Discovery:
    claims = [[Claim(normalize(one.plugin.distribution), method) for method in one.methods] for one in loaded]
    names = Names(chain.from_iterable(claims))
    plugins = [_info(one, claimed, names) for one, claimed in zip(loaded, claims, strict=True)]
    methods: dict[_Key, Descriptor] = {}
    providers: dict[_Key, PluginInfo] = {}
    for info, claimed in zip(plugins, claims, strict=True):
        for claim in claimed:
            key = claim.method.kind, names.shortest(claim)
            methods[key], providers[key] = claim.method, info
    return Discovery(tuple(plugins), methods, providers, names, tuple(loaded))


def _load(plugin: FoundPlugin, others: Iterable[_Loaded]) -> _Loaded:
    """Load a plugin after `others`, whose names are taken: within a distribution, or for a one-file plugin all."""
    loaded = _Loaded(plugin)
    disabled = {normalize(name) for name in os.environ.get("BNPLUG_DISABLE", "").split(",")}
    if disabled & {normalize(plugin.name), normalize(plugin.distribution)}:
        loaded.status, loaded.causes = "disabled", ["disabled by BNPLUG_DISABLE"]
        return loaded
    try:
        methods, unknown = _call_hooks(loaded)
    except PluginError as error:
        loaded.leave_out(_located(str(error), error, plugin), "failed", error.__cause__)
        return loaded
    for cause in unknown:
        loaded.leave_out(cause)
    home = normalize(plugin.distribution)
    rivals = [one for one in others if home in (ONE_FILE, normalize(one.plugin.distribution))]
    for method in methods:
        key = method.kind, method.name
        taker = next((one for one in (*rivals, loaded) if any((m.kind, m.name) == key for m in one.methods)), None)
        cause = reserved(method)
        if taker is not None:
            whose = "this plugin itself" if taker is loaded else taker.plugin
            cause = f"the name of its {method.kind} {method.name!r} is taken by {whose}"
        if cause:
            loaded.leave_out(_located(cause, None, plugin))
        else:
            loaded.methods.append(method)
    return loaded


def _located(cause: str, error: PluginError | None, plugin: FoundPlugin) -> str:
    """Return the cause of a failure; for a one-file plugin, with its location and a remedy."""
    if plugin.distribution != ONE_FILE:
        return cause
    remedy = "Correct or omit the file" if os.path.exists(plugin.owner) else "Check the path"
    return f"{one_file.located(cause, error and error.__cause__, plugin.owner)}. {remedy}"


def reserved(method: Descriptor) -> str:
    """Return why a method cannot have its name, such as that of a built-in command; empty if it can."""
    if method.kind != Kind.COMMAND or method.name not in BUILTIN_COMMANDS:
        return ""
    return f"the command name {method.name!r} belongs to a built-in command; choose another name"


def _call_hooks(loaded: _Loaded) -> tuple[list[Descriptor], list[str]]:
    """Return the methods of a plugin, and a message for each hook that this version does not have."""
    plugin = contain("import", partial(within_limits, loaded.plugin.load))
    registered = list(one_file.REGISTERED.get(loaded.plugin.owner, {}).values())
    callers = contain("registration", partial(_register, plugin))
    if not callers and not registered:
        also = ", or call bnplug.register" if loaded.plugin.owner else ""
        raise PluginError(f"it implements no hook; mark its functions with @bnplug.hookimpl{also}")
    unknown = [_no_hook(name) for name in callers if name not in HOOKS]
    known = tuple(hook for hook in HOOKS if hook in callers)
    if unknown and not known:
        raise PluginError("; ".join(unknown))
    methods = [contain(hook, partial(within_limits, partial(_call_hook, hook, callers[hook]))) for hook in known]
    loaded.hooks = tuple(hook for hook in HOOKS if hook in known or any(isinstance(m, HOOKS[hook]) for m in registered))
    return [*chain.from_iterable(methods), *registered], unknown


def _register(plugin: object) -> dict[str, pluggy.HookCaller]:
    """Return the hooks that a plugin implements, without unknown ones that are marked optional."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    manager.register(plugin)
    return {
        caller.name: caller
        for caller in manager.get_hookcallers(plugin) or ()
        if caller.name in HOOKS or not all(hook.optionalhook for hook in caller.get_hookimpls())
    }


def _no_hook(name: str) -> str:
    # Compare names without the common prefix, which makes all of them similar.
    prefix = f"{PROJECT}_"
    hint = did_you_mean(name.removeprefix(prefix), [hook.removeprefix(prefix) for hook in HOOKS])
    return f"there is no hook {name!r}." + hint.replace("mean '", f"mean '{prefix}")


def _call_hook(hook: str, caller: pluggy.HookCaller) -> list[Descriptor]:
    """Call a hook and check every descriptor that it returns."""
    expected = HOOKS[hook]
    checked = []
    for answer in caller() or [None]:  # pluggy drops a returned None
        if not isinstance(answer, Iterable):
            raise ContractError(f"{hook} must return an iterable of {expected.__name__}, not {answer!r}")
        for descriptor in map(as_descriptor, answer):
            if not isinstance(descriptor, expected):
                raise ContractError(f"{hook} must give {expected.__name__} only, not {descriptor!r}")
            check_descriptor(descriptor)
            checked.append(descriptor)
    return checked


def _info(loaded: _Loaded, claims: Iterable[Claim], names: Names) -> PluginInfo:
    listed: dict[str, tuple[str, ...]] = {}
    clashes = []
    for claim in claims:
        kind, bare, name = claim.method.kind.value, claim.method.name, names.shortest(claim)
        listed[kind] = (*listed.get(kind, ()), name)
        if name != bare:
            others = " and ".join(names.others(claim))
            clashes.append(f"its {kind} {bare!r} is available as {name!r}, because {others} has that name too")
    plugin, cause = loaded.plugin, "; ".join(loaded.causes)
    name, distribution, version, cause = map(printable, (plugin.name, plugin.distribution, plugin.version, cause))
    return PluginInfo(name, distribution, version, loaded.status, cause, loaded.hooks, listed, tuple(clashes))


class _Current:
    """The discovery of this process."""

    lock = threading.RLock()
    running = False
    discovery: Discovery | None = None


def discovered() -> Discovery:
    """Return the installed plugins and methods; plugins are loaded once per process, on the first call."""
    with _Current.lock:
        if _Current.running:
            raise ContractError("it asks bnplug for methods while bnplug is asking it; return names only")
        if _Current.discovery is None:
            _Current.running = True
            try:
                _Current.discovery = _with_registered(discover(find_plugins()))
            finally:
                _Current.running = False
        return _Current.discovery


def _with_registered(current: Discovery, *changed: str) -> Discovery:
    """Return a discovery with everything that was registered; `changed` are the owners to ask again."""
    loaded = [one for one in current.loaded if one.plugin.owner not in changed]
    there = {one.plugin.owner for one in loaded}
    new = [owner for owner in one_file.REGISTERED if owner not in there]
    for owner in new:
        loaded.append(_load(_one_file(owner), loaded))
    return _discovery_of(loaded) if new else current


def add_registered(owner: str) -> None:
    """Add what an owner has registered to the discovered methods."""
    with _Current.lock:
        _Current.discovery = _with_registered(discovered(), owner)


@contextmanager
def _as_if_installed(method: Descriptor) -> Iterator[None]:
    """Treat a method as part of an additional plugin, the last one, inside this block."""
    before, plugin = discovered(), FoundPlugin("under-check", f"{PROJECT}-under-check", "0", SimpleNamespace)
    _Current.discovery = _discovery_of([*before.loaded, _Loaded(plugin, methods=[method])])
    try:
        yield
    finally:
        _Current.discovery = before


def load_files(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Load one-file plugins, also in the child processes that start later; raise a `PluginError` if one fails."""
    before = os.environ.get(one_file.ENVIRONMENT)
    added = one_file.add_plugin_files(paths)
    refresh()
    try:
        with warnings.catch_warnings(record=True) as caught:
            current = discovered()
        for one in current.loaded:
            if one.plugin.owner in added and one.status != "ok":
                raise PluginError("; ".join(one.causes))
    except PluginError:
        os.environ[one_file.ENVIRONMENT] = before or ""
        refresh()
        raise
    for warning in caught:
        warnings.warn(warning.message, stacklevel=2)


def refresh() -> None:
    """Forget the discovered plugins; the next call of :func:`discovered` loads them again."""
    with _Current.lock:
        _Current.discovery = None
