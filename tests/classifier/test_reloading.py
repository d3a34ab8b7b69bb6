"""A loaded model is the model: it has its parameters, and learns again what the original would."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import third_party
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import bnplug
from bnplug import BayesianNetworkClassifier, PluginError
from bnplug.hooks import discovery, recipes, registry
from bnplug.hooks.discovery import FoundPlugin

RECIPES = [found.recipe.name for found in recipes.availabilities()]
LEARNERS = [method.name for method in registry.methods("structure learner")]
PARAMETERS = [method.name for method in registry.methods("parameter learner")]
SCORES = [method.name for method in registry.methods("score function")]


@pytest.fixture(scope="module")
def few():
    """A few rows with a class that depends on a number, a text and a whole number."""
    rng = np.random.default_rng(0)
    y = pd.Series(rng.choice(["no", "yes"], 60), name="answer")
    X = pd.DataFrame(
        {
            "length": np.round(rng.normal(size=60) + 2 * (y == "yes"), 2),
            "colour": np.where(rng.random(60) < 0.7, np.where(y == "yes", "red", "blue"), "green"),
            "count": rng.integers(0, 3, 60),
        }
    )
    return X, y


@pytest.fixture
def third(monkeypatch):
    third_party.install(monkeypatch)
    yield
    monkeypatch.undo()
    discovery.refresh()


def reloaded(model, tmp_path):
    bnplug.save(model, tmp_path / "model")
    return bnplug.load(tmp_path / "model")


def assert_same(one, other):
    """To the last bit."""
    assert one.tables_.parents == other.tables_.parents
    assert one.tables_.states == other.tables_.states
    for name, table in one.tables_.tables.items():
        assert table.values.tobytes() == other.tables_.tables[name].values.tobytes()


def assert_learns_the_same(model, data, tmp_path):
    loaded = reloaded(model.fit(*data), tmp_path)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert_same(clone(loaded).fit(*data), model)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_learns_again_what_it_learned(name, few, tmp_path):
    assert_learns_the_same(bnplug.recipe(name, random_state=3), few, tmp_path)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_structure_learner_learns_again_what_it_learned(name, few, tmp_path):
    assert_learns_the_same(BayesianNetworkClassifier(name, random_state=3), few, tmp_path)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_learner_learns_again_what_it_learned(name, few, tmp_path):
    assert_learns_the_same(BayesianNetworkClassifier("nb", name, random_state=3), few, tmp_path)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_learns_again_what_it_learned(name, few, tmp_path):
    model = BayesianNetworkClassifier(("hill-climb", {"score": (name, {})}), random_state=3)
    assert_learns_the_same(model, few, tmp_path)


def test_instances_come_back_as_instances_with_their_parameters(few, tmp_path):
    score = bnplug.score_function("cr", cv=3)
    model = BayesianNetworkClassifier(
        bnplug.structure_learner("hill-climb", score=score),
        bnplug.parameter_learner("ml", alpha=0.25),
        bnplug.QuantileDiscretizer(n_bins=3),
        random_state=1,
    )
    assert_learns_the_same(model, few, tmp_path)
    loaded = bnplug.load(tmp_path / "model")
    assert (loaded.structure.score.cv, loaded.parameters.alpha, loaded.discretizer.n_bins) == (3, 0.25, 3)
    assert type(loaded.structure) is type(model.structure)
    assert type(loaded.structure.score) is type(score)


@pytest.mark.parametrize(
    ("params", "loss"),
    [
        ({"calibrate": None}, 0.107),
        ({"parameters": "ml", "calibrate": None}, 0.319),
        ({"parameters": ("ml", {"alpha": 5.0}), "calibrate": None}, 0.264),
    ],
    ids=str,
)
def test_iris_is_refitted_with_the_discretizer_and_parameters_it_had(params, loss, tmp_path):
    """It was once refitted as if numbers were states, and the log loss of the last two became 3.261."""
    X, y = load_iris(return_X_y=True)
    model = BayesianNetworkClassifier(**params).fit(X, y)
    again = reloaded(model, tmp_path)
    one, two = (-cross_val_score(m, X, y, cv=5, scoring="neg_log_loss") for m in (model, again))
    assert (one == two).all()
    assert two.mean() == pytest.approx(loss, abs=5e-4)


VALUES = {
    "edges": {"structure": [("answer", "length"), ("answer", "colour")]},
    "no edges": {"structure": []},
    "weights": {"class_weight": {"no": 0.25, "yes": np.float32(3)}},
    "balanced": {"class_weight": "balanced"},
    "names": {"categorical_features": ["count", "colour"]},
    "mask": {"categorical_features": np.array([False, True, True])},
    "positions": {"categorical_features": np.array([1, 2], dtype=np.int16)},
    "tuple": {"categorical_features": ("count",)},
    "text array": {"categorical_features": np.array(["count"])},
    "none": {"categorical_features": None, "class_weight": None},
    "numpy seed": {"random_state": np.int64(7), "max_parameters": np.int32(10_000)},
    "infinite": {"max_clique_size": 10**30},
    "pair": {"structure": ("kdb", {"k": np.int64(1)}), "discretizer": ("uniform", {"n_bins": 4})},
    "qualified": {"structure": "bnplug:kdb", "parameters": ("bnplug:ml", {"alpha": 0.5})},
}


@pytest.mark.parametrize("params", VALUES.values(), ids=VALUES)
def test_parameters_come_back_as_they_were(params, few, tmp_path):
    assert_learns_the_same(BayesianNetworkClassifier(**params), few, tmp_path)
    loaded = bnplug.load(tmp_path / "model")
    for name, value in params.items():
        assert type(getattr(loaded, name)) is type(value)
        assert np.array_equal(getattr(loaded, name), value)


def test_a_given_graph_comes_back_as_a_graph(few, tmp_path):
    dag = BayesianNetworkClassifier("tan").fit(*few).dag_
    loaded = reloaded(BayesianNetworkClassifier(dag).fit(*few), tmp_path)
    assert (list(loaded.structure.nodes), list(loaded.structure.edges)) == (list(dag.nodes), list(dag.edges))
    assert_same(clone(loaded).fit(*few), BayesianNetworkClassifier(dag).fit(*few))


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"random_state": np.random.RandomState(0)}, "random_state: <'RandomState"),
        ({"structure": ("hill-climb", {"score": ("cr", {"cv": KFold(3)})})}, "structure__score__cv: <'KFold"),
        ({"parameters": third_party.Steep()}, "parameters: <'Steep"),
    ],
    ids=["generator", "splitter", "unregistered"],
)
def test_what_no_file_holds_predicts_and_is_named_by_a_refit(params, named, few, tmp_path):
    model = BayesianNetworkClassifier(**params).fit(*few)
    loaded = reloaded(model, tmp_path)
    assert (loaded.predict_proba(few[0]) == model.predict_proba(few[0])).all()
    assert len(loaded.sample(3)) == 3
    for again in (loaded, clone(loaded), reloaded(loaded, tmp_path / "again")):
        with pytest.raises(ValueError, match="cannot be fitted again") as caught:
            again.fit(*few)
        assert named in str(caught.value)
    whole = {name: "tan" if name == "structure" else "ml" if name == "parameters" else None for name in params}
    assert clone(loaded).set_params(**whole).fit(*few).score(*few) > 0.5


def test_a_component_that_is_not_installed_is_named_with_its_distribution(few, tmp_path, third, monkeypatch):
    structure = bnplug.structure_learner("hill-climb", score=bnplug.score_function("cost"))
    model = BayesianNetworkClassifier(structure, "steep").fit(*few)
    assert {"kind": "parameter learner", "name": "steep", "distribution": "bnplug-third", "version": "1.0"} in (
        model.components_
    )
    model.save(tmp_path / "model")
    monkeypatch.undo()
    discovery.refresh()
    loaded = bnplug.load(tmp_path / "model")
    assert (loaded.predict_proba(few[0]) == model.predict_proba(few[0])).all()
    assert loaded.components_ == model.components_
    for again in (loaded, clone(loaded)):
        with pytest.raises(ValueError, match=r"bnplug-third 1\.0 is not installed") as caught:
            again.fit(*few)
        assert "structure__score: <score function 'cost'" in str(caught.value)
        assert "the parameter learner 'steep' of bnplug-third 1.0 is not installed" in str(caught.value)
    # Saved again without the plugin, and read where it is: nothing is lost.
    bnplug.save(loaded, tmp_path / "model")
    third_party.install(monkeypatch)
    assert_same(clone(bnplug.load(tmp_path / "model")).fit(*few), model)


def test_show_says_who_brought_the_components(few, tmp_path):
    from bnplug.show.summary import to_text

    model = BayesianNetworkClassifier(("hill-climb", {"score": "cr"})).fit(*few)
    text = to_text(reloaded(model, tmp_path))
    version = registry.provider(registry.find("score function", "cr")).version
    assert f"score function cr (bnplug {version})" in text


class Mine(BayesianNetworkClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_a_subclass_is_refused_and_not_loaded_as_its_base(few, tmp_path):
    with pytest.raises(TypeError, match=r"Mine derives from .*bnplug_classifiers"):
        Mine().fit(*few).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_is_no_classifier_of_anybodys_is_refused(few, tmp_path):
    with pytest.raises(TypeError, match=r"a Majority cannot be saved.*no plugin registers it"):
        bnplug.save(third_party.Majority().fit(*few), tmp_path / "model")


# Classifiers of plugins


def test_a_plugins_classifier_is_saved_and_loaded(few, tmp_path, third, monkeypatch):
    model = bnplug.make_classifier("majority", alpha=0.5).fit(*few)
    loaded = reloaded(model, tmp_path)
    assert type(loaded) is third_party.Majority
    assert loaded.get_params() == model.get_params()
    assert (loaded.predict_proba(few[0]) == model.predict_proba(few[0])).all()
    monkeypatch.undo()
    discovery.refresh()
    with pytest.raises(PluginError, match=r"of bnplug-third 1\.0 is not installed$"):
        bnplug.load(tmp_path / "model")


def test_what_a_plugins_classifier_raises_names_it(few, tmp_path, third, monkeypatch):
    model = bnplug.make_classifier("majority").fit(*few)
    bnplug.save(model, tmp_path / "model")
    monkeypatch.setattr(third_party.Majority, "restore_state", lambda self, state, arrays: state["nothing"])
    with pytest.raises(PluginError, match=r"classifier 'majority' of bnplug-third 1\.0 .*restore_state.*KeyError"):
        bnplug.load(tmp_path / "model")
    monkeypatch.setattr(third_party.Majority, "restore_state", lambda self, state, arrays: None)
    with pytest.raises(bnplug.ContractError, match="must return the fitted classifier"):
        bnplug.load(tmp_path / "model")
    monkeypatch.setattr(third_party.Majority, "saved_state", lambda self: 1 / 0)
    with pytest.raises(PluginError, match=r"'majority'.*saved_state: ZeroDivisionError"):
        bnplug.save(model, tmp_path / "model")
    for state, arrays, message in [
        ({"a": {1: 2}}, {}, r"state\['a'\]: the key 1 is not text"),
        ({"a": [np.int64(1)]}, {}, r"state\['a'\]\[0\] is an int64"),
        ({}, {"a": np.array([{}])}, "array 'a' of dtype object cannot be saved"),
    ]:
        monkeypatch.setattr(third_party.Majority, "saved_state", lambda self, s=state, a=arrays: (s, a))
        with pytest.raises(TypeError, match=message):
            bnplug.save(model, tmp_path / "model")


def test_a_network_saves_itself_inside_of_another(few):
    model = BayesianNetworkClassifier("tan").fit(*few)
    state, arrays = model.saved_state()
    again = BayesianNetworkClassifier("tan").restore_state(json.loads(json.dumps(state)), arrays)
    assert_same(again, model)
    assert (again.predict_proba(few[0]) == model.predict_proba(few[0])).all()
    with pytest.raises(bnplug.ModelFileError, match="damaged"):
        BayesianNetworkClassifier("tan").restore_state({}, arrays)
    with pytest.raises(bnplug.ModelFileError, match="damaged"):
        BayesianNetworkClassifier("tan").restore_state(state, {**arrays, "0": arrays["0"][:1]})


# Discretisers and engines of plugins


class Halves(TransformerMixin, BaseEstimator):
    """Cuts every column at a quantile."""

    def __init__(self, share=0.5):
        self.share = share

    def fit(self, X, y=None, sample_weight=None):
        self.cut_points_ = [np.array([np.quantile(X[name], self.share)]) for name in X.columns]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        return self

    def transform(self, X):
        raise NotImplementedError("the cuts suffice")


class Slow(bnplug.Engine):
    """The built-in engine under another name."""

    def compile(self, tables, target):
        return bnplug.engine("elimination").compile(tables, target)


@pytest.fixture
def parts(monkeypatch):
    """A plugin with a discretiser and an engine."""
    halves = bnplug.DiscretizerMethod("halves", Halves, "Two bins.", "Me (2026)")
    slow = bnplug.EngineMethod("slow", Slow, "The same, later.", "Me (2026)")
    plugin = SimpleNamespace(
        bnplug_discretizers=bnplug.hookimpl(lambda: [halves]),
        bnplug_engines=bnplug.hookimpl(lambda: [slow]),
    )
    found = [*discovery.find_plugins(), FoundPlugin("parts", "bnplug-parts", "2.1", lambda: plugin)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    yield
    monkeypatch.undo()
    discovery.refresh()


@pytest.mark.parametrize(
    "halves", ["halves", ("halves", {"share": 0.4}), Halves(0.3)], ids=["name", "pair", "instance"]
)
def test_a_plugins_discretizer_is_saved_by_its_cuts(halves, few, tmp_path, parts, monkeypatch):
    model = BayesianNetworkClassifier("nb", discretizer=halves).fit(*few)
    model.save(tmp_path / "model")
    assert_same(clone(bnplug.load(tmp_path / "model")).fit(*few), model)
    monkeypatch.undo()
    discovery.refresh()
    for _ in range(2):
        loaded = bnplug.load(tmp_path / "model")
        assert (loaded.predict_proba(few[0]) == model.predict_proba(few[0])).all()
        with pytest.raises(ValueError, match=r"of bnplug-parts 2\.1 is not installed>"):
            loaded.fit(*few)
        loaded.save(tmp_path / "model")


def test_an_engine_that_is_not_installed_is_replaced_with_a_warning(few, tmp_path, parts, monkeypatch):
    model = BayesianNetworkClassifier("nb", engine=Slow()).fit(*few)
    loaded = reloaded(model, tmp_path)
    assert type(loaded.engine_) is Slow
    monkeypatch.undo()
    discovery.refresh()
    with pytest.warns(bnplug.PluginWarning, match=r"'slow' of bnplug-parts 2\.1 is not installed.*built-in engine"):
        loaded = bnplug.load(tmp_path / "model")
    holes = few[0].assign(count=np.nan)
    assert loaded.predict_proba(holes) == pytest.approx(model.predict_proba(holes), abs=1e-12)
    with pytest.raises(ValueError, match=r"of bnplug-parts 2\.1 is not installed>"):
        loaded.fit(*few)


def test_a_clash_that_appears_later_leaves_a_model_what_it_is(few, tmp_path, parts, monkeypatch):
    model = BayesianNetworkClassifier("nb", discretizer="halves", engine="slow").fit(*few)
    model.save(tmp_path / "model")
    rival = bnplug.DiscretizerMethod("halves", RivalHalves, "Two other bins.", "Me (2026)")
    plugin = SimpleNamespace(bnplug_discretizers=bnplug.hookimpl(lambda: [rival]))
    found = [*discovery.find_plugins(), FoundPlugin("rival", "rival", "1.0", lambda: plugin)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.discretizer == "parts:halves"
    assert type(loaded.discretizer_) is Halves
    assert_same(clone(loaded).fit(*few), model)


class RivalHalves(Halves):
    pass


def test_a_model_that_was_saved_before_a_renaming(few, tmp_path, monkeypatch):
    """The names that a file has are older ones now; saved again, it has the new ones."""

    def rename(name, **fields):
        method = bnplug.DiscretizerMethod(name, Halves, "Two bins.", "Me (2026)", **fields)
        plugin = SimpleNamespace(bnplug_discretizers=bnplug.hookimpl(lambda: [method]))
        found = FoundPlugin("parts", "bnplug-parts", "2.1", lambda: plugin)
        monkeypatch.setattr(discovery, "find_plugins", lambda: [*installed, found])
        discovery.refresh()

    installed = discovery.find_plugins()
    # Halves called its share so once; that a class takes it no longer is what an alias is for.
    rename("old-halves", parameter_aliases={"part": "share"})
    with pytest.warns(DeprecationWarning, match="'part'"):
        model = BayesianNetworkClassifier("nb", discretizer=("old-halves", {"part": 0.4})).fit(*few)
    with pytest.warns(DeprecationWarning, match="'part'"):
        model.save(tmp_path / "model")
    rename("halves", aliases=("old-halves",))
    with pytest.warns(DeprecationWarning, match="'bnplug-parts:old-halves' is called 'halves' now"):
        loaded = bnplug.load(tmp_path / "model")
    assert loaded.discretizer == ("halves", {"share": 0.4})
    assert type(loaded.discretizer_) is Halves
    assert_same(clone(loaded).fit(*few), model)
    loaded.save(tmp_path / "model")
    rename("halves")
    assert_same(clone(bnplug.load(tmp_path / "model")).fit(*few), model)
    monkeypatch.undo()
    discovery.refresh()


class Choosy(third_party.Majority):
    """Uses its parameter when it is fitted, and not before."""

    def __init__(self, cv=None):
        self.cv = cv
        self.alpha = 1.0

    def fit(self, X, y):
        self.n_splits_ = 0 if self.cv is None else len(list(self.cv.split(X)))
        return super().fit(X, y)


def test_a_plugins_classifier_names_the_parameter_that_no_file_held(few, tmp_path, monkeypatch):
    method = bnplug.ClassifierMethod("choosy", Choosy, "It chooses.", "Me (2026)")
    plugin = SimpleNamespace(bnplug_classifiers=bnplug.hookimpl(lambda: [method]))
    found = [*discovery.find_plugins(), FoundPlugin("choosy", "bnplug-choosy", "1.0", lambda: plugin)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    model = Choosy(KFold(3)).fit(*few)
    loaded = reloaded(model, tmp_path)
    assert (loaded.predict_proba(few[0]) == model.predict_proba(few[0])).all()
    for again in (loaded, clone(loaded)):
        with pytest.raises(ValueError, match=r"is unavailable: <'KFold\(n_splits=3.*it was not saved>"):
            again.fit(*few)
    assert clone(loaded).set_params(cv=KFold(2)).fit(*few).n_splits_ == 2
    search = GridSearchCV(loaded, {"cv": [KFold(2)]}, cv=2).fit(*few)
    assert search.best_estimator_.n_splits_ == 2
    monkeypatch.undo()
    discovery.refresh()
