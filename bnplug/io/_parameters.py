"""Constructor parameters and fitted networks as JSON and arrays, and back.

A component is stored as its kind, name, distribution, version and parameters, and found by its registered name: paths
of modules are never read from a file. A parameter that cannot be stored or restored becomes `Unavailable`: the model
predicts, and fitting it again raises an error with the reason.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from bnplug.errors import ContractError, PluginError, UnknownMethodError, one_line, printable
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Kind, Method, component_kinds, is_component, name_and_parameters
from bnplug.hooks.names import normalize
from bnplug.hooks.one_file import ENVIRONMENT, ONE_FILE
from bnplug.model.log_tables import LogTables
from bnplug.model.training_summary import TrainingSummary
from bnplug.structure import Learned, PartialGraph, Structure
from bnplug.table._encoder_state import encoder_state, read_encoder, read_labels
from bnplug.table.encoder import ColumnEncoder

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

#: Estimators that are saved by their parameters, by name. Higher layers add them.
_ESTIMATORS: dict[str, type] = {}

# Dtypes whose bytes contain no objects.
_PLAIN_DTYPES = "biufcU"

# Maximum length of the text that replaces a value that cannot be saved, and of text quoted from a file.
_WRITTEN = 200

# Valid names of distributions (PEP 508), and valid versions.
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,60}")


@dataclass(frozen=True)
class Unavailable:
    """A parameter that was not saved, or cannot be restored: its text, the reason, and its JSON for saving it again."""

    written: str
    reason: str
    saved: Any = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return printable(f"<{self.written}: {self.reason}>")

    def __getattr__(self, name: str) -> NoReturn:
        # It is not an estimator, and has no special methods of Python besides those below.
        if name.startswith("_") or name in ("get_params", "set_params", "fit"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ValueError(f"a parameter of this model, which comes from a file, is unavailable: {self!r}")

    # Operations in which ``fit`` of a plugin may use a parameter.
    __call__ = __iter__ = __len__ = __getitem__ = __contains__ = __array__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse


def to_json(value: Any, kind: Kind | None = None) -> Any:
    """Return a parameter as JSON; names and pairs are components of this kind, if one is given."""
    if isinstance(value, Unavailable):
        return value.saved
    if kind is not None and is_component(value):
        return _named_to_json(value, kind)
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is float:
        return {"is": "float", "text": repr(value)}
    if type(value) is list:
        return [to_json(item) for item in value]
    if type(value) is tuple:
        return {"is": "tuple", "items": [to_json(item) for item in value]}
    if type(value) is dict:
        return {"is": "dict", "items": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in _PLAIN_DTYPES:
        return _array_to_json(value)
    if isinstance(value, LogTables):
        return {"is": "tables", **_tables_to_json(value)}
    if isinstance(value, Structure):
        return {"is": "structure", "names": list(value.names), "parents": [list(of) for of in value.parents]}
    if hasattr(value, "is_directed") and value.is_directed():
        return _graph_to_json(value)
    method = registry.method_of(value)
    if method is not None:
        return _component_to_json(method, "instance", value.get_params(deep=False))
    given = getattr(value, "get_params", None)
    if given is not None and type(value) is _ESTIMATORS.get(type(value).__name__):
        saved = parameters_to_json(given(deep=False), component_kinds(type(value)))
        return {"is": "estimator", "name": type(value).__name__, "params": saved}
    return {"is": "unsaved", "written": one_line(repr(value))[:_WRITTEN]}


def parameters_to_json(params: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return constructor parameters as JSON; `kinds` are those of the parameters that hold components."""
    return {name: to_json(value, kinds.get(name)) for name, value in params.items()}


def from_json(data: Any) -> Any:
    """Undo :func:`to_json`; raise a ``ValueError``, ``TypeError`` or ``KeyError`` if `data` is damaged."""
    if isinstance(data, list):
        return [from_json(item) for item in data]
    if isinstance(data, dict):
        return _READERS[data["is"]](data)
    return data


