"""Hill climbing by MDL beside pgmpy's with BIC, the same score: seconds and the score reached.

Both start from the empty graph and allow three parents. The data: chess-kr-vs-kp from the folder that BNPLUG_DATA
names, and 100,000 generated rows of 30 features. One run of pgmpy, with its defaults, which takes long and whose result
depends on PYTHONHASHSEED; ours is the best of five, by the clock and in seconds of the processor (bounds 0.1 and 0.3).
Idle, in seconds of the processor, ours took 0.26 and 0.45 in version 0.1.0, and takes 0.09 and 0.15 now.

Usage: python benchmarks/hill_climb.py
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pandas as pd
from fit import best, data

import bnplug
from bnplug import Structure


def ours(table):
    learner = bnplug.structure_learner("hill-climb", score="mdl", start="empty", max_parents=3)
    return learner.learn(table)


def theirs(frame):
    from pgmpy.estimators import HillClimbSearch

    search = HillClimbSearch(frame)
    return search.estimate(scoring_method="bic-d", max_indegree=3, show_progress=False)


def compare(name, frame, target):
    table = bnplug.Table.from_frame(frame, target)
    score = bnplug.score_function("mdl")
    dag = ours(table)
    seconds = best(lambda: ours(table), repetitions=5)
    processor = best(lambda: ours(table), repetitions=5, clock=time.process_time)
    started = time.perf_counter()
    found = theirs(frame)
    slow = time.perf_counter() - started
    others = score.score(table, Structure.of(found, table))
    print(
        f"{name}: bnplug {seconds:.2f} s (processor {processor:.2f}), score {score.score(table, dag):.1f}; "
        f"pgmpy {slow:.1f} s, score {others:.1f}; {slow / seconds:.0f} times as long",
        flush=True,
    )


def main():
    path = Path(os.environ.get("BNPLUG_DATA", ""), "chess-kr-vs-kp.csv.gz")
    if path.is_file():
        compare("chess", pd.read_csv(path, dtype="category"), "class")
    else:
        print("BNPLUG_DATA names no folder with chess-kr-vs-kp.csv.gz")
    frame, _, labels = data(100_000, 30, 5)
    compare("100,000 x 30", frame.assign(label=pd.Categorical(labels)), "label")


if __name__ == "__main__":
    main()
