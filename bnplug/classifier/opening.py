"""Fitted classifiers from files: model folders, BIF, XMLBIF."""

from __future__ import annotations

from os import PathLike

from bnplug.classifier.estimator import BayesianNetworkClassifier


def load(path: str | PathLike[str]) -> BayesianNetworkClassifier:
    """Return the fitted classifier that :meth:`BayesianNetworkClassifier.save` wrote.

    Raises
    ------
    ModelFileError
        If the folder is damaged, cut off, written by a later version, or no model at all.
    """
    from bnplug.exchange import model_folder

    saved = model_folder.read(path)
    model = BayesianNetworkClassifier.from_tables(saved.tables, saved.intake, **saved.settings)
    model.made_ = {part: saved.made.get(part, text) for part, text in model.made_.items()}
    if not saved.named:
        del model.feature_names_in_
    return model


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
    from bnplug.exchange import bif
    from bnplug.exchange._network_file import choose_target

    return BayesianNetworkClassifier.from_tables(choose_target(bif.read_bif_tables(path), target, path))


def read_xmlbif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in an XMLBIF file; as :func:`read_bif`."""
    from bnplug.exchange import xmlbif
    from bnplug.exchange._network_file import choose_target

    return BayesianNetworkClassifier.from_tables(choose_target(xmlbif.read_xmlbif_tables(path), target, path))
