"""The mixture: small networks that differ in cuts and structures, and the mean of their posteriors.

Each member is biased by its cuts and its few edges. The differences are drawn at random and average out. Discriminative
parameters are not trained for rows with missing features, and generative ones are less sharp: in such rows, each member
answers by the mean of both.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state

from bnplug import BayesianNetworkClassifier, UnknownMethodError
from bnplug.compiling import run_in_threads
from bnplug.errors import ConstantPredictionWarning
from bnplug.hooks.components import check_numbers, component
from bnplug.hooks.descriptors import is_component
from bnplug_mixture.averaging import named_like, quietly
from bnplug_mixture.calibrating import HeldOutRows, fit_factors, held_out
from bnplug_mixture.learning import EncodedRows, MemoryRows, Plan, cuts_of_member, other_structures, with_choices
from bnplug_mixture.questions import MixtureQuestions

if TYPE_CHECKING:
    from bnplug.typing import FloatArray

# Three parents help if all columns are discrete; with drawn bins, each cell has too few rows.
_STRUCTURES = ("tan", ("kdb", {"k": 2}))
_OF_DISCRETE = (*_STRUCTURES, ("kdb", {"k": 3}))

# Averaging calibrates probabilities as a temperature does for one network.
_LOO = ("ccbn-loo", {"temperature": 1.0})
_CUTS = "jittered-quantile"


class Learned(NamedTuple):
    """The members of one search, their twins, and held-out rows of the twins."""

    members: list[BayesianNetworkClassifier]
    twins: list[BayesianNetworkClassifier]
    held_out: list[HeldOutRows | None]


class NetworkMixture(MixtureQuestions):
    """The mean of small networks with different cuts and structures.

    Parameters
    ----------
    member : BayesianNetworkClassifier, optional
        Everything that the members share: parameter learner, column rules such as `missing`, engine, costs and limits.
        By default, `parameters` are ``("ccbn-loo", {"temperature": 1.0})`` of bnplug-loo, and `calibrate` is
        ``"evidence"``. ``discretizer="auto"`` selects ``"jittered-quantile"``. The `structure` must have its default
        value, since `structures` determines the structures; `random_state`, `n_jobs` and `verbose` are those of the
        mixture. Parameters that are ``"cv"`` are chosen by one cross-validation, and then are the same in all members.
        Nested parameters such as ``member__missing`` work with the default, too.
    structures : "auto", or one or a list of: str, (str, mapping), StructureLearner, Structure, DAG or edges
        The structures of the members. ``"auto"``: `tan` and `kdb` with two parents and, if no feature is numeric, `kdb`
        with three.
    generative : str, (str, mapping), ParameterLearner or None
        The parameters of *twins*, networks with the cuts and structures of the members. In rows with missing features,
        a member answers by the mean of its posterior and that of its twin. None: by its posterior alone.
        With ``calibrate="evidence"`` of `member`, the twins have calibrated evidence with factors that minimize the
        log loss of the mixture on held-out rows with hidden features.
    n_members : int
        The number of members of each structure.
    n_best : int
        The number of structures that become members each time a search runs: the best structures that it met, which
        some learners store as ``best_structures_`` (annealing stores the best of each chain). 1: only the result.
    jitter : float
        Given to structure learners with a parameter `jitter` of 0: how much their information measures differ from
        member to member.
    quick_clique_size : int
        A member that needs a larger table to marginalize the missing features of a row leaves the row to the others. If
        all members do, they answer with the `max_clique_size` of `member`. A `kdb` with three parents often needs
        larger tables.
    random_state : int or RandomState, optional
        Draws the seeds of the members.
    n_jobs : int, optional
        The number of members that are fitted or queried in parallel. The result does not depend on it.
    verbose : int
        Passed to the learners.

    Attributes
    ----------
    classes_ : array
    members_ : list of BayesianNetworkClassifier
        The fitted networks.
    generative_ : list of BayesianNetworkClassifier
        Their generative twins; empty without `generative`.
    chosen_ : dict of str to float
        The parameters of all members that were chosen by cross-validation.
    target_ : str
        The name of the class variable.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from bnplug.datasets import iris
    >>> X, y = iris()
    >>> member = BayesianNetworkClassifier(parameters="ml")
    >>> mixture = NetworkMixture(member, generative=None, n_members=3, random_state=0).fit(X, y)
    >>> len(mixture.members_), mixture.members_[0].predict_proba(X).shape
    (6, (150, 3))
    """

    # Nested parameters such as ``generative__alpha``.
    components = {"generative": "parameters"}  # noqa: RUF012

    def __init__(
        self,
        member: Any = None,
        structures: Any = "auto",
        generative: Any = "backoff",
        n_members: int = 5,
        n_best: int = 1,
        jitter: float = 0.3,
        quick_clique_size: int = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.member = member
        self.structures = structures
        self.generative = generative
        self.n_members = n_members
        self.n_best = n_best
        self.jitter = jitter
        self.quick_clique_size = quick_clique_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @staticmethod
    def default_member() -> BayesianNetworkClassifier:
        """Return the estimator that ``member=None`` stands for."""
        return BayesianNetworkClassifier(parameters=_LOO, discretizer=_CUTS, calibrate="evidence")

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn the members.

        The arguments are those of :meth:`bnplug.BayesianNetworkClassifier.fit`. Only the ratios of weights matter for
        learners that leave rows out, such as ``ccbn-loo`` and ``backoff``.
        """
        return self._learn(MemoryRows(X, y, sample_weight))

    def fit_files(
        self,
        paths: Any,
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        cache: str | PathLike[str] | None = None,
        csv: Mapping[str, Any] | None = None,
        progress: Any = None,
    ) -> Self:
        """Learn the members from files that need not fit into memory.

        The parameters are those of :meth:`bnplug.BayesianNetworkClassifier.fit_files`. The files are encoded once for
        each set of cuts: for every member, unless no column is numeric. The result is that of :meth:`fit`, except that
        parameters that are chosen by cross-validation, as by default, are chosen in folds with the cuts of all rows.
        """
        options = {"columns": columns, "cache": cache, "csv": csv, "n_jobs": self.n_jobs, "progress": progress}
        return self._learn(EncodedRows(paths, target, sample_weight, options))

    def _learn(self, rows: MemoryRows | EncodedRows) -> Self:
        self._check()
        random = check_random_state(self.random_state)
        given = _listed(self.structures)
        first = Plan(given[0], int(random.randint(2**31 - 1)))
        with warnings.catch_warnings():
            # Features may affect the prediction of other members.
            warnings.simplefilter("ignore", ConstantPredictionWarning)
            pilot, learner = rows.choose(self._member(first, self._parameters(), self.n_jobs))
        parameters, self.chosen_ = with_choices(learner)
        automatic = isinstance(self.structures, str) and self.structures == "auto"
        structures = list(_OF_DISCRETE) if automatic and not pilot.encoder_.numeric else given
        plans = [
            Plan(structure, int(random.randint(2**31 - 1)))
            for _ in range(int(self.n_members))
            for structure in structures
        ]
        plans[0] = first
        in_threads = isinstance(rows, MemoryRows)

        def learn(plan: Plan, ready: BayesianNetworkClassifier | None) -> Learned:
            return self._of_plan(plan, parameters, rows, ready, first.seed, 1 if in_threads else self.n_jobs)

        ready = [None if self.chosen_ else pilot, *[None] * (len(plans) - 1)]
        with quietly():
            groups = run_in_threads(learn, plans, ready, n_jobs=self.n_jobs if in_threads else 1)
        members = [member for group in groups for member in group.members]
        twins = [twin for group in groups for twin in group.twins]
        if self._base().calibrate is not None:
            factors = fit_factors([part for group in groups for part in group.held_out])
            for twin in twins:
                twin.set_calibration(factors)
        if not any(member.markov_blanket() for member in members):
            message = (
                f"No feature affects the prediction: in all members, the class {pilot.target_!r} has neither parents "
                "nor children, so every row is predicted by the class prior. Choose other structures, such as 'tan'"
            )
            warnings.warn(message, ConstantPredictionWarning, stacklevel=3)
        return self._take_over({"members": members, "generative": twins})

    def _check(self) -> None:
        check_numbers(self, "n_members", "n_best", "quick_clique_size", positive=True)
        check_numbers(self, "jitter")
        self.check_structure()

    def _parameters(self) -> Any:
        """Return the parameter learner; if the default is not installed, say which distribution provides it."""
        parameters = self._base().parameters
        try:
            return component("parameter learner", parameters, self)
        except UnknownMethodError as error:
            if parameters != _LOO:
                raise
            raise UnknownMethodError(
                f"the default parameters of the members, {_LOO[0]!r}, come with the distribution bnplug-loo, which is "
                "not installed: pip install bnplug-loo, or pass others, such as member__parameters='backoff'"
            ) from error

    def _member(self, plan: Plan, parameters: Any, n_jobs: int | None) -> BayesianNetworkClassifier:
        """Return an unfitted member."""
        structure = plan.structure
        if is_component(structure) or hasattr(structure, "learn"):
            structure = component("structure learner", structure, self._seeded(plan.seed))
            if structure.get_params(deep=False).get("jitter") == 0:
                structure.set_params(jitter=self.jitter)
        wanted = self._base().discretizer
        wanted = _CUTS if isinstance(wanted, str) and wanted == "auto" else wanted
        shared = {"random_state": plan.seed, "n_jobs": n_jobs, "verbose": self.verbose}
        cuts = cuts_of_member(wanted, plan.seed)
        return self._network(structure=structure, parameters=parameters, discretizer=cuts, **shared)

    def _seeded(self, seed: int) -> Self:
        """Return the estimator from which the components of one member inherit."""
        return clone(self).set_params(random_state=seed, n_jobs=1)  # type: ignore[no-any-return]

    def _of_plan(
        self,
        plan: Plan,
        parameters: Any,
        rows: MemoryRows | EncodedRows,
        ready: BayesianNetworkClassifier | None,
        seed: int,
        n_jobs: int | None,
    ) -> Learned:
        """Return the members of one search, their twins and, for calibrated evidence, rows held out by `seed`."""
        members = [rows.fit(self._member(plan, parameters, n_jobs)) if ready is None else ready]
        for structure in other_structures(members[0], int(self.n_best)):
            members.append(rows.fit(self._member(Plan(structure, plan.seed), parameters, n_jobs)))
        if self.generative is None:
            return Learned(members, [], [])
        table, encoder = rows.encode(members[0])
        twins, parts = [], []
        for member in members:
            twin = self._member(Plan(member.learned_.structure, plan.seed), self.generative, n_jobs)
            calibrate = twin.calibrate
            # The twins are calibrated together.
            named_like(twin.set_params(calibrate=None).fit_table(table, encoder), member)
            twins.append(twin)
            if calibrate is not None:
                parts.append(held_out(member, twin, table, seed))
        return Learned(members, twins, parts)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean of the members' posteriors for every row, classes in the order of ``classes_``.

        In rows with missing features, a member's posterior is the mean of its own and that of its generative twin.
        Members that need large tables for a row are omitted; see `quick_clique_size`.
        """
        return self._posterior(X)

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the results of fitting for ``bnplug.save``: a dict that JSON can hold, and named arrays."""
        networks, arrays = super().saved_state()
        # JSON has no infinite numbers, and an infinite strength may be chosen.
        chosen = np.array(list(self.chosen_.values()), dtype=np.float64)
        return {"networks": networks, "chosen": list(self.chosen_)}, {**arrays, "chosen": chosen}

    def restore_state(self, state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Restore a fitted classifier from its :meth:`saved_state`; the parameters are those of the constructor."""
        self.chosen_ = dict(zip(state["chosen"], arrays["chosen"].tolist(), strict=True))
        return super().restore_state(state["networks"], arrays)


def _listed(structures: Any) -> list[Any]:
    """Return the structures as a list; "auto" as for data with numeric columns."""
    if isinstance(structures, str) and structures == "auto":
        return list(_STRUCTURES)
    if is_component(structures) or not isinstance(structures, Sequence):
        return [structures]
    if not structures:
        raise ValueError("structures is empty; name at least one, such as 'tan'")
    return list(structures)
