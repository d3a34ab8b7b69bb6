"""Learning the members of a mixture from rows in memory, in files or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.base import clone

from bnplug import BayesianNetworkClassifier, Structure
from bnplug.hooks.components import component
from bnplug.hooks.descriptors import is_component, name_and_parameters
from bnplug.table.discretizer import unfitted

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.table.encoder import ColumnEncoder


class MemoryRows(NamedTuple):
    """Training rows in memory."""

    X: Any
    y: Any
    sample_weight: Any = None

    def fit(self, network: BayesianNetworkClassifier) -> BayesianNetworkClassifier:
        """Fit a network to the rows."""
        return network.fit(self.X, self.y, self.sample_weight)

    def encode(self, network: BayesianNetworkClassifier) -> tuple[Table, ColumnEncoder]:
        """Return the rows as the table of a network, and the encoder."""
        return network.encode_training(self.X, self.y, self.sample_weight)

    def choose(self, network: BayesianNetworkClassifier) -> tuple[BayesianNetworkClassifier, Any]:
        """Return the fitted network, and its parameter learner with what it chose by cross-validation."""
        fitted = self.fit(network)
        return fitted, fitted.parameters_


class EncodedRows:
    """Training rows in files or on a Dask cluster, which every member encodes with different cuts.

    Without numeric columns, all members share one table.
    """

    def __init__(self, source: Any, target: Any, sample_weight: Any, options: Mapping[str, Any]) -> None:
        self.source = list(source) if isinstance(source, Iterator) else source
        self.target, self.sample_weight = target, sample_weight
        self.options = {name: value for name, value in options.items() if value is not None}
        self._encoded: tuple[Table, ColumnEncoder] | None = None
        self._seed: Any = None

    def fit(self, network: BayesianNetworkClassifier) -> BayesianNetworkClassifier:
        """Fit a network to the rows."""
        return network.fit_table(*self.encode(network))

    def encode(self, network: BayesianNetworkClassifier) -> tuple[Table, ColumnEncoder]:
        """Return the rows as the table of a network, and the encoder; the last table is kept."""
        if self._encoded is not None and (self._seed == network.random_state or not self._encoded[1].numeric):
            return self._encoded
        options = dict(self.options)
        if "cache" in options:
            options["cache"] = Path(options["cache"]) / str(network.random_state)
        self._seed = network.random_state
        self._encoded = network.encode_training(self.source, self.target, self.sample_weight, **options)
        return self._encoded

    def choose(self, network: BayesianNetworkClassifier) -> tuple[BayesianNetworkClassifier, Any]:
        """Return the fitted network, and its parameter learner with what it chose by cross-validation.

        The folds of a learner that holds rows out keep the cuts and the structure of all rows. The network then has
        other parameters.
        """
        learner = component("parameter learner", network.parameters, network)
        if not getattr(learner, "n_inner_folds", 0):
            fitted = self.fit(network)
            return fitted, fitted.parameters_
        table, encoder = self.encode(network)
        plain = BayesianNetworkClassifier(**{**network.get_params(deep=False), "parameters": "ml", "calibrate": None})
        plain.fit_table(table, encoder)
        learner.fit(table, plain.learned_.structure)
        return plain, learner


class Plan(NamedTuple):
    """A structure learner, or a structure, and the seed of a member."""

    structure: Any
    seed: int


def with_choices(learner: Any) -> tuple[Any, dict[str, Any]]:
    """Return an unfitted learner whose ``"cv"`` parameters have the chosen values, and these values by name."""
    wanted = [
        name for name, value in learner.get_params(deep=False).items() if isinstance(value, str) and value == "cv"
    ]
    chosen = {name: float(getattr(learner, f"{name}_")) for name in wanted if hasattr(learner, f"{name}_")}
    return clone(learner).set_params(**chosen), chosen


def other_structures(network: BayesianNetworkClassifier, n_best: int) -> list[Structure]:
    """Return the best structures that the search of a network met, besides the structure of the network."""
    names, learned = network.tables_.names, set(network.tables_.edges)
    others = []
    for edges in getattr(network.structure_, "best_structures_", []):
        if set(edges) != learned:
            parents: dict[str, list[int]] = {name: [] for name in names}
            for parent, child in edges:
                parents[child].append(names.index(parent))
            others.append(Structure(names, [parents[name] for name in names]))
    return others[: n_best - 1]


def cuts_of_member(discretizer: Any, seed: int) -> Any:
    """Return the discretizer of one member; if it draws at random without a seed, it gets the seed of the member."""
    cuts = unfitted(discretizer)
    if cuts is None:
        return discretizer
    params = cuts.get_params(deep=False)
    named = is_component(discretizer)
    given = name_and_parameters(discretizer)[1] if named else params
    if "random_state" in params and given.get("random_state") is None:
        cuts.set_params(random_state=seed)
    # The classifier decides which columns it gets.
    return cuts.set_params(categorical_features=None) if named and "categorical_features" in params else cuts
