"""Classifiers by name; and fitted ones to and from model folders and the network files of other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.contracts import SavesState
from bnplug.errors import ContractError, ModelFileError, PluginError, UnknownMethodError, article, printable
from bnplug.hooks import expressions, recipes, registry
from bnplug.hooks.containing import contain
from bnplug.hooks.descriptors import ClassifierMethod, Kind, component_kinds, name_and_parameters
from bnplug.hooks.expressions import Expression
from bnplug.io._parameters import _ESTIMATORS

if TYPE_CHECKING:
    from bnplug.io.model_folder import SavedModel

_ESTIMATORS["BayesianNetworkClassifier"] = BayesianNetworkClassifier


def recipe(name: str, /, **params: Any) -> BayesianNetworkClassifier:
    """Create the classifier that a recipe describes.

    Recipes are published methods, so their posteriors are not calibrated unless `params` say so.

    Parameters
    ----------
    name : str
        A registered recipe.
    **params
        Further parameters of `BayesianNetworkClassifier`; they win over the recipe's own.

    Raises
    ------
    UnknownMethodError
        If there is no such recipe, or a method it is made of is not installed.

    Examples
    --------
    >>> recipe("no such recipe")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no recipe 'no such recipe'...
    """
    parts = recipes.parts(name)
    registry.check_parameters(f"recipe {name!r}", BayesianNetworkClassifier, params)
    return BayesianNetworkClassifier(**{"calibrate": None, **parts, **params})


def make_classifier(name: str | Expression, /, **params: Any) -> Any:
    """Create a classifier by whatever names one: a recipe, a plugin's classifier, a structure learner, an expression.

    It is a plugin's classifier or a `BayesianNetworkClassifier`, not fitted.

    Parameters
    ----------
    name : str or Expression
        A registered name, or a composition: ``"tan+ccbn-w"`` is a structure with parameters, ``"hill-climb[cr]"`` a
        structure by a score, ``"hill-climb(max_parents=2)[cr(cv=5)]+ml(alpha=0.5)"`` all of it. A recipe may stand for
        its structure, ``"TAN-CR-ML+ccbn-w"``; without a structure, ``"+ccbn-w"``, it is the default one, and with a
        score, ``"[cr]"``, hill climbing.
    **params
        Further parameters of what is created; they win over those of a recipe.

    Raises
    ------
    UnknownMethodError
        If nothing has such a name.
    ValueError
        If the text is no expression; the message says where.
    TypeError
        If a part has no such parameter, or parts do not go together.

    Examples
    --------
    >>> make_classifier("kdb(k=1)+ml(alpha=0.5)", missing="drop")
    BayesianNetworkClassifier(missing='drop', parameters=('ml', {'alpha': 0.5}),
                              structure=('kdb', {'k': 1}))
    """
    expression = expressions.parse(name) if isinstance(name, str) else name
    if expression.structure is not None and expression.score is expression.parameters is None:
        whole, written = name_and_parameters(expression.structure)
        method = expressions.find_whole(whole)
        if method.kind == Kind.RECIPE:
            return recipe(str(registry.name_of(method)), **{**written, **params})
        if isinstance(method, ClassifierMethod):
            return registry.make(method, {**written, **params})
    parts = expressions.components(expression)
    registry.check_parameters(f"the classifier {str(expression)!r}", BayesianNetworkClassifier, params)
    return BayesianNetworkClassifier(**{**parts, **params})


def _make_with_options(name: str | Expression, params: dict[str, Any]) -> Any:
    """Create a classifier by name; parameters that an average of networks does not have are those of its `member`."""
    try:
        return make_classifier(name, **params)
    except TypeError:
        model = make_classifier(name)
        known = model.get_params(deep=False)
        if "member" not in known:
            raise
        return model.set_params(**{key if key in known else f"member__{key}": params[key] for key in params})


def save(model: Any, path: str | PathLike[str]) -> None:
    """Save a fitted classifier to a folder that :func:`load` reads; no code is stored.

    Parameters
    ----------
    model : BayesianNetworkClassifier, or a classifier of a plugin
        A classifier of a plugin must be registered, and have the two methods of :class:`bnplug.SavesState`. If it has
        ``target_``, the name of the class column, or ``column_kinds_``, the kind of each feature (``"text"``,
        ``"number"`` or ``"date"``), they are saved too, and ``bnplug predict`` and ``evaluate`` read files by them.
    path : path
        A new folder, an empty one, or one with a model of bnplug, which is replaced.

    Raises
    ------
    ValueError
        If `path` contains other files, which are left unchanged, or a parameter is a number too large for a folder.
    TypeError
        If the classifier could not be loaded again: its class is not registered, it cannot save its state, or a state
        label is not text, a number or a truth value.
    PluginError
        If `saved_state` of a plugin's classifier fails.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> model = BayesianNetworkClassifier("nb").fit([[0], [1], [1]], ["no", "yes", "yes"])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model")
    ...     load(f"{folder}/model").predict([[1]])
    array(['yes'], dtype='<U3')
    """
    from bnplug.io import model_folder
    from bnplug.io._parameters import method_to_json, parameters_to_json

    method = None if type(model) is BayesianNetworkClassifier else _saved_by(model)
    check_is_fitted(model)
    params = parameters_to_json(model.get_params(deep=False), component_kinds(type(model)))
    for name, value in params.items():
        if _has_huge_number(value):
            raise ValueError(f"{name} contains a whole number too large for a model folder; the limit is 1e308")
    if method is None:
        written = model_folder.SavedModel(None, params, *model.saved_state())
    else:
        state, arrays = _contained("saved_state", model.saved_state, registry.origin(model))
        target, kinds = (getattr(model, name, None) for name in ("target_", "column_kinds_"))
        written = model_folder.SavedModel(method_to_json(method), params, state, arrays, target, kinds)
    model_folder.write(written, path)


def _has_huge_number(written: Any) -> bool:
    """Return whether a parameter, as JSON holds it, contains an integer out of the range of floats."""
    if isinstance(written, dict | list):
        return any(map(_has_huge_number, written.values() if isinstance(written, dict) else written))
    return isinstance(written, int) and abs(written) > sys.float_info.max


def load(path: str | PathLike[str]) -> Any:
    """Return the fitted classifier that :func:`save` wrote, with the parameters that it was fitted with.

    Where a component is not installed that learned the model, or a parameter was of a kind that no file holds, the
    model predicts all the same, and fitting it again is an error that names what is missing.

    Raises
    ------
    ModelFileError
        If the folder is damaged, cut off, written by a later version, or no model at all.
    PluginError
        If it is the model of a plugin's classifier, and that is not installed or fails.
    """
    from bnplug._json import DAMAGE
    from bnplug.files import naming_file
    from bnplug.io import model_folder
    from bnplug.io.model_folder import _damaged

    with naming_file(path):
        saved = model_folder.read(path)
    try:
        with naming_file(path):
            return _loaded(saved, Path(path))
    except (ContractError, PluginError):
        raise
    except ModelFileError as error:
        raise _damaged(Path(path), error) from error
    except DAMAGE as error:
        raise _damaged(Path(path), repr(error)) from error


def _loaded(saved: SavedModel, path: Path) -> Any:
    from bnplug.io._parameters import parameters_from_json

    params = parameters_from_json(saved.params)
    if not isinstance(params.get("n_jobs"), int | None):
        raise ValueError(f"n_jobs={params['n_jobs']!r} must be a whole number or None")
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
            f"{name} derives from BayesianNetworkClassifier, and would be loaded as one. Register it as a "
            "classifier of a plugin (hook bnplug_classifiers), or save a BayesianNetworkClassifier"
        )
    raise TypeError(
        f"{article(name)} cannot be saved: it is not a BayesianNetworkClassifier, and no plugin registers "
        "it as a classifier"
    )


def _restore(saved: Any, params: dict[str, Any], path: Path) -> Any:
    """Return the classifier of a plugin; whatever its code raises names it."""
    from bnplug.io._parameters import method_from_json

    try:
        method = method_from_json(saved.method)
    except UnknownMethodError as error:
        raise PluginError(f"{path} cannot be loaded: {printable(error)}") from None
    if method.kind != Kind.CLASSIFIER:
        raise ValueError(f"{method.kind} {method.name!r} is not a classifier")
    made = registry.make(method, params)
    who = registry.origin(made)
    if not isinstance(made, SavesState):
        raise ContractError(f"{path} cannot be loaded, because {who} has no restore_state")
    restored = _contained(f"restore_state of {path}", lambda: made.restore_state(saved.state, saved.arrays), who)
    if type(restored) is not type(made) or not hasattr(restored, "classes_"):
        raise ContractError(f"{who}: restore_state must return the fitted classifier, not {restored!r}")
    return restored


def _contained(where: str, call: Callable[[], Any], who: str) -> Any:
    """Call a plugin's code; wrap its exceptions in errors that name the plugin, except errors about damaged files."""
    try:
        return contain(where, call, who)
    except PluginError as error:
        if isinstance(error.__cause__, ModelFileError):
            raise error.__cause__ from None
        raise PluginError(printable(error)) from error.__cause__


def read_bif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in a BIF file; see :func:`read_network`."""
    return read_network(path, target, "bif")


def read_xmlbif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in an XMLBIF file; see :func:`read_network`."""
    return read_network(path, target, "xmlbif")


def read_network(
    path: str | PathLike[str], target: str | None = None, format: str | None = None
) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in a file of any installed format.

    Files of bnplug contain the cuts of numeric columns and everything else that training decided about columns:
    the classifier takes raw rows. Files of other programs contain states only.

    Parameters
    ----------
    path : path
        A file of bnplug or another program.
    target : str, optional
        The class; by default the one that the file names, as files of bnplug do.
    format : str, optional
        The name of a format, such as ``"bif"`` or ``"xmlbif"``; by default the ending of `path` decides. Plugins add
        formats: bnplug-deploy has ``"net"`` (Hugin) and ``"xdsl"`` (GeNIe).

    Raises
    ------
    ModelFileError
        If the file is damaged, or of another format; the message gives the line or the node.
    ValueError
        If the file does not name a class, or no installed format has its ending.
    """
    from bnplug.io import network_files

    return BayesianNetworkClassifier.from_tables(*network_files.read_network(path, format, target))
