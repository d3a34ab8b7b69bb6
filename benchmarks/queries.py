"""Single questions about general networks: ours, pyAgrum's LazyPropagation and pgmpy's VariableElimination, in one run.

The 24 example networks that pgmpy installs. For each network and each share of observed variables (0, 10 and 50 %),
ten questions: the posterior of a random variable, given random other variables in the states of a forward sample. All
programs get the same parameters, those of our reader, and answer the same questions in the same order.

First question: making the engine, and the answer. Following questions: the mean of the other nine, on the kept engine;
evidence and variable are new each time. The best of three runs. pyAgrum is asked in two ways, with the variable as its
only target and with all variables as targets (its default); the faster of the two counts, for each line. Kernels are
compiled before. Figures are milliseconds of processor time; "-" is a question that took longer than the limit, or
memory. Differences are the largest between our answers and pyAgrum's.

Must hold: following questions at most 0.5 times pyAgrum's in the geometric mean over networks and shares, and at most
1.5 times on each network; first questions at most 2 times in the geometric mean.

Run: python benchmarks/queries.py [seconds] [network ...]
     A program gets that many seconds (default 20) for the questions of a line, and for reading a file.
"""

from __future__ import annotations

import gzip
import multiprocessing
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pgmpy
import pyagrum
from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader

from bnplug import LogTables, engine
from bnplug.io.network_files import read_tables

SHARES, N_QUESTIONS, N_RUNS = (0.0, 0.1, 0.5), 10, 3
Question = tuple[str, dict[str, int]]
Answer = Callable[[str, dict[str, int]], npt.NDArray[np.float64]]


def questions(tables: LogTables, share: float, rng: np.random.Generator) -> Iterator[Question]:
    """Yield random variables, and evidence that is possible."""
    order = [tables.names[v] for v in tables.structure.order]
    for _ in range(N_QUESTIONS):
        state: dict[str, int] = {}
        for name in order:
            parents, values = tables[name]
            column = np.exp(values[(slice(None), *(state[u] for u in parents))])
            state[name] = int(rng.choice(len(column), p=column / column.sum()))
        names = [str(name) for name in rng.permutation(tables.names)]
        observed = names[1 : 1 + round(share * len(names))]
        yield names[0], {name: state[name] for name in observed}


def ours(tables: LogTables, prepared: Any) -> Answer:
    compiled = engine("elimination").compile(tables)
    return lambda name, evidence: compiled.query([name], evidence)


def agrum_network(tables: LogTables) -> Any:
    network = pyagrum.BayesNet()
    for name in tables.names:
        labels = [f"s{i}" for i in range(len(tables.states[name]))]
        network.add(pyagrum.LabelizedVariable(name, name, labels))
    for parent, name in tables.edges:
        network.addArc(parent, name)
    for name in tables.names:
        cpt, family = network.cpt(name), [name, *tables[name].parents]
        values = np.exp(tables[name].values).transpose([family.index(u) for u in reversed(cpt.names)])
        cpt.fillWith(values.ravel().tolist())
    return network


def agrum(tables: LogTables, network: Any, single: bool) -> Answer:
    lazy = pyagrum.LazyPropagation(network)

    def answer(name: str, evidence: dict[str, int]) -> npt.NDArray[np.float64]:
        if single:
            lazy.eraseAllTargets()
            lazy.addTarget(name)
        lazy.setEvidence(evidence)
        lazy.makeInference()
        return np.asarray(lazy.posterior(name).toarray())

    return answer


def pgmpy_network(tables: LogTables) -> Any:
    numbered = {name: list(range(len(states))) for name, states in tables.states.items()}
    return LogTables(tables.names, numbered, tables.tables).to_network()


def pgmpy_answers(tables: LogTables, network: Any) -> Answer:
    elimination = VariableElimination(network)
    return lambda name, evidence: elimination.query([name], evidence, show_progress=False).values


def time_questions(pipe: Any, make: Any, prepare: Any, tables: LogTables, asked: list[Question]) -> None:
    """Send the time of the first question, the mean of the others, and the answers; the best of several runs."""
    prepared = prepare(tables)
    times: list[list[float]] = []
    for _ in range(N_RUNS):
        started = process_time()
        answer = make(tables, prepared)
        answers, took = [], []
        for name, evidence in asked:
            answers.append(answer(name, evidence))
            took.append(process_time() - started)
            started = process_time()
        times.append(took)
    first, following = (min(values) for values in zip(*((took[0], sum(took[1:])) for took in times), strict=True))
    pipe.send((1000 * first, 1000 * following / (len(asked) - 1), answers))


