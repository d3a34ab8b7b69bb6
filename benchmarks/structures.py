"""Structure learners beside those of pgmpy and pyAgrum: processor time and structural Hamming distance, in one run.

Protocol. 5,000 rows are drawn from each of alarm, insurance, hailfinder, hepar2 and win95pts (the files that pgmpy
installs), and columns with a single state are dropped. Every method runs in its own process on the same rows, with one
thread and its defaults; searches maximize BIC (`mdl`). Kernels are compiled, and libraries imported, before the clock
starts; the time is the processor time of learning, including a library's own reading of the frame. What takes less than
a second is done twice, and the second time counts. A process that has used LIMIT seconds of processor time is ended and
listed as "> LIMIT". The structural Hamming distance (SHD) counts the pairs of variables whose edge differs between the
learned CPDAG and that of the true graph. `exact` and pgmpy's exhaustive search learn from the first five variables of
alarm.

Wanted: each method takes at most 1/20 of the time of pgmpy's counterpart, on average less than pyAgrum's counterpart,
and its SHD is on average no worse. The counterparts are listed in COUNTERPARTS. pyAgrum 3.3 has no 3off2; MIIC is its
successor.

Usage: python benchmarks/structures.py [--limit SECONDS] [--draws N] [--networks NAME ...] [--methods NAME ...]

``--networks "insurance, 25 variables" --methods exact`` takes the first variables of a network.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import resource
import subprocess
import sys
import time
import warnings
from importlib.resources import files
from multiprocessing import Pipe, get_context

import numpy as np

import bnplug
from bnplug import Structure, Table
from bnplug.inference.sample import sample
from bnplug.io.network_files import parse_tables
from bnplug.structure import PartialGraph

NETWORKS = ("alarm", "insurance", "hailfinder", "hepar2", "win95pts")
SMALL = "alarm, 5 variables"
N_ROWS = 5000


def with_bnplug(name, **parameters):
    """Return a function that learns by a method of bnplug."""

    def learn(frame):
        table = Table.from_frame(frame, frame.columns[0])
        started = time.process_time()
        learned = bnplug.Learned.of(bnplug.structure_learner(name, **parameters).learn(table), table)
        seconds = time.process_time() - started
        return seconds, learned.pdag or learned.structure.cpdag()

    return learn


def with_pgmpy(name, **parameters):
    """Return a function that learns by an estimator of pgmpy."""

    def learn(frame):
        from pgmpy import estimators

        estimator = getattr(estimators, name)
        # pgmpy's estimators take the options of `estimate`, some of them the score in the constructor.
        options = {key: value for key, value in parameters.items() if key != "constructed"}
        made = {"scoring_method": estimators.BIC(frame)} if "constructed" in parameters else {}
        started = time.process_time()
        found = estimator(frame, **made).estimate(**options)
        seconds = time.process_time() - started
        if hasattr(found, "undirected_edges"):
            return seconds, PartialGraph(list(frame), found.directed_edges, found.undirected_edges)
        return seconds, _cpdag(frame, found.edges)

    return learn


def with_pyagrum(*calls):
    """Return a function that learns by pyAgrum, after some calls on its learner."""

    def learn(frame):
        import pyagrum

        started = time.process_time()
        learner = pyagrum.BNLearner(frame)
        learner.setNumberOfThreads(1)
        for name, *arguments in calls:
            getattr(learner, name)(*arguments)
        if learner.isConstraintBased():
            found = learner.learnPDAG()
            arcs, edges = found.arcs(), found.edges()
        else:
            arcs, edges = learner.learnDAG().arcs(), None
        seconds = time.process_time() - started
        names = [learner.nameFromId(i) for i in range(frame.shape[1])]
        arcs, edges = ([(names[u], names[v]) for u, v in pairs or ()] for pairs in (arcs, edges))
        return seconds, _cpdag(frame, arcs) if not learner.isConstraintBased() else PartialGraph(
            list(frame), arcs, edges
        )

    return learn


def _cpdag(frame, edges):
    position = {name: v for v, name in enumerate(frame)}
    parents = [[] for _ in position]
    for parent, child in edges:
        parents[position[child]].append(position[parent])
    return Structure(list(frame), parents).cpdag()


#: By name: our methods, then those of others.
METHODS = {
    "chow-liu": with_bnplug("chow-liu"),
    "hill-climb": with_bnplug("hill-climb", start="empty"),
    "tabu": with_bnplug("tabu"),
    "ges": with_bnplug("ges"),
    "pc": with_bnplug("pc"),
    "pyAgrum GHC": with_pyagrum(("useScoreBIC",), ("useGreedyHillClimbing",)),
    "pyAgrum tabu": with_pyagrum(("useScoreBIC",), ("useLocalSearchWithTabuList", 100, 2)),
    "pyAgrum MIIC": with_pyagrum(("useMIIC",), ("useNMLCorrection",)),
    "pyAgrum PC": with_pyagrum(("usePC",)),
    "pgmpy HillClimbSearch": with_pgmpy("HillClimbSearch", scoring_method="bic-d", show_progress=False),
    "pgmpy GES": with_pgmpy("GES", scoring_method="bic-d"),
    "pgmpy PC": with_pgmpy("PC", ci_test="chi_square", variant="stable", n_jobs=1, show_progress=False),
    "pgmpy MMHC": with_pgmpy("MmhcEstimator", scoring_method="bic-d"),
}
#: On some of the variables of a network only.
SMALL_METHODS = {
    "exact": with_bnplug("exact"),
    "pgmpy ExhaustiveSearch": with_pgmpy("ExhaustiveSearch", constructed=True),
}
#: Which methods of others each of ours is compared with.
COUNTERPARTS = {
    "hill-climb": ("pgmpy HillClimbSearch", "pyAgrum GHC"),
    "tabu": ("pgmpy HillClimbSearch", "pgmpy MMHC", "pyAgrum tabu"),
    "ges": ("pgmpy GES", "pyAgrum GHC"),
    "pc": ("pgmpy PC", "pyAgrum PC", "pyAgrum MIIC"),
    "exact": ("pgmpy ExhaustiveSearch",),
}


def drawn(name, draw):
    """Return a true graph, and rows drawn from it without columns of a single state."""
    name, _, part = name.partition(", ")
    packed = files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz"
    tables = parse_tables(gzip.decompress(packed.read_bytes()).decode(), "bif")
    frame = sample(tables, N_ROWS, draw).astype(str)
    frame = frame[[column for column in frame if frame[column].nunique() > 1]]
    frame = frame[frame.columns[: int(part.split()[0])]] if part else frame
    edges = [edge for edge in tables.edges if {*edge} <= {*frame}]
    return _cpdag(frame, edges), frame


def shd(first, second):
    """Return the number of pairs whose edge differs between two classes."""

    def kinds(graph):
        lines = {(*sorted(edge), "-") for edge in graph.undirected}
        return {(*sorted(edge), edge[1]) for edge in graph.directed} | lines

    return len({edge[:2] for edge in kinds(first) ^ kinds(second)})


def run_method(method, cases, limit):
    """Learn from each case, a network and a draw, in a forked process; print a result a line, as JSON."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    learn = {**METHODS, **SMALL_METHODS}[method]
    if not method.startswith("py"):
        learn(drawn(SMALL, 0)[1][:100])
    else:
        import pyagrum  # noqa: F401
    for network, draw in cases:
        truth, frame = drawn(network, draw)
        receiver, sender = Pipe(duplex=False)
        process = get_context("fork").Process(target=_send_result, args=(sender, learn, frame, truth, limit))
        process.start()
        sender.close()
        try:
            result = receiver.recv()
        except EOFError:
            result = {"seconds": float(limit), "shd": None}
        process.join()
        print(json.dumps(result), flush=True)


