"""The questions to a mixture: averages of its networks, checked against its networks one by one."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import rel_entr

import bnplug
from bnplug.datasets import iris


@pytest.fixture(scope="module")
def rows():
    X, y = iris()
    X = X.assign(size=np.where(X.iloc[:, 0] > 5.8, "large", "small"), odd=np.where(np.arange(len(X)) % 2, "yes", "no"))
    return X, y, X.mask(np.random.default_rng(0).random(X.shape) < 0.3)


@pytest.fixture(scope="module")
def fitted(rows):
    params = {"member__parameters": ("ml", {"alpha": 9.0}), "generative": "backoff", "n_members": 2}
    return bnplug.make_classifier("mixture", random_state=0, **params).fit(*rows[:2])


def networks_of(model):
    return [*model.members_, *model.generative_]


def information(joint):
    joint = joint / joint.sum()
    return rel_entr(joint, joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)).sum()


def test_queries_of_discrete_variables_are_means(fitted):
    evidence = {"petal length (cm)": 4.8, "odd": {"yes": 0.3, "no": 0.9}}
    answer = fitted.query(["size", "species"], evidence)
    each = [network.query(["size", "species"], evidence)["probability"] for network in networks_of(fitted)]
    np.testing.assert_allclose(answer["probability"], np.mean(each, axis=0), atol=1e-12)


def test_a_query_of_a_number_agrees_with_every_bin_of_every_network(fitted):
    name, evidence = "petal width (cm)", {"size": "large"}
    intervals = fitted.intervals(name)
    for network in networks_of(fitted):
        bins = network.query(name, evidence)["probability"].to_numpy()
        spread = intervals.spread(bins, network)
        np.testing.assert_allclose(np.bincount(intervals.bins_of(network), spread), bins, atol=1e-12)
    answer = fitted.query(name, evidence)
    assert answer[name].tolist() == intervals.labels
    each = [
        intervals.spread(network.query(name, evidence)["probability"].to_numpy(), network)
        for network in networks_of(fitted)
    ]
    np.testing.assert_allclose(answer["probability"], np.mean(each, axis=0), atol=1e-12)
    assert answer["probability"].sum() == pytest.approx(1.0, abs=1e-12)


def test_intervals_have_the_shares_of_the_training_rows(rows):
    X, y, _ = rows
    member = bnplug.BayesianNetworkClassifier(parameters=("ml", {"alpha": 0.0}), calibrate=None)
    model = bnplug.make_classifier("mixture", member=member, generative=None, structures="nb", random_state=0).fit(X, y)
    intervals = model.intervals("sepal width (cm)")
    ends = np.concatenate([[-np.inf], intervals.cuts, [np.inf]])
    counts = np.histogram(-X["sepal width (cm)"], -ends[::-1])[0][::-1]
    np.testing.assert_allclose(intervals.shares, counts / len(X), atol=1e-4)


def test_the_averaged_joint_has_the_posterior_of_predict_proba(fitted, rows):
    row = rows[0].iloc[[70]].assign(**{"petal width (cm)": np.nan})
    joint = fitted.query(["species", "petal width (cm)"], row)["probability"].to_numpy().reshape(3, -1)
    np.testing.assert_allclose(joint.sum(axis=1), fitted.predict_proba(row)[0], atol=1e-12)


def test_what_next_is_the_information_of_the_averaged_joint(fitted, rows):
    X = rows[2].iloc[[3, 60, 120]].assign(**{"petal width (cm)": np.nan, "size": None})
    found = fitted.what_next(X).set_index(["row", "feature"])["information"]
    assert (found >= 0).all()
    for (row, feature), value in found.items():
        joint = fitted.query(["species", feature], X.loc[[row]])["probability"].to_numpy().reshape(3, -1)
        assert value == pytest.approx(information(joint), abs=1e-12)
    costs = dict.fromkeys(rows[0].columns, 2.0)
    priced = fitted.what_next(X, costs)
    np.testing.assert_allclose(priced["per_cost"], priced["information"] / 2)


def test_samples_have_the_distribution_of_the_twins(fitted):
    drawn = fitted.sample(20_000, random_state=0)
    each = [network.query(["size", "species"])["probability"] for network in fitted.generative_]
    expected = np.mean(each, axis=0).reshape(2, 3)
    found = pd.crosstab(drawn["size"], drawn["species"], normalize=True).to_numpy()
    np.testing.assert_allclose(found, expected, atol=0.015)
    name = "petal length (cm)"
    intervals = fitted.intervals(name)
    means = np.mean(
        [intervals.spread(twin.query(name)["probability"].to_numpy(), twin) for twin in fitted.generative_], axis=0
    )
    places = np.searchsorted(intervals.cuts, drawn[name])
    np.testing.assert_allclose(np.bincount(places, minlength=len(means)) / len(drawn), means, atol=0.015)
    assert drawn.equals(fitted.sample(20_000, random_state=0))
    assert fitted.predict_proba(drawn.drop(columns="species").head()).shape == (5, 3)
    assert len(fitted.sample(0)) == 0
    with pytest.raises(ValueError, match="n=-1"):
        fitted.sample(-1)


def test_imputed_cells_are_votes_and_medians_of_the_twins(fitted, rows):
    _X, _, holes = rows
    shown = holes.head(40)
    filled = fitted.impute(shown)
    assert filled.notna().all(axis=None)
    pd.testing.assert_frame_equal(filled.where(shown.notna()), shown, check_dtype=False)
    each = [twin.impute(shown) for twin in fitted.generative_]
    numbers = np.sort([frame["petal width (cm)"] for frame in each], axis=0)[(len(each) - 1) // 2]
    np.testing.assert_array_equal(filled["petal width (cm)"], numbers)
    votes = np.array([frame["size"] == "large" for frame in each]).sum(axis=0)
    sure = votes * 2 != len(each)
    assert (np.where(votes * 2 > len(each), "large", "small") == filled["size"])[sure].all()


def test_sampled_imputations_are_complete_rows_of_one_twin(fitted, rows):
    shown = rows[2].head(40)
    filled = fitted.impute(shown, how="sample", random_state=3)
    assert filled.index.equals(shown.index)
    assert filled.notna().all(axis=None)
    assert filled.equals(fitted.impute(shown, how="sample", random_state=3))
    assert not filled.equals(fitted.impute(shown, how="sample", random_state=4))
    with pytest.raises(ValueError, match="how='median'"):
        fitted.impute(shown, how="median")


def test_conflict_is_of_averaged_probabilities(fitted):
    evidence = {"size": "small", "odd": "yes", "species": "setosa"}
    p = {name: fitted.query(name).set_index(name)["probability"][value] for name, value in evidence.items()}
    joint = fitted.query(list(evidence)).set_index(list(evidence))["probability"]
    # Averaged without evidence, the joint is the mean of the joints.
    expected = np.log(np.prod(list(p.values()))) - np.log(joint[tuple(evidence.values())])
    uncalibrated = {"member": bnplug.BayesianNetworkClassifier(parameters="ml", calibrate=None), "generative": None}
    assert fitted.conflict(evidence) == pytest.approx(expected, abs=1e-9)
    X, y = iris()
    model = bnplug.make_classifier("mixture", n_members=1, random_state=0, **uncalibrated).fit(X, y)
    name = "petal length (cm)"
    both = model.query([name, "species"])
    cell = np.searchsorted(model.intervals(name).cuts, 1.4)
    share = both["probability"].to_numpy().reshape(-1, 3)[cell]
    expected = np.log(share.sum()) + np.log(model.query("species")["probability"][0]) - np.log(share[0])
    assert model.conflict({name: 1.4, "species": "setosa"}) == pytest.approx(expected, abs=1e-9)


def test_without_an_average_one_sentence_names_the_alternative(fitted):
    with pytest.raises(ValueError, match=r"model\.members_\[i\]\.most_probable"):
        fitted.most_probable({"size": "small"})
    with pytest.raises(ValueError, match=r"model\.members_\[i\]\.sensitivity"):
        fitted.sensitivity({"size": "small"})
    assert fitted.members_[0].most_probable({"size": "small"})["species"] == "setosa"


def test_missing_as_a_state_is_a_state_of_the_average(rows):
    _X, y, holes = rows
    params = {"member__parameters": "ml", "member__missing": "value", "n_members": 1, "random_state": 0}
    model = bnplug.make_classifier("mixture", **params).fit(holes, y)
    answer = model.query("petal width (cm)")
    assert answer["petal width (cm)"].iloc[-1] == "missing"
    each = [network.query("petal width (cm)")["probability"].iloc[-1] for network in networks_of(model)]
    assert answer["probability"].iloc[-1] == pytest.approx(np.mean(each), abs=1e-12)
    assert model.sample(400, random_state=0)["petal width (cm)"].isna().any()
