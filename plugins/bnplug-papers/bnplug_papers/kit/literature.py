"""The figures that papers published; ``published/README.md`` names the sources."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bnplug.errors import did_you_mean

_FOLDER = Path(__file__).parents[1] / "published"
_CORRECTIONS = "corrections"


def published_names() -> list[str]:
    """Return the names of the published tables.

    Examples
    --------
    >>> [name for name in published_names() if name.startswith("zaidi2017")]
    ['zaidi2017-table3-datasets', 'zaidi2017-win-draw-loss']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.csv") if path.stem != _CORRECTIONS)


def published(name: str) -> pd.DataFrame:
    """Return a published table, one figure a row, with its known misprints corrected.

    Parameters
    ----------
    name : str
        One of `published_names`: paper, year, number and subject of the table.

    Returns
    -------
    pandas.DataFrame
        Mostly with columns ``dataset``, ``method``, ``mean`` and ``std``. ``attrs["corrections"]`` lists the
        corrections, each a dict with the printed figure and the reason.

    Examples
    --------
    >>> accuracy = published("kelner2012-table6-accuracy").pivot(index="dataset", columns="method", values="mean")
    >>> accuracy.loc["Average", ["RMCV (NBC)", "TAN", "NBC"]].to_dict()
    {'RMCV (NBC)': 84.78, 'TAN': 82.51, 'NBC': 81.35}
    """
    if name not in published_names():
        hint = did_you_mean(name, published_names())
        raise ValueError(f"there is no published table {name!r}.{hint} There are {', '.join(published_names())}")
    table = pd.read_csv(_FOLDER / f"{name}.csv")
    corrections = pd.read_csv(_FOLDER / f"{_CORRECTIONS}.csv").query("name == @name").to_dict("records")
    for fix in corrections:
        place = (table["dataset"] == fix["dataset"]) & (table["method"] == fix["method"])
        table.loc[place, fix["column"]] = fix["corrected"]
    table.attrs["corrections"] = corrections
    return table


def published_table(name: str, value: str = "mean") -> pd.DataFrame:
    """Return a published table as it was printed: data sets by methods, in the order of the paper.

    Parameters
    ----------
    name : str
        As for `published`.
    value : str
        The figure.

    Examples
    --------
    >>> published_table("pernkopf2013-tables1-2-accuracy").loc[["MNIST", "Spambase"], ["NB-ML", "SVM"]]
              NB-ML    SVM
    MNIST     83.73  96.40
    Spambase  89.87  94.57
    """
    long = published(name)
    wide = long.pivot(index="dataset", columns="method", values=value).rename_axis(index=None, columns=None)
    return wide.loc[list(dict.fromkeys(long["dataset"])), list(dict.fromkeys(long["method"]))]
