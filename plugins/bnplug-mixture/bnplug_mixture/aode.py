"""Averaged one-dependence estimators (Webb, Boughton and Wang 2005): a mixture with one member for each feature.

Each feature in turn is a parent of all others, next to the class. Joint probabilities are averaged, so the weight of a
member depends on how well it describes the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier, CompiledNetwork, Structure
from bnplug.compiling import run_in_threads
from bnplug.counts.counting import count
from bnplug.hooks.components import check_numbers, component
from bnplug.inference.complete import posterior
from bnplug.inference.explain import contributions, to_long_frame
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.predicting import predictive_log_joint
from bnplug.inference.queries import log_measure
from bnplug.model.log_tables import check_size
from bnplug_mixture.averaging import AveragedNetworks, evidence_of_row, named_like, quietly

if TYPE_CHECKING:
    from bnplug import LogTables, Table
    from bnplug.typing import CodeArray, FloatArray

_FREQUENT = "frequent"


class AODE(AveragedNetworks):
    """The mean over features i of P(c, x_i) times the product of P(x_j | c, x_i).

    A feature is a parent if its value is known and frequent. A row without such a value is predicted by naive Bayes.

    Parameters
    ----------
    member : BayesianNetworkClassifier, optional
        Everything that the members share: parameter learner, discretizer, column rules such as `missing`, engine, costs
        and limits. By default, `parameters` are ``"ml"``. The `structure` must have its default value. Evidence is not
        calibrated, since joint probabilities are averaged. Nested parameters such as ``member__parameters__alpha`` work
        with the default, too.
    min_count : float
        The number of training rows that must have a value for its feature to be a parent.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    classes_ : array
        The class labels.
    members_ : list of BayesianNetworkClassifier
        The one-dependence estimators, in the order of the features.
    naive_ : BayesianNetworkClassifier
        Naive Bayes, for rows without a frequent value.
    frequent_ : list of arrays of bool
        For each feature, which of its states make it a parent.
    target_ : str
        The name of the class variable.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Webb, Boughton, Wang: Not so naive Bayes: aggregating one-dependence estimators (2005).

    Examples
    --------
    >>> from bnplug.datasets import tic_tac_toe
    >>> X, y = tic_tac_toe()
    >>> round(AODE().fit(X, y).score(X, y), 2)
    0.75
    """

    def __init__(self, member: Any = None, min_count: float = 30, n_jobs: int | None = None) -> None:
        self.member = member
        self.min_count = min_count
        self.n_jobs = n_jobs

    @staticmethod
    def default_member() -> BayesianNetworkClassifier:
        """Return the estimator that ``member=None`` stands for."""
        return BayesianNetworkClassifier(parameters="ml", discretizer="mdl", calibrate=None)

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Estimate the tables of every member from the counts of pairs of features with the class.

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
            Features of any mix of types; missing cells are allowed.
        y : array-like
            The class of every row.
        sample_weight : array-like, optional
            A row of weight 2 is equivalent to two rows; rows of weight 0 are ignored.
        """
        check_numbers(self, "min_count")
        self.check_structure()
        naive = self._network(structure="nb", calibrate=None, n_jobs=self.n_jobs)
        naive.fit(X, y, sample_weight)
        with quietly():
            table = naive.encode_training(X, y, sample_weight)[0]
        families = [_one_dependence(table, v) for v in table.features]
        for parents in families:
            check_size(table, parents, naive.max_parameters)
        learner = component("parameter learner", naive.parameters, naive)
        fitted = run_in_threads(
            lambda family: learner.fit(table, Structure(table.names, family)), families, n_jobs=self.n_jobs
        )
        self.frequent_ = [count(table, v, []) >= self.min_count for v in table.features]
        return self._take_over({"members": [self._beside(naive, tables) for tables in fitted], "naive": [naive]})

    def _beside(self, naive: BayesianNetworkClassifier, tables: LogTables) -> BayesianNetworkClassifier:
        """Return the network of these tables for the columns of another."""
        params = {**self._network(calibrate=None).get_params(deep=False), "structure": tables.edges}
        member = BayesianNetworkClassifier.from_tables(tables, naive.encoder_, **params)
        named_like(member, naive)
        return member

    def _networks(self) -> dict[str, list[BayesianNetworkClassifier]]:
        return {"members": self.members_, "naive": [self.naive_]}

    def _take_over(self, networks: Mapping[str, Sequence[BayesianNetworkClassifier]]) -> Self:
        super()._take_over(networks)
        (self.naive_,) = networks["naive"]
        everyone = [*self.members_, self.naive_]
        # Factors that are the same for all classes matter here, and other engines may omit them.
        self._compiled = [Marginalizer(model.tables_, model.target_, model.max_clique_size) for model in everyone]
        return self

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the results of fitting for ``bnplug.save``: a dict that JSON can hold, and named arrays."""
        state, arrays = super().saved_state()
        return state, arrays | {f"{_FREQUENT}/{i}": states for i, states in enumerate(self.frequent_)}

    def restore_state(self, state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Restore a fitted classifier from its :meth:`saved_state`; the parameters are those of the constructor."""
        self.frequent_ = [arrays[f"{_FREQUENT}/{i}"] for i in range(len(state["members"]))]
        return super().restore_state(state, arrays)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``.

        A row that is impossible under every class gets the class prior, P(class).
        """
        check_is_fitted(self)
        # predictive_log_joint uses only the method `log_joint`.
        return posterior(predictive_log_joint(cast(CompiledNetwork, self), self.naive_.encode(X), self.n_jobs))

    def log_joint(self, codes: CodeArray, *, n_jobs: int | None = None) -> FloatArray:
        """Return the log of the sum of the members' joint probabilities by row and class; without any, of naive Bayes.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            As returned by ``naive_.encode``.
        """
        joints = run_in_threads(lambda network: network.log_joint(codes, n_jobs=1), self._compiled, n_jobs=n_jobs)
        total: FloatArray = np.full_like(joints[-1], -np.inf)
        parents = np.zeros(codes.shape[1], dtype=bool)
        for v, frequent, joint in zip(self.naive_.schema_.features, self.frequent_, joints[:-1], strict=True):
            is_parent = _is_parent(codes[v], frequent)
            total[is_parent] = np.logaddexp(total[is_parent], joint[is_parent])
            parents |= is_parent
        total[~parents] = joints[-1][~parents]
        return total

    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row.

        The contributions and the prior log odds add up to the posterior log odds, as for one network.
        """
        check_is_fitted(self)
        codes = self.naive_.encode(X)
        # contributions uses only the method `log_joint`.
        values = contributions(cast(CompiledNetwork, self), codes, self.naive_.schema_.target_index, self.n_jobs)
        rows = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(values))
        return to_long_frame(values, rows, list(self.naive_.encoder_.names), self.classes_)

    def query(self, variables: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return P(variables | evidence): the mean over the members, weighted by their probability of the evidence.

        Only members whose parent has a frequent value in the evidence take part; without any, naive Bayes answers.

        Parameters
        ----------
        variables : str or sequence of str
            The variables, whose joint distribution is returned.
        evidence : mapping or series of str to value, optional
            The known values of one row, by name, as in the data. For a frame, query row by row.
        """
        check_is_fitted(self)
        evidence = evidence_of_row(evidence)
        answer = self.naive_.query(variables, evidence)
        known = self._known(evidence)
        features = [self.naive_.schema_.names[v] for v in self.naive_.schema_.features]
        parents = zip(self.members_, features, self.frequent_, strict=True)
        answering = [member for member, name, frequent in parents if name in known and frequent[known[name]]]
        if not answering:
            return answer
        names = [variables] if isinstance(variables, str) else list(variables)
        measures = [log_measure(network.tables_, names, known, {}, network.max_clique_size) for network in answering]
        return answer.assign(probability=softmax(logsumexp(measures, axis=0)).ravel())

    def _known(self, evidence: Mapping[str, Any]) -> dict[str, int]:
        """Return the codes of evidence that naive Bayes has accepted."""
        schema = self.naive_.schema_
        known = {}
        if self.target_ in evidence:
            known[self.target_] = self.classes_.tolist().index(evidence[self.target_])
        features = {name: [value] for name, value in evidence.items() if name != self.target_}
        if features:
            with quietly():
                codes = self.naive_.encoder_.encode(pd.DataFrame(features), schema)[:, 0]
            # A date becomes several features.
            known |= {schema.names[v]: int(codes[v]) for v in schema.features if codes[v] != schema.missing}
        return known


def _one_dependence(table: Table, parent: int) -> list[list[int]]:
    """Return the parents of every variable if one feature is a parent of all others, next to the class."""
    families = table.naive_bayes()
    for v in table.features:
        if v != parent:
            families[v] = [table.target_index, parent]
    return families


def _is_parent(codes: CodeArray, frequent: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the rows in which the value of a feature is known and frequent."""
    known = codes < len(frequent)
    is_parent: npt.NDArray[np.bool_] = known & frequent[np.where(known, codes, 0)]
    return is_parent
