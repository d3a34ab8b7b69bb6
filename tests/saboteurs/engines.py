"""Engines, each with one fault; a healthy one comes first."""

from functools import partial

import numpy as np
from saboteurs.registering import register

from bnplug import CompiledNetwork, Engine, EngineMethod
from bnplug.inference.marginals import Marginalizer
from bnplug.testing._network_checks import _expected, _log_joint, _query

SABOTEURS = []
fails = partial(register, SABOTEURS, EngineMethod)


class Enumerated(CompiledNetwork):
    """Every answer by enumeration of all configurations."""

    def __init__(self, tables):
        self.tables = tables

    def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
        return _log_joint(self.tables, codes)

    def query(self, variables, evidence):
        return _query(self.tables, variables, evidence)

    def expected_counts(self, codes, weights):
        return _expected(self.tables, codes, weights)


class Enumeration(Engine):
    own_marginals = Enumerated

    def compile(self, tables, target):
        return self.own_marginals(tables)


@fails("check_returns_compiled_network")
class ReturnsWhatOnlyLooksLikeMarginals(Engine):
    class Answers:
        def __init__(self, marginals):
            self.log_joint, self.query = marginals.log_joint, marginals.query
            self.expected_counts = marginals.expected_counts

    def compile(self, tables, target):
        return self.Answers(Marginalizer(tables, target))


@fails("check_refuses_in_a_sentence")
class RefusesWithoutAReason(Enumeration):
    def compile(self, tables, target):
        if not all(table.normalized for table in tables.tables.values()):
            raise ValueError
        return super().compile(tables, target)


@fails("check_estimates_are_near", exact=False)
class Guesses(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            return np.zeros((codes.shape[1], 3))


@fails("check_log_joint_is_exact")
class SkipsWhatIsMissing(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            missing = codes == np.iinfo(codes.dtype).max
            return super().log_joint(np.where(missing, 0, codes).astype(codes.dtype))


@fails("check_query_is_exact")
class TakesTheLikeliestStateForCertain(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def query(self, variables, evidence):
            hard = {name: value if np.ndim(value) == 0 else int(np.argmax(value)) for name, value in evidence.items()}
            return super().query(variables, hard)


@fails("check_query_is_exact")
class AnswersInItsOwnOrder(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def query(self, variables, evidence):
            return super().query(sorted(variables), evidence)


@fails("check_expected_counts_are_exact")
class DropsNegativeWeights(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def expected_counts(self, codes, weights):
            return super().expected_counts(codes, np.maximum(weights, 0.0))


@fails("check_class_is_not_read", exact=False)
class ReadsTheClass(Enumeration):
    class own_marginals(Enumerated):  # noqa: N801
        def log_joint(self, codes, shares=None, complete=False, *, n_jobs=None):
            known = codes[2] != np.iinfo(codes.dtype).max
            return super().log_joint(codes) + np.where(known, 0.0, 1.0)[:, None] * np.arange(3)


@fails("check_network_not_mutated")
class RoundsInPlace(Enumeration):
    def compile(self, tables, target):
        for _, values in tables.tables.values():
            np.round(values, 12, out=values)
        return super().compile(tables, target)


@fails("check_n_jobs_does_not_matter")
class DependsOnThreads(Enumeration):
    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def compile(self, tables, target):
        return Noisy(tables, 1e-12 if self.n_jobs == 2 else 0.0)


class Noisy(Enumerated):
    def __init__(self, tables, noise):
        super().__init__(tables)
        self.noise = noise

    def query(self, variables, evidence):
        return super().query(variables, evidence) + self.noise