def parameters_from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Undo :func:`parameters_to_json`."""
    return {name: from_json(value) for name, value in data.items()}


def method_to_json(method: Method) -> dict[str, str]:
    """Return the kind, name, distribution and version of a registered method."""
    info = registry.provider(method)
    origin = {"distribution": info.distribution, "version": info.version}
    return {"kind": str(method.kind), "name": method.name, **origin}


def method_from_json(data: Mapping[str, Any]) -> Method:
    """Undo :func:`method_to_json`; raise an ``UnknownMethodError`` if the method is not installed."""
    kind, name, distribution, version = (data[key] for key in ("kind", "name", "distribution", "version"))
    if not all(isinstance(text, str) for text in (kind, name, distribution, version)):
        raise TypeError(f"a component is named by texts, not by {data!r}")
    try:
        method = registry.find(kind, f"{distribution}:{name}")
    except UnknownMethodError:
        raise UnknownMethodError(_why_absent(kind, name, distribution, version)) from None
    assert isinstance(method, Method)
    return method


def components(value: Any, kind: Kind | None = None) -> Iterator[dict[str, str]]:
    """Yield the JSON of a component's method, and of the components among its parameters."""
    name: str | None = None
    params: Mapping[str, Any] = {}
    if kind is not None and is_component(value):
        name, params = name_and_parameters(value)
    elif hasattr(value, "get_params"):
        params = value.get_params(deep=False)
    try:
        method = registry.method_of(value) if name is None else registry.find(kind or "", name)
    except UnknownMethodError:
        method = None
    if isinstance(method, Method):
        yield method_to_json(method)
        kinds = registry.nested_kinds(method.kind, method)
    else:
        kinds = component_kinds(type(value))
    for key, parameter in params.items():
        if key in kinds:
            yield from components(parameter, kinds[key])


def check_complete(estimator: Any) -> None:
    """Raise a ``ValueError`` that names the unavailable parameters of an estimator, if there are any."""
    reasons = [f"{name.lstrip('_')}: {lost!r}" for name, lost in _unavailable(estimator, "")]
    if reasons:
        raise ValueError(
            f"this {type(estimator).__name__} comes from a file and cannot be fitted again as it is. "
            + printable("; ".join(reasons))
            + ". set_params takes others"
        )


def _unavailable(value: Any, path: str) -> Iterator[tuple[str, Unavailable]]:
    if isinstance(value, Unavailable):
        yield path, value
        return
    children: Any = ()
    if isinstance(value, tuple) and is_component(value):
        children = value[1].items()
    elif isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list | tuple):
        children = enumerate(value)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        children = value.get_params(deep=False).items()
    for key, child in children:
        yield from _unavailable(child, f"{path}__{key}")


def _named_to_json(value: Any, kind: Kind) -> Any:
    """Return a name, or a name with parameters, with its origin; a name that is not registered stays text."""
    name, params = name_and_parameters(value)
    try:
        method = registry.find(kind, name)
    except UnknownMethodError:
        return name if isinstance(value, str) else {"is": "tuple", "items": [name, to_json(dict(params))]}
    assert isinstance(method, Method)
    form = "name" if isinstance(value, str) else "pair"
    return {**_component_to_json(method, form, registry.renamed(method, params)), "written": name}


def _component_to_json(method: Method, form: str, params: Mapping[str, Any]) -> dict[str, Any]:
    saved = parameters_to_json(params, registry.nested_kinds(method.kind, method))
    return {"is": "component", "form": form, **method_to_json(method), "params": saved}


def _component_from_json(data: Mapping[str, Any]) -> Any:
    """Return a name, a pair or an instance, as it was passed; `Unavailable` if its class is not available."""
    params = parameters_from_json(data["params"])
    form, what = data["form"], f"{data['kind']} {data['name']!r}"
    if form not in ("name", "pair", "instance"):
        raise ValueError(f"a component is no {form!r}")
    try:
        method = method_from_json(data)
        if form == "instance":
            return registry.make(method, params)
    except (UnknownMethodError, PluginError, ContractError, TypeError) as error:
        return Unavailable(what, one_line(str(error)), data)
    name = _as_then(method, str(data["written"]))
    return name if form == "name" else (name, registry.renamed(method, params))


def _as_then(method: Method, written: str) -> str:
    """Return the name that the user wrote, if it still means the method, otherwise its shortest name."""
    try:
        same = written.rpartition(":")[2] == method.name and registry.find(method.kind, written) == method
    except UnknownMethodError:
        same = False
    return written if same else str(registry.name_of(method))


