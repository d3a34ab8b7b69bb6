"""What every search and every learner of the repository finds, recorded: ``python tests/traces/record.py``.

Writes ``traces.json`` anew; ``--add`` keeps what is recorded and adds the cases that are not, and ``--show CASE``
prints all of what one case finds, to lay beside what another version prints. A redesign must find the same, so the
file is written anew only where a method is meant to find something else, and the commit says why.

Each entry has a tolerance for its real numbers, relative to the larger of 1 and the number. All else is equal.

- 0: scores that count rows (cr, rmcv, rmho, rmho-f). They are one whole number over another: equal to the last bit.
- 1e-12: scores that sum logarithms, whose last bits depend on the processor and on the order of summation. It is
  what a search takes for a tie, so no move may depend on it. Cut points and orders by information, too.
- 1e-6: what an optimiser finds. Rounding decides when it stops, so its steps may differ by one in ten, or by two.
  Where nothing holds the optimum in place, rounding grows on the way there: only the first steps are recorded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

import bnplug
from bnplug import Structure, Table, datasets

PATH = Path(__file__).with_name("traces.json")

EXACT, SUMMED, OPTIMISED = 0.0, 1e-12, 1e-6

# Lists up to this length are written out; of longer ones a digest, or the first, a middle and the last real number.
_WRITTEN_OUT = 3

Spec = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Data:
    """How a data set becomes a table: which rows, bins, missing cells and weights."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    bins: Any = None
    missing: float = 0.0
    weighted: bool = False


# A plain one, one cut by class, one by quantiles, one of many classes with missing cells, one of weighted rows.
DATA = {
    "tic-tac-toe": Data("tic-tac-toe"),
    "wine": Data("wine", bins=bnplug.MDLDiscretizer()),
    "waveform": Data("waveform-21", {"n": 200}, bins=bnplug.QuantileDiscretizer(n_bins=3)),
    "led-missing": Data("led", {"n": 300}, missing=0.1),
    "monks-weighted": Data("monks-1", weighted=True),
}


@dataclass(frozen=True)
class Case:
    """Something that is learned on a data set.

    Attributes
    ----------
    what : {"search", "score", "parameters", "recipe", "cuts", "answers"}
    name : str
        What tells the case from others of its kind.
    data : str
        A key of ``DATA``.
    method : (str, dict)
        The name of the method, and its parameters.
    structure : str
        Where parameters are learned, the learner of their structure.
    tolerance : float
        That of its real numbers.
    """

    what: str
    name: str
    data: str
    method: Spec
    structure: str = ""
    tolerance: float = SUMMED

    @property
    def key(self) -> str:
        """What the case is called in the file, and in the name of its test."""
        return f"{self.data} {self.what} {self.name}"


# The cases.

_LIFTED = {"alpha": 0.0, "floor": 1e-5}
_SCORES: dict[str, Spec] = {
    "ll": ("ll", {}),
    "mdl": ("mdl", {}),
    "k2": ("k2", {}),
    "bdeu": ("bdeu", {}),
    "cr": ("cr", {}),
    "cr-cv": ("cr", {**_LIFTED, "cv": 5}),
    "cll": ("cll", {}),
    "cll-cv": ("cll", {**_LIFTED, "cv": 3}),
    "cmdl": ("cmdl", {}),
    "mm": ("mm", {}),
    "mm-lam-cv": ("mm", {"lam": "cv"}),
    "rmcv": ("rmcv", {"alpha": 0.0}),
    "rmho": ("rmho", {"keep": False}),
    "rmho-kept": ("rmho", {}),
    "rmho-f": ("rmho-f", {}),
}
# Scores that are one whole number over another.
_COUNTING = {"cr", "rmcv", "rmho", "rmho-f"}
_RISKS = {"rmcv", "rmho", "rmho-f", "rmho-ar"}

