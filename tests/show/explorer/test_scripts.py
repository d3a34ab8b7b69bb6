"""The scripts of the page in node: their own tests, their types, and their answers beside Python's."""

import json
import re
import shutil
import subprocess
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, full_joint, random_tables
from scipy.special import logsumexp

from bnplug import BayesianNetworkClassifier, MissingFeatureWarning
from bnplug.inference.explain import contributions, expected_information
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.queries import query
from bnplug.show import explorer
from bnplug.show.explorer import page_data

HERE = Path(__file__).parent
SCRIPTS = Path(explorer.__file__).parent
NODE, TSC = shutil.which("node"), HERE / "node_modules" / ".bin" / "tsc"
SHAPES = [TREE, TWO_TREE, CLASS_WITH_PARENTS, [[], [0], [], [0, 1, 2], [3], [3]], [[1], [], [], [], [2], []]]

needs_node = pytest.mark.skipif(NODE is None, reason="there is no node")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


@needs_node
def test_the_scripts_pass_their_own_tests():
    done = run(NODE, "--test", *sorted(HERE.glob("*.test.mjs")))
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"^# pass (\d+)", done.stdout, re.MULTILINE)[1]) >= 11


@needs_node
@pytest.mark.skipif(not TSC.exists(), reason="no TypeScript: npm install --no-package-lock in tests/show/explorer")
def test_types_are_right():
    done = run(TSC, "-p", HERE / "jsconfig.json")
    assert done.returncode == 0, done.stdout


def test_as_one_script_no_name_is_taken_twice():
    names = re.findall(r"^(?:class|function\*?|const|let) (\w+)", explorer._script(), re.MULTILINE)
    assert len(names) > 30
    assert len(names) == len(set(names))


def test_modules_import_only_those_before_them():
    for position, name in enumerate(explorer._MODULES):
        text = (SCRIPTS / f"{name}.mjs").read_text()
        assert set(re.findall(r'^import .* from "\./(\w+)\.mjs";$', text, re.MULTILINE)) <= {
            *explorer._MODULES[:position]
        }
        assert len(re.findall(r"^import", text, re.MULTILINE)) == len(re.findall(r"^import .*;$", text, re.MULTILINE))
    assert sorted(path.stem for path in SCRIPTS.glob("*.mjs")) == sorted(explorer._MODULES)


def test_no_script_reads_markup_or_text_as_code():
    text = explorer._script()
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|fetch|XMLHttp", text)


def random_case(rng, spread=1.0, zeros=0.0, soft=True):
    """A network, and for some sets of findings the likelihoods of each."""
    parents = SHAPES[rng.integers(len(SHAPES))]
    cards = [int(card) for card in rng.integers(1, 5, len(parents))]
    cards[0] = max(cards[0], 2)
    tables = random_tables(rng, parents, cards, normalized=bool(rng.integers(2)), zeros=zeros, spread=spread)
    sets = []
    for _ in range(6):
        known = [None] * len(cards)
        for v in np.flatnonzero(rng.random(len(cards)) < 0.5):
            weights = rng.random(cards[v]) if soft and rng.random() < 0.4 else np.eye(cards[v])[rng.integers(cards[v])]
            known[v] = weights.tolist()
        sets.append(known)
    return tables, sets


def ask(cases):
    pages = [
        {"data": page_data(BayesianNetworkClassifier.from_tables(tables), tables), "findings": sets}
        for tables, sets in cases
    ]
    done = run(NODE, HERE / "answers.mjs", input=json.dumps(pages))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def joint_with(tables, known):
    """P(all variables, findings) by enumeration, not normalised."""
    logs = full_joint(tables)
    joint = np.exp(logs - logs.max())
    joint /= joint.sum()
    for v, weights in enumerate(known):
        if weights is not None:
            joint = joint * np.reshape(weights, [-1 if axis == v else 1 for axis in range(joint.ndim)])
    return joint


def marginal(joint, *axes):
    kept = joint.sum(axis=tuple(v for v in range(joint.ndim) if v not in axes))
    return kept if axes == tuple(sorted(axes)) else kept.T