def _why_absent(kind: str, name: str, distribution: str, version: str) -> str:
    """Return a message about a missing method; it never recommends installing what a file names."""
    what = f"the {kind} {name[:_WRITTEN]!r}"
    if distribution == ONE_FILE:
        return (
            f"{what} comes from a one-file plugin that is not loaded. Load its file with `bnplug --plugin FILE.py` or "
            f"{ENVIRONMENT}=FILE.py, or call bnplug.register, before you load the model"
        )
    if not _DISTRIBUTION.fullmatch(distribution) or not _VERSION.fullmatch(version):
        return f"{what} is not installed, and the file does not name a valid distribution that provides it"
    what = f"{what} of {distribution} {version}"
    there = [info for info in registry.plugins() if normalize(info.distribution) == normalize(distribution)]
    if not there:
        return f"{what} is not installed"
    cause = f": {there[0].cause}" if there[0].cause else f"; the model was saved with {distribution} {version}"
    return f"{what} is not brought by {there[0]}, which is installed{cause}"


def _array_to_json(value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    return {
        "is": "array" if isinstance(value, np.ndarray) else "scalar",
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "bytes": base64.b64encode(array.tobytes()).decode(),
    }


def _array_from_json(data: Mapping[str, Any]) -> Any:
    """Return an array; refuse a wrong length or a dtype of objects before allocating anything."""
    dtype, shape = np.dtype(data["dtype"]), tuple(data["shape"])
    if dtype.kind not in _PLAIN_DTYPES or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"no array of plain values: {data['dtype']!r}, {data['shape']!r}")
    content = base64.b64decode(data["bytes"], validate=True)
    if len(content) != dtype.itemsize * math.prod(shape):
        raise ValueError("an array is cut off")
    array = np.frombuffer(content, dtype).reshape(shape).copy() if content else np.empty(shape, dtype)
    return array if data["is"] == "array" else array[()]


def _tables_to_json(tables: LogTables) -> dict[str, Any]:
    return {
        "names": list(tables.names),
        "states": [[to_json(state) for state in tables.states[name]] for name in tables.names],
        "parents": [list(tables[name].parents) for name in tables.names],
        "values": [_array_to_json(tables[name].values) for name in tables.names],
        "target": tables.target,
    }


def _tables_from_json(data: Mapping[str, Any]) -> LogTables:
    names, target = list(data["names"]), data["target"]
    columns = (data["states"], data["parents"], data["values"])
    if not all(isinstance(name, str) for name in names) or not isinstance(target, str | None):
        raise TypeError("the variables of tables have no names")
    states, tables = {}, {}
    for name, labels, parents, values in zip(names, *columns, strict=True):
        states[name], tables[name] = from_json(labels), (list(parents), _array_from_json(values))
    return LogTables(names, states, tables, target)


def _structure_from_json(data: Mapping[str, Any]) -> Structure:
    if not all(isinstance(name, str) for name in data["names"]):
        raise TypeError("the variables of a structure have no names")
    return Structure(data["names"], data["parents"])


def _graph_to_json(graph: Any) -> dict[str, Any]:
    """Return the nodes and edges of a graph, or the tables of a complete network."""
    if hasattr(graph, "get_cpds") and len(graph.get_cpds()) == len(graph.nodes) > 0:
        return {"is": "network", **_tables_to_json(LogTables.from_network(graph))}
    nodes = [to_json(node) for node in graph.nodes]
    return {"is": "graph", "nodes": nodes, "edges": [[to_json(end) for end in edge[:2]] for edge in graph.edges]}


def _graph_from_json(data: Mapping[str, Any]) -> Any:
    """Return a DAG of pgmpy."""
    from bnplug.model.pgmpy import make_dag

    nodes = [from_json(node) for node in data["nodes"]]
    edges = [(from_json(parent), from_json(child)) for parent, child in data["edges"]]
    return make_dag(nodes, edges)


def _estimator_from_json(data: Mapping[str, Any]) -> Any:
    factory, params = _ESTIMATORS[data["name"]], parameters_from_json(data["params"])
    registry.check_parameters(f"the estimator {data['name']!r}", factory, params)
    return factory(**params)


