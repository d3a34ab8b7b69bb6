"""Finding a data set by name: those that ship or are generated, a folder's, and OpenML's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bnplug.datasets import _folder, _openml, drawn, generated, shipped
from bnplug.datasets.dataset import Data, Dataset
from bnplug.errors import did_you_mean

_OPENML = "openml:"
_OF_FILES = ["text", "missing", "numbers", "sep", "encoding"]


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


def _shipped(make: Callable[..., Data], summary: str) -> _BuiltIn:
    return _BuiltIn(make, summary, categorical="auto", origin="scikit-learn")


_ROBOTS = "432 rows, 6 features, 2 classes: all robots, class by the rule of MONK's problem"
_BUILT_IN = {
    "balance-scale": _BuiltIn(
        generated.balance_scale, "625 rows, 4 features, 3 classes: which side a balance tips to", "none"
    ),
    "breast-cancer": _shipped(shipped.breast_cancer, "569 rows, 30 features, 2 classes: Wisconsin, diagnostic"),
    "corral": _BuiltIn(generated.corral, "128 rows, 6 features, 2 classes: (A0 and A1) or (B0 and B1)"),
    "digits": _shipped(shipped.digits, "1797 rows, 64 features, 10 classes: handwritten digits, 8 x 8"),
    "iris": _shipped(shipped.iris, "150 rows, 4 features, 3 classes: Fisher's irises"),
    "led": _BuiltIn(drawn.led, "1000 rows (n), 7 features, 10 classes: seven-segment digits, noise=0.1"),
    "mofn-3-7-10": _BuiltIn(generated.mofn_3_7_10, "1024 rows, 10 features, 2 classes: at least 3 of 7 bits"),
    "monks-1": _BuiltIn(generated.monks, f"{_ROBOTS} 1", fixed={"problem": 1}),
    "monks-2": _BuiltIn(generated.monks, f"{_ROBOTS} 2", fixed={"problem": 2}),
    "monks-3": _BuiltIn(generated.monks, f"{_ROBOTS} 3", fixed={"problem": 3}),
    "p08-synthetic": _BuiltIn(
        drawn.p08_synthetic, "1000 rows (n), 3 features, 2 classes: when a discriminative structure is needed"
    ),
    "poker-hand": _BuiltIn(drawn.poker_hand, "100000 rows (n), 10 features, 9 classes: what five cards are worth"),
    "tic-tac-toe": _BuiltIn(generated.tic_tac_toe, "958 rows, 9 features, 2 classes: all ends of the game"),
    "waveform-21": _BuiltIn(
        drawn.waveform, "5000 rows (n), 21 features, 3 classes: Breiman's waves", "none", fixed={"noise_features": 0}
    ),
    "waveform-40": _BuiltIn(
        drawn.waveform,
        "5000 rows (n), 40 features, 3 classes: Breiman's waves and 19 features of noise",
        "none",
        fixed={"noise_features": 19},
    ),
    "wine": _shipped(shipped.wine, "178 rows, 13 features, 3 classes: cultivars"),
    "z17-synthetic": _BuiltIn(
        drawn.z17_synthetic, "10000 rows (n), 3 features, 2 classes: a badly conditioned logistic model, alpha=1"
    ),
}


def names(data_dir: str | Path | None = None) -> list[str]:
    """Return the names that `load` takes, apart from OpenML's.

    Parameters
    ----------
    data_dir : path, optional
        A folder of data files, whose names come along.

    Examples
    --------
    >>> names()[:4]
    ['balance-scale', 'breast-cancer', 'corral', 'digits']
    """
    return [entry.name for entry in entries(data_dir)]


def entries(data_dir: str | Path | None = None) -> list[Entry]:
    """Return what `load` can load, with a line about each, by name.

    Parameters
    ----------
    data_dir : path, optional
        A folder of data files. A file there wins over a data set of the same name that ships.

    Examples
    --------
    >>> entries()[2]
    Entry(name='corral', origin='generated', summary='128 rows, 6 features, 2 classes: (A0 and A1) or (B0 and B1)')
    """
    listed = {name: Entry(name, made.origin, made.summary) for name, made in _BUILT_IN.items()}
    if data_dir is not None:
        path = Path(data_dir)
        summaries = _folder.describe(path, _folder.find(path))
        listed.update({name: Entry(name, str(path), summary) for name, summary in summaries.items()})
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
        ``version`` and ``data_home``; for a file what :func:`bnplug.data.files.read_data` takes, such as ``sep``.

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
        return _openml.fetch(name.removeprefix(_OPENML), **parameters)
    files = {} if data_dir is None else _folder.find(Path(data_dir))
    if data_dir is not None and name in files:
        _refuse_unknown(name, parameters, _OF_FILES)
        return _folder.load(Path(data_dir), name, files[name], **parameters)
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