def information(joint):
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return (joint[seen] * np.log(joint[seen] / outer[seen])).sum()


def check(tables, known, answer):
    joint = joint_with(tables, known)
    total = joint.sum()
    assert answer["possible"] == (total > 0)
    for v, posterior in enumerate(answer["posteriors"]):
        np.testing.assert_allclose(posterior, marginal(joint, v) / (total or 1.0), atol=1e-10)
    np.testing.assert_allclose(np.concatenate(answer["again"]), np.concatenate(answer["posteriors"]), atol=1e-14)
    if total > 0:
        check_questions(tables, known, answer, joint / total, np.log(total))


def check_questions(tables, known, answer, posterior, log_total):
    given = [v for v, weights in enumerate(known) if weights is not None]
    alone = {v: joint_with(tables, [w if u == v else None for u, w in enumerate(known)]).sum() for v in given}
    assert answer["conflict"] == pytest.approx(sum(np.log(p) for p in alone.values()) - log_total, abs=1e-9)
    for v, finding in answer["findings"]:
        others = joint_with(tables, [None if u == v else w for u, w in enumerate(known)]).sum()
        assert finding["alone"] == pytest.approx(alone[v], abs=1e-12)
        assert finding["given"] == pytest.approx(np.exp(log_total) / others, abs=1e-10)
        assert finding["surprising"] == (2 * finding["given"] < finding["alone"])
    wanted = {v: information(marginal(posterior, 0, v)) for v in range(1, len(known)) if known[v] is None}
    assert {item["variable"]: item["information"] for item in answer["next"]} == pytest.approx(wanted, abs=1e-10)
    values = [item["information"] for item in answer["next"]]
    assert all(after <= before + 1e-9 for before, after in pairwise(values))
    if answer["whatIf"]:
        v, found = answer["whatIf"]
        slice_ = marginal(posterior, 0, v)[:, 0]
        np.testing.assert_allclose(found, slice_ / (slice_.sum() or 1.0), atol=1e-10)


@needs_node
@pytest.mark.parametrize("zeros", [0.0, 0.15])
def test_answers_are_those_of_enumeration(zeros):
    rng = np.random.default_rng(7)
    cases = [random_case(rng, zeros=zeros) for _ in range(60)]
    cases = [(tables, sets) for tables, sets in cases if np.isfinite(full_joint(tables).max())]
    for (tables, sets), answers in zip(cases, ask(cases), strict=True):
        for known, answer in zip(sets, answers, strict=True):
            check(tables, known, answer)


@needs_node
def test_posteriors_are_those_of_python_whatever_the_size_of_parameters():
    rng = np.random.default_rng(8)
    cases = [random_case(rng, spread=spread, soft=False) for spread in (5.0, 100.0, 1500.0) for _ in range(30)]
    for (tables, sets), answers in zip(cases, ask(cases), strict=True):
        for known, answer in zip(sets, answers, strict=True):
            codes = {tables.names[v]: int(np.argmax(w)) for v, w in enumerate(known) if w is not None}
            for v, name in enumerate(tables.names):
                if name not in codes:
                    np.testing.assert_allclose(answer["posteriors"][v], query(tables, [name], codes), atol=1e-9)


@needs_node
def test_what_to_ask_and_conflict_are_those_of_the_model():
    rng = np.random.default_rng(10)
    cases = [random_case(rng, soft=False) for _ in range(20)]
    cases = [(tables, [[None, *known[1:]] for known in sets]) for tables, sets in cases]
    for (tables, sets), answers in zip(cases, ask(cases), strict=True):
        model = BayesianNetworkClassifier.from_tables(tables)
        codes = [
            [
                None if w is None else tables.states[name][int(np.argmax(w))]
                for name, w in zip(tables.names, known, strict=True)
            ]
            for known in sets
        ]
        rows = pd.DataFrame(codes, columns=tables.names, dtype=object)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingFeatureWarning)
            frame = model.what_next(rows.drop(columns=tables.target))
        for m, answer in enumerate(answers):
            wanted = frame[frame["row"] == m]
            assert [tables.names[item["variable"]] for item in answer["next"]] == wanted["feature"].tolist()
            found = [item["information"] for item in answer["next"]]
            np.testing.assert_allclose(found, wanted["information"], atol=1e-10)
            assert answer["conflict"] == pytest.approx(model.conflict(rows.iloc[m].dropna().to_dict()), abs=1e-9)


