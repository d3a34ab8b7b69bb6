"""
Are the learned relations around the class the true ones?
=========================================================

Kelner and Lerner (2012) learn a network that minimizes the error of a classifier, and ask in their conclusions whether
the relations that it shows around the class are the true ones. Networks with a known structure answer that: rows are
drawn from a network, structures are learned from the rows, and both graphs are compared.

Run: ``python examples/true_relations.py`` (needs bnplug-rmcv and bnplug-structures). Without options, two draws of 500
rows from the smallest network; ``--full results.csv`` runs the whole protocol, resumes where it was stopped, and
writes the tables of the documentation beside that file.

The protocol, fixed before the first run:

- Networks and classes: asia (dysp), sachs (Erk), child (Disease), insurance (Accident) and alarm (CATECHOL), as pgmpy
  contains them. Each class has parents; all but dysp have children; the blankets have 2 to 10 variables.
- Training rows: 500, 2,000 and 10,000, in 10 independent draws each; 5,000 test rows per draw, the same for all sizes.
- Methods: RMCV from naive Bayes (the paper's, alpha=0), a climb by conditional log-likelihood with at most two parents
  (BNC-2P), climbs by MDL and BDeu from the empty graph, TAN, PC, GES and tabu search with their defaults (both
  maximize MDL). For reference, the true graph. Parameters of all are ``backoff``.
- Measures: accuracy on the test rows; the structural Hamming distance (SHD), which is the number of pairs of variables
  whose edge differs between the equivalence classes (CPDAGs); and precision and recall of the Markov blanket of the
  class, whose counts are added over the draws: recall is the share of the true blanket that is in the learned one, and
  precision is the share of the learned one that is true.
- Reported are means over networks, for each number of rows. Defaults of the new methods were chosen on draw 0, which is
  not part of the protocol.
"""

# %%
# A network, and rows drawn from it.
import argparse
import csv
import gzip
import importlib.util
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from bnplug import BayesianNetworkClassifier, Structure, StructureLearner, read_network, structure_learner
from bnplug.structure import markov_blanket

CLASSES = {"asia": "dysp", "sachs": "Erk", "child": "Disease", "insurance": "Accident", "alarm": "CATECHOL"}
N_TEST = 5000


def network(name):
    """Return a network that pgmpy contains."""
    pgmpy = Path(importlib.util.find_spec("pgmpy").origin).parent
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.bif")
        path.write_bytes(gzip.decompress((pgmpy / f"utils/example_models/{name}.bif.gz").read_bytes()))
        return read_network(path, target=CLASSES[name])


def rows(model, n, seed):
    """Return features and classes of rows drawn from a network."""
    frame = model.sample(n, random_state=seed).astype(str)
    return frame.drop(columns=model.target_), frame[model.target_]


# %%
# The methods.


class TrueGraph(StructureLearner):
    """The graph that generated the rows."""

    def __init__(self, edges=()):
        self.edges = edges

    def learn(self, table):
        known = {*table.names}
        return [edge for edge in self.edges if known.issuperset(edge)]


def methods(truth):
    """Return the structure learners by name."""
    cll = ("cll", {"alpha": 0.0, "floor": 1e-5})
    return {
        "RMCV": structure_learner("rmcv", alpha=0.0, random_state=0),
        "CLL": structure_learner("hill-climb", score=cll, start="empty", shake=False, max_parents=2),
        "MDL": structure_learner("hill-climb", score="mdl", start="empty"),
        "BDeu": structure_learner("hill-climb", score="bdeu", start="empty"),
        "TAN": structure_learner("tan"),
        "PC": structure_learner("pc"),
        "GES": structure_learner("ges"),
        "tabu": structure_learner("tabu"),
        "true graph": TrueGraph(truth.edges),
    }


# %%
# The measures.


def marks(graph):
    """Return the edges of an equivalence class: the mark of each pair of variables."""
    directed = {frozenset(edge): edge for edge in graph.directed}
    return directed | {frozenset(edge): "undirected" for edge in graph.undirected}


def distance(graph, truth):
    """Return the structural Hamming distance between the equivalence classes of two graphs."""
    ours, theirs = marks(graph.cpdag()), marks(truth.cpdag())
    return sum(ours.get(pair) != theirs.get(pair) for pair in {*ours, *theirs})


