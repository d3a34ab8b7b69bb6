"""Models out and in again: BIF, XMLBIF and the model folder, each in a module of its own."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from bnplug.errors import did_you_mean
from bnplug.exchange.bif import read_bif as _read_bif
from bnplug.exchange.model_folder import load, save
from bnplug.exchange.xmlbif import read_xmlbif as _read_xmlbif
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

__all__ = ["load", "read_bif", "read_xmlbif", "save"]


def read_bif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier, on discrete states, that predicts by the network in a BIF file.

    Parameters
    ----------
    path : path
        A BIF file of ours, of pgmpy, pyAgrum or bnlearn.
    target : str, optional
        The class; by default the one that the file itself names, as ours do.

    Raises
    ------
    ModelFileError
        If the file is damaged or no BIF; the message says where.
    """
    return _classifier(_read_bif(path), path, target)


def read_xmlbif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in an XMLBIF file; as :func:`read_bif`."""
    return _classifier(_read_xmlbif(path), path, target)


def _classifier(tables: LogTables, path: str | PathLike[str], target: str | None) -> BayesianNetworkClassifier:
    from bnplug.classifier import BayesianNetworkClassifier

    chosen = tables.target if target is None else target
    if chosen is None:
        raise ValueError(
            f"{path} does not say which variable is the class; name the target, one of {list(tables.names)}"
        )
    if chosen not in tables.names:
        raise ValueError(f"{path}: there is no variable {chosen!r}.{did_you_mean(chosen, tables.names)}")
    return BayesianNetworkClassifier.from_tables(LogTables(tables.names, tables.states, tables.tables, chosen))
