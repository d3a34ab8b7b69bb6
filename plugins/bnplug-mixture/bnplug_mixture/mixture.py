"""A mixture of networks: small ones, on cuts and structures that differ, and the mean of their posteriors.

Each member is biased by where its numbers are cut and by the few edges that it has; what is drawn differently in each
averages out. Where features are missing, discriminative parameters were not trained for what is asked, and generative
ones are less sharp than they could be: each member then answers by the mean of both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier, Structure, StructureLearner, UnknownMethodError
from bnplug.compiling import run_in_threads
from bnplug.errors import ConstantPredictionWarning
from bnplug.hooks.components import check_numbers, component
from bnplug.hooks.descriptors import is_component, name_and_parameters
from bnplug.inference.explain import to_long_frame
from bnplug.inference.marginals import MAX_CLIQUE_SIZE
from bnplug.table.discretizer import unfitted
from bnplug_mixture.answering import Answering, mean_of_known, refused_rows
from bnplug_mixture.averaging import AVERAGING, AveragedNetworks, encoded, evidence_of_row, log_odds, quietly

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import CodeArray, FloatArray

# Three parents pay where states are as the data have them; with bins that are drawn, too few rows are in each cell.
_STRUCTURES = ("tan", ("kdb", {"k": 2}))
_OF_DISCRETE = (*_STRUCTURES, ("kdb", {"k": 3}))

# Averaging does for the probabilities what a temperature does for those of one network.
_LOO = ("ccbn-loo", {"temperature": 1.0})


class _Plan(NamedTuple):
    """A structure learner and its seed."""

    structure: Any
    seed: int


class _Member(NamedTuple):
    """A network, and its generative twin on the same cuts and structure."""

    network: BayesianNetworkClassifier
    twin: BayesianNetworkClassifier | None


class _Given(StructureLearner):
    """A given structure: the parents of every variable by name."""

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        self.parents = parents

    def learn(self, table: Table) -> Structure:
        """Return it."""
        return Structure(table.names, [[table.index(parent) for parent in self.parents[name]] for name in table.names])


class NetworkMixture(AveragedNetworks):
    """The mean of some small networks, each on cuts and a structure of its own.

    Parameters
    ----------
    structures : "auto", or one or a list of: str, (str, mapping) or StructureLearner
        What the members have; ``"auto"``: `tan` and `kdb` with two parents, and where no feature is cut, `kdb` with
        three.
    parameters : str, (str, mapping) or ParameterLearner
        The parameters of every member. What they choose by cross-validation (parameters that are ``"cv"``) is chosen
        once, for the first member, and handed to all.
    generative : str, (str, mapping), ParameterLearner or None
        Other parameters on the same cuts and structures: for rows in which features are missing a member answers by the
        mean of both posteriors. None: by its own alone.
    n_members : int
        The number of members of each structure.
    n_best : int
        How many structures of a search become members each time that it is run: the best that it met, as its learner
        tells by ``best_structures_``, such as the best of each of annealing's chains. With 1, the one that it found.
    jitter : float
        Handed to structure learners that have such a parameter and no value for it: how much the information measures
        that they go by differ from member to member.
    discretizer : str, (str, mapping) or transformer
        What makes numeric columns discrete; one that draws gets a seed of its own for each member.
    categorical_features : "auto", None, or names, indices or a mask
        As for `BayesianNetworkClassifier`.
    class_weight : dict, "balanced" or None
        As for `BayesianNetworkClassifier`.
    min_frequency : "auto", int, float or None
        As for `BayesianNetworkClassifier`.
    engine : str or Engine
        As for `BayesianNetworkClassifier`.
    costs : array-like of shape (classes, classes) or dict, optional
        As for `BayesianNetworkClassifier`.
    missing, unseen, on_useless, max_categories, dates, max_parameters, max_clique_size
        As for `BayesianNetworkClassifier`.
    quick_clique_size : int
        A member that needs a larger table to marginalize the missing features of a row leaves the row to the others.
        If all members do, they answer with `max_clique_size`. A `kdb` with three parents often needs larger tables.
    random_state : int or RandomState, optional
        Draws the seeds of the members.
    n_jobs : int, optional
        The number of members that are fitted or queried in parallel. The result does not depend on it.
    verbose : int
        Handed to the learners.

    Attributes
    ----------
    classes_ : array
    members_ : list of BayesianNetworkClassifier
        The fitted networks.
    generative_ : list of BayesianNetworkClassifier
        Their generative twins; empty without `generative`.
    chosen_ : dict of str to float
        What the parameters chose by cross-validation, for all members.
    target_ : str
        The name of the class variable.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from bnplug.datasets import iris
    >>> X, y = iris()
    >>> mixture = NetworkMixture(parameters="ml", generative=None, n_members=3, random_state=0).fit(X, y)
    >>> len(mixture.members_), mixture.members_[0].predict_proba(X).shape
    (6, (150, 3))
    """

    components: ClassVar[Mapping[str, str]] = {"generative": "parameters"}

    def __init__(
        self,
        structures: Any = "auto",
        parameters: Any = _LOO,
        generative: Any = "backoff",
        n_members: int = 5,
        n_best: int = 1,
        jitter: float = 0.3,
        discretizer: Any = "jittered-quantile",
        categorical_features: Any = "auto",
        class_weight: Any = None,
        missing: str = "ignore",
        unseen: str = "missing",
        on_useless: str = "drop",
        max_categories: int | None = None,
        min_frequency: Any = "auto",
        dates: str = "parts",
        engine: Any = "elimination",
        costs: Any = None,
        max_parameters: int = 50_000_000,
        max_clique_size: int = MAX_CLIQUE_SIZE,
        quick_clique_size: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structures = structures
        self.parameters = parameters
        self.generative = generative
        self.n_members = n_members
        self.n_best = n_best
        self.jitter = jitter
        self.discretizer = discretizer
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.on_useless = on_useless
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.dates = dates
        self.engine = engine
        self.costs = costs
        self.max_parameters = max_parameters
        self.max_clique_size = max_clique_size
        self.quick_clique_size = quick_clique_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn the members: the first with whatever is chosen by cross-validation, then all with what was chosen.

        The arguments are those of :meth:`bnplug.BayesianNetworkClassifier.fit`. If the parameters of the members leave
        rows out, as ``ccbn-loo`` and ``backoff`` do, only the ratios of weights matter.
        """
        check_numbers(self, "n_members", "n_best", "quick_clique_size", positive=True)
        check_numbers(self, "jitter")
        random = check_random_state(self.random_state)
        data = (X, y, sample_weight)
        given = _listed(self.structures)
        first = _Plan(given[0], int(random.randint(2**31 - 1)))
        with warnings.catch_warnings():
            # Other members may depend on features.
            warnings.simplefilter("ignore", ConstantPredictionWarning)
            pilot = self._member(first, self._parameters(), self.n_jobs).fit(*data)
        chosen, self.chosen_ = _with_choices(pilot.parameters_)
        structures = given if self.structures != "auto" or pilot.encoder_.numeric else list(_OF_DISCRETE)
        plans = [
            _Plan(structure, int(random.randint(2**31 - 1)))
            for _ in range(int(self.n_members))
            for structure in structures
        ]
        plans[0] = first

        def learn(plan: _Plan, ready: BayesianNetworkClassifier | None) -> list[_Member]:
            return self._learn(plan, chosen, data, ready)

        ready = [None if self.chosen_ else pilot, *[None] * (len(plans) - 1)]
        with quietly():
            groups = run_in_threads(learn, plans, ready, n_jobs=self.n_jobs)
        members = [member for group in groups for member in group]
        twins = [member.twin for member in members if member.twin is not None]
        if not any(member.network.markov_blanket() for member in members):
            message = (
                f"No feature affects the prediction: in all members, the class {pilot.target_!r} has neither parents "
                "nor children, so every row is predicted by the class prior. Choose other structures, such as 'tan'"
            )
            warnings.warn(message, ConstantPredictionWarning, stacklevel=2)
        return self._take_over({"members": [member.network for member in members], "generative": twins})

    def _parameters(self) -> Any:
        """Return the parameter learner; if the default's distribution is absent, say which one that is."""
        try:
            return component("parameter learner", self.parameters, self)
        except UnknownMethodError as error:
            if self.parameters != _LOO:
                raise
            raise UnknownMethodError(
                f"the members' default parameters, {_LOO[0]!r}, come with the distribution bnplug-loo, which is not "
                "installed: pip install bnplug-loo, or give others, such as parameters='backoff'"
            ) from error

    def _member(self, plan: _Plan, parameters: Any, n_jobs: int | None) -> BayesianNetworkClassifier:
        """Return an unfitted member."""
        structure = plan.structure
        if is_component(structure) or hasattr(structure, "learn"):
            structure = component("structure learner", structure, self._seeded(plan.seed))
            if structure.get_params(deep=False).get("jitter") == 0:
                structure.set_params(jitter=self.jitter)
        shared = {"random_state": plan.seed, "n_jobs": n_jobs, "verbose": self.verbose}
        return self._network(structure=structure, parameters=parameters, discretizer=self._cuts(plan.seed), **shared)

    def _seeded(self, seed: int) -> Self:
        """Return what a component of one member inherits from."""
        return clone(self).set_params(random_state=seed, n_jobs=1)  # type: ignore[no-any-return]

    def _cuts(self, seed: int) -> Any:
        """Return the discretizer of one member; one that draws does so by the member's seed, unless it has its own."""
        cuts = unfitted(self.discretizer)
        if cuts is None:
            return self.discretizer
        params = cuts.get_params(deep=False)
        named = is_component(self.discretizer)
        given = name_and_parameters(self.discretizer)[1] if named else params
        if "random_state" in params and given.get("random_state") is None:
            cuts.set_params(random_state=seed)
        # Which columns it gets is decided by the classifier.
        return cuts.set_params(categorical_features=None) if named and "categorical_features" in params else cuts

    def _learn(
        self, plan: _Plan, parameters: Any, data: tuple[Any, Any, Any], ready: BayesianNetworkClassifier | None
    ) -> list[_Member]:
        """Return the members of one run: the network, and those on other structures that its search met."""
        network = self._member(plan, parameters, 1).fit(*data) if ready is None else ready
        networks = [network]
        for parents in _other_structures(network, int(self.n_best)):
            networks.append(self._member(_Plan(_Given(parents), plan.seed), parameters, 1).fit(*data))
        return [_Member(network, self._twin(network, plan.seed, data)) for network in networks]

    def _twin(
        self, network: BayesianNetworkClassifier, seed: int, data: tuple[Any, Any, Any]
    ) -> BayesianNetworkClassifier | None:
        if self.generative is None:
            return None
        return self._member(_Plan(_Given(network.tables_.parents), seed), self.generative, 1).fit(*data)

    def _networks(self) -> dict[str, list[BayesianNetworkClassifier]]:
        return {"members": self.members_, "generative": self.generative_}

    def _take_over(self, networks: Mapping[str, Sequence[BayesianNetworkClassifier]]) -> Self:
        super()._take_over(networks)
        self.generative_ = list(networks["generative"])
        if len(self.generative_) not in (0, len(self.members_)):
            raise ValueError(f"{len(self.members_)} members with {len(self.generative_)} generative twins")
        both = (self.members_, self.generative_)
        self._quick = Answering(*both, min(self.quick_clique_size, self.max_clique_size))
        self._patient = Answering(*both, self.max_clique_size)
        return self

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what ``fit`` has found, for ``bnplug.save``: a dict that JSON can hold, and named arrays."""
        networks, arrays = super().saved_state()
        # JSON has no infinite numbers, and an infinite strength is one that may be chosen.
        chosen = np.array(list(self.chosen_.values()), dtype=np.float64)
        return {"networks": networks, "chosen": list(self.chosen_)}, {**arrays, "chosen": chosen}

    def restore_state(self, state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Take over what :meth:`saved_state` has returned; the parameters are those of the constructor."""
        self.chosen_ = dict(zip(state["chosen"], arrays["chosen"].tolist(), strict=True))
        return super().restore_state(state["networks"], arrays)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean of the members' posteriors for every row, classes in the order of ``classes_``.

        Where features are missing, a member's posterior is the mean of its own and of its generative twin's. Rows for
        which that takes large tables are left to members that need smaller ones; see `quick_clique_size`.
        """
        check_is_fitted(self)
        first = self.members_[0].encode(X)

        def codes_of(number: int) -> CodeArray:
            return self.members_[number].encode(X) if number else first

        def of_member(number: int) -> FloatArray | ValueError:
            return self._quick.posterior(number, codes_of(number))

        with quietly():
            answers = run_in_threads(of_member, range(len(self.members_)), n_jobs=self.n_jobs)
            return self._everywhere(mean_of_known(answers), self._patiently, codes_of)

    def _patiently(self, codes: list[CodeArray]) -> FloatArray | ValueError:
        numbers = range(len(codes))
        return mean_of_known(run_in_threads(self._patient.posterior, numbers, codes, n_jobs=self.n_jobs))

    def _everywhere(
        self,
        mean: FloatArray | ValueError,
        patiently: Callable[[list[CodeArray]], FloatArray | ValueError],
        codes_of: Callable[[int], CodeArray],
    ) -> FloatArray:
        """Return what the members say; rows that all of them have refused are asked about again, with larger tables."""
        refused = slice(None) if isinstance(mean, ValueError) else refused_rows(mean)
        if not isinstance(mean, ValueError) and not refused_rows(mean).any():
            return mean
        rows = [np.ascontiguousarray(codes_of(number)[:, refused]) for number in range(len(self.members_))]
        again = patiently(rows)
        if isinstance(again, ValueError):
            raise again
        if refused_rows(again).any():
            raise ValueError(
                "for every member, to sum out what is missing in some row takes a table of more than "
                f"max_clique_size={self.max_clique_size:,} cells; raise it, or use structures with fewer parents"
            )
        if isinstance(mean, ValueError):
            return again
        mean[refused] = again
        return mean

    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row.

        A contribution is the mean of those in all networks that answer: what they say one by one is in
        ``members_[i].explain(X)``. They add up to the mean of the networks' log odds; since it is probabilities that
        the mixture averages, one more entry, of the feature ``(averaging)``, leads from there to its own log odds.

        Returns
        -------
        pandas frame
            Columns ``row`` (the label of the row), ``feature``, ``class`` and ``contribution``.
        """
        check_is_fitted(self)
        codes = encoded(self.members_, X)
        mean = self._everywhere(
            self._quick.contributions(codes), self._patient.contributions, lambda number: codes[number]
        )
        rest = log_odds(self.predict_proba(X)) - mean.sum(axis=1)
        names = [*self.members_[0].encoder_.names, AVERAGING]
        rows = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(mean))
        return to_long_frame(np.concatenate([mean, rest[:, None]], axis=1), rows, names, self.classes_)

    def query(self, variables: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return P(variables | evidence), the mean of what the members say, each with its generative twin.

        Parameters
        ----------
        variables : str or sequence of str
            What is asked about, jointly: the class, or features that are discrete as they come; of one that is cut,
            members have bins of their own, so that there is nothing to be averaged.
        evidence : mapping or series of str to value, optional
            The known values of one row, by name, as in the data. For a frame, query row by row.

        Returns
        -------
        pandas frame
            One row for each joint state, by its labels, and a column ``probability``.
        """
        check_is_fitted(self)
        evidence = evidence_of_row(evidence)
        asked = [variables] if isinstance(variables, str) else list(variables)
        cut = [name for name in asked if name in self.members_[0].encoder_.numeric]
        if cut:
            raise ValueError(
                f"{cut} cannot be asked about: these features are numbers, which every member cuts in its own way. "
                "They can be evidence; members_[i].query answers by the bins of one member"
            )
        complete = set(self.members_[0].encoder_.names) <= set(evidence)
        networks = self.members_ if complete else [*self.members_, *self.generative_]
        answers, refused = [], None
        for network in networks:
            try:
                answers.append(network.query(variables, evidence))
            except ValueError as error:
                refused = error
        if refused is not None and not answers:
            raise refused
        return answers[0].assign(probability=np.mean([answer["probability"] for answer in answers], axis=0))


def _listed(structures: Any) -> list[Any]:
    """Return the structures as a list, those of "auto" for data with numbers."""
    if isinstance(structures, str) and structures == "auto":
        return list(_STRUCTURES)
    if is_component(structures) or not isinstance(structures, Sequence):
        return [structures]
    if not structures:
        raise ValueError("structures is empty; name at least one, such as 'tan'")
    return list(structures)


def _with_choices(learner: Any) -> tuple[Any, dict[str, Any]]:
    """Return the learner with what it chose by cross-validation as its parameters, and what that is."""
    wanted = [
        name for name, value in learner.get_params(deep=False).items() if isinstance(value, str) and value == "cv"
    ]
    chosen = {name: float(getattr(learner, f"{name}_")) for name in wanted if hasattr(learner, f"{name}_")}
    return clone(learner).set_params(**chosen), chosen


def _other_structures(network: BayesianNetworkClassifier, n_best: int) -> list[dict[str, list[str]]]:
    """Return the parents of the best structures that the network's search met, besides its own."""
    best = getattr(network.structure_, "best_structures_", [])
    learned = set(network.tables_.edges)
    others = []
    for edges in best:
        parents: dict[str, list[str]] = {name: [] for name in network.tables_.names}
        for parent, child in edges:
            parents[child].append(parent)
        if set(edges) != learned:
            others.append(parents)
    return others[: n_best - 1]
