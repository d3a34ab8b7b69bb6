"""Ctrl-C at any moment: a search returns the best structure so far, anything else stops, and nothing crashes."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bnplug.hooks import registry

STRUCTURE, PARAMETERS = "structure learner", "parameter learner"


def search(name, score, rows, /, **params):
    return {"kind": STRUCTURE, "name": name, "params": params, "rows": rows, "score": score}


def climb(score, rows, /, **params):
    return search("hill-climb", score, rows, **{"score": score, "max_parents": 2, **params})


def anneal(score, rows, /, **params):
    return search("sa", score, rows, **{"score": score, "random_state": 0, "max_evaluations": 2000, **params})


def other(kind, name, rows, /, **params):
    return {"kind": kind, "name": name, "params": params, "rows": rows}


SEARCHES = [
    climb("cll", 4_000),
    climb("cr", 20_000),
    climb("mm", 8_000),
    climb("cmdl", 8_000),
    climb("rmcv", 40_000),
    climb("rmho", 10_000, max_iter=20, random_state=0),
    climb("rmho-f", 40_000),
    *(climb(score, 40_000) for score in ("ll", "mdl", "bdeu", "k2")),
    climb("cll", 4_000, n_jobs=2),
    climb("mdl", 40_000, n_jobs=2),
    search("rmcv", "rmcv", 40_000),
    search("rmcv", "rmcv", 40_000, n_jobs=2),
    search("rmho", "rmho", 10_000, random_state=0, max_iter=10),
    search("rmho-f", "rmho-f", 40_000),
    search("rmho-ar", "rmho-f", 40_000),
    search("omi", "cr", 40_000, k=2),
    search("omi", "cll", 10_000, score="cll", k=2),
    search("omisp", "mm", 10_000, score="mm", k=2),
    search("ro", "cr", 40_000, k=2, random_state=0),
    search("tabu", "bdeu", 40_000, score="bdeu"),
    anneal("cr", 4_000),
    anneal("mm", 4_000),
    anneal("cll", 1_000),
    anneal("mdl", 4_000),
    anneal("cr", 4_000, restarts=2, n_jobs=2),
    anneal("cll", 1_000, n_jobs=2, max_evaluations=300),
]
OTHERS = [
    other(STRUCTURE, "tan", 100_000),
    other(STRUCTURE, "kdb", 100_000),
    other(STRUCTURE, "skdb", 20_000),
    *(other(STRUCTURE, name, 2_000) for name in ("chow-liu", "ges", "exact", "pc", "blanket")),
    other(PARAMETERS, "ml", 100_000),
    other(PARAMETERS, "backoff", 100_000),
    other(PARAMETERS, "ccbn-loo", 2_000),
    *(other(PARAMETERS, name, 2_000) for name in ("ccbn-d", "ccbn-e", "ccbn-w", "mm", "ml-bn-svm")),
    *(other(PARAMETERS, name, 2_000, n_jobs=2) for name in ("ccbn-e", "mm")),
    other("discretizer", "mdl", 20_000),
    other("classifier", "kdb", 2_000, k=2),
]


def interrupt(jobs, count, seed, seconds):
    """Return what became of `count` interrupts of each job; whatever ends the process otherwise is a failure."""
    script, limits = Path(__file__).with_name("interrupting.py"), {"NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, str(script), json.dumps(jobs), str(count), str(seed)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=seconds, env=os.environ | limits
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    at = jobs[told[-1].get("begins", -1)] if told else None
    assert done.returncode == 0, f"{at} ended Python with {done.returncode}:\n{done.stderr[-2000:]}"
    assert "Exception ignored" not in done.stderr, done.stderr
    return [one for one in told if "ends" in one]


def check(jobs, expected, count, seed, seconds):
    results = interrupt(jobs, count, seed, seconds)
    assert len(results) == len(jobs)
    for job, result in zip(jobs, results, strict=True):
        assert Counter(result["outcomes"]) == {expected: count}, (job, result)
        assert result["same"], f"after interrupts, {job} finds something else"


def test_no_method_is_left_out():
    for kind in (STRUCTURE, PARAMETERS):
        tried = {job["name"] for job in SEARCHES + OTHERS if job["kind"] == kind}
        # Naive Bayes takes no time, and mcmc returns its best graph only once it walks.
        assert tried | {"nb", "mcmc"} >= {method.name for method in registry.methods(kind)}


def test_an_interrupted_search_returns_the_best_structure_so_far():
    check(SEARCHES, "returned", 1, 0, 300)


def test_an_interrupt_ends_everything_else():
    check(OTHERS, "raised", 1, 0, 300)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_many_interrupts_of_searches(seed):
    check(SEARCHES, "returned", 6, seed, 1200)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_many_interrupts_of_everything_else(seed):
    check(OTHERS, "raised", 6, seed, 1200)