_ORDERED = ("NB", "TAN-CMI", "TAN-OMI-CR", "TAN-OMISP-CR", "TAN-RO-CR", "TAN-CR", "2-tree-OMI-CR")
_BY_MARGIN = ("TAN-ST-CMI", "TAN-HC-CR", "TAN-HC-MM", "TAN-SA-CR", "TAN-SA-MM")
_RECIPES = [
    *(f"{structure}-{parameters}" for structure in _ORDERED for parameters in ("ML", "CL")),
    *(f"{structure}-{parameters}" for structure in _BY_MARGIN for parameters in ("ML", "MM")),
    *("NB-MM", "RMCV", "RMCV-empty", "RMHO", "RMHO-f", "RMHO-ar"),
    *("MDL", "MDL-empty", "K2", "K2-empty", "BNC-MDL", "BNC-2P", "NB", "TAN", "KDB-2"),
]
_BEGUN_RECIPES = [
    f"{name}{letter}{init}" for name in ("NB", "TAN", "KDB-1") for letter in "dew" for init in ("", "(I)")
]
_SVM_RECIPES = [
    *(f"{name}-ML-BN-SVM" for name in ("NB", "TAN", "TAN-OMI-CR", "TAN-CR", "2-tree-OMI-CR", "TAN-SA-MM")),
    "TAN-ML-BN-SVM-lam",
]


def cases() -> dict[str, Case]:
    """Return everything that is recorded, by key."""
    listed = [case for data in DATA for case in (*_searches(data), *_scores(data), *_parameters(data))]
    return {case.key: case for case in (*listed, *_recipes(), *_cuts(), *_engines(), *_classifiers())}


def _searches(data: str) -> Iterator[Case]:
    of_plugins = (*_ordered(), *_by_risk(), *_annealed(), *_general(data))
    for name, method in (*_plain(), *_climbs(), *_limited_climbs(data), *of_plugins):
        learner, parameters = method
        counting = learner in _RISKS or parameters.get("score", ("",))[0] in _COUNTING
        yield Case("search", name, data, method, tolerance=EXACT if counting else SUMMED)


# Without a correction for chance.
_AS_PUBLISHED: dict[str, Any] = {"correction": None}


def _plain() -> Iterator[tuple[str, Spec]]:
    yield "nb", ("nb", {})
    yield "tan", ("tan", _AS_PUBLISHED)
    for k in range(4):
        yield f"kdb k={k}", ("kdb", {"k": k, **_AS_PUBLISHED})
    yield "skdb", ("skdb", {"k": 2, **_AS_PUBLISHED})


def _climbs() -> Iterator[tuple[str, Spec]]:
    for name, score in _SCORES.items():
        # rmho can go in circles; ll never ends before the graph is complete.
        limits = {"rmho": {"max_iter": 15}, "rmho-kept": {"max_iter": 15}, "ll": {"max_parents": 3}}.get(name, {})
        if name not in ("mm-lam-cv", "rmcv"):
            yield f"hill-climb {name}", ("hill-climb", {"score": score, **limits})
        if name not in ("mm-lam-cv", "rmho-f"):
            yield f"hill-climb {name} tree", ("hill-climb", {"score": score, "tree": True, **limits})
        yield f"hill-climb {name} complete", ("hill-climb", {"score": score, "tree": True, "complete": True})


def _limited_climbs(data: str) -> Iterator[tuple[str, Spec]]:
    names = table_of(data).names
    options: dict[str, dict[str, Any]] = {
        "empty": {"start": "empty"},
        "max_parents=2": {"max_parents": 2},
        "no reversals": {"reversals": False},
        "from edges": {"start": [(names[0], names[1]), (names[1], names[-1])], "max_iter": 10},
        "lists": {"required": [(names[2], names[0])], "forbidden": [(names[-1], names[1])]},
    }
    for name, option in options.items():
        for score in ("mdl", "cr-cv", "cmdl"):
            yield f"hill-climb {score} {name}", ("hill-climb", {"score": _SCORES[score], **option})


