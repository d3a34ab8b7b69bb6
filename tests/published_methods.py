"""Two published methods, written as the author of a plugin writes them: against the public contract alone."""

import numpy as np

from bnplug import CountsLearner, Discretizer, LogTables


class CAIM(Discretizer):
    """Class-attribute interdependence maximization (Kurgan and Cios 2004, IEEE TKDE 16)."""

    supervised = True

    def cuts(self, column):
        below = np.concatenate([np.zeros((1, column.n_classes)), column.weights_by_class.cumsum(axis=0)])
        bounds, best = [0, len(column.values)], 0.0
        while len(bounds) - 1 < len(column.values):
            candidates = np.setdiff1d(np.arange(len(below)), bounds)
            caim = [self.caim(below, sorted([*bounds, i])) for i in candidates.tolist()]
            chosen = int(np.argmax(caim))
            if caim[chosen] <= best and len(bounds) - 1 >= column.n_classes:
                break
            best, bounds = caim[chosen], sorted([*bounds, int(candidates[chosen])])
        inner = np.array(bounds[1:-1], dtype=int)
        return (column.values[inner - 1] + column.values[inner]) / 2

    def caim(self, below, bounds):
        counts = np.diff(below[bounds], axis=0)
        return float((counts.max(axis=1) ** 2 / counts.sum(axis=1)).mean())


class HierarchicalDirichlet(CountsLearner):
    """Hierarchical Dirichlet smoothing with one concentration, in rows (Petitjean et al. 2018, simplified)."""

    relative_weights = True

    def __init__(self, concentration=2.0):
        self.concentration = concentration

    def from_counts(self, table, dag, counts, rows):
        tables = {}
        for name, parents, weights, numbers in zip(table.names, dag.parents, counts, rows, strict=True):
            virtual = self.concentration * weights.sum() / max(numbers.sum(), 1e-9)
            p = np.full(len(weights), 1.0 / len(weights))
            for level in range(weights.ndim):
                n = weights.sum(axis=tuple(range(level + 1, weights.ndim)))
                p = (n + virtual * p) / (n.sum(axis=0) + virtual)
                p = p[..., None]
            tables[name] = ([table.names[u] for u in parents], np.log(p[..., 0]))
        return LogTables(table.names, table.states, tables, table.target)
