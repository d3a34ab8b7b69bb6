"""The questions to a mixture: averages of the answers of its networks, where averaging defines an answer.

Every answer is that of one distribution: the *averaged joint* Q(c, x | e), the mean over the networks of
Q_m(c | e) P_m(x | c, e). Its class posterior is that of ``predict_proba``. The states of a numeric feature are the
intervals between the cuts of all networks; see :mod:`bnplug_mixture.cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.special import logsumexp, rel_entr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier
from bnplug.compiling import run_in_threads
from bnplug.files import write_atomically
from bnplug.inference.explain import check_costs, next_frame, to_long_frame
from bnplug.inference.queries import query_frame, rows_frame
from bnplug.table.frames import to_frame
from bnplug_mixture.answering import Answering, mean_of_known, refused_rows
from bnplug_mixture.averaging import AVERAGING, AveragedNetworks, encoded, log_odds, quietly
from bnplug_mixture.cells import Intervals
from bnplug_mixture.filling import most_common, numbers_drawn

if TYPE_CHECKING:
    from bnplug.show.explorer import ExplorerPage
    from bnplug.typing import BoolArray, CodeArray, FloatArray


class MixtureQuestions(AveragedNetworks):
    """Fitted members with generative twins, and the questions about them."""

    quick_clique_size: int
    random_state: Any
    generative_: list[BayesianNetworkClassifier]

    def _networks(self) -> dict[str, list[BayesianNetworkClassifier]]:
        return {"members": self.members_, "generative": self.generative_}

    @property
    def _all(self) -> list[BayesianNetworkClassifier]:
        return [*self.members_, *self.generative_]

    def _take_over(self, networks: Mapping[str, Sequence[BayesianNetworkClassifier]]) -> Self:
        super()._take_over(networks)
        self.generative_ = list(networks["generative"])
        if len(self.generative_) not in (0, len(self.members_)):
            raise ValueError(f"{len(self.members_)} members with {len(self.generative_)} generative twins")
        both, limit = (self.members_, self.generative_), self.members_[0].max_clique_size
        self._quick = Answering(*both, min(self.quick_clique_size, limit))
        self._patient = Answering(*both, limit)
        self._intervals: dict[str, Intervals] = {}
        return self

    def markov_blanket(self) -> list[str]:
        """Return the features that affect the prediction of some member if all features are known."""
        check_is_fitted(self)
        blankets = {name for member in self.members_ for name in member.markov_blanket()}
        return [name for name in self.encoder_.names if name in blankets]

    def intervals(self, name: str) -> Intervals:
        """Return the common states of a numeric feature."""
        if name not in self._intervals:
            if any(name not in network.encoder_.cut_points for network in self._all):
                raise ValueError(f"the discretizer of {name!r} has no cuts, so the members have no common states of it")
            self._intervals[name] = Intervals(self.generative_ or self.members_, name)
        return self._intervals[name]

    def _states(self, name: str) -> Sequence[Any]:
        """Return the labels of the states that all networks share."""
        self.schema_.index(name)
        return self.intervals(name).labels if name in self.encoder_.numeric else self.schema_.states[name]

    def _posterior(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        first = self.members_[0].encode(X)

        def codes_of(number: int) -> CodeArray:
            return self.members_[number].encode(X) if number else first

        with quietly():
            answers = self._in_threads(lambda number: self._quick.posterior(number, codes_of(number)))
            return self._everywhere(
                mean_of_known(answers),
                lambda codes: mean_of_known(self._in_threads(lambda k: self._patient.posterior(k, codes[k]))),
                codes_of,
            )

    def _in_threads(self, answer: Callable[[int], Any]) -> list[Any]:
        return run_in_threads(answer, range(len(self.members_)), n_jobs=self.n_jobs)

    def _everywhere(
        self,
        mean: FloatArray | ValueError,
        patiently: Callable[[list[CodeArray]], FloatArray | ValueError],
        codes_of: Callable[[int], CodeArray],
    ) -> FloatArray:
        """Return the mean answers; rows that all members refused are answered with larger tables."""
        refused = slice(None) if isinstance(mean, ValueError) else refused_rows(mean)
        if not isinstance(mean, ValueError) and not refused_rows(mean).any():
            return mean
        rows = [np.ascontiguousarray(codes_of(number)[:, refused]) for number in range(len(self.members_))]
        again = patiently(rows)
        if isinstance(again, ValueError):
            raise again
        if refused_rows(again).any():
            raise ValueError(
                "for every member, marginalizing the missing features of some row needs a table of more than "
                f"max_clique_size={self.members_[0].max_clique_size:,} cells; raise it in `member`, or use structures "
                "with fewer parents"
            )
        if isinstance(mean, ValueError):
            return again
        mean[refused] = again
        return mean

    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row.

        A contribution is the mean of the contributions in all networks that answer; ``members_[i].explain(X)`` has
        those of one member. They add up to the mean of the networks' log odds. The mixture averages probabilities, so
        one more entry, with the feature ``(averaging)``, is the difference to its own log odds.

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
        rest = log_odds(self._posterior(X)) - mean.sum(axis=1)
        names = [*self.encoder_.names, AVERAGING]
        return to_long_frame(np.concatenate([mean, rest[:, None]], axis=1), _labels(X, len(mean)), names, self.classes_)

    def what_next(self, X: Any, costs: Mapping[str, float] | None = None) -> pd.DataFrame:
        """Return what to ask next: the unknown features of every row, the most informative about the class first.

        The information is I(class; feature | known features) under the averaged joint, which is never negative. For
        a numeric feature, it is the information of the interval between the cuts of all members.

        The parameters and the result are as for :meth:`bnplug.BayesianNetworkClassifier.what_next`.
        """
        check_is_fitted(self)
        codes, features = encoded(self.members_, X), list(self.encoder_.names)
        chosen = check_costs(costs, features)
        places = [self.schema_.index(name) for name in features]
        unknown = (codes[0][places] == self.schema_.missing).T
        values = np.full(unknown.shape, np.nan)
        for column, name in enumerate(features):
            rows = np.flatnonzero(unknown[:, column])
            if len(rows):
                values[rows, column] = _information(
                    self._joint(name, [np.ascontiguousarray(matrix[:, rows]) for matrix in codes])
                )
        # A row is impossible for all of its features, or for none.
        values[np.isnan(np.where(unknown, values, 0.0)).any(axis=1)] = np.nan
        return next_frame(values, unknown, features, _labels(X, len(values)), chosen)

    def _joint(self, name: str, codes: list[CodeArray]) -> FloatArray:
        """Return the averaged joint of the class and a missing feature, of shape (rows, classes, states)."""
        numeric = name in self.encoder_.numeric

        def spread(values: FloatArray, network: BayesianNetworkClassifier) -> FloatArray:
            return self.intervals(name).spread(values, network) if numeric else values

        def ask(answering: Answering, rows: list[CodeArray]) -> FloatArray | ValueError:
            return mean_of_known(self._in_threads(lambda k: answering.joint(k, rows[k], name, spread)))

        return self._everywhere(
            ask(self._quick, codes), lambda rows: ask(self._patient, rows), lambda number: codes[number]
        )

    def query(self, variables: str | Sequence[str], evidence: Mapping[str, Any] | Any = None) -> pd.DataFrame:
        """Return P(variables | evidence): the mean over all networks, or over the members if all features are known.

        Parameters
        ----------
        variables : str or sequence of str
            The variables, whose joint distribution is returned. The states of a numeric feature are the intervals
            between the cuts of all members.
        evidence : mapping or series of str to value, or frame, optional
            As for :meth:`bnplug.BayesianNetworkClassifier.query`. A numeric feature has a number.

        Returns
        -------
        pandas frame
            One row for each joint state, by its labels, and a column ``probability``. For a frame of evidence, this for
            each of its rows, with a column ``row`` of their labels; NaN if the evidence in a row is impossible.
        """
        check_is_fitted(self)
        names = [variables] if isinstance(variables, str) else list(variables)
        of_row = evidence is None or isinstance(evidence, Mapping | pd.Series)
        frame = pd.DataFrame(index=[0]) if of_row else to_frame(evidence, "evidence")
        states = {name: self._states(name) for name in names}
        complete = np.array([self._knows_all(evidence)]) if of_row else self._complete(frame)
        members = self._mean_query(self.members_, names, evidence)
        everyone = members if complete.all() else self._mean_query(self._all, names, evidence)
        answer = np.where(complete.reshape(-1, *[1] * len(names)), members, everyone)
        if of_row:
            return query_frame(answer[0], states)
        return rows_frame(answer.reshape(len(frame), -1), states, frame.index)

    def _knows_all(self, evidence: Any) -> bool:
        known = {} if evidence is None else dict(evidence)
        hard = {name for name, value in known.items() if not isinstance(value, Mapping)}
        return set(self.encoder_.names) <= hard

    def _complete(self, frame: pd.DataFrame) -> BoolArray:
        """Return which rows of evidence have all features."""
        if not set(self.encoder_.names) <= set(frame.columns):
            return np.zeros(len(frame), dtype=bool)
        soft = frame.map(lambda cell: isinstance(cell, Mapping))
        with quietly():
            codes = self.members_[0].encode(frame.mask(soft) if soft.to_numpy().any() else frame)
        return np.asarray((codes[self.schema_.features] != self.schema_.missing).all(axis=0))

    def _mean_query(self, networks: Sequence[BayesianNetworkClassifier], names: list[str], evidence: Any) -> FloatArray:
        """Return the mean over the networks that answer, of shape (rows, states of the first variable, ...)."""
        answers, refused = [], None
        for network in networks:
            try:
                joint = network.query(names, evidence)
            except ValueError as error:
                refused = error
                continue
            shape = [len(network.schema_.states[name]) for name in names]
            answer = joint["probability"].to_numpy().reshape(-1, *shape)
            for axis, name in enumerate(names):
                if name in self.encoder_.numeric:
                    answer = self.intervals(name).spread(answer, network, axis + 1)
            answers.append(answer)
        if refused is not None and not answers:
            raise refused
        return np.asarray(np.mean(answers, axis=0))

    def sample(self, n: int, random_state: Any = None) -> pd.DataFrame:
        """Return `n` rows drawn from the mean of the generative twins (without twins, of the members), with the class.

        A network is drawn for each row, and then a row from that network. A numeric feature has a number in an interval
        between the cuts of all members: the middle of the interval, or a number at the end of the first or last one.
        Rows can be passed to :meth:`predict_proba`.
        """
        check_is_fitted(self)
        if n < 0:
            raise ValueError(f"n={n}: the number of rows cannot be negative")
        random = check_random_state(self.random_state if random_state is None else random_state)
        networks = self.generative_ or self.members_
        drawn = random.randint(len(networks), size=n)
        frames = []
        for number, network in enumerate(networks):
            rows = np.flatnonzero(drawn == number)
            frame = network.sample(len(rows), random)
            numbers = {
                name: numbers_drawn(self.intervals(name), network, frame[name], random)
                for name in self.encoder_.numeric
            }
            frames.append(frame.assign(**numbers).set_axis(rows, axis=0))
        return pd.concat(frames).sort_index()

    def impute(self, X: Any, how: str = "most_probable", random_state: Any = None) -> pd.DataFrame:
        """Return rows with their missing features filled in by the generative twins (without twins, by the members).

        Every network completes the rows as :meth:`bnplug.BayesianNetworkClassifier.impute` does. With
        ``how="most_probable"``, a missing cell gets the value that most networks chose, the first of tied ones, and a
        missing number the (lower) median of their numbers: cells are averaged one by one. With ``how="sample"``, a
        network is drawn for each row, and all missing cells of the row come from it.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        networks = self.generative_ or self.members_
        seeds = random.randint(2**31 - 1, size=len(networks))
        with quietly():
            completed = [network.impute(X, how, int(seed)) for network, seed in zip(networks, seeds, strict=True)]
        if how != "sample":
            return most_common(completed, self.encoder_.numeric)
        drawn = random.randint(len(networks), size=len(completed[0]))
        places = [np.flatnonzero(drawn == number) for number in range(len(networks))]
        parts = [frame.iloc[rows] for frame, rows in zip(completed, places, strict=True)]
        return pd.concat(parts).iloc[np.argsort(np.concatenate(places))].astype(completed[0].dtypes.to_dict())

    def conflict(self, evidence: Mapping[str, Any]) -> float:
        """Return the conflict between findings: log P(e1) P(e2) ... / P(e1, e2, ...), in nats.

        The probabilities are means over the networks of :meth:`query`. The `evidence` is as for :meth:`query`.
        """
        check_is_fitted(self)
        networks = self.members_ if self._knows_all(evidence) else self._all
        alone = np.array([self._alone(network, evidence) for network in networks])
        together = np.log(alone).sum(axis=1) - [network.conflict(evidence) for network in networks]
        return float(np.log(alone.mean(axis=0)).sum() - logsumexp(together) + np.log(len(networks)))

    def _alone(self, network: BayesianNetworkClassifier, evidence: Mapping[str, Any]) -> list[float]:
        """Return the probability of each finding in a network: of a number, that of its interval."""
        probabilities = []
        for name, value in evidence.items():
            if isinstance(value, Mapping):
                prior = network.query(name)
                probabilities.append(float(sum(prior["probability"] * [value[state] for state in prior[name]])))
                continue
            for part, code in network.encoder_.encode_evidence({name: value}, network.schema_).items():
                probability = network.query(part)["probability"].iloc[code]
                if part in self.encoder_.numeric and isinstance(value, float | int):
                    intervals = self.intervals(part)
                    probability *= intervals.shares_of(network)[np.searchsorted(intervals.cuts, value)]
                probabilities.append(float(probability))
        return probabilities

    def most_probable(self, evidence: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Raise a ``ValueError``: averaging defines no most probable joint state."""
        raise ValueError(
            "a mixture has no most probable joint state: its members have different bins, and their most probable "
            "states cannot be averaged. Ask one member with model.members_[i].most_probable(evidence), or one variable "
            "at a time with model.query(name, evidence)"
        )

    def sensitivity(self, evidence: Mapping[str, Any] | None = None, target: str | None = None) -> pd.DataFrame:
        """Raise a ``ValueError``: each member has its own tables."""
        raise ValueError(
            "a mixture has no sensitivities: each member has its own tables. Ask one member with "
            "model.members_[i].sensitivity(evidence)"
        )

    def explore(
        self,
        path: str | PathLike[str] | None = None,
        X: Any = None,
        y: Any = None,
        features: int | Sequence[str] | None = None,
        rows: int = 0,
    ) -> ExplorerPage | None:
        """Write one self-contained HTML page that answers click by click; without a path, show it in the notebook.

        The page shows the average of all networks, and each member. It computes the average in the browser. The
        parameters are those of :meth:`bnplug.BayesianNetworkClassifier.explore`.
        """
        from bnplug.show.explorer import ExplorerPage
        from bnplug_mixture.explorer import to_html

        check_is_fitted(self)
        page = to_html(self, X, y, features, rows)
        if path is None:
            return ExplorerPage(page)
        write_atomically(path, page)
        return None


def _information(joint: FloatArray) -> FloatArray:
    """Return the mutual information of class and feature for joints of shape (rows, classes, states)."""
    total = joint.sum(axis=(1, 2), keepdims=True)
    with np.errstate(invalid="ignore"):
        joint = joint / total
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(rel_entr(joint, apart).sum(axis=(1, 2)), 0.0))


def _labels(X: Any, n_rows: int) -> pd.Index[Any]:
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n_rows)