def _ordered() -> Iterator[tuple[str, Spec]]:
    cr = {"score": _SCORES["cr"]}
    for learner in ("omi", "omisp", "ro"):
        for score in ("cr", "cr-cv", "cll", "mm", "mdl"):
            yield f"{learner} {score}", (learner, {"score": _SCORES[score]})
        yield f"{learner} k=2", (learner, {**cr, "k": 2, "candidates": 4})
        yield f"{learner} clique", (learner, {**cr, "k": 2, "clique": True})
        yield f"{learner} walks", (learner, {**cr, "walks": 2})
    yield "omi max_condition", ("omi", {**cr, "max_condition": 1})


def _by_risk() -> Iterator[tuple[str, Spec]]:
    for learner in sorted(_RISKS):
        for start in ("nb", "empty"):
            options = {"start": start, "alpha": 0.0}
            if learner == "rmho":
                yield f"rmho kept {start}", (learner, {**options, "max_iter": 15})
                options |= {"max_iter": 15, "keep": False}
            yield f"{learner} {start}", (learner, options)


def _annealed() -> Iterator[tuple[str, Spec]]:
    for score in ("cr", "cr-cv", "mm", "mdl", "cll", "rmho"):
        yield f"sa {score}", ("sa", {"score": _SCORES[score], "max_evaluations": 600})
    yield "sa k=2 restarts", ("sa", {"score": _SCORES["cr"], "k": 2, "restarts": 2, "max_evaluations": 300})


def _general(data: str) -> Iterator[tuple[str, Spec]]:
    yield "pc", ("pc", {})
    yield "pc chi-squared", ("pc", {"test": "chi-squared", "max_conditions": 1})
    yield "blanket", ("blanket", {})
    yield "mcmc", ("mcmc", {"n_steps": 4000, "chains": 2, "tolerance": 0.0, "max_parents": 2})
    yield "chow-liu", ("chow-liu", {})
    yield "tabu", ("tabu", {})
    yield "ges", ("ges", {})
    if data in ("tic-tac-toe", "monks-weighted"):
        yield "exact", ("exact", {})


def _scores(data: str) -> Iterator[Case]:
    for name, score in _SCORES.items():
        if name != "mm-lam-cv":
            tolerance = EXACT if score[0] in _COUNTING else SUMMED
            yield Case("score", name, data, score, tolerance=tolerance)


def _parameters(data: str) -> Iterator[Case]:
    for structure in ("nb", "tan"):
        yield Case("parameters", f"{structure} ml", data, ("ml", {}), structure)
        yield Case("parameters", f"{structure} ml floor", data, ("ml", _LIFTED), structure)
        yield Case("parameters", f"{structure} backoff", data, ("backoff", {}), structure)
        for name, method in (*_conditional_likelihoods(data), *_margins()):
            yield Case("parameters", f"{structure} {name}", data, method, structure, OPTIMISED)


# Only the first steps; and so much of a penalty that there is one optimum, which is found closely.
_BEGUN = {"max_iter": 10}
_HELD = {"l2": 1.0, "tol": 1e-12}


def _conditional_likelihoods(data: str) -> Iterator[tuple[str, Spec]]:
    for learner in ("ccbn-d", "ccbn-e", "ccbn-w"):
        yield f"{learner} begun", (learner, {"l2": 0.0, **_BEGUN})
        yield f"{learner} held", (learner, _HELD)
    yield "ccbn-d zeros", ("ccbn-d", {"init": "zeros", "l2": 0.0, **_BEGUN})
    yield "ccbn-w level=1", ("ccbn-w", {"level": 1, **_HELD})
    yield "ccbn-w backoff", ("ccbn-w", {"backoff": True, **_HELD})
    yield "ccbn-d preconditioned", ("ccbn-d", {"precondition": True, **_HELD})
    if data == "monks-weighted":  # The classes are separable, and the common weight of `ccbn-loo` has no penalty.
        yield "ccbn-loo begun", ("ccbn-loo", {"lam": 30.0, "temperature": 1.0, **_BEGUN})
    else:
        yield "ccbn-loo held", ("ccbn-loo", {"lam": 30.0, "temperature": 1.0, "tol": 1e-12, "max_iter": 500})
    yield "ccbn-e l2=cv", ("ccbn-e", {"l2": "cv", "cv": 3, **_BEGUN})


