"""
An engine that approximates
===========================

Loopy belief propagation in one file: variables and tables send each other messages until these no longer change. On
trees the answers are exact; on other networks they are approximate, at a cost that is linear in the number of tables.
The conformance kit demands this of a deterministic engine with ``exact=False``.

Run: ``python examples/loopy_engine.py``
"""

# %%
# All rows send their messages at once: a message is an array of shape (rows, states). A table's message to one of its
# variables sums out the others, each weighted by the messages from its other tables.
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bnplug import BayesianNetworkClassifier, CompiledNetwork, Engine, EngineMethod, LogTables, datasets
from bnplug.testing import checks_of, subject_of
from bnplug.typing import CodeArray, FloatArray


class LoopyNetwork(CompiledNetwork):
    def __init__(self, tables: LogTables, target: str | None, max_iter: int, tol: float) -> None:
        self.names, self.max_iter, self.tol = tables.names, max_iter, tol
        self.target = None if target is None else tables.names.index(target)
        self.cards = [len(tables.states[name]) for name in tables.names]
        self.scopes = [[tables.names.index(u) for u in (name, *tables[name].parents)] for name in tables.names]
        tops = [max(float(tables[name].values.max()), -1e300) for name in tables.names]
        self.scale = sum(tops)
        self.factors = [np.exp(tables[name].values - top) for name, top in zip(tables.names, tops, strict=True)]

    def log_joint(
        self, codes: CodeArray, shares: FloatArray | None = None, complete: bool = False, *, n_jobs: int | None = None
    ) -> FloatArray:
        self.refuse_shares(shares)
        beliefs, _, log_total = self.propagate(self.likelihoods(codes))
        with np.errstate(divide="ignore"):
            joint = np.zeros((codes.shape[1], 1)) if self.target is None else np.log(beliefs[self.target])
        return joint + log_total[:, None] if complete or self.target is None else joint

    def query(self, variables: Sequence[str], evidence: Mapping[str, int | npt.ArrayLike]) -> FloatArray:
        likelihoods = [np.ones((1, card)) for card in self.cards]
        for name, given in evidence.items():
            v = self.names.index(name)
            finding = np.asarray(given)
            likelihoods[v] = (np.eye(self.cards[v])[finding] if finding.ndim == 0 else finding.astype(float))[None]
        # The chain rule: P(a, b | e) = P(a | e) P(b | a, e), with a row for each state of a.
        answer = np.ones(1)
        for v in map(self.names.index, variables):
            answer = (answer[:, None] * self.propagate(likelihoods)[0][v]).ravel()
            states = np.tile(np.eye(self.cards[v]), (len(likelihoods[v]), 1))
            likelihoods = [each.repeat(self.cards[v], axis=0) for each in likelihoods]
            likelihoods[v] = likelihoods[v] * states
        if not answer.sum() > 0:
            raise ValueError(f"the evidence {dict(evidence)} is impossible")
        shape = [self.cards[self.names.index(name)] for name in variables]
        return np.asarray(answer / answer.sum()).reshape(shape)

    def expected_counts(self, codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
        counts = [np.zeros(factor.shape) for factor in self.factors]
        for c in range(weights.shape[1]):
            likelihoods = self.likelihoods(codes)
            if self.target is not None:
                likelihoods[self.target] = np.eye(weights.shape[1])[[c] * codes.shape[1]]
            _, joints, log_total = self.propagate(likelihoods)
            share = np.where(np.isfinite(log_total), weights[:, c], 0.0)
            for total, joint in zip(counts, joints, strict=True):
                total += np.tensordot(share, joint, axes=1)
        return counts

    def likelihoods(self, codes: CodeArray) -> list[FloatArray]:
        """Return for each variable the evidence of the rows, of shape (rows, states)."""
        missing = np.iinfo(codes.dtype).max
        known = [(row[:, None] == np.arange(card)) | (row == missing)[:, None]
                 for row, card in zip(codes, self.cards, strict=True)]  # fmt: skip
        return [np.ones_like(each, float) if v == self.target else each.astype(float) for v, each in enumerate(known)]

    def propagate(self, likelihoods: Sequence[FloatArray]) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
        """Return the marginals of the variables and of the families, and the logarithm of each row's probability."""
        n_rows = len(likelihoods[0])
        messages = {(f, v): np.ones((n_rows, self.cards[v])) for f, scope in enumerate(self.scopes) for v in scope}

        def heard(v: int, but: int | None = None) -> FloatArray:
            said = [message for (f, u), message in messages.items() if u == v and f != but]
            return np.asarray(np.prod([likelihoods[v], *said], axis=0))

        def summed(f: int, kept: Sequence[int], to: int | None = None) -> FloatArray:
            inputs = [part for v in self.scopes[f] if v != to for part in (heard(v, f), [n_all, v])]
            rows = np.ones(n_rows), [n_all], [n_all, *kept]
            return np.asarray(np.einsum(self.factors[f], self.scopes[f], *inputs, *rows))

        n_all = len(self.names)
        for _ in range(self.max_iter):
            new = {(f, v): normalized(summed(f, [v], v)) for f, v in messages}
            change = max((np.abs(new[key] - messages[key]).max(initial=0.0) for key in messages), default=0.0)
            messages.update(new)
            if change <= self.tol:
                break
        # The Bethe approximation of the probability of the evidence, exact on trees.
        joints = [summed(f, scope) for f, scope in enumerate(self.scopes)]
        beliefs = [heard(v) for v in range(n_all)]
        degrees = [sum(v in scope for scope in self.scopes) for v in range(n_all)]
        with np.errstate(divide="ignore", invalid="ignore"):
            of_factors = sum(np.log(joint.reshape(n_rows, -1).sum(axis=1)) for joint in joints)
            of_variables = sum((1 - n) * np.log(belief.sum(axis=1)) for n, belief in zip(degrees, beliefs, strict=True))
            log_total = self.scale + of_factors + of_variables
        possible = np.all([belief.sum(axis=1) > 0 for belief in beliefs], axis=0)
        log_total = np.where(possible & np.isfinite(log_total), log_total, -np.inf)
        return [normalized(belief) for belief in beliefs], [normalized(joint) for joint in joints], log_total


def normalized(values: FloatArray) -> FloatArray:
    """Divide the numbers of each row by their sum; an impossible row stays zero."""
    total = values.sum(axis=tuple(range(1, values.ndim)), keepdims=True)
    return np.asarray(np.divide(values, total, out=np.zeros_like(values), where=total > 0))


# %%
# The engine only stores its parameters; ``compile`` makes the network above, with a class or without.


class LoopyPropagation(Engine):
    """Loopy belief propagation: exact on trees, approximate elsewhere.

    Parameters
    ----------
    max_iter : int
        The largest number of rounds of messages.
    tol : float
        Stop if no message changes by more than this.
    """

    def __init__(self, max_iter: int = 200, tol: float = 1e-10) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def compile(self, tables: LogTables, target: str | None = None) -> LoopyNetwork:
        return LoopyNetwork(tables, target, self.max_iter, self.tol)


METHOD = EngineMethod(
    name="loopy",
    factory=LoopyPropagation,
    summary="Loopy belief propagation.",
    reference="Pearl: Probabilistic reasoning in intelligent systems (1988)",
    exact=False,
)


def main() -> None:
    # Every check of the kit, as for the engine of a plugin.
    checks = checks_of(subject_of(METHOD))
    for check in checks:
        check()
    print(f"{len(checks)} checks passed")

    # Differences from the exact posteriors, with a third of the cells missing.
    X, y = datasets.tic_tac_toe()
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    for structure in ("nb", "tan", "kdb"):
        exact, loopy = (
            BayesianNetworkClassifier(structure, engine=engine).fit(X, y).predict_proba(holes)
            for engine in ("elimination", LoopyPropagation())
        )
        off = np.abs(exact - loopy)
        print(f"{structure:4} mean difference {off.mean():.1e}, largest {off.max():.1e}")


if __name__ == "__main__":
    main()