def time_reading(pipe: Any, read: Callable[[str], object], path: str) -> None:
    started = process_time()
    read(path)
    pipe.send(1000 * (process_time() - started))


def limited(seconds: float, function: Any, *arguments: Any) -> Any:
    """Return what a function sends from a process of its own; None if it takes too long, or fails."""
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=function, args=(sender, *arguments))
    process.start()
    sender.close()
    result = None
    with suppress(EOFError):  # the process has failed, and printed why
        result = receiver.recv() if receiver.poll(seconds) else None
    process.kill()
    process.join()
    return result


def read_pgmpy(path: str) -> object:
    return BIFReader(path).get_model()


def milliseconds(value: float | None) -> str:
    return f"{'-':>9}" if value is None else f"{value:9.2f}"


PROGRAMS: dict[str, tuple[Any, Any]] = {
    "ours": (ours, lambda tables: None),
    "target": (lambda tables, network: agrum(tables, network, True), agrum_network),
    "all": (lambda tables, network: agrum(tables, network, False), agrum_network),
    "pgmpy": (pgmpy_answers, pgmpy_network),
}


def smaller(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def compare(name: str, tables: LogTables, seconds: float) -> Iterator[tuple[str, float, float]]:
    """Print a line for each share, and yield the network and the ratios of first and following questions."""
    for share in SHARES:
        asked = list(questions(tables, share, np.random.default_rng(round(100 * share))))
        results = {
            program: limited(seconds, time_questions, make, prepare, tables, asked)
            for program, (make, prepare) in PROGRAMS.items()
        }
        first, following = (
            {program: None if result is None else result[i] for program, result in results.items()} for i in range(2)
        )
        rival = [smaller(times["target"], times["all"]) for times in (first, following)]
        lines = [
            "".join(map(milliseconds, (times["ours"], best, times["pgmpy"])))
            for times, best in zip((first, following), rival, strict=True)
        ]
        off = ""
        if results["ours"] and results["target"]:
            pairs = zip(results["ours"][2], results["target"][2], strict=True)
            off = f"{max(np.abs(a - b).max() for a, b in pairs):9.0e}"
        print(f"{name:12}{share:5.0%} {lines[0]}   {lines[1]} {off}", flush=True)
        if results["ours"] and None not in rival:
            yield name, first["ours"] / rival[0], following["ours"] / rival[1]


def geometric(values: list[float]) -> float:
    return float(np.exp(np.log(values).mean()))


def main() -> None:
    warnings.simplefilter("ignore")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    folder = Path(pgmpy.__file__).parent / "utils" / "example_models"
    names = sys.argv[2:] or sorted(path.name[:-7] for path in folder.glob("*.bif.gz"))
    networks: dict[str, LogTables] = {}
    with tempfile.TemporaryDirectory() as scratch:
        print("Reading, milliseconds\n" + f"{'':18}{'ours':>9}{'pyAgrum':>9}{'pgmpy':>9}")
        for name in names:
            path = Path(scratch, f"{name}.bif")
            path.write_bytes(gzip.decompress((folder / f"{name}.bif.gz").read_bytes()))
            networks[name] = read_tables(path)
            readers = read_tables, pyagrum.loadBN, read_pgmpy
            times = [limited(seconds, time_reading, read, str(path)) for read in readers]
            print(f"{name:18}" + "".join(map(milliseconds, times)), flush=True)
    warm = engine("elimination").compile(networks[names[0]])
    for name, evidence in questions(networks[names[0]], 0.1, np.random.default_rng(0)):
        warm.query([name], evidence)
    heads = "".join(f"{program:>9}" for program in ("ours", "pyAgrum", "pgmpy"))
    print(f"\nMilliseconds a question\n{'':17} {'first':<27}   following\n{'':17} {heads}   {heads}  difference")
    ratios = [ratio for name in names for ratio in compare(name, networks[name], seconds)]
    first, following = (geometric([ratio[i] for ratio in ratios]) for i in (1, 2))
    by_network = {name: geometric([after for of, _, after in ratios if of == name]) for name, _, _ in ratios}
    worst = max(by_network, key=lambda name: by_network[name])
    print(f"\nours / pyAgrum, geometric means over {len(ratios)} lines: first {first:.2f}, following {following:.2f}")
    largest = max(ratio[2] for ratio in ratios)
    print(f"following, the worst network: {worst} {by_network[worst]:.2f}; the worst line: {largest:.2f}")


if __name__ == "__main__":
    main()
