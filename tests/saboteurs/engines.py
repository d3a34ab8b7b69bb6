"""Engines, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
from loopy import LoopyNetwork, LoopyPropagation
from saboteurs.registering import register

import bnplug
from bnplug import CompiledNetwork, Engine, EngineMethod
from bnplug.inference.marginals import Marginalizer
from bnplug.testing._engine_checks import _expected, _log_joint, _query

SABOTEURS = []
fails = partial(register, SABOTEURS, EngineMethod)


class EnumeratedWithoutCounts(CompiledNetwork):
    """Answers by enumeration of all configurations."""

    def __init__(self, tables):
        self.tables = tables

    def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
        self.refuse_shares(shares)
        return _log_joint(self.tables, codes)

    def query(self, variables, evidence):
        return _query(self.tables, variables, evidence)


class Enumerated(EnumeratedWithoutCounts):
    """The same, with expected counts."""

    def expected_counts(self, codes, weights):
        return _expected(self.tables, codes, weights)


class Enumeration(Engine):
    own_marginals = Enumerated

    def compile(self, tables, target=None):
        if target is None:
            raise ValueError("enumeration needs a class; use engine='elimination'")
        return self.own_marginals(tables)


class EnumerationWithoutCounts(Enumeration):
    own_marginals = EnumeratedWithoutCounts


class Sampling(Engine):
    """Estimates that depend on a seed."""

    compiled = None

    def __init__(self, random_state=None):
        self.random_state = random_state

    def compile(self, tables, target=None):
        drawn = bnplug.engine("sampling", n_samples=1000, random_state=self.random_state).compile(tables, target)
        return drawn if self.compiled is None or target is None else self.compiled(drawn)


class Drawn(EnumeratedWithoutCounts):
    """What sampling answers."""

    def __init__(self, drawn):
        self.drawn = drawn

    def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
        return self.drawn.log_joint(codes, shares, complete, n_jobs=n_jobs)

    def query(self, variables, evidence):
        return self.drawn.query(variables, evidence)

    def expected_counts(self, codes, weights):
        return self.drawn.expected_counts(codes, weights)


@fails("check_returns_compiled_network")
class ReturnsWhatOnlyLooksCompiled(Engine):
    class Answers:
        def __init__(self, marginals):
            self.log_joint, self.query = marginals.log_joint, marginals.query
            self.expected_counts = marginals.expected_counts

    def compile(self, tables, target=None):
        if target is None:
            raise ValueError("a class is needed; use engine='elimination'")
        return self.Answers(Marginalizer(tables, target))


@fails("check_refuses_in_a_sentence")
class RefusesWithoutAReason(Enumeration):
    def compile(self, tables, target=None):
        if not all(table.normalized for table in tables.tables.values()):
            raise ValueError
        return super().compile(tables, target)


@fails("check_log_joint_agrees", also=("check_full_log_joint_agrees",))
class SkipsWhatIsMissing(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            missing = codes == np.iinfo(codes.dtype).max
            return super().log_joint(np.where(missing, 0, codes).astype(codes.dtype), shares)


@fails("check_log_joint_agrees", also=("check_full_log_joint_agrees",), exact=False, stochastic=True)
class Guesses(Sampling):
    class compiled(Drawn):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            return np.zeros_like(super().log_joint(codes, shares))


@fails("check_full_log_joint_agrees")
class LeavesOutConstants(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            joint = super().log_joint(codes, shares)
            top = joint.max(axis=1, keepdims=True)
            return joint - np.where(np.isfinite(top), top, 0.0)


@fails("check_full_log_joint_agrees")
class TakesImpossibleRowsForUnlikelyOnes(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            joint = super().log_joint(codes, shares)
            return np.maximum(joint, -700.0) if complete else joint


@fails("check_query_agrees")
class TakesTheLikeliestStateForCertain(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def query(self, variables, evidence):
            hard = {name: value if np.ndim(value) == 0 else int(np.argmax(value)) for name, value in evidence.items()}
            return super().query(variables, hard)


@fails("check_query_agrees")
class AnswersInItsOwnOrder(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def query(self, variables, evidence):
            return super().query(sorted(variables), evidence)


@fails("check_query_agrees", exact=False, stochastic=True)
class DrawsReversedAnswers(Sampling):
    class compiled(Drawn):  # noqa: N801
        def query(self, variables, evidence):
            return np.flip(super().query(variables, evidence))


@fails("check_expected_counts_agree")
class DropsNegativeWeights(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def expected_counts(self, codes, weights):
            return super().expected_counts(codes, np.maximum(weights, 0.0))


@fails("check_expected_counts_agree", exact=False, stochastic=True)
class DrawsTooLargeCounts(Sampling):
    class compiled(Drawn):  # noqa: N801
        def expected_counts(self, codes, weights):
            return [1.1 * counts for counts in super().expected_counts(codes, weights)]


@fails("check_query_agrees", exact=False)
class LoopyWithReversedAnswers(LoopyPropagation):
    class network(LoopyNetwork):  # noqa: N801
        def query(self, variables, evidence):
            return np.flip(super().query(variables, evidence))

    def compile(self, tables, target=None):
        return self.network(tables, target, self.max_iter, self.tol)


@fails("check_expected_counts_agree", exact=False)
class LoopyWithTooLargeCounts(LoopyWithReversedAnswers):
    class network(LoopyNetwork):  # noqa: N801
        def expected_counts(self, codes, weights):
            return [1.1 * counts for counts in super().expected_counts(codes, weights)]


@fails(
    "check_query_agrees",
    also=(
        "check_log_joint_agrees",
        "check_full_log_joint_agrees",
        "check_expected_counts_agree",
        "check_network_without_a_class",
    ),
    exact=False,
)
class OneRound(LoopyPropagation):
    def __init__(self, max_iter=1, tol=1e-10):
        super().__init__(max_iter, tol)


@fails("check_network_without_a_class")
class LeavesOutEverythingWithoutAClass(Enumeration):
    def compile(self, tables, target=None):
        return super().compile(tables, target) if target is not None else OneColumn(tables)


class OneColumn(Enumerated):
    def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
        return np.zeros((codes.shape[1], 1))


@fails("check_network_without_a_class")
class FailsWithoutAClass(Enumeration):
    def compile(self, tables, target=None):
        assert len(tables.states[target]) > 0
        return Enumerated(tables)


@fails("check_shares_are_not_ignored")
class IgnoresShares(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def refuse_shares(self, shares):
            pass


@fails("check_class_is_not_read")
class ReadsTheClass(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            known = codes[2] != np.iinfo(codes.dtype).max
            return super().log_joint(codes, shares) + np.where(known, 0.0, 1.0)[:, None] * np.arange(3)


@fails("check_network_not_mutated")
class RoundsInPlace(Enumeration):
    def compile(self, tables, target=None):
        for _, values in tables.tables.values():
            np.round(values, 12, out=values)
        return super().compile(tables, target)


@fails("check_n_jobs_does_not_matter")
class DependsOnThreads(Enumeration):
    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def compile(self, tables, target=None):
        super().compile(tables, target)
        return Noisy(tables, 1e-12 if self.n_jobs == 2 else 0.0)


class Noisy(Enumerated):
    def __init__(self, tables, noise):
        super().__init__(tables)
        self.noise = noise

    def query(self, variables, evidence):
        return super().query(variables, evidence) + self.noise