def _margins() -> Iterator[tuple[str, Spec]]:
    yield "mm begun", ("mm", _BEGUN)
    yield "mm cv", ("mm", {"lam": "cv", "early_stopping": True, "cv": 3, **_BEGUN})
    yield "ml-bn-svm begun", ("ml-bn-svm", _BEGUN)
    yield "ml-bn-svm cv", ("ml-bn-svm", {"lam": (0.25, 1.0), "gamma": (1.0, 5.0), "cv": 3, **_BEGUN})


def _recipes() -> Iterator[Case]:
    for name in _RECIPES:
        yield Case("recipe", name, "tic-tac-toe", (name, {}), tolerance=OPTIMISED)
    for name in _BEGUN_RECIPES:
        begun = {"parameters__max_iter": 10}
        yield Case("recipe", name, "tic-tac-toe", (name, begun), tolerance=OPTIMISED)
    for name in ("TAN-LOO", "KDB-2-LOO"):
        yield Case("recipe", name, "wine", (name, {"parameters__tol": 1e-10}), tolerance=OPTIMISED)
    for name in _SVM_RECIPES:
        yield Case("recipe", name, "wine", (name, {}), tolerance=OPTIMISED)


def _engines() -> Iterator[Case]:
    for data in ("monks-weighted", "led-missing"):
        yield Case("answers", "elimination", data, ("elimination", {}), structure="tan")
    yield Case("answers", "junction-tree", "monks-weighted", ("junction-tree", {}), structure="tan")
    drawing = ("sampling", {"n_samples": 100, "random_state": 0})
    yield Case("answers", "sampling", "monks-weighted", drawing, structure="tan")


def _cuts() -> Iterator[Case]:
    for data in ("wine", "waveform"):
        for name in ("mdl", "quantile", "log2-quantile", "uniform"):
            yield Case("cuts", name, data, (name, {}))
    yield Case("cuts", "jittered-quantile", "wine", ("jittered-quantile", {"random_state": 0}))


def _classifiers() -> Iterator[Case]:
    # The choice of lam among nearly equal ones depends on rounding.
    members = {"member__parameters": ("ccbn-loo", {"lam": 30.0, "temperature": 1.0, **_BEGUN})}
    yield Case("classifier", "mixture", "tic-tac-toe", ("mixture", members), tolerance=OPTIMISED)
    yield Case("classifier", "aode", "tic-tac-toe", ("aode", {}), tolerance=OPTIMISED)


# The data.


@cache
def raw(name: str) -> tuple[pd.DataFrame, Any, Any]:
    """Return features, class and weights of a data set, with the cells hidden that are."""
    how = DATA[name]
    data = datasets.load(how.name, **how.options)
    random = np.random.RandomState(0)
    features = data.X.mask(random.random_sample(data.X.shape) < how.missing) if how.missing else data.X
    return features, data.y, random.randint(1, 4, len(data.y)) if how.weighted else None


@cache
def table_of(name: str) -> Table:
    """Return the table of a data set."""
    X, y, weights = raw(name)
    bins = DATA[name].bins
    features = X if bins is None else bins.set_output(transform="pandas").fit_transform(X, y)
    return Table.from_frame(features.assign(**{y.name: y}), y.name, weights)


# What is looked at: all that knows how learners are called, and where they leave what they found.

_OF_A_SEARCH = {
    "evaluations": "n_evaluations_",
    "moves": "moves_",
    "trace": "trace_",
    "order": "order_",
    "evaluations at": "evaluations_",
    "temperatures": "temperatures_",
    "scale": "r_",
    "chains": "chain_scores_",
}
_OF_PARAMETERS = {
    "steps": "n_iter_",
    "nll": "nll_path_",
    "objective": "objective_path_",
    "l2": "l2_",
    "lam": "lam_",
    "gamma": "gamma_",
    "kappa": "kappa_",
}


