"""A gain is compiled once for all processes; what cannot be, or reads outside an array, is named."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numba import config
from scoring import slow
from scoring.third_party import NegativeCost, margin

from bnplug.compiling import kernel
from bnplug.compiling._addresses import compile_at
from bnplug.errors import ContractError
from bnplug.scoring import PredictiveScore, _gains, winner
from bnplug.scoring._gains import compile_gain, evaluate


def gives_nan(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = np.nan


def leaves_out(L, y, params, out):
    out[1] = 1.0


def unheard_of(L, y, params, out):
    out[0] = L.median_of_everything()


@pytest.mark.parametrize("gain", [gives_nan, leaves_out])
def test_a_gain_must_fill_every_row(gain):
    table = slow.random_table(np.random.default_rng(3), 20, (3, 2), 1)
    score = type("Bad", (PredictiveScore,), {"gain": gain})()
    with pytest.raises(ContractError, match=f"{gain.__name__}.*gave nan"):
        score.evaluator(table).start([[1], []])


def test_a_gain_that_does_not_compile_is_named():
    with pytest.raises(ContractError, match=r"'unheard_of' cannot be compiled(.|\n)*median_of_everything"):
        compile_gain(unheard_of)


def helper(x):
    return -x


@kernel
def decorated(x):
    return -x


def calls_plain_python(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = helper(L[m, 0])


def calls_a_kernel(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = decorated(L[m, 0])


def imports(L, y, params, out):
    import sys

    out[:] = len(sys.argv)


def takes_three(L, y, out):
    out[:] = 0.0


def takes_five(L, y, params, out, scale=1.0):
    out[:] = scale


def reads_ahead(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = params[y[m] + winner(L, m)]


def takes_logarithms(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = max(-9.0, math.log(max(0.0, L[m, y[m]])))


def decided(gain, params=(), **attributes):
    """What a score with this gain makes of a table with three classes."""
    table = slow.random_table(np.random.default_rng(3), 20, (2, 3), 1)
    attributes = {"gain": gain, "gain_params": lambda self, table: params, **attributes}
    return type("Made", (PredictiveScore,), attributes)().evaluator(table).start([[1], []])


def prints(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = 0.0
        if m > 1000:
            print(m)


@kernel
def prints_below(x):
    if x > 0:
        print(x)
    return x


def calls_what_prints(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = prints_below(L[m, 0])


def makes_a_message(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = 0.0
        if m > 1000:
            raise ValueError(f"row {m}")


def raises_constantly(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = 0.0
        if m > 1000:
            raise ValueError("too many rows")


def raises_for_few(L, y, params, out):
    for m in range(L.shape[0]):
        if params[0] <= L.shape[1]:
            raise ValueError("too few")
        out[m] = 0.0


@pytest.mark.parametrize(
    ("gain", "reason"),
    [
        (prints, r"prints \(line \d+\): .*NUMBA_DISABLE_JIT=1"),
        (calls_what_prints, r"prints \(line \d+\), in 'prints_below' which it calls: .*NUMBA_DISABLE_JIT=1"),
        (makes_a_message, r"raises an exception whose message is made as it runs \(line \d+\): .*NUMBA_DISABLE_JIT=1"),
    ],
)
def test_what_needs_the_interpreter_is_refused_before_it_hangs(gain, reason):
    with pytest.raises(ContractError, match=f"the gain '{gain.__name__}' {reason}"):
        decided(gain)


def test_a_constant_message_compiles():
    assert decided(raises_constantly) == 0.0


def spoils_classes(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = L[m, y[m]]
        y[m] = 0


def test_a_gain_that_writes_to_the_classes_is_refused():
    with pytest.raises(ContractError, match=r"the gain 'spoils_classes' writes to y"):
        decided(spoils_classes)


def test_an_exception_of_the_trial_is_chained():
    assert decided(raises_for_few, [4.0]) == 0.0
    with pytest.raises(ContractError, match=r"tried with 3 classes, raised ValueError: too few\. Compiled") as caught:
        decided(raises_for_few, [3.0])
    assert isinstance(caught.value.__cause__, ValueError)


def test_uncompiled_a_gain_prints_and_raises_and_scores_as_compiled(tmp_path):
    (tmp_path / "someone.py").write_text(
        textwrap.dedent("""
            from bnplug.scoring import winner

            def gain(L, y, params, out):
                for m in range(L.shape[0]):
                    if m > 1000:
                        raise ValueError(f"row {m}")
                    print("row", m)
                    out[m] = L[m, y[m]] - params[0] * winner(L, m)
        """)
    )
    program = textwrap.dedent("""
        import numpy as np
        import someone
        from bnplug import BayesianNetworkClassifier, Structure, structure_learner
        from bnplug.scoring import PredictiveScore
        from bnplug.table.table import Table

        class Score(PredictiveScore):
            gain = someone.gain

            def gain_params(self, table):
                return [1.0]

        codes = np.tile(np.array([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=np.uint8), 5)
        table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c")
        print("score", Score().score(table, Structure(table.names, [[1], []])))
        X = np.array([["a", "b", "a"], ["b", "b", "a"], ["a", "a", "b"], ["b", "a", "b"]] * 3, dtype=object)
        search = structure_learner("hill-climb", score=Score(), max_parents=2)
        for structure, parameters in ((search, "ml"), ("kdb", "ml"), ("tan", "ccbn-d")):
            model = BayesianNetworkClassifier(structure, parameters).fit(X, [0, 1, 1, 0] * 3)
            known = X.copy()
            known[:, 1] = None
            print("sum", model.predict_proba(known)[:, 0].sum())
    """)
    environment = {**_environment(), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "row 0" in lines
    score, *sums = [float(line.split()[1]) for line in lines if line.startswith(("score", "sum"))]
    # The class is known by chance alone, and the first class wins every tie.
    assert score == pytest.approx(20 * math.log(0.25))
    assert sums == pytest.approx([6.0, 6.0, 6.0])


@pytest.mark.parametrize(("gain", "taken"), [(takes_three, "(L, y, out)"), (takes_five, "(L, y, params, out, scale")])
def test_a_gain_takes_four_arguments(gain, taken):
    with pytest.raises(
        ContractError, match=re.escape(f"{gain.__name__!r} must take (L, y, params, out), and takes {taken}")
    ):
        compile_gain(gain)


@pytest.mark.parametrize("gain", [calls_plain_python, imports])
def test_what_a_gain_may_call_is_said(gain):
    with pytest.raises(ContractError, match=rf"{gain.__name__!r} cannot be compiled(.|\n)*bnplug\.compiling\.kernel"):
        compile_gain(gain)


def test_a_gain_may_call_a_kernel():
    L = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert evaluate(calls_a_kernel, L, np.array([0, 1]), np.empty(0)).tolist() == [-1.0, -3.0]


class WithoutGain(PredictiveScore):
    pass


@pytest.mark.parametrize("gain", [None, decorated, [1]])
def test_a_score_names_its_gain(gain):
    with pytest.raises(ContractError, match=r"Made must name its gain, .* its gain is "):
        decided(gain)
    with pytest.raises(ContractError, match=r"WithoutGain must name its gain, .* its gain is None"):
        WithoutGain().evaluator(slow.random_table(np.random.default_rng(3), 20, (2, 3), 1))


def test_an_aggregate_is_a_sum_or_a_mean():
    with pytest.raises(ContractError, match='aggregate=\'median\' of Made must be "sum" or "mean"'):
        decided(margin, [1.0], aggregate="median")


@pytest.mark.parametrize("n", [0, 1, 4])
def test_an_index_outside_params_is_found(n):
    with pytest.raises(ContractError, match=f"'reads_ahead', given 3 classes and {n} numbers in params, uses an index"):
        decided(reads_ahead, np.ones(n))
    assert decided(reads_ahead, np.ones(5)) == 20.0


def test_a_cost_matrix_of_another_size_is_found():
    table = slow.random_table(np.random.default_rng(3), 20, (2, 3), 1)
    for costs in (5.0, [[0, 1]], [[0, 1], [1, 0]]):
        with pytest.raises(ContractError, match="'negative_cost', given 3 classes and"):
            NegativeCost(costs).evaluator(table)


def test_what_only_the_interpreter_refuses_is_accepted():
    assert decided(takes_logarithms) == -180.0


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ([[0, 1], [1]], "gave .*, which is not an array: .*inhomogeneous"),
        ([["a", "b"]], "must give an array of numbers, not .*'a'"),
        (None, "must give an array of numbers, not None"),
    ],
)
def test_params_that_are_no_numbers_are_named(params, said):
    with pytest.raises(ValueError, match=f"gain_params of Made {said}"):
        decided(margin, params)


def test_an_error_in_gain_params_says_where_it_was_raised():
    def gain_params(self, table):
        return np.array([[0, 1], [1]])

    with pytest.raises(ValueError, match="inhomogeneous") as caught:
        decided(margin, gain_params=gain_params)
    assert caught.value.__notes__ == ["raised in gain_params of Made"]


def test_a_closure_is_refused():
    scale = 2.0

    def scaled(L, y, params, out):
        out[:] = scale

    with pytest.raises(ContractError, match="pass it numbers in params"):
        compile_gain(scaled)


def test_a_gain_is_compiled_once_for_all_processes(tmp_path):
    (tmp_path / "someone.py").write_text(
        textwrap.dedent("""
            def gain(L, y, params, out):
                for m in range(L.shape[0]):
                    out[m] = L[m, y[m]] - params[0]
        """)
    )
    program = textwrap.dedent("""
        import numpy as np
        import someone
        from bnplug.scoring import PredictiveScore
        from bnplug.scoring._gains import compile_gain
        from bnplug.scoring._batches import score_candidates
        from bnplug.table.table import Table

        class Score(PredictiveScore):
            gain = someone.gain

            def gain_params(self, table):
                return [1.0]

        codes = np.tile(np.array([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=np.uint8), 5)
        table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c")
        evaluator = Score().evaluator(table)
        evaluator.start([[], []])
        evaluator.propose_many([{0: [1]}])[0]
        print(compile_gain(someone.gain).cache_hits, sum(score_candidates.stats.cache_misses.values()))
    """)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env=_environment(),
        ).stdout.split()
        for _ in range(2)
    ]
    assert outputs[0][0] == "0"
    assert outputs[1] == ["1", "0"]


def _environment():
    import os
    from pathlib import Path

    import bnplug

    return {**os.environ, "PYTHONPATH": str(Path(bnplug.__file__).parents[1])}


def test_a_gain_is_kept_where_kernels_are_and_numba_keeps_nothing_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    compiled = [compile_at(gives_nan, _gains._SIGNATURE) for _ in range(2)]
    assert [own.cache_hits for own in compiled] == [0, 1]
    (path,) = tmp_path.iterdir()
    assert path.name.startswith(f"{__name__}.gives_nan-")
    assert path.suffix == ".nbc"