def measure(learner, truth, target, train, test):
    """Learn a structure, and return its measures."""
    start = time.process_time()
    model = BayesianNetworkClassifier(learner, "backoff").fit(*train)
    seconds = time.process_time() - start
    graph = Structure.of(model.tables_.edges, truth)
    blanket, true = ({*markov_blanket(each.by_name, target)} for each in (graph, truth))
    return {
        "accuracy": round(float(np.mean(model.predict(test[0]) == test[1])), 4),
        "shd": distance(graph, truth),
        "blanket": len(blanket),
        "right": len(blanket & true),
        "true": len(true),
        "seconds": round(seconds, 2),
    }


# %%
# The protocol. Each result is written at once, and read instead of being computed again.


def results(names, sizes, draws, path=None, chosen=None):
    """Yield a row of results for each network, size, draw and method."""
    known = pd.read_csv(path).to_dict("records") if path and Path(path).exists() else []
    done = {(row["network"], row["rows"], row["draw"], row["method"]): row for row in known}
    for name in names:
        model = network(name)
        truth = Structure.of(model.tables_.edges, Structure(model.tables_.names, [()] * len(model.tables_.names)))
        for draw in draws:
            test = rows(model, N_TEST, 100_000_000 + draw)
            for size in sizes:
                train = rows(model, size, 100_000 * draw + size)
                for method, learner in methods(truth).items():
                    key = {"network": name, "rows": size, "draw": draw, "method": method}
                    if tuple(key.values()) in done:
                        yield done[tuple(key.values())]
                    elif chosen is None or method in chosen:
                        row = key | measure(learner, truth, model.target_, train, test)
                        write(path, row)
                        yield row


def write(path, row):
    """Append a row of results to a file."""
    if path is not None:
        is_new = not Path(path).exists()
        with Path(path).open("a", newline="") as file:
            writer = csv.DictWriter(file, row)
            if is_new:
                writer.writeheader()
            writer.writerow(row)


def summary(frame, by):
    """Return means over networks of the measures."""
    sums = frame.groupby(["network", *by], sort=False)[["blanket", "right", "true"]].sum()
    means = frame.groupby(["network", *by], sort=False)[["accuracy", "shd", "seconds"]].mean()
    means["precision"] = sums["right"] / sums["blanket"].where(sums["blanket"] > 0)
    means["recall"] = sums["right"] / sums["true"]
    return means.groupby(by, sort=False).mean().round(3)


def as_markdown(frame):
    """Return the lines of a table of means."""
    names = [*frame.index.names, "accuracy", "SHD", "precision", "recall"]
    lines = [names, ["---"] * frame.index.nlevels + ["---:"] * 4]
    for key, row in zip(frame.index, frame.itertuples(), strict=True):
        means = f"{row.accuracy:.3f}", f"{row.shd:.1f}", f"{row.precision:.3f}", f"{row.recall:.3f}"
        lines.append([*((key,) if isinstance(key, str) else key), *means])
    return ["| " + " | ".join(line) + " |" for line in lines]


def page(frame):
    """Return the tables that the documentation shows."""
    lines = []
    for size, part in frame.groupby("rows"):
        lines += [f"{size:,} rows, means over the networks:", "", *as_markdown(summary(part, ["method"])), ""]
    largest = frame[frame["rows"] == frame["rows"].max()]
    each = summary(largest.assign(name=largest["network"]), ["name", "method"]).rename_axis(["network", "method"])
    return "\n".join([*lines, f"{frame['rows'].max():,} rows, each network:", "", *as_markdown(each), ""])


parser = argparse.ArgumentParser(description="Do learned relations around the class agree with the true network?")
parser.add_argument("--full", metavar="CSV", help="run the whole protocol, and write its results to this file")
parser.add_argument("--methods", nargs="+", help="run these methods only")
options = parser.parse_args()
warnings.simplefilter("ignore")
whole, short = (list(CLASSES), [500, 2000, 10000], range(1, 11)), (["asia"], [500], range(1, 3))
frame = pd.DataFrame(results(*(whole if options.full else short), options.full, options.methods))
for size, part in frame.groupby("rows"):
    print(f"{size} rows\n{summary(part, ['method']).to_string()}\n")
if options.full:
    Path(options.full).with_suffix(".md").write_text(page(frame), encoding="utf-8")