def observe(case: Case, n_jobs: int | None = None) -> dict[str, Any]:
    """Learn what a case asks for; return all that was found, real numbers as floats."""
    looks = {
        "search": _search,
        "score": _score,
        "parameters": _fit,
        "recipe": _recipe,
        "cuts": _cut,
        "answers": _answer,
        "classifier": _classify,
    }
    look = looks[case.what]
    with warnings.catch_warnings():
        # That an optimiser did not come to its end is no news here: its steps are recorded.
        warnings.simplefilter("ignore", bnplug.BnplugWarning)
        return look(case, n_jobs)


def _search(case: Case, n_jobs: int | None) -> dict[str, Any]:
    table = table_of(case.data)
    learner = _seeded(bnplug.structure_learner(case.method[0], **case.method[1]), n_jobs)
    parents = Structure.of(learner.learn(table), table).parents
    return {"parents": _written(parents), **_found(learner, _OF_A_SEARCH)}


def _structure(name: str, table: Table) -> Any:
    """Return the structure that a learner based on information measures finds without a correction, as published."""
    return bnplug.structure_learner(name, **({} if name == "nb" else _AS_PUBLISHED)).learn(table)


def _score(case: Case, n_jobs: int | None) -> dict[str, Any]:
    table = table_of(case.data)
    graphs = {name: _structure(name, table) for name in ("nb", "tan", "kdb")}
    c, (first, second, *others) = table.target_index, table.features
    below = {c: [first, second], first: [second], **{v: [c, first] for v in others}}
    graphs["class with parents"] = Structure(table.names, [below.get(v, []) for v in range(len(table.names))])
    score = _seeded(bnplug.score_function(case.method[0], **case.method[1]), n_jobs)
    return {name: float(score.score(table, graph)) for name, graph in graphs.items()}


def _fit(case: Case, n_jobs: int | None) -> dict[str, Any]:
    table = table_of(case.data)
    learner = _seeded(bnplug.parameter_learner(case.method[0], **case.method[1]), n_jobs)
    tables = learner.fit(table, _structure(case.structure, table))
    return {
        "log-likelihood": float(tables.log_likelihood(table, incomplete=True)),
        "cll": _conditional(tables, table),
        **_found(learner, _OF_PARAMETERS),
    }


def _conditional(tables: Any, table: Table) -> float:
    """Return the sum of log P(class | features) over the rows without missing cells, by the definition."""
    codes = table.codes[:, (table.codes != table.missing).all(axis=0)].astype(int)
    own = codes[table.target_index].copy()
    joint = np.zeros((len(table.states[table.target]), len(own)))
    for c, log_joint in enumerate(joint):
        codes[table.target_index] = c
        for v, name in enumerate(table.names):
            parents, values = tables.tables[name]
            log_joint += values[(codes[v], *(codes[table.index(parent)] for parent in parents))]
    return float((joint[own, np.arange(len(own))] - logsumexp(joint, axis=0)).sum())


def _recipe(case: Case, n_jobs: int | None) -> dict[str, Any]:
    X, y, weights = raw(case.data)
    model = _seeded(bnplug.recipe(case.method[0]).set_params(**case.method[1]), n_jobs).fit(X, y, weights)
    own = model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return {
        "parents": _written(Structure.of(model.dag_, table_of(case.data)).parents),
        "cll": float(own.sum()),
        **_found(model.structure_, _OF_A_SEARCH),
        **_found(model.parameters_, _OF_PARAMETERS),
    }


def _classify(case: Case, n_jobs: int | None) -> dict[str, Any]:
    X, y, weights = raw(case.data)
    model = _seeded(bnplug.make_classifier(case.method[0], **case.method[1]), n_jobs).fit(X, y, sample_weight=weights)
    own = np.log(model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)])
    return {"cll": float(own.sum())}


