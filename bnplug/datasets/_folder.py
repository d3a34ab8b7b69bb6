"""A folder of data sets: one CSV (also compressed) or Parquet file each, and optionally a MANIFEST.csv.

The class is the column ``class``, or else the last one; an empty field is a missing value. A data set that
comes as NAME-train and NAME-test is also found as NAME, with its split. MANIFEST.csv has a column ``name``;
``nominal_columns`` lists the features that are categories even where they look like numbers, as ``ALL`` or as
names separated by ``;``; zeros at the beginning of the others mean nothing. Where it says nothing about a data set, the
classifier decides ("auto"), and a column with such zeros is text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from bnplug.data.files import read_data, read_text
from bnplug.data.frames import to_frame
from bnplug.data.kinds import is_numeric
from bnplug.datasets.dataset import Dataset
from bnplug.errors import did_you_mean

_MANIFEST = "MANIFEST.csv"
_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".parquet", ".pq")


def find(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the data sets in `folder` by name: their file, or the files of their training and test part.

    Raises
    ------
    ValueError
        If there is no such folder, or two files claim one name.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    found: dict[str, tuple[Path, ...]] = {}
    for path in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is None or path.name == _MANIFEST:
            continue
        name = path.name.removesuffix(suffix)
        if name in found:
            raise ValueError(f"{folder}: {found[name][0].name} and {path.name} claim one name; remove one of them")
        found[name] = (path,)
    return dict(sorted({**_pairs(found), **found}.items()))


def load(folder: Path, name: str, files: tuple[Path, ...], **options: Any) -> Dataset:
    """Read one of the data sets that `find` found in `folder`, with these options of `read_data`.

    Raises
    ------
    ValueError
        If a file or the manifest cannot be read, or they do not fit each other.
    """
    nominal = _nominal_columns(folder, name, files)
    parts = [_read(path, nominal, options) for path in files]
    if len(parts) == 2:
        if list(parts[0].columns) != list(parts[1].columns):
            raise ValueError(f"{files[0]} and {files[1]}: the two parts of {name!r} have different columns")
        parts = _with_common_types(files, parts, options)
    frame = pd.concat([_with_plain_integers(part, parts) for part in parts], ignore_index=True)
    target = _target(frame)
    features = [column for column in frame.columns if column != target]
    rows = np.arange(len(frame))
    return Dataset(
        name=name,
        X=frame[features],
        y=frame[target],
        categorical_features="auto" if nominal is None else _features(nominal, features),
        source=", ".join(map(str, files)),
        split=(rows[: len(parts[0])], rows[len(parts[0]) :]) if len(parts) == 2 else None,
    )


def describe(folder: Path, files: dict[str, tuple[Path, ...]]) -> dict[str, str]:
    """Return what the manifest says about the size of each data set, or else the names of its files."""
    manifest = _manifest(folder)
    told = {"rows", "features", "classes"} <= set(manifest.columns)

    def size(name: str) -> str:
        parts = [_stem(path) for path in files[name]]
        if not told or not set(parts) <= set(manifest.index):
            return ", ".join(path.name for path in files[name])
        listed = manifest.loc[parts]
        rows = " + ".join(listed["rows"])
        return f"{rows} rows, {listed['features'].iloc[0]} features, {listed['classes'].iloc[0]} classes"

    return {name: size(name) for name in files}


def _pairs(found: dict[str, tuple[Path, ...]]) -> dict[str, tuple[Path, ...]]:
    stems = [name.removesuffix("-train") for name in found if name.endswith("-train")]
    return {
        stem: (*found[f"{stem}-train"], *found[f"{stem}-test"]) for stem in stems if stem and f"{stem}-test" in found
    }


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
        raise ValueError(f"{path}: {_MANIFEST} lists {unknown} as nominal, and there are no such columns.{hint}")
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


def _features(nominal: list[str] | Literal["ALL"], features: list[str]) -> tuple[str, ...]:
    return tuple(name for name in features if nominal == "ALL" or name in nominal)


def _stem(path: Path) -> str:
    return path.name.removesuffix(next(suffix for suffix in _SUFFIXES if path.name.endswith(suffix)))