def _send_result(sender, learn, frame, truth, limit):
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    try:
        seconds, pdag = learn(frame)
        if seconds < 1:
            seconds, pdag = learn(frame)
        sender.send({"seconds": seconds, "shd": shd(pdag, truth)})
    except Exception as error:  # the message is printed at the end
        sender.send({"seconds": None, "shd": None, "error": f"{type(error).__name__}: {error}"})


def results_of(method, cases, limit):
    """Return the result of a method on each case; without an SHD if it took too long."""
    command = [sys.executable, __file__, "--one", method, json.dumps(cases), "--limit", str(limit)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        return [{"seconds": None, "shd": None, "error": ended.stderr.strip()[-200:]}] * len(cases)
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def shown(result, limit):
    if result["seconds"] is None:
        return "error"
    if result["shd"] is None:
        return f"> {limit} s"
    return f"{result['seconds']:.2f} s, {result['shd']}"


def compare(results, networks, draws):
    """Print the ratio of times and the mean SHD of each of our methods and its counterparts, where both ended."""
    print("\n| method | counterpart | its time divided by ours: smallest, mean | mean SHD, ours | theirs |")
    print("|---|---|---|---|---|")
    for ours, others in COUNTERPARTS.items():
        for other in others:
            cases = [(network, draw) for network in networks for draw in range(draws)]
            pairs = [(results.get((ours, *case)), results.get((other, *case))) for case in cases]
            timed = [(a, b) for a, b in pairs if a and b and a["seconds"] is not None and b["seconds"] is not None]
            both = [(a["shd"], b["shd"]) for a, b in timed if a["shd"] is not None and b["shd"] is not None]
            if not timed:
                continue
            ratios = [b["seconds"] / a["seconds"] for a, b in timed]
            at_least = "at least " if any(b["shd"] is None for _, b in timed) else ""
            distances = " | ".join(f"{mean:.1f}" for mean in np.mean(both, axis=0)) if both else "- | -"
            print(f"| {ours} | {other} | {at_least}{min(ratios):.1f}, {np.mean(ratios):.1f} | {distances} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "CASES"), help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--networks", nargs="+", default=[*NETWORKS, SMALL])
    parser.add_argument("--methods", nargs="+", default=[*METHODS, *SMALL_METHODS])
    options = parser.parse_args()
    if options.one:
        run_method(options.one[0], json.loads(options.one[1]), options.limit)
        return
    results = {}
    print("| method | " + " | ".join(options.networks) + " |")
    print("|---|" + "---|" * len(options.networks))
    for method in options.methods:
        networks = [name for name in options.networks if (", " in name) == (method in SMALL_METHODS)]
        cases = [(name, draw) for name in networks for draw in range(options.draws)]
        if cases:
            by_case = dict(zip(cases, results_of(method, cases, options.limit), strict=True))
            results |= {(method, *case): result for case, result in by_case.items()}
            texts = [
                "; ".join(
                    shown(by_case[name, draw], options.limit) for draw in range(options.draws) if name in networks
                )
                for name in options.networks
            ]
            print(f"| {method} | " + " | ".join(texts) + " |", flush=True)
    compare(results, options.networks, options.draws)
    for key, result in results.items():
        if "error" in result:
            print(*key, result["error"], file=sys.stderr)


if __name__ == "__main__":
    main()