@needs_node
def test_contributions_are_those_of_explain():
    rng = np.random.default_rng(9)
    cases = [random_case(rng, soft=False) for _ in range(30)]
    for (tables, sets), answers in zip(
        cases, ask([(t, [[None, *s[1:]] for s in sets]) for t, sets in cases]), strict=True
    ):
        codes = np.array([[255 if w is None else int(np.argmax(w)) for w in s] for s in sets], dtype=np.uint8).T
        wanted = contributions(Marginalizer(tables, "v0"), codes, 0)
        for m, answer in enumerate(answers):
            np.testing.assert_allclose(answer["prior"], wanted[m, 0], atol=1e-10)
            shares = {v: np.array(share) for v, share in answer["shares"]}
            for v in range(1, len(tables.names)):
                np.testing.assert_allclose(shares.get(v, np.zeros(wanted.shape[2])), wanted[m, v], atol=1e-10)
            posterior = np.array(answer["posteriors"][0])
            odds = np.array([np.log(p) - logsumexp(np.log(np.delete(posterior, c))) for c, p in enumerate(posterior)])
            np.testing.assert_allclose(sum(shares.values(), np.array(answer["prior"])), odds, atol=1e-9)


@needs_node
def test_calibrated_answers_are_those_of_the_model():
    rng = np.random.default_rng(11)
    cases = []
    for _ in range(40):
        tables, sets = random_case(rng)
        tables = tables.with_calibration(rng.uniform(0.1, 2.0, 2))
        # The class may have soft evidence.
        cases.append((tables, [[None if 1.0 in (known[0] or ()) else known[0], *known[1:]] for known in sets]))
    moved = 0.0
    for (tables, sets), answers in zip(cases, ask(cases), strict=True):
        network = BayesianNetworkClassifier.from_tables(tables)._marginalizer
        for known, answer in zip(sets, answers, strict=True):
            given = {tables.names[v]: w for v, w in enumerate(known) if w is not None}
            np.testing.assert_allclose(answer["posteriors"][0], network.query(["v0"], given), atol=1e-10)
            moved = max(moved, np.abs(network.query(["v0"], given) - query(tables, ["v0"], given)).max())
            for v, name in enumerate(tables.names):
                if v and name not in given:
                    np.testing.assert_allclose(answer["posteriors"][v], query(tables, [name], given), atol=1e-10)
    assert moved > 0.1


@needs_node
def test_calibrated_explanations_are_those_of_the_model():
    rng = np.random.default_rng(12)
    cases = []
    for _ in range(20):
        tables, sets = random_case(rng, soft=False)
        cases.append((tables.with_calibration(rng.uniform(0.1, 2.0, 2)), [[None, *known[1:]] for known in sets]))
    for (tables, sets), answers in zip(cases, ask(cases), strict=True):
        model = BayesianNetworkClassifier.from_tables(tables)
        codes = np.array([[255 if w is None else int(np.argmax(w)) for w in s] for s in sets], dtype=np.uint8).T
        wanted = contributions(model._marginalizer, codes, 0)
        information = expected_information(tables, "v0", model._compiled, codes)
        for m, answer in enumerate(answers):
            shares = {v: np.array(share) for v, share in answer["shares"]}
            for v in range(1, len(tables.names)):
                np.testing.assert_allclose(shares.get(v, np.zeros(wanted.shape[2])), wanted[m, v], atol=1e-10)
            for item in answer["next"]:
                assert item["information"] == pytest.approx(information[m, item["variable"]], abs=1e-10)
