"""Rows in seven uneven, memory-mapped blocks: every method finds what it finds in memory."""

import numpy as np
import pytest
import third_party
from blocked import mapped

import bnplug
from bnplug import Structure, Table, datasets
from bnplug.builtin.parameters.ml import MaximumLikelihood
from bnplug.gradient import Objective, conditional_nll, objective
from bnplug.inference.complete import terms


def real(name, weights=None, holes=0.0):
    """Return the rows of a data set as a table, some cells missing."""
    data = datasets.load(name)
    table, _ = bnplug.encode_training(data.X, data.y)
    table = table.take(np.arange(0, table.n_rows, max(1, table.n_rows // 300)))
    random = np.random.RandomState(1)
    codes = table.codes.copy()
    lost = random.random_sample(codes.shape) < holes
    lost[table.target_index] = False
    codes[lost] = table.missing
    if weights is not None:
        weights = random.choice(weights, table.n_rows)
    return Table(codes, table.names, table.states, table.target, weights)


def drawn(n_rows=400, weights=None, holes=0.05):
    """Return rows by a rule: eight features of two to five states, a class of three."""
    random = np.random.RandomState(0)
    label = random.randint(0, 3, n_rows)
    columns = [
        np.where(random.random_sample(n_rows) < 0.5, (label + i) % k, random.randint(0, k, n_rows))
        for i, k in enumerate([2, 3, 4, 5, 2, 3, 4])
    ]
    columns.append(np.where(random.random_sample(n_rows) < 0.6, columns[3], random.randint(0, 5, n_rows)))
    codes = np.array([*columns, label], dtype=np.uint8)
    codes[:-1][random.random_sample((8, n_rows)) < holes] = 255
    names, cards = [*"abdefghi", "c"], [2, 3, 4, 5, 2, 3, 4, 5, 3]
    states = {name: list(range(card)) for name, card in zip(names, cards, strict=True)}
    return Table(codes, names, states, "c", None if weights is None else random.choice(weights, n_rows))


TABLES = {
    "drawn": drawn,
    "drawn, whole weights": lambda: drawn(weights=[1.0, 2.0, 5.0]),
    "drawn, weights": lambda: drawn(weights=[0.1, 0.7, 1.9]),
    "iris": lambda: real("iris"),
    "tic-tac-toe, weights": lambda: real("tic-tac-toe", weights=[0.3, 1.1], holes=0.02),
}


@pytest.fixture(params=TABLES)
def pair(request, tmp_path):
    """A table in memory, and its rows in blocks."""
    table = TABLES[request.param]()
    blocks = mapped(table, tmp_path)
    assert blocks.n_blocks == 7
    assert len(set(blocks.block_sizes)) > 5
    return table, blocks


def same_counts(table, blocks, families):
    """Whole numbers are the same to the last bit, sums of weights but for rounding."""
    whole = table.weights is None or (table.weights % 1 == 0).all()
    for one, other in zip(table.counts(families), blocks.counts(families), strict=True):
        np.testing.assert_allclose(other, one, rtol=0 if whole else 1e-13)


def learned(learner, table):
    return Structure.of(learner.learn(table), table).parents


FROM_COUNTS = {
    "nb": {},
    "tan": {},
    "tan, jittered": {"jitter": 0.3, "random_state": 1},
    "kdb": {"k": 2},
    "kdb, jittered": {"k": 2, "jitter": 0.3, "random_state": 1},
}


@pytest.mark.parametrize("name", FROM_COUNTS)
def test_a_structure_from_counts(pair, name):
    table, blocks = pair
    learner = bnplug.structure_learner(name.split(",")[0], **FROM_COUNTS[name])
    found = learned(learner, blocks)
    assert found == learned(learner, table)
    same_counts(table, blocks, [(v, *own) for v, own in enumerate(found)])


def test_a_structure_by_a_decomposable_score(pair):
    table, blocks = pair
    one, other = (bnplug.structure_learner("hill-climb", score="mdl", n_jobs=n) for n in (1, 2))
    assert learned(one, blocks) == learned(other, table)
    np.testing.assert_allclose(one.trace_, other.trace_, rtol=0 if table.weights is None else 1e-12)


SEARCHES = {
    "hill-climb": {"score": ("cr", {"cv": 3})},
    "omi": {},
    "rmcv": {},
    "sa": {"score": "cr", "restarts": 1, "random_state": 1, "max_evaluations": 150},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_structure_by_a_predictive_score(pair, name):
    table, blocks = pair
    one, other = (bnplug.structure_learner(name, **SEARCHES[name]) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    assert one.trace_ == other.trace_  # the rows that are told rightly are counted: whole numbers


@pytest.mark.parametrize("score", ["cll", "mm", "cmdl"])
def test_a_structure_by_gains_that_are_no_whole_numbers(pair, score):
    table, blocks = pair
    one, other = (bnplug.structure_learner("hill-climb", score=score, max_parents=2) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    np.testing.assert_allclose(one.trace_, other.trace_, rtol=1e-10)


@pytest.mark.long
def test_a_penalty_that_is_chosen_by_held_out_rows(tmp_path):
    table = drawn(300)
    one, other = (bnplug.structure_learner("hill-climb", score=("mm", {"lam": "cv"}), max_parents=2) for _ in range(2))
    assert learned(one, mapped(table, tmp_path)) == learned(other, table)


@pytest.mark.parametrize(("loss", "widest"), [("rmse", 1 << 20), ("error", 1 << 20), ("log", 2)])
def test_a_structure_by_leaving_out_each_row(pair, loss, widest, monkeypatch):
    monkeypatch.setattr("bnplug.counts.counting._most_numbered", lambda _: widest)
    table, blocks = pair
    one, other = (bnplug.structure_learner("skdb", k=3, loss=loss) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    whole = loss == "error" and not table.weighted
    np.testing.assert_allclose(one.losses_, other.losses_, rtol=0 if whole else 1e-12)


@pytest.mark.parametrize("name", ["ml", "backoff"])
def test_parameters_from_counts(pair, name):
    table, blocks = pair
    parents = learned(bnplug.structure_learner("kdb", k=2), table)
    one, other = (bnplug.parameter_learner(name).fit(own, Structure(own.names, parents)) for own in pair)
    for name in table.names:
        np.testing.assert_allclose(np.exp(other[name].values), np.exp(one[name].values), rtol=0, atol=1e-12)
    assert one.log_likelihood(blocks, incomplete=True) == pytest.approx(one.log_likelihood(table, True), rel=1e-12)


@pytest.mark.parametrize("gathered", [0, 1 << 18])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("ccbn-w", {"l2": 1.0, "tol": 1e-9, "max_iter": 2000}),
        ("ccbn-loo", {"lam": 1.0, "temperature": 1.0, "tol": 1e-12, "max_iter": 2000}),
        ("ml-bn-svm", {"lam": 0.1}),
    ],
)
def test_parameters_that_an_optimiser_finds(pair, name, params, gathered, monkeypatch):
    monkeypatch.setattr(objective, "_MOST_GATHERED", gathered)
    table, _ = pair
    parents = learned(bnplug.structure_learner("tan"), table)
    one, other = (bnplug.parameter_learner(name, **params).fit(own, Structure(own.names, parents)) for own in pair)
    for node in table.names:
        np.testing.assert_allclose(np.exp(other[node].values), np.exp(one[node].values), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "params", "chosen"),
    [
        *(
            (name, {"l2": "cv", "cv": 3, "tol": 1e-9, "max_iter": 2000}, "l2_")
            for name in ("ccbn-d", "ccbn-e", "ccbn-w")
        ),
        ("ccbn-loo", {"random_state": 3, "tol": 1e-12, "max_iter": 2000}, "lam_"),
    ],
)
def test_a_strength_that_is_chosen_by_rows_held_out(name, params, chosen, tmp_path, monkeypatch):
    monkeypatch.setattr(objective, "_MOST_GATHERED", 0)
    table = drawn(210)
    parents = learned(bnplug.structure_learner("tan"), table)
    one, other = (bnplug.parameter_learner(name, **params) for _ in range(2))
    found, expected = (
        learner.fit(own, Structure(own.names, parents))
        for learner, own in ((one, mapped(table, tmp_path)), (other, table))
    )
    assert getattr(one, chosen) == getattr(other, chosen)
    for node in table.names:
        np.testing.assert_allclose(np.exp(found[node].values), np.exp(expected[node].values), rtol=0, atol=1e-5)


def test_the_sum_of_a_loss_and_its_gradient(pair, monkeypatch):
    table, blocks = pair
    own = terms(MaximumLikelihood().fit(table, Structure(table.names, table.naive_bayes())), table.target)
    values = own.values + np.random.RandomState(3).normal(size=own.values.size)
    expected, slopes = Objective(own, table)(values, conditional_nll)
    brought = Objective(own, blocks)
    assert brought.n_rows == Objective(own, table).n_rows
    if table.weights is None or (table.weights % 1 == 0).all():
        assert brought(values, conditional_nll)[0] == expected
    monkeypatch.setattr(objective, "_MOST_GATHERED", 0)
    found, gradient = Objective(own, blocks, n_jobs=2)(values, conditional_nll)
    assert found == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-10 * np.abs(slopes).max())
    both = [Objective(own, rows).with_own(values, own.values, conditional_nll) for rows in pair]
    for one, other in zip(*both, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10 * np.abs(one).max())


@pytest.mark.parametrize("score", [third_party.Cost(), third_party.Holes(), third_party.Rank(cv=3)])
def test_a_third_partys_score_needs_to_know_nothing_of_blocks(pair, score):
    table, blocks = pair
    one, other = (bnplug.structure_learner("hill-climb", score=score, max_parents=2, max_iter=4) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    np.testing.assert_allclose(one.trace_, other.trace_, rtol=1e-12)


@pytest.mark.parametrize("learner", [third_party.Steep(alpha=2.0), third_party.Boosted()])
def test_a_third_partys_parameters_need_to_know_nothing_of_blocks(pair, learner, monkeypatch):
    monkeypatch.setattr(objective, "_MOST_GATHERED", 0)
    table, _ = pair
    one, other = (learner.fit(own, Structure(own.names, own.naive_bayes())) for own in pair)
    for node in table.names:
        np.testing.assert_allclose(np.exp(other[node].values), np.exp(one[node].values), rtol=0, atol=1e-6)


def test_a_third_partys_score_that_reads_all_rows_is_told_what_to_do_instead(pair):
    learner = bnplug.structure_learner("hill-climb", score=third_party.Reader())
    with pytest.raises(bnplug.NotInMemoryError, match=r"table.codes: .* in 7 blocks.*table.map"):
        learner.learn(pair[1])
