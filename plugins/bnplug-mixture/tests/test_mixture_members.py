"""The members of a mixture: what they differ in, what they share, and where they come from."""

import numpy as np
import pandas as pd
import pytest
from bnplug_mixture import mixture as module

import bnplug
from bnplug import ParameterLearner, UnknownMethodError, parameter_learner
from bnplug.datasets import corral, iris


def make(**params):
    usual = {"member__parameters": "ml", "member__calibrate": None, "generative": None, "random_state": 0}
    return bnplug.make_classifier("mixture", **{**usual, **params})


class Chosen(ParameterLearner):
    """Frequencies, with a strength that folds choose, and a note of who was asked to choose."""

    asked: list = []  # noqa: RUF012

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, table, dag):
        self.asked.append(self.alpha)
        self.alpha_ = 3.0 if self.alpha == "cv" else self.alpha
        return parameter_learner("ml", alpha=self.alpha_).fit(table, dag)


def test_members_have_cuts_and_edges_of_their_own():
    members = make(n_members=3).fit(*iris()).members_
    cuts = [tuple(map(tuple, member.discretizer_.cut_points_)) for member in members]
    assert len(set(cuts)) == len(members) == 6
    assert all(3 <= len(own) <= 11 for member in cuts for own in member)
    assert len({tuple(sorted(member.tables_.edges)) for member in members}) > 1


def test_another_seed_is_another_mixture_and_the_same_is_the_same():
    X, y = iris()
    first, again, other = (make(n_members=1, random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_without_jitter_members_of_discrete_data_are_alike():
    X, y = corral()
    members = make(structures="tan", n_members=3, jitter=0.0).fit(X, y).members_
    assert len({tuple(member.tables_.edges) for member in members}) == 1


def test_a_jitter_that_a_structure_has_is_kept():
    X, y = corral()
    model = make(structures=[("tan", {"jitter": 2.0}), "kdb", "nb"], n_members=1).fit(X, y)
    tan, kdb, nb = (member.structure_ for member in model.members_)
    assert (tan.jitter, kdb.jitter, hasattr(nb, "jitter")) == (2.0, 0.3, False)


@pytest.mark.parametrize(("data", "structures"), [(iris, ["tan", 2]), (corral, ["tan", 2, 3])])
def test_three_parents_are_for_data_without_cuts(data, structures):
    members = make(n_members=1).fit(*data()).members_
    assert [getattr(member.structure_, "k", "tan") for member in members] == structures


def test_what_folds_choose_is_chosen_once_and_handed_to_all():
    Chosen.asked.clear()
    model = make(member__parameters=Chosen(alpha="cv"), n_members=2).fit(*corral())
    assert Chosen.asked == ["cv", *[3.0] * 6]
    assert model.chosen_ == {"alpha": 3.0}
    assert [member.parameters_.alpha for member in model.members_] == [3.0] * 6


def test_where_nothing_is_chosen_no_member_is_learned_twice():
    Chosen.asked.clear()
    assert make(member__parameters=Chosen(alpha=2.0), n_members=2).fit(*corral()).chosen_ == {}
    assert Chosen.asked == [2.0] * 6


def test_the_best_structures_of_a_climb_become_members():
    X, y = corral()
    climb = ("hill-climb", {"score": "cr", "max_iter": 4})
    model = make(structures=climb, n_members=1, n_best=3).fit(X, y)
    met = model.members_[0].structure_.best_structures_
    assert [set(member.tables_.edges) for member in model.members_] == [set(edges) for edges in met[:3]]


def test_the_best_structure_of_each_chain_of_annealing_becomes_a_member():
    X, y = corral()
    chains = ("sa", {"restarts": 4, "max_evaluations": 30})
    model = make(structures=chains, n_members=1, n_best=4).fit(X, y)
    met = model.members_[0].structure_.best_structures_
    assert [set(member.tables_.edges) for member in model.members_] == [set(edges) for edges in met]
    assert len(met) > 1


def test_a_twin_has_the_cuts_and_the_edges_of_its_member():
    model = make(generative=("ml", {"alpha": 9.0}), n_members=1).fit(*iris())
    for member, twin in zip(model.members_, model.generative_, strict=True):
        assert member.tables_.parents == twin.tables_.parents
        for own, its in zip(member.discretizer_.cut_points_, twin.discretizer_.cut_points_, strict=True):
            assert np.array_equal(own, its)
        assert not np.array_equal(member.predict_proba(iris()[0]), twin.predict_proba(iris()[0]))


def test_structures_may_be_given_as_edges():
    X, y = corral()
    edges = [("class", name) for name in X.columns]
    model = make(structures=[edges, "tan"], n_members=1).fit(X, y)
    assert sorted(model.members_[0].tables_.edges) == sorted(edges)


def test_a_discretiser_of_ones_own_is_taken():
    X, y = iris()
    for given in ("mdl", ("quantile", {"n_bins": 3}), bnplug.discretizer("jittered-quantile", random_state=7)):
        members = make(member__discretizer=given, n_members=2).fit(X, y).members_
        cuts = {tuple(map(tuple, member.discretizer_.cut_points_)) for member in members}
        assert len(cuts) == 1


def test_without_the_default_parameters_it_says_where_they_are(monkeypatch):
    def absent(kind, spec, owner):
        raise UnknownMethodError(f"there is no {kind} {spec!r}")

    monkeypatch.setattr(module, "component", absent)
    with pytest.raises(UnknownMethodError, match="pip install bnplug-loo"):
        bnplug.make_classifier("mixture").fit(*iris())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_members": 0}, "n_members=0 must be a finite positive number"),
        ({"n_best": -1}, "n_best=-1 must be a finite positive number"),
        ({"jitter": -0.1}, "jitter=-0.1 must be a finite number that is not negative"),
        ({"structures": []}, "structures is empty"),
        ({"member__structure": "nb"}, "member has structure='nb', which has no effect"),
    ],
)
def test_what_makes_no_mixture_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        make(**params).fit(*iris())


def test_a_mixture_reports_once_that_no_feature_affects_the_prediction():
    rows = np.arange(200)
    X, y = pd.DataFrame({"a": rows % 2, "b": rows // 2 % 2}), np.where(rows // 4 % 2, "yes", "no")
    empty = ("hill-climb", {"score": "bdeu", "start": "empty"})
    with pytest.warns(
        bnplug.ConstantPredictionWarning, match="in all members, the class 'class' has neither"
    ) as caught:
        make(structures=empty, n_members=2).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    make(structures=[empty, "tan"], n_members=1).fit(X, y)


def test_a_mixture_reports_categories_without_rows_once():
    X, y = iris()
    kind = pd.Categorical(np.arange(len(X)) % 2, categories=[0, 1, 2])
    with pytest.warns(
        bnplug.UnseenValueWarning, match="Column 'kind' has categories without training rows: 2"
    ) as caught:
        make(n_members=2).fit(X.assign(kind=kind), y)
    assert len(caught) == 1
