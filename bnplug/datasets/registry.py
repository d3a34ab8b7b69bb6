"""Finding a data set by name: those that ship or are generated, those in a folder, and those of OpenML.

A folder has one CSV (also compressed) or Parquet file per data set. The class is the column ``class``, or else the last
one; an empty field is a missing value. NAME-train and NAME-test together are NAME, with its split. A MANIFEST.csv may
list in ``nominal_columns``, by ``name``, the features that are categories even if they look like numbers: ``ALL``, or
names separated by ``;``. Leading zeros of other columns are then ignored. For a data set that it does not list, the
classifier decides ("auto"), and a column with leading zeros is text.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from bnplug.datasets import generated
from bnplug.datasets.dataset import Data, Dataset
from bnplug.errors import did_you_mean, one_line
from bnplug.sources.files import read_data, read_text
from bnplug.table.frames import to_frame
from bnplug.table.kinds import is_numeric

_MANIFEST = "MANIFEST.csv"
_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".parquet", ".pq")
_OPENML = "openml:"
_OF_FILES = ["text", "missing", "numbers", "sep", "encoding", "decimal"]


@dataclass(frozen=True)
class Entry:
    """A data set that can be loaded: its name, where it comes from, and a line about it."""

    name: str
    origin: str
    summary: str


@dataclass(frozen=True)
class _BuiltIn:
    """A function that makes a data set, with the parameters that are fixed and how its features are taken."""

    make: Callable[..., Data]
    summary: str
    categorical: Literal["all", "none", "auto"] = "all"
    origin: str = "generated"
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def load(self, name: str, parameters: Mapping[str, Any]) -> Dataset:
        free = [parameter for parameter in inspect.signature(self.make).parameters if parameter not in self.fixed]
        _refuse_unknown(name, parameters, free)
        X, y = self.make(**self.fixed, **parameters)
        features: tuple[str, ...] | Literal["auto"] = tuple(X.columns) if self.categorical == "all" else ()
        return Dataset(name, X, y, "auto" if self.categorical == "auto" else features, self.origin)


_shipped = partial(_BuiltIn, categorical="auto", origin="scikit-learn")
_waves = partial(_BuiltIn, generated.waveform, categorical="none")
_ROBOTS = "432 rows, 6 features, 2 classes: all robots, class by the rule of MONK's problem"
_BUILT_IN = {
    "balance-scale": _BuiltIn(
        generated.balance_scale, "625 rows, 4 features, 3 classes: which side a balance tips to", "none"
    ),
    "breast-cancer": _shipped(generated.breast_cancer, "569 rows, 30 features, 2 classes: Wisconsin, diagnostic"),
    "corral": _BuiltIn(generated.corral, "128 rows, 6 features, 2 classes: (A0 and A1) or (B0 and B1)"),
    "digits": _shipped(generated.digits, "1797 rows, 64 features, 10 classes: handwritten digits, 8 x 8"),
    "iris": _shipped(generated.iris, "150 rows, 4 features, 3 classes: Fisher's irises"),
    "led": _BuiltIn(generated.led, "1000 rows (n), 7 features, 10 classes: seven-segment digits, noise=0.1"),
    "mofn-3-7-10": _BuiltIn(generated.mofn_3_7_10, "1024 rows, 10 features, 2 classes: at least 3 of 7 bits"),
    "monks-1": _BuiltIn(generated.monks, f"{_ROBOTS} 1", fixed={"problem": 1}),
    "monks-2": _BuiltIn(generated.monks, f"{_ROBOTS} 2", fixed={"problem": 2}),
    "monks-3": _BuiltIn(generated.monks, f"{_ROBOTS} 3", fixed={"problem": 3}),
    "p08-synthetic": _BuiltIn(
        generated.p08_synthetic, "1000 rows (n), 3 features, 2 classes: when a discriminative structure is needed"
    ),
    "poker-hand": _BuiltIn(generated.poker_hand, "100000 rows (n), 10 features, 9 classes: what five cards are worth"),
    "tic-tac-toe": _BuiltIn(generated.tic_tac_toe, "958 rows, 9 features, 2 classes: all ends of the game"),
    "waveform-21": _waves("5000 rows (n), 21 features, 3 classes: Breiman's waves", fixed={"noise_features": 0}),
    "waveform-40": _waves(
        "5000 rows (n), 40 features, 3 classes: Breiman's waves and 19 features of noise", fixed={"noise_features": 19}
    ),
    "wine": _shipped(generated.wine, "178 rows, 13 features, 3 classes: cultivars"),
    "z17-synthetic": _BuiltIn(
        generated.z17_synthetic, "10000 rows (n), 3 features, 2 classes: a badly conditioned logistic model, alpha=1"
    ),
}


def names(data_dir: str | Path | None = None) -> list[str]:
    """Return the names that `load` takes, except those of OpenML; with `data_dir`, also those of a folder of files.

    Examples
    --------
    >>> names()[:4]
    ['balance-scale', 'breast-cancer', 'corral', 'digits']
    """
    return [entry.name for entry in entries(data_dir)]


def entries(data_dir: str | Path | None = None) -> list[Entry]:
    """Return an entry for each data set that `load` finds, by name; files in `data_dir` have precedence.

    Examples
    --------
    >>> entries()[2]
    Entry(name='corral', origin='generated', summary='128 rows, 6 features, 2 classes: (A0 and A1) or (B0 and B1)')
    """
    listed = {name: Entry(name, made.origin, made.summary) for name, made in _BUILT_IN.items()}
    if data_dir is not None:
        path = Path(data_dir)
        manifest = _manifest(path)
        for name, files in _find_files(path).items():
            listed[name] = Entry(name, str(path), _describe(files, manifest))
    return sorted(listed.values(), key=lambda entry: entry.name)


def load(name: str, data_dir: str | Path | None = None, **parameters: Any) -> Dataset:
    """Return a data set by name.

    Parameters
    ----------
    name : str
        One of `names`, or ``openml:NAME``, which is downloaded from OpenML and cached.
    data_dir : path, optional
        A folder of CSV or Parquet files: the class in the column ``class``, or else in the last one; an empty
        field is a missing value; a MANIFEST.csv may say in ``nominal_columns`` which features are
        categories. A file there wins over a data set of the same name that ships.
    **parameters
        What the function that makes the data set takes, such as ``n`` and ``random_state``; for OpenML
        ``version`` and ``data_home``; for a file what :func:`bnplug.sources.files.read_data` takes, such as ``sep``.

    Raises
    ------
    ValueError
        For an unknown name, and for data that cannot be found or read.
    TypeError
        For parameters that the data set does not have.

    Examples
    --------
    >>> load("led", n=200, random_state=1).X.shape
    (200, 7)
    >>> load("tictactoe")
    Traceback (most recent call last):
    ValueError: there is no data set 'tictactoe'. Did you mean 'tic-tac-toe'? `bnplug datasets` lists them, ...
    """
    if name.startswith(_OPENML):
        _refuse_unknown(name, parameters, ["version", "data_home"])
        return _fetch(name.removeprefix(_OPENML), **parameters)
    files = {} if data_dir is None else _find_files(Path(data_dir))
    if data_dir is not None and name in files:
        _refuse_unknown(name, parameters, _OF_FILES)
        return _load_files(Path(data_dir), name, files[name], **parameters)
    if name in _BUILT_IN:
        return _BUILT_IN[name].load(name, parameters)
    where = "" if data_dir is None else f", nor in {data_dir}"
    raise ValueError(
        f"there is no data set {name!r}{where}.{did_you_mean(name, {*_BUILT_IN, *files})} "
        f"`bnplug datasets` lists them, and {_OPENML}NAME asks OpenML"
    )


def _refuse_unknown(name: str, parameters: Mapping[str, Any], known: list[str]) -> None:
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        takes = f"only {', '.join(known)}" if known else "none"
        raise TypeError(f"data set {name!r} has no parameter {unknown[0]!r}; it takes {takes}")


def _fetch(name: str, version: int | str = "active", data_home: str | None = None) -> Dataset:
    """Return a data set of OpenML, downloaded and cached by scikit-learn."""
    from http.client import HTTPException

    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # The error below says it, once.
            warnings.filterwarnings("ignore", message="A network error occurred")
            options: dict[str, Any] = {"version": version, "data_home": data_home, "parser": "auto", "n_retries": 1}
            bunch = fetch_openml(name, as_frame=True, **options)
    except (OSError, ValueError, HTTPException) as error:
        cause = one_line(error) or type(error).__name__
        message = f"openml:{name}: cannot be loaded from OpenML (no network, or no such data set): {cause}"
        raise ValueError(message) from error
    if not isinstance(bunch.target, pd.Series):
        raise ValueError(f"openml:{name}: expected one class column, got {bunch.target_names}")
    categorical = bunch.data.dtypes[[isinstance(dtype, pd.CategoricalDtype) for dtype in bunch.data.dtypes]]
    labels = bunch.target.astype(object) if isinstance(bunch.target.dtype, pd.CategoricalDtype) else bunch.target
    return Dataset(
        name=f"openml:{name}",
        X=bunch.data,
        y=labels,
        categorical_features=tuple(map(str, categorical.index)),
        source=f"OpenML, {bunch.details.get('name', name)} version {bunch.details.get('version', version)}",
    )


# Folders


def _find_files(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the data sets in `folder` by name: their file, or the files of their training and test part."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    files: dict[str, tuple[Path, ...]] = {}
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(_SUFFIXES) or path.name == _MANIFEST:
            continue
        name = _stem(path)
        if name in files:
            raise ValueError(f"{folder}: {files[name][0].name} and {path.name} have one data set name; remove one")
        files[name] = (path,)
    stems = [name.removesuffix("-train") for name in files if name.endswith("-train")]
    pairs = {
        stem: (*files[f"{stem}-train"], *files[f"{stem}-test"]) for stem in stems if stem and f"{stem}-test" in files
    }
    return dict(sorted({**pairs, **files}.items()))


def _load_files(folder: Path, name: str, files: tuple[Path, ...], **options: Any) -> Dataset:
    """Read one of the data sets of `_find_files` in `folder`; `options` are those of `read_data`."""
    nominal = _nominal_columns(folder, name, files)
    parts = [_read(path, nominal, options) for path in files]
    if len(parts) == 2:
        if list(parts[0].columns) != list(parts[1].columns):
            raise ValueError(f"{files[0]} and {files[1]}: the two parts of {name!r} have different columns")
        parts = _with_common_types(files, parts, options)
    frame = pd.concat([_with_plain_integers(part, parts) for part in parts], ignore_index=True)
    target = _target(frame)
    features = [column for column in frame.columns if column != target]
    categories: tuple[str, ...] | Literal["auto"] = "auto"
    if nominal is not None:
        categories = tuple(name for name in features if nominal == "ALL" or name in nominal)
    rows = np.arange(len(frame))
    return Dataset(
        name=name,
        X=frame[features],
        y=frame[target],
        categorical_features=categories,
        source=", ".join(map(str, files)),
        split=(rows[: len(parts[0])], rows[len(parts[0]) :]) if len(parts) == 2 else None,
    )


def _describe(files: tuple[Path, ...], manifest: pd.DataFrame) -> str:
    """Return what the manifest says about the size of a data set, or else the names of its files."""
    parts = [_stem(path) for path in files]
    if not {"rows", "features", "classes"} <= set(manifest.columns) or not set(parts) <= set(manifest.index):
        return ", ".join(path.name for path in files)
    listed = manifest.loc[parts]
    rows = " + ".join(listed["rows"])
    return f"{rows} rows, {listed['features'].iloc[0]} features, {listed['classes'].iloc[0]} classes"


def _manifest(folder: Path) -> pd.DataFrame:
    """Return the manifest by name, every cell as text; empty where there is none."""
    path = folder / _MANIFEST
    if not path.exists():
        return pd.DataFrame()
    manifest = to_frame(read_text(path), str(path))
    if "name" not in manifest.columns:
        raise ValueError(f"{path}: there is no column 'name', only {list(manifest.columns)}")
    if manifest["name"].duplicated().any():
        repeated = sorted(manifest.loc[manifest["name"].duplicated(), "name"])
        raise ValueError(f"{path}: {repeated} are listed more than once")
    return manifest.set_index("name")


def _nominal_columns(folder: Path, name: str, files: tuple[Path, ...]) -> list[str] | Literal["ALL"] | None:
    """Return what the manifest says about the data set, or about its first part; None where it says nothing."""
    manifest = _manifest(folder)
    listed = [candidate for candidate in (name, _stem(files[0])) if candidate in manifest.index]
    if not listed or "nominal_columns" not in manifest.columns:
        return None
    text = str(manifest.loc[listed[0], "nominal_columns"]).strip()
    return "ALL" if text == "ALL" else [column.strip() for column in text.split(";") if column.strip()]


def _read(path: Path, nominal: list[str] | Literal["ALL"] | None, options: dict[str, Any]) -> pd.DataFrame:
    """Read a file; where columns are said to be nominal, "01" stays "01" in these and is 1 in the others."""
    frame = to_frame(read_data(path, **options), str(path))
    if nominal is None:
        return frame
    target = _target(frame)
    columns = [column for column in (frame.columns if nominal == "ALL" else nominal) if column != target]
    unknown = [column for column in columns if column not in frame.columns]
    if unknown:
        hint = did_you_mean(unknown[0], frame.columns)
        raise ValueError(f"{path}: {_MANIFEST} lists {unknown} as nominal, which are not columns.{hint}")
    others = [column for column in frame.columns if column not in (*columns, target)]
    if any(is_numeric(frame[column]) for column in columns) or not all(is_numeric(frame[column]) for column in others):
        options = {**options, "numbers": [*options.get("numbers", ()), *others]}
        frame = to_frame(read_data(path, **_as_text(columns, options)), str(path))
    return frame


def _as_text(columns: list[str], options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "text": [*options.get("text", ()), *columns]}


def _with_common_types(
    files: tuple[Path, ...], parts: list[pd.DataFrame], options: dict[str, Any]
) -> list[pd.DataFrame]:
    """Read the columns that are numbers in one part and not in the other as text in both, as in one file."""
    mixed = [name for name in parts[0].columns if len({_kind(part[name]) for part in parts} - {"empty"}) > 1]
    return [
        part.assign(**to_frame(read_data(path, **_as_text(mixed, options)), str(path))[mixed]) if mixed else part
        for path, part in zip(files, parts, strict=True)
    ]


def _with_plain_integers(part: pd.DataFrame, parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Convert nullable integers to objects if the types of the parts differ: pandas would convert them to floats."""
    types = {name: {part[name].dtype for part in parts} for name in part.columns}
    mixed = [name for name, dtypes in types.items() if len(dtypes) > 1 and dtypes & {pd.Int64Dtype(), pd.UInt64Dtype()}]
    return part.astype(dict.fromkeys(mixed, object)) if mixed else part


def _kind(column: pd.Series[Any]) -> str:
    """Return what a column holds, any two kinds of numbers being one."""
    return "number" if is_numeric(column) else str(pd.api.types.infer_dtype(column, skipna=True))


def _target(frame: pd.DataFrame) -> str:
    return "class" if "class" in frame.columns else str(frame.columns[-1])


def _stem(path: Path) -> str:
    return path.name.removesuffix(next(suffix for suffix in _SUFFIXES if path.name.endswith(suffix)))