_READERS: dict[str, Any] = {
    "estimator": _estimator_from_json,
    "float": lambda data: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[data["text"]],
    "tuple": lambda data: tuple(from_json(item) for item in data["items"]),
    "dict": lambda data: {from_json(key): from_json(item) for key, item in data["items"]},
    "array": _array_from_json,
    "scalar": _array_from_json,
    "structure": _structure_from_json,
    "graph": _graph_from_json,
    "tables": _tables_from_json,
    "network": lambda data: _tables_from_json(data).to_network(),
    "component": _component_from_json,
    # Quoted, because a forged file may contain any text.
    "unsaved": lambda data: Unavailable(
        repr(str(data["written"])[:_WRITTEN]), "model files cannot represent it, so it was not saved", dict(data)
    ),
}


# Fitted networks


def _learned_to_json(learned: Learned) -> dict[str, Any] | None:
    """Return a learner's results other than the structure, by positions of variables; None if there are none."""
    if not learned.has_more:
        return None
    names = learned.structure.names
    place = {name: v for v, name in enumerate(names)}
    pdag, probabilities = learned.pdag, learned.edge_probabilities
    listed = [[place[u], place[v], share] for (u, v), share in (probabilities or {}).items()]
    return {
        "pdag": pdag and [[[place[u], place[v]] for u, v in edges] for edges in (pdag.directed, pdag.undirected)],
        "edge_probabilities": None if probabilities is None else listed,
        "alternatives": [[list(of) for of in other.parents] for other in learned.alternatives],
        "details": dict(learned.details),
    }


def _learned_from_json(data: Mapping[str, Any] | None, structure: Structure) -> Learned:
    """Undo :func:`_learned_to_json`, given the structure."""
    if data is None:
        return Learned(structure)
    pdag, listed, names = data["pdag"], data["edge_probabilities"], structure.names
    learned = Learned(
        structure,
        None if pdag is None else PartialGraph(names, *pdag),
        None if listed is None else {(u, v): float(share) for u, v, share in listed},
        [Structure(names, parents) for parents in data["alternatives"]],
        dict(data["details"]),
    )
    return Learned.of(learned, structure)


@dataclass(frozen=True)
class SavedNetwork:
    """A fitted network: tables with the class as target, encoder, learned structure, methods, training summary."""

    tables: LogTables
    encoder: ColumnEncoder
    learned: Learned
    named: bool
    made: dict[str, str]
    components: list[dict[str, str]]
    training: TrainingSummary | None


def network_state(model: BayesianNetworkClassifier) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the state and the arrays of a fitted network."""
    tables = model.tables_
    columns = encoder_state(model.encoder_, {name: tables.states[name] for name in tables.parents}, model.target_)
    state = {
        "made": dict(model.made_),
        "components": [dict(component) for component in model.components_],
        "named": hasattr(model, "feature_names_in_"),
        "learned": _learned_to_json(model.learned_),
        "calibration": list(tables.calibration),
        **columns,
        "variables": [
            {**variable, "parents": list(parents)}
            for variable, parents in zip(columns["variables"], tables.parents.values(), strict=True)
        ],
    }
    arrays: dict[str, npt.NDArray[Any]] = {str(i): table.values for i, table in enumerate(tables.tables.values())}
    if model.training_summary_ is not None:
        arrays |= model.training_summary_.to_arrays()
    return state, arrays


def network_of(state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> SavedNetwork:
    """Undo :func:`network_state`; a damaged state raises one of the exceptions in `bnplug._json.DAMAGE`."""
    variables = state["variables"]
    states = {variable["name"]: read_labels(variable) for variable in variables}
    parents = {variable["name"]: tuple(variable["parents"]) for variable in variables}
    tables = {}
    for i, name in enumerate(states):
        shape = tuple(len(states[variable]) for variable in (name, *parents[name]))
        values = arrays[str(i)]
        if values.shape != shape or values.dtype != np.float64:
            raise ValueError(f"an array of shape {values.shape} and dtype {values.dtype}; {shape} and float64 expected")
        tables[name] = (parents[name], values)
    network = LogTables(list(states), states, tables, str(state["target"]))
    network = network.with_calibration(state["calibration"])
    return SavedNetwork(
        network,
        read_encoder(state),
        _learned_from_json(state["learned"], network.structure),
        bool(state["named"]),
        {str(part): str(text) for part, text in state["made"].items()},
        [{str(key): str(text) for key, text in component.items()} for component in state["components"]],
        TrainingSummary.from_arrays(arrays, network),
    )
