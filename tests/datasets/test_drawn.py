"""Sets that are drawn: their exact rule without noise, their distribution with it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from bnplug import datasets
from bnplug.datasets import generated

MAKERS = [datasets.led, datasets.waveform, datasets.p08_synthetic, datasets.poker_hand, datasets.z17_synthetic]


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_gives_the_same_rows_and_another_gives_others(make):
    (X, y), (again, y_again), (other, _) = make(50), make(50, random_state=0), make(50, random_state=1)
    pd.testing.assert_frame_equal(X, again)
    pd.testing.assert_series_equal(y, y_again)
    assert not X.equals(other)
    generator = np.random.RandomState(3)
    assert not make(50, random_state=generator)[0].equals(make(50, random_state=generator)[0])


def test_led_without_noise_shows_the_digits():
    lit = {0: "1110111", 1: "0010010", 2: "1011101", 3: "1011011", 4: "0111010", 5: "1101011", 6: "1101111",
           7: "1010010", 8: "1111111", 9: "1111011"}  # fmt: skip
    X, y = datasets.led(200, noise=0)
    assert set(y) == set(range(10))
    assert ["".join(map(str, row)) for row in X.to_numpy()] == [lit[digit] for digit in y]


def test_led_inverts_segments_as_often_as_told():
    X, y = datasets.led(20_000, noise=0.1)
    clean = datasets.led(20_000, noise=0)
    assert (clean[1] == y).all()
    assert np.allclose((clean[0] != X).mean(), 0.1, atol=0.01)
    with pytest.raises(ValueError, match=r"noise=1\.5"):
        datasets.led(10, noise=1.5)


def test_waveform_has_the_means_and_noise_of_its_definition():
    X, y = datasets.waveform(20_000, noise_features=19)
    positions = np.arange(1, 22)
    waves = [np.maximum(6 - abs(positions - top), 0) for top in (11, 15, 7)]
    for label, (first, second) in enumerate([(1, 2), (0, 2), (0, 1)]):
        means = X[y == label].mean().to_numpy()
        assert np.allclose(means[:21], (waves[first] + waves[second]) / 2, atol=0.1)
        assert np.allclose(means[21:], 0, atol=0.06)
    # A mixture weight adds the variance of a uniform number times the squared distance of the two waves.
    expected = 1 + (waves[1] - waves[2]) ** 2 / 12
    assert np.allclose(X.loc[y == 0].iloc[:, :21].var(), expected, rtol=0.07)


@pytest.mark.parametrize(("name", "noise_features"), [("waveform-21", 0), ("waveform-5000", 19)])
def test_waveform_has_the_moments_of_the_published_files(published_file, name, noise_features):
    published = published_file(name)
    labels = published.pop("class")
    X, y = datasets.waveform(20_000, noise_features)
    assert published.shape[1] == X.shape[1]
    for label in range(3):
        assert np.allclose(published[labels == label].mean(), X[y == label].mean(), atol=0.16)
        assert np.allclose(published[labels == label].std(), X[y == label].std(), atol=0.1)


@pytest.mark.parametrize("name", ["led7-3200", "led7-keel500"])
def test_led_has_the_segments_of_the_published_files(published_file, name):
    published = published_file(name)
    labels = published.pop("class")
    X, y = datasets.led(20_000)
    apart = abs(published.groupby(labels).mean().to_numpy() - X.groupby(y).mean().to_numpy())
    assert apart.max() < 0.2
    assert apart.mean() < 0.04


def p08_probabilities():
    """P(x1, x2, x3, class), by enumerating the cases of equations 1 to 4."""
    joint = {}
    for label, x1 in product((1, 2), (0, 1)):
        for x2, p2 in ((x1, 0.5), (0, 0.25), (1, 0.25)):
            flipped = x1 if label == 1 else 1 - x1
            for x3, p3 in ((flipped, 0.3), (x2, 0.5), (0, 0.1), (1, 0.1)):
                joint[x1, x2, x3, label] = joint.get((x1, x2, x3, label), 0) + 0.25 * p2 * p3
    return joint


def test_p08_synthetic_follows_equations_1_to_4():
    X, y = datasets.p08_synthetic(40_000)
    drawn = X.assign(y=y).value_counts(normalize=True)
    for cell, probability in p08_probabilities().items():
        assert drawn.get(cell, 0) == pytest.approx(probability, abs=0.01)


def test_p08_synthetic_has_the_accuracies_of_the_paper():
    X, y = datasets.p08_synthetic(40_000)
    for features, best_accuracy in (
        (["X1", "X2", "X3"], 0.65),
        (["X1", "X3"], 0.65),
        (["X2", "X3"], 0.575),
        (["X3"], 0.5),
    ):
        votes = y.groupby([X[name] for name in features]).agg(lambda labels: labels.value_counts().max())
        assert votes.sum() / len(y) == pytest.approx(best_accuracy, abs=0.01)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_z17_synthetic_follows_its_logistic_model(alpha):
    X, y = datasets.z17_synthetic(40_000, alpha)
    assert np.allclose(X.mean(), 0.5, atol=0.01)
    for x, seen in y.groupby([X["x1"], X["x2"], X["x3"]]).mean().items():
        log_odds = 10**alpha * x[0] + x[1] + 10**-alpha * x[2]
        assert seen == pytest.approx(1 / (1 + np.exp(-log_odds)), abs=0.02)


def test_poker_hands_are_five_different_cards_in_any_order():
    X, _ = datasets.poker_hand(2000)
    cards = X.filter(like="S").to_numpy() * 13 + X.filter(like="C").to_numpy()
    assert all(len(set(hand)) == 5 for hand in cards.tolist())
    # Every card is as likely in every place: 5 standard errors.
    first = np.bincount(datasets.poker_hand(52_000)[0]["C1"], minlength=14)[1:]
    assert np.abs(first - 4000).max() < 5 * np.sqrt(4000)


def test_poker_hands_are_worth_what_the_published_file_says(published_file):
    cards = published_file("poker-hand-train").astype(int)
    suits, ranks = (cards[[f"{letter}{i}" for i in range(1, 6)]].to_numpy() for letter in "SC")
    assert (generated._worth(suits, ranks) == cards["class"]).all()


@pytest.mark.parametrize(
    ("suits", "ranks", "worth"),
    [
        ((1, 1, 1, 1, 1), (10, 1, 12, 13, 11), 9),
        ((2, 2, 2, 2, 2), (5, 4, 3, 2, 1), 8),
        ((1, 2, 3, 4, 1), (7, 7, 7, 7, 2), 7),
        ((1, 2, 3, 4, 1), (7, 7, 7, 2, 2), 6),
        ((3, 3, 3, 3, 3), (2, 4, 6, 8, 10), 5),
        ((1, 2, 3, 4, 1), (10, 11, 12, 13, 1), 4),
        ((1, 2, 3, 4, 1), (7, 7, 7, 2, 3), 3),
        ((1, 2, 3, 4, 1), (7, 7, 3, 2, 3), 2),
        ((1, 2, 3, 4, 1), (7, 7, 4, 2, 3), 1),
        ((1, 2, 3, 4, 1), (12, 13, 1, 2, 3), 0),
    ],
)
def test_what_poker_hands_are_worth(suits, ranks, worth):
    assert generated._worth(np.array([suits]), np.array([ranks])).tolist() == [worth]
