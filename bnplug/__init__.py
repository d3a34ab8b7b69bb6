"""Bayesian-network classifiers from pluggable structure learners, scores and parameter learners.

Every public name is loaded when first used: ``import bnplug`` itself loads neither pgmpy nor numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from bnplug.builtin.discretizers.equal_bins import Log2QuantileDiscretizer as Log2QuantileDiscretizer
    from bnplug.builtin.discretizers.equal_bins import QuantileDiscretizer as QuantileDiscretizer
    from bnplug.builtin.discretizers.equal_bins import UniformDiscretizer as UniformDiscretizer
    from bnplug.builtin.discretizers.mdl import MDLDiscretizer as MDLDiscretizer
    from bnplug.classifier import BayesianNetworkClassifier as BayesianNetworkClassifier
    from bnplug.classifier import BayesianNetworkImputer as BayesianNetworkImputer
    from bnplug.classifier import load as load
    from bnplug.classifier import make_classifier as make_classifier
    from bnplug.classifier import read_bif as read_bif
    from bnplug.classifier import read_network as read_network
    from bnplug.classifier import read_xmlbif as read_xmlbif
    from bnplug.classifier import recipe as recipe
    from bnplug.classifier import save as save
    from bnplug.contracts import CompiledNetwork as CompiledNetwork
    from bnplug.contracts import CountingNetwork as CountingNetwork
    from bnplug.contracts import Engine as Engine
    from bnplug.contracts import Evaluator as Evaluator
    from bnplug.contracts import InnerFold as InnerFold
    from bnplug.contracts import ParameterLearner as ParameterLearner
    from bnplug.contracts import SavesState as SavesState
    from bnplug.contracts import ScoreFunction as ScoreFunction
    from bnplug.contracts import StructureLearner as StructureLearner
    from bnplug.errors import AmbiguousNameError as AmbiguousNameError
    from bnplug.errors import AmbiguousValueWarning as AmbiguousValueWarning
    from bnplug.errors import BnplugWarning as BnplugWarning
    from bnplug.errors import ClusterError as ClusterError
    from bnplug.errors import ConstantPredictionWarning as ConstantPredictionWarning
    from bnplug.errors import ContractError as ContractError
    from bnplug.errors import DeprecatedNameWarning as DeprecatedNameWarning
    from bnplug.errors import MissingColumnWarning as MissingColumnWarning
    from bnplug.errors import MissingFeatureWarning as MissingFeatureWarning
    from bnplug.errors import ModelFileError as ModelFileError
    from bnplug.errors import NotInMemoryError as NotInMemoryError
    from bnplug.errors import NotRepresentableError as NotRepresentableError
    from bnplug.errors import PluginError as PluginError
    from bnplug.errors import PluginWarning as PluginWarning
    from bnplug.errors import PooledStatesWarning as PooledStatesWarning
    from bnplug.errors import SearchInterruptedWarning as SearchInterruptedWarning
    from bnplug.errors import SearchWarning as SearchWarning
    from bnplug.errors import TargetLeakageWarning as TargetLeakageWarning
    from bnplug.errors import UnknownMethodError as UnknownMethodError
    from bnplug.errors import UnseenValueWarning as UnseenValueWarning
    from bnplug.errors import UselessColumnWarning as UselessColumnWarning
    from bnplug.experiments.recommending import recommend as recommend
    from bnplug.hooks.descriptors import ClassifierMethod as ClassifierMethod
    from bnplug.hooks.descriptors import DiscretizerMethod as DiscretizerMethod
    from bnplug.hooks.descriptors import EngineMethod as EngineMethod
    from bnplug.hooks.descriptors import NetworkFormat as NetworkFormat
    from bnplug.hooks.descriptors import ParameterLearnerMethod as ParameterLearnerMethod
    from bnplug.hooks.descriptors import PluginCommand as PluginCommand
    from bnplug.hooks.descriptors import Recipe as Recipe
    from bnplug.hooks.descriptors import Reproduction as Reproduction
    from bnplug.hooks.descriptors import ScoreFunctionMethod as ScoreFunctionMethod
    from bnplug.hooks.descriptors import StructureLearnerMethod as StructureLearnerMethod
    from bnplug.hooks.registering import register as register
    from bnplug.hooks.registry import discretizer as discretizer
    from bnplug.hooks.registry import engine as engine
    from bnplug.hooks.registry import methods as methods
    from bnplug.hooks.registry import parameter_learner as parameter_learner
    from bnplug.hooks.registry import plugins as plugins
    from bnplug.hooks.registry import score_function as score_function
    from bnplug.hooks.registry import structure_learner as structure_learner
    from bnplug.hooks.specs import HOOK_API as HOOK_API
    from bnplug.hooks.specs import hookimpl as hookimpl
    from bnplug.hooks.specs import hookspec as hookspec
    from bnplug.inference.em import CountsLearner as CountsLearner
    from bnplug.model.log_tables import LogTables as LogTables
    from bnplug.sources.training import encode_training as encode_training
    from bnplug.structure import Learned as Learned
    from bnplug.structure import PartialGraph as PartialGraph
    from bnplug.structure import Structure as Structure
    from bnplug.table.column_summary import ColumnSummary as ColumnSummary
    from bnplug.table.discretizer import Discretizer as Discretizer
    from bnplug.table.rules import ColumnRules as ColumnRules
    from bnplug.table.table import Table as Table

# The module of each public name; the block above says the same to type checkers.
_HOMES = {
    "builtin.discretizers.mdl": "MDLDiscretizer",
    "builtin.discretizers.equal_bins": "Log2QuantileDiscretizer QuantileDiscretizer UniformDiscretizer",
    "classifier": "BayesianNetworkClassifier BayesianNetworkImputer load make_classifier read_bif read_network "
    "read_xmlbif recipe save",
    "contracts": "CompiledNetwork CountingNetwork Engine Evaluator InnerFold ParameterLearner SavesState "
    "ScoreFunction StructureLearner",
    "errors": "AmbiguousNameError AmbiguousValueWarning BnplugWarning ClusterError ConstantPredictionWarning "
    "ContractError DeprecatedNameWarning MissingColumnWarning MissingFeatureWarning ModelFileError NotInMemoryError "
    "NotRepresentableError PluginError PluginWarning PooledStatesWarning SearchInterruptedWarning SearchWarning "
    "TargetLeakageWarning UnknownMethodError UnseenValueWarning UselessColumnWarning",
    "experiments.recommending": "recommend",
    "hooks.descriptors": "ClassifierMethod DiscretizerMethod EngineMethod NetworkFormat ParameterLearnerMethod "
    "PluginCommand Recipe Reproduction ScoreFunctionMethod StructureLearnerMethod",
    "hooks.registering": "register",
    "hooks.registry": "discretizer engine methods parameter_learner plugins score_function structure_learner",
    "hooks.specs": "HOOK_API hookimpl hookspec",
    "inference.em": "CountsLearner",
    "model.log_tables": "LogTables",
    "sources.training": "encode_training",
    "structure": "Learned PartialGraph Structure",
    "table.column_summary": "ColumnSummary",
    "table.discretizer": "Discretizer",
    "table.rules": "ColumnRules",
    "table.table": "Table",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [*sorted(_HOME_OF), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first used (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bnplug' has no attribute {name!r}")
    value = getattr(import_module(f"bnplug.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
