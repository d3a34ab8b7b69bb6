"""Discovery of plugins: find them, call their hooks, and leave out the broken ones.

Each plugin gets a ``pluggy.PluginManager`` of its own: in a shared manager a failed registration leaves the plugin half
registered, and one implementation that raises aborts the call for all. The built-in methods are a plugin too, the
first one.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from types import FrameType
from typing import Any, NoReturn, TypeVar

import pluggy

from bnplug import __version__
from bnplug.errors import ContractError, PluginError, PluginWarning, did_you_mean, one_line, printable
from bnplug.hooks import descriptors, specs
from bnplug.hooks.descriptors import Descriptor, check_descriptor
from bnplug.hooks.names import Claim, Names, normalize
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
}

_Key = tuple[str, str]

# The environment variable with the seconds that the import of a plugin may take (0: no limit), and its default.
_SECONDS, _DEFAULT_SECONDS = "BNPLUG_IMPORT_SECONDS", 60.0

# The longest message of an exception that is reported, in characters.
_LONGEST_CAUSE = 300

_T = TypeVar("_T")


@dataclass(frozen=True)
class FoundPlugin:
    """An installed plugin before its import: ``load()`` returns the module or object with its hooks."""

    name: str
    distribution: str
    version: str
    load: Callable[[], object]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.name})"


@dataclass(frozen=True)
class PluginInfo:
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
class Discovery:
    """The result of discovery.

    ``methods`` and ``providers`` have each method and the plugin that provides it, by kind and shortest unambiguous
    name; ``names`` resolves all other names.
    """

    plugins: tuple[PluginInfo, ...]
    methods: Mapping[_Key, Descriptor]
    providers: Mapping[_Key, PluginInfo]
    names: Names


def contain(where: str, call: Callable[[], _T]) -> _T:
    """Call a plugin's code, and turn any exception into a `PluginError` with a one-line cause.

    This includes ``SystemExit``, the panics of compiled extensions, and a ``KeyboardInterrupt`` that the plugin itself
    raised; Ctrl-C is not contained.

    Examples
    --------
    >>> import sys
    >>> contain("import", sys.exit)
    Traceback (most recent call last):
    bnplug.errors.PluginError: import: SystemExit
    """
    try:
        with _interrupts() as interrupts:
            return call()
    except ContractError as error:
        raise PluginError(one_line(error, _LONGEST_CAUSE)) from error
    except BaseException as error:
        if interrupts and isinstance(error, KeyboardInterrupt):
            raise
        cause = f"{where}: {type(error).__name__}: {one_line(error, _LONGEST_CAUSE)}"
        raise PluginError(cause.removesuffix(": ")) from error


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Yield a list to which each Ctrl-C in this block adds an entry."""
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield seen
        return

    def notice(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


class _TooSlow(BaseException):
    """A plugin exceeded the time limit. Not an ``Exception``, which plugins may catch by accident."""


def _within_limits(call: Callable[[], _T]) -> _T:
    """Return ``call()``, a plugin's code: its output goes to standard error, and its time is limited."""
    with _output_to_stderr(), _time_limit():
        return call()


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise `_TooSlow` after ``BNPLUG_IMPORT_SECONDS``; only in the main thread of a Unix process."""
    try:
        seconds = max(0.0, float(os.environ.get(_SECONDS, _DEFAULT_SECONDS)))
    except ValueError:
        seconds = _DEFAULT_SECONDS
    in_main = threading.current_thread() is threading.main_thread()
    # A timer that is already set belongs to someone else.
    if not seconds or not in_main or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow(f"it takes longer than {seconds:g} seconds ({_SECONDS} sets the limit)")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, including the output of extensions and child processes."""
    _flush()
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        with suppress(OSError):  # either may be closed
            stdout = os.dup(1)
            stack.callback(os.close, stdout)
            os.dup2(2, 1)
            stack.callback(os.dup2, stdout, 1)
        stack.callback(_flush)
        yield


def _flush() -> None:
    """Flush standard output, of Python and of C."""
    for stream in (sys.stdout, sys.__stdout__):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and os.name == "posix":
        ctypes.CDLL(None).fflush(None)


def find_plugins() -> list[FoundPlugin]:
    """Return the built-in plugin, then the installed ones by distribution and entry point."""
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
    return [builtin, *(plugin for name in sorted(installed) for plugin in installed[name])]


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
    owners: dict[tuple[str, str, str], FoundPlugin] = {}
    loaded = [_load(plugin, owners) for plugin in installed]
    claims = [[Claim(normalize(one.plugin.distribution), method) for method in one.methods] for one in loaded]
    names = Names(chain.from_iterable(claims))
    plugins = [_info(one, claimed, names) for one, claimed in zip(loaded, claims, strict=True)]
    methods: dict[_Key, Descriptor] = {}
    providers: dict[_Key, PluginInfo] = {}
    for info, claimed in zip(plugins, claims, strict=True):
        for claim in claimed:
            key = claim.method.kind, names.shortest(claim)
            methods[key], providers[key] = claim.method, info
    left_out = [f"  {info}: {info.cause}" for info in plugins if info.status in ("failed", "partial")]
    if left_out:
        heading = (
            "these plugins, or some of their methods, are left out (`bnplug plugins` lists all; "
            "BNPLUG_DISABLE=NAME blocks one, BNPLUG_STRICT=1 raises):"
        )
        warnings.warn("\n".join([heading, *left_out]), PluginWarning, stacklevel=2)
    return Discovery(tuple(plugins), methods, providers, names)


def _load(plugin: FoundPlugin, owners: dict[tuple[str, str, str], FoundPlugin]) -> _Loaded:
    """Load a plugin; `owners` are the plugins that own a name: distribution, kind, name."""
    loaded = _Loaded(plugin)
    disabled = {normalize(name) for name in os.environ.get("BNPLUG_DISABLE", "").split(",")}
    if disabled & {normalize(plugin.name), normalize(plugin.distribution)}:
        loaded.status, loaded.causes = "disabled", ["BNPLUG_DISABLE names it"]
        return loaded
    try:
        methods, unknown = _call_hooks(loaded)
    except PluginError as error:
        loaded.leave_out(str(error), "failed", error.__cause__)
        return loaded
    for cause in unknown:
        loaded.leave_out(cause)
    for method in methods:
        owner = owners.setdefault((normalize(plugin.distribution), method.kind, method.name), plugin)
        if owner is plugin and all((other.kind, other.name) != (method.kind, method.name) for other in loaded.methods):
            loaded.methods.append(method)
        else:
            whose = "this plugin itself" if owner is plugin else owner
            loaded.leave_out(f"the name of its {method.kind} {method.name!r} is taken by {whose}")
    return loaded


def _call_hooks(loaded: _Loaded) -> tuple[list[Descriptor], list[str]]:
    """Return the methods of a plugin, and a message for each hook that this version does not have."""
    plugin = contain("import", partial(_within_limits, loaded.plugin.load))
    callers = contain("registration", partial(_register, plugin))
    unknown = [_no_hook(name) for name in callers if name not in HOOKS]
    known = tuple(hook for hook in HOOKS if hook in callers)
    if unknown and not known:
        raise PluginError("; ".join(unknown))
    methods = [contain(hook, partial(_within_limits, partial(_call_hook, hook, callers[hook]))) for hook in known]
    loaded.hooks = known
    return list(chain.from_iterable(methods)), unknown


def _register(plugin: object) -> dict[str, pluggy.HookCaller]:
    """Return the hooks that a plugin implements, without unknown ones that are marked optional."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    manager.register(plugin)
    callers = manager.get_hookcallers(plugin) or ()
    if not callers:
        raise ContractError("it implements no hook; mark its functions with @bnplug.hookimpl")
    return {
        caller.name: caller
        for caller in callers
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
        for descriptor in answer:
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
            clashes.append(f"its {kind} {bare!r} goes by {name!r}: {others} has that name too")
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
                _Current.discovery = discover(find_plugins())
            finally:
                _Current.running = False
        return _Current.discovery


@contextmanager
def _as_if_installed(plugin: FoundPlugin) -> Iterator[None]:
    """Treat a plugin as installed, the last one, inside this block."""
    before, _Current.discovery = discovered(), discover([*find_plugins(), plugin])
    try:
        yield
    finally:
        _Current.discovery = before


def refresh() -> None:
    """Forget the discovered plugins; the next call of :func:`discovered` loads them again."""
    with _Current.lock:
        _Current.discovery = None