def _cut(case: Case, n_jobs: int | None) -> dict[str, Any]:
    X, y, _ = raw(case.data)
    found = bnplug.discretizer(case.method[0], **case.method[1]).fit(X, y).cut_points_
    return {name: None if cuts is None else [float(cut) for cut in cuts] for name, cuts in zip(X, found, strict=True)}


def _answer(case: Case, n_jobs: int | None) -> dict[str, Any]:
    """Return log joints and expected counts, added up, of rows of which every third cell is missing."""
    table = table_of(case.data)
    tables = bnplug.parameter_learner("ml").fit(table, _structure(case.structure, table))
    codes = table.codes.copy()
    codes.T.flat[::3] = table.missing
    name, parameters = case.method
    compiled = bnplug.engine(name, **parameters).compile(tables, table.target)
    joint = compiled.log_joint(codes, n_jobs=n_jobs)
    counts = compiled.expected_counts(codes[:, :40], joint[:40])
    return {"log joint": joint.sum(axis=0).tolist(), "counts": [float(own.max()) for own in counts]}


def _seeded(learner: Any, n_jobs: int | None) -> Any:
    """Return a learner with its random state and threads, where it has these parameters."""
    own = learner.get_params(deep=False)
    return learner.set_params(**{k: v for k, v in {"random_state": 0, "n_jobs": n_jobs}.items() if k in own})


def _found(learner: Any, attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return what a fitted learner left in those attributes that it has.

    Left out are the one step of what only counts, and the evaluations at each move of a climb, which its number of
    evaluations and its moves tell.
    """
    found = {name: _plainly(getattr(learner, own)) for name, own in attributes.items() if hasattr(learner, own)}
    if not hasattr(learner, "temperatures_"):
        found.pop("evaluations at", None)
    if hasattr(learner, "from_counts") and not hasattr(learner, "log_likelihood_path_"):
        found.pop("steps", None)
    return found


def _plainly(value: Any) -> Any:
    return [_plainly(each) for each in value] if isinstance(value, list) else getattr(value, "item", lambda: value)()


def _written(parents: Sequence[Sequence[int]]) -> str:
    """Return the parents of every variable as one text; variables are numbers."""
    return " ".join(",".join(map(str, own)) or "-" for own in parents)


# What is written.


def entry(case: Case, n_jobs: int | None = None) -> dict[str, Any]:
    """Return what a case finds, with long lists in short, and the tolerance of its real numbers."""
    found = observe(case, n_jobs)
    if case.what != "cuts":
        found = {name: _short(value, case.tolerance) for name, value in found.items()}
    return {**found, "tolerance": case.tolerance}


def _short(value: Any, tolerance: float) -> Any:
    if not isinstance(value, list) or len(value) <= _WRITTEN_OUT:
        return value
    if isinstance(value[0], float) and tolerance == OPTIMISED:
        return [value[0], value[-1]]
    if isinstance(value[0], float) and tolerance == SUMMED:
        return {"length": len(value), "values": [value[0], value[len(value) // 2], value[-1]]}
    digest = hashlib.sha256(repr(value).encode()).hexdigest()[:16]
    return {"length": len(value), "last": value[-1], "sha256": digest}


def write(entries: Mapping[str, Any]) -> None:
    """Write the file, one case a line; a float is written as its `repr`, which keeps every bit."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in entries.items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded() -> dict[str, dict[str, Any]]:
    """Return what the file holds, by the cases' keys."""
    entries: dict[str, dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))
    return entries


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--add", action="store_true", help="keep what is recorded, and add what is not")
    parser.add_argument("--show", metavar="CASE", help="print all of what one case finds, and write nothing")
    parser.add_argument("--n-jobs", type=int, help="threads; they change nothing")
    options = parser.parse_args()
    if options.show is not None:
        print(json.dumps(observe(cases()[options.show], options.n_jobs), indent=1))
        return
    kept = recorded() if options.add else {}
    write({key: kept[key] if key in kept else entry(case, options.n_jobs) for key, case in cases().items()})


if __name__ == "__main__":
    main()
