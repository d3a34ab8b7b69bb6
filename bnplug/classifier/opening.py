"""Fitted classifiers to files and from them: model folders, and the network files of other programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.contracts import SavesState
from bnplug.errors import ContractError, ModelFileError, PluginError, UnknownMethodError, printable
from bnplug.hooks import discovery, registry
from bnplug.hooks.descriptors import Kind

if TYPE_CHECKING:
    from bnplug.exchange.model_folder import SavedModel

_T = TypeVar("_T")


def save(model: Any, path: str | PathLike[str]) -> None:
    """Save a fitted classifier to a folder that :func:`load` reads; no code is stored.

    Parameters
    ----------
    model : BayesianNetworkClassifier, or a classifier of a plugin
        One of a plugin is registered, and has the two methods of :class:`bnplug.SavesState`. If it has ``target_``,
        the name of the column of the class, or ``column_kinds_``, the kind of each feature (``"text"``, ``"number"`` or
        ``"date"``), that is kept, so that ``bnplug predict`` and ``evaluate`` read files by it.
    path : path
        A new folder, an empty one, or one with a model of bnplug, which is replaced.

    Raises
    ------
    ValueError
        If something else is there, which is left as it is.
    TypeError
        If the classifier could not be loaded again: its class is not registered, it cannot save its state, or a state
        label is no text, number or truth value.
    PluginError
        If a plugin's classifier fails to say its state.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> model = BayesianNetworkClassifier("nb").fit([[0], [1], [1]], ["no", "yes", "yes"])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model")
    ...     load(f"{folder}/model").predict([[1]])
    array(['yes'], dtype='<U3')
    """
    from bnplug.exchange import model_folder
    from bnplug.exchange._parameters import method_to_json, parameters_to_json

    method = None if type(model) is BayesianNetworkClassifier else _saved_by(model)
    check_is_fitted(model)
    state, arrays = (
        _contain(registry.origin(model), "saved_state", model.saved_state) if method else model.saved_state()
    )
    params = parameters_to_json(model.get_params(deep=False))
    written = model_folder.SavedModel(None, params, state, arrays)
    if method is not None:
        written = replace(
            written,
            method=method_to_json(method),
            target=getattr(model, "target_", None),
            column_kinds=getattr(model, "column_kinds_", None),
        )
    model_folder.write(written, path)


def load(path: str | PathLike[str]) -> Any:
    """Return the fitted classifier that :func:`save` wrote, with the parameters that it was fitted with.

    Where a component is not installed that learned the model, or a parameter was of a kind that no file holds, the
    model predicts all the same, and fitting it again is an error that names what is missing.

    Returns
    -------
    BayesianNetworkClassifier, or a classifier of a plugin

    Raises
    ------
    ModelFileError
        If the folder is damaged, cut off, written by a later version, or no model at all.
    PluginError
        If it is the model of a plugin's classifier, and that is not installed or fails.
    """
    from bnplug.exchange import model_folder
    from bnplug.exchange._model_files import DAMAGE, damaged
    from bnplug.exchange.files import naming_file

    with naming_file(path):
        saved = model_folder.read(path)
    try:
        with naming_file(path):
            return _loaded(saved, Path(path))
    except (ContractError, PluginError):
        raise
    except ModelFileError as error:
        raise damaged(Path(path), error) from error
    except DAMAGE as error:
        raise damaged(Path(path), repr(error)) from error


def _loaded(saved: SavedModel, path: Path) -> Any:
    from bnplug.exchange._parameters import parameters_from_json

    params = parameters_from_json(saved.params)
    if saved.method is not None:
        restored = _restore(saved, params, path)
        for name, said in (("target_", saved.target), ("column_kinds_", saved.column_kinds)):
            if said is not None:
                setattr(restored, name, said)
        return restored
    registry.check_parameters("the classifier", BayesianNetworkClassifier, params)
    return BayesianNetworkClassifier(**params).restore_state(saved.state, saved.arrays)


def _saved_by(model: Any) -> Any:
    """Return the method that a plugin's classifier is registered with; else an error that says what to do."""
    method, name = registry.method_of(model), type(model).__name__
    if method is not None and method.kind == Kind.CLASSIFIER:
        if not isinstance(model, SavesState):
            raise TypeError(f"{registry.origin(model)} cannot be saved: it has no saved_state and restore_state")
        return method
    if isinstance(model, BayesianNetworkClassifier):
        raise TypeError(
            f"{name} derives from BayesianNetworkClassifier, which is what loading would make of it. Register it as a "
            "classifier of a plugin (hook bnplug_classifiers), or save a BayesianNetworkClassifier"
        )
    raise TypeError(
        f"a {name} cannot be saved: it is no BayesianNetworkClassifier, and no plugin registers it as a classifier"
    )


def _restore(saved: Any, params: dict[str, Any], path: Path) -> Any:
    """Return the classifier of a plugin; whatever its code raises names it."""
    from bnplug.exchange._parameters import method_from_json

    try:
        method = method_from_json(saved.method)
    except UnknownMethodError as error:
        raise PluginError(f"{path} cannot be loaded: {printable(error)}") from None
    if method.kind != Kind.CLASSIFIER:
        raise ValueError(f"{method.kind} {method.name!r} is no classifier")
    made = registry.make(method, params)
    who = registry.origin(made)
    if not isinstance(made, SavesState):
        raise ContractError(f"{who} has no restore_state, so that {path} cannot be loaded")
    restored = _contain(who, f"restore_state of {path}", lambda: made.restore_state(saved.state, saved.arrays))
    if type(restored) is not type(made) or not hasattr(restored, "classes_"):
        raise ContractError(f"{who}: restore_state must return the fitted classifier, not {restored!r}")
    return restored


def _contain(who: str, doing: str, call: Callable[[], _T]) -> _T:
    """Call a plugin's code; wrap its exceptions in errors that name the plugin, except errors about damaged files."""
    try:
        return discovery.contain(doing, call)
    except PluginError as error:
        if isinstance(error.__cause__, ModelFileError):
            raise error.__cause__ from None
        raise PluginError(f"{who} failed: {printable(error)}") from error.__cause__


def read_bif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in a BIF file.

    A file of ours carries the cuts of numeric columns and what else training decided about columns, so that the
    classifier takes raw rows, and bins by their labels too. What another program wrote has states alone.

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
    return _read(path, "bif", target)


def read_xmlbif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in an XMLBIF file; as :func:`read_bif`."""
    return _read(path, "xmlbif", target)


def read_xdsl(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in an XDSL file of GeNIe; as :func:`read_bif`."""
    return _read(path, "xdsl", target)


def read_net(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in a NET file of Hugin; as :func:`read_bif`."""
    return _read(path, "net", target)


def _read(path: str | PathLike[str], format_name: str, target: str | None) -> BayesianNetworkClassifier:
    from bnplug.exchange.network_files import read_network

    return BayesianNetworkClassifier.from_tables(*read_network(path, format_name, target))
