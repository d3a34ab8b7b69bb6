"""Random networks of up to eight variables with evidence about them, and answers by enumeration of all joint states."""

import numpy as np
from random_networks import full_joint, random_tables
from strategies import random_parents


def queried_network(seed, soft=True):
    """A network and possible evidence about it: zeros, isolated nodes, unnormalised tables, a class with parents."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(2, 9))
        cards = rng.integers(1, 4, n)
        target = int(rng.integers(n))
        cards[target] = max(2, cards[target])
        tables = random_tables(
            rng,
            random_parents(rng, n),
            cards.tolist(),
            target=target,
            normalized=bool(rng.random() < 0.7),
            zeros=float(rng.choice([0.0, 0.0, 0.2])),
        )
        evidence = random_evidence(rng, tables, soft)
        if np.isfinite(full_joint(tables).max()) and weighted(tables, evidence).sum() > 0:
            return tables, evidence


def random_evidence(rng, tables, soft=True):
    """What is known of about half of the features, by codes and likelihoods; the class is free."""
    evidence = {}
    for name in rng.permutation(tables.names).tolist():
        size = len(tables.states[name])
        if name == tables.target or rng.random() < 0.5:
            continue
        evidence[name] = int(rng.integers(size))
        if soft and rng.random() < 0.4:
            evidence[name] = rng.uniform(0.05, 3.0, size) * (rng.random(size) < 0.8)
    return evidence


def weighted(tables, evidence):
    """P(all variables, evidence), not normalised, an axis for each variable; the largest without evidence is 1."""
    logs = full_joint(tables)
    joint = np.exp(logs - logs.max())
    for name, finding in evidence.items():
        weights = np.eye(len(tables.states[name]))[finding] if isinstance(finding, int) else np.asarray(finding)
        joint = joint * along(tables, name, weights)
    return joint


def along(tables, name, weights):
    return np.reshape(weights, [-1 if other == name else 1 for other in tables.names])


def marginal(tables, joint, names):
    """The normalised marginal of some variables, in their order."""
    kept = np.einsum(joint, range(joint.ndim), [tables.names.index(name) for name in names])
    return kept / kept.sum()


def asked_rows(seed, n_rows=4):
    """A network, and rows that know some features, of which the first is possible."""
    tables, evidence = queried_network(seed, soft=False)
    rng = np.random.default_rng(seed)
    known = [evidence, *(random_evidence(rng, tables, soft=False) for _ in range(n_rows - 1))]
    codes = np.full((len(tables.names), n_rows), 255, dtype=np.uint8)
    for m, own in enumerate(known):
        for name, code in own.items():
            codes[tables.names.index(name), m] = code
    return tables, known, codes
