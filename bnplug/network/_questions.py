"""The questions that a fitted network answers: posteriors, explanations, what to ask next, what moves an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bnplug.contracts import CompiledNetwork
from bnplug.inference.calibration import CalibratedNetwork
from bnplug.inference.explain import (
    check_costs,
    contributions,
    expected_information,
    next_frame,
    sensitivity,
    sensitivity_frame,
    to_long_frame,
)
from bnplug.inference.marginals import Asked, Marginalizer, check_marginals
from bnplug.inference.most_probable import explanations, most_probable
from bnplug.inference.predicting import query_rows
from bnplug.inference.queries import check_variables, conflict, explanations_frame, query_frame, rows_frame
from bnplug.network._evidence import Finding, encode_evidence, encode_rows
from bnplug.network._fitted import FittedNetwork, one_row
from bnplug.table.frames import to_frame
from bnplug.typing import FloatArray


class QueryMixin(FittedNetwork):
    """A fitted network, and the questions about it."""

    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row.

        `X` is a frame, an array, or one row as a dict or a series.

        The contributions of a row to a class, with the prior log odds (feature ``(prior)``), add up to
        that class's posterior log odds. A feature's contribution is the change when it is revealed, the mean over
        two orders of revealing: as the features come, and the reverse. A missing feature contributes 0.

        Returns
        -------
        pandas frame
            Columns ``row`` (the label of the row), ``feature``, ``class`` and ``contribution``.
        """
        codes = self.encode(X)
        values = contributions(self._marginalizer, codes, self.schema_.target_index, self.n_jobs)
        return to_long_frame(values, _row_labels(X, len(values)), list(self.encoder_.names), self.classes_)

    def query(
        self,
        variables: str | Sequence[str],
        evidence: Mapping[str, Any] | Any = None,
        given: str | Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return P(variables | evidence) for any variables, the class and features alike.

        Parameters
        ----------
        variables : str or sequence of str
            What is asked about, jointly.
        evidence : mapping or series of str to value, or frame, optional
            What is known, by name, as data hold it; a numeric feature's value is a number, or the label of its bin.
            None (or NaN) is a missing cell, where training made that a state (``missing="value"``); the state's label
            is no value. A dict of state to likelihood is soft evidence: how probable what was seen is in each
            state, of which the ratios count. Of a frame, every row is asked for; a missing cell is not known.
        given : str or sequence of str, optional
            Variables whose states are varied: the answer is the table P(variables | given, evidence). It is NaN in
            states that the evidence rules out. Not with a frame of evidence.

        Returns
        -------
        pandas frame
            One row for each joint state, by its labels, those of `given` first, and a column ``probability``. For a
            frame of evidence, that for each of its rows, behind a column ``row`` of their labels; NaN where what a row
            says is impossible.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "wind": ["no", "no", "yes"] * 2})
        >>> y = ["go", "go", "go", "stay", "stay", "go"]
        >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, y)
        >>> model.query("class", {"sky": {"sun": 0.8, "rain": 0.2}}).round(2)
          class  probability
        0    go         0.81
        1  stay         0.19
        >>> model.query("class", X.head(2)).round(2)
           row class  probability
        0    0    go         0.88
        1    0  stay         0.12
        2    1    go         0.88
        3    1  stay         0.12
        """
        check_is_fitted(self)
        names = [variables] if isinstance(variables, str) else list(variables)
        conditions = [given] if isinstance(given, str) else list(given or ())
        if evidence is not None and not isinstance(evidence, Mapping | pd.Series):
            if conditions:
                raise ValueError("given: not with a frame of evidence; pass one case, or add the columns to the frame")
            return self._query_rows(names, evidence)
        known, asked = self._findings(evidence), [*conditions, *names]
        check_variables(self.tables_, asked, [name for name in known if np.ndim(known[name]) == 0])
        answer = self._marginalizer.query(asked, known)
        if conditions:
            totals = answer.sum(axis=tuple(range(len(conditions), answer.ndim)), keepdims=True)
            answer = np.divide(answer, totals, out=np.full_like(answer, np.nan), where=totals > 0)
        return query_frame(answer, {name: self.tables_.states[name] for name in asked})

    def query_many(self, variables: str | Sequence[str], evidence: Iterable[Mapping[str, Any] | None]) -> pd.DataFrame:
        """Return P(variables | evidence) for many cases, each as for :meth:`query`.

        Returns
        -------
        pandas frame
            As of :meth:`query` with a frame of evidence: a column ``row`` has the position of the case, and impossible
            cases are NaN.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "wind": ["no", "no", "yes"] * 2})
        >>> y = ["go", "go", "go", "stay", "stay", "go"]
        >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, y)
        >>> model.query_many("class", [{"sky": "sun"}, {"sky": "rain", "wind": "no"}]).round(2)
           row class  probability
        0    0    go         0.93
        1    0  stay         0.07
        2    1    go         0.24
        3    1  stay         0.76
        """
        check_is_fitted(self)
        names = [variables] if isinstance(variables, str) else list(variables)
        answers = [self._answer(names, self._findings(case)) for case in evidence]
        states = {name: self.tables_.states[name] for name in names}
        size = int(np.prod([len(labels) for labels in states.values()]))
        return rows_frame(np.array(answers).reshape(-1, size), states, pd.RangeIndex(len(answers)))

    def _answer(self, names: list[str], findings: dict[str, Finding]) -> FloatArray:
        """Return P(variables | findings), flat; NaN if the findings are impossible."""
        check_variables(self.tables_, names, [name for name in findings if np.ndim(findings[name]) == 0])
        try:
            return self._marginalizer.query(names, findings).ravel()
        except ValueError:
            if self._marginalizer.log_probability(findings) > -np.inf:
                raise
            return np.full(int(np.prod([len(self.tables_.states[name]) for name in names])), np.nan)

    def probability(self, evidence: Mapping[str, Any]) -> float:
        """Return P(evidence), with `evidence` as for :meth:`query`; of soft evidence, the mean likelihood.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3})
        >>> y = ["go", "go", "go", "stay", "stay", "go"]
        >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, y)
        >>> round(model.probability({"sky": "rain", "class": "go"}), 3)
        0.179
        """
        check_is_fitted(self)
        return float(np.exp(self._marginalizer.log_probability(self._findings(evidence))))

    def _query_rows(self, names: list[str], evidence: Any) -> pd.DataFrame:
        frame = to_frame(evidence, "evidence")
        codes, soft = encode_rows(frame, self.encoder_, self.schema_, self.unseen)
        check_variables(self.tables_, names, ())
        for name in names:
            known = np.flatnonzero(codes[self.schema_.index(name)] != self.schema_.missing)
            if len(known) > 0:
                row = frame.index[known[0]]
                raise ValueError(f"evidence: {name!r} is asked about, and row {row!r} says what it is; leave it out")
        answers = query_rows(self.tables_, names, self._compiled, codes, self.n_jobs)
        for m, likelihoods in soft.items():
            there = {name: int(code) for name, code in zip(self.schema_.names, codes[:, m], strict=True)}
            hard = {name: code for name, code in there.items() if code != self.schema_.missing}
            findings: dict[str, Finding] = {**hard, **likelihoods}
            answers[m] = self._answer(names, findings)
        states = {name: self.tables_.states[name] for name in names}
        return rows_frame(answers, states, _row_labels(evidence, len(frame)))

    def impute(self, X: Any, how: str = "most_probable", random_state: Any = None) -> pd.DataFrame:
        """Return rows with their missing features filled in, whatever their class.

        Absent columns are filled in too. A missing number becomes a value of these rows that lies in the imputed bin:
        the middle one, or a random one. Without such a value, it becomes the middle of the bin, in the first bin its
        upper end, in the last a number just above its lower end; without cuts, it then stays missing. Columns
        that are not features, dates, and columns in which missing is a state are not changed.
        :class:`~bnplug.BayesianNetworkImputer` takes such values from the training rows instead.

        `how` and `random_state` are as for :class:`~bnplug.BayesianNetworkImputer`; the most probable joint state
        includes that of the class.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain"], "wet": ["no", "yes", "no", "yes"]})
        >>> model = BayesianNetworkClassifier().fit(X, ["go", "stay", "go", "stay"])
        >>> model.impute(pd.DataFrame({"sky": [None, "sun"], "wet": ["yes", None]}))
            sky  wet
        0  rain  yes
        1   sun   no
        """
        from bnplug.network._imputing import imputed

        check_is_fitted(self)
        return imputed(self, X, how, random_state)

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None, variables: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Return the most probable explanation: the joint state of `variables`, by default of all unknown ones.

        Other unknown variables are summed out, which may need larger tables than the answer to a query.

        Joint states whose log probabilities are within 1e-9 of the largest are tied: the first is taken, by the lowest
        state of the first variable in which they differ.

        The `evidence` is as for :meth:`query`; the state of a variable with soft evidence is found with the others.
        States are in the order of the variables: a bin for a numeric feature, None for a state "missing".

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "wind": ["no", "no", "yes"] * 2})
        >>> model = BayesianNetworkClassifier("nb").fit(X, ["go", "go", "go", "stay", "stay", "go"])
        >>> model.most_probable({"sky": "rain"})
        {'wind': 'no', 'class': 'stay'}
        """
        check_is_fitted(self)
        findings = self._findings(evidence)
        return self._labels(most_probable(self.tables_, findings, variables=variables, asked=self._asked()))

    def explanations(
        self, evidence: Mapping[str, Any] | None = None, n: int = 5, variables: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the n most probable joint states of `variables`, by default of all unknown ones.

        Parameters are as for :meth:`most_probable`.

        Returns
        -------
        pandas frame
            A row for each joint state, the most probable first: a column for each variable, and ``probability``, given
            the evidence. There are fewer rows if all other joint states are impossible.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "wind": ["no", "no", "yes"] * 2})
        >>> y = ["go", "go", "go", "stay", "stay", "go"]
        >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, y)
        >>> model.explanations({"sky": "rain"}, n=2).round(2)
          wind class  probability
        0   no  stay         0.58
        1  yes    go         0.18
        """
        check_is_fitted(self)
        found = explanations(self._asked(), n, self._findings(evidence), variables)
        rows = [self._labels(one.states) for one in found]
        values = [float(np.exp(one.log_probability)) for one in found]
        return explanations_frame(rows, values)

    def _labels(self, states: Mapping[str, int]) -> dict[str, Any]:
        labels = {name: self.tables_.states[name][code] for name, code in states.items()}
        missing = self.encoder_.missing_states
        return {name: None if label == missing.get(name, ()) else label for name, label in labels.items()}

    def _asked(self) -> Asked:
        """Return the network that is kept for single questions."""
        network = self._marginalizer
        network = network.compiled if isinstance(network, CalibratedNetwork) else network
        return network.kept if isinstance(network, Marginalizer) else Asked(self.tables_, self.max_clique_size)

    def what_next(self, X: Any, costs: Mapping[str, float] | None = None) -> pd.DataFrame:
        """Return what to ask next: the unknown features of every row by what each is expected to tell of the class.

        A feature is worth I(class; feature | what the row knows), the expected fall of the class's entropy.

        Parameters
        ----------
        X : frame or array
            Rows as for :meth:`predict_proba`; of these, what is missing can be asked for.
        costs : mapping of str to float, optional
            What each feature costs to ask for, of all features. They are then ranked by information per cost.

        Returns
        -------
        pandas frame
            Columns ``row`` (the label of the row), ``feature`` and ``information``, in nats; for each row the largest
            first, of tied ones (within 1e-9) the first feature. With `costs`, also ``cost`` and ``per_cost``, by which
            they are ordered. A row that is impossible has NaN.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "wind": ["no", "no", "yes"] * 2})
        >>> y = ["go", "go", "go", "stay", "stay", "go"]
        >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, y)
        >>> model.what_next(pd.DataFrame({"sky": [None, "rain"], "wind": [None, None]})).round(3)
           row feature  information
        0    0     sky        0.197
        1    0    wind        0.090
        2    1    wind        0.098
        """
        codes = self.encode(X)
        features = list(self.encoder_.names)
        chosen = check_costs(costs, features)
        self._warn_where_missing(codes)
        places = [self.schema_.index(name) for name in features]
        values = expected_information(self.tables_, self.target_, self._compiled, codes, self.n_jobs)[:, places]
        unknown = (codes[places] == self.schema_.missing).T
        return next_frame(values, unknown, features, _row_labels(X, len(values)), chosen)

    def sensitivity(self, evidence: Mapping[str, Any] | None = None, target: str | None = None) -> pd.DataFrame:
        """Return how P(target | evidence) moves with each entry of the tables: exact derivatives.

        As an entry moves, the others of its column move against it, in proportion to what they are, so that the column
        keeps its sum.

        The `evidence` is as for :meth:`query`, and the `target` by default the class.

        Returns
        -------
        pandas frame
            For each entry and each state of the target, the largest derivative in absolute terms first: ``variable``,
            ``state`` and ``given`` (a dict of the parents' states), which say what entry it is, ``parameter`` (the
            entry), ``target`` (the target's state), ``probability`` (its posterior) and ``derivative``.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3})
        >>> y = ["go", "go", "go", "stay", "stay", "go"]
        >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, y)
        >>> slopes = model.sensitivity({"sky": "rain"})
        >>> slopes[slopes["target"] == "stay"].head(2).round(2)
          variable state given  parameter target  probability  derivative
        1    class    go    {}       0.64   stay         0.64        -1.0
        3    class  stay    {}       0.36   stay         0.64         1.0
        """
        check_is_fitted(self)
        target = self.target_ if target is None else target
        findings = self._findings(evidence)
        network = self._compiled(target)
        factor = network.factor(findings) if isinstance(network, CalibratedNetwork) else 1.0
        slopes = sensitivity(self.tables_, target, findings, self.max_clique_size, factor)
        posterior = self._marginalizer.query([target], findings)
        return sensitivity_frame(self.tables_, slopes, target, posterior)

    @overload
    def conflict(self, evidence: Mapping[str, Any] | pd.Series[Any]) -> float: ...

    @overload
    def conflict(self, evidence: Any) -> float | pd.Series[float]: ...

    def conflict(self, evidence: Any) -> float | pd.Series[float]:
        """Return Jensen's measure of conflict between findings: log P(e1) P(e2) ... / P(e1, e2, ...), in nats.

        Findings that support each other have a negative one. Above 0 they are less probable together than if they had
        nothing to do with each other: a rare case, an error in the data, or one that the network does not know.

        The `evidence` is as for :meth:`query`; for a frame, the result is a series with a number for each row, NaN for
        an impossible one.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"sky": ["sun"] * 3 + ["rain"] * 3, "coat": ["no"] * 3 + ["yes"] * 3})
        >>> model = BayesianNetworkClassifier([("sky", "coat"), ("coat", "class")], "ml")
        >>> model = model.fit(X, [0, 0, 1, 1, 0, 1])
        >>> [round(model.conflict({"sky": sky, "coat": "yes"}), 2) for sky in ("rain", "sun")]
        [-0.62, 1.95]
        """
        check_is_fitted(self)
        if evidence is None or isinstance(evidence, Mapping | pd.Series):
            return conflict(self._marginalizer, self._findings(evidence))
        frame, findings = self._row_findings(evidence)
        values = [_conflict_of_row(self._marginalizer, of_row) for of_row in findings]
        return pd.Series(values, index=_row_labels(evidence, len(frame)), name="conflict", dtype=np.float64)

    def _row_findings(self, evidence: Any) -> tuple[pd.DataFrame, Iterator[dict[str, Finding]]]:
        """Return rows of evidence as a frame, and what each says."""
        frame = to_frame(evidence, "evidence")
        codes, soft = encode_rows(frame, self.encoder_, self.schema_, self.unseen)
        names, missing = self.schema_.names, self.schema_.missing
        rows = ({name: int(code) for name, code in zip(names, row, strict=True) if code != missing} for row in codes.T)
        return frame, ({**known, **soft.get(m, {})} for m, known in enumerate(rows))

    def _findings(self, evidence: Mapping[str, Any] | pd.Series[Any] | None) -> dict[str, Finding]:
        if isinstance(evidence, pd.Series):
            evidence = {str(name): value for name, value in evidence.items()}
        return encode_evidence(evidence, self.encoder_, self.schema_)

    def _compiled(self, target: str) -> CompiledNetwork:
        """Return the marginals in which any variable takes the part of the class."""
        if target == self.target_:
            return self._marginalizer
        return check_marginals(self.engine_.compile(self.tables_, target), self.engine_)


def _conflict_of_row(network: CompiledNetwork, findings: Mapping[str, Finding]) -> float:
    possible = network.log_probability(findings) > -np.inf
    return conflict(network, findings) if possible else float("nan")


def _row_labels(X: Any, n_rows: int) -> pd.Index[Any]:
    X = one_row(X)
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n_rows)
