"""From names to methods: creation, its errors, and what is there to ask for."""

import sys
from types import SimpleNamespace

import pytest

import bnplug
from bnplug import ContractError, PluginError, ScoreFunction, StructureLearner, UnknownMethodError
from bnplug.hooks import discovery, registry
from bnplug.hooks.descriptors import Kind
from bnplug.hooks.discovery import HOOKS, FoundPlugin

pytestmark = pytest.mark.usefixtures("shop")


def test_methods_are_created_with_their_parameters():
    assert bnplug.structure_learner("tree", depth=2).depth == 2
    assert bnplug.score_function("count").cv == 4
    assert bnplug.parameter_learner("estimate", level=3).level == 3
    assert isinstance(registry.build("structure learner", "nb"), StructureLearner)
    assert bnplug.structure_learner("tree") is not bnplug.structure_learner("tree")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "structure learner",
            "tere",
            "there is no structure learner 'tere'. Did you mean 'tree'? Registered: absent, bare",
        ),
        ("structure learner", "TAN", "'TAN' is a recipe, not a structure learner. Registered: "),
        ("structure learner", "count", "'count' is a score function, not a structure learner. Registered: "),
        ("parameter learner", "zzz", "there is no parameter learner 'zzz'. Registered: backoff, estimate, ml."),
        ("score function", "count ", "Did you mean 'count'?"),
    ],
)
def test_an_unknown_name(kind, name, message):
    with pytest.raises(UnknownMethodError) as caught:
        registry.build(kind, name)
    assert message in str(caught.value)
    assert isinstance(caught.value, LookupError)
    assert "Plugins left out (see `bnplug plugins`): bnplug-broken 0.3 (broken)." in str(caught.value)


def test_a_kind_of_which_there_is_none(monkeypatch):
    monkeypatch.setattr(discovery, "find_plugins", lambda: [])
    discovery.refresh()
    with pytest.raises(UnknownMethodError, match=r"no recipe 'TAN'\. No recipe is registered\.$"):
        bnplug.recipe("TAN")


def test_a_name_that_is_no_string():
    with pytest.raises(TypeError, match="the name of a structure learner is a string, not 3"):
        bnplug.structure_learner(3)


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"no kind 'learner' of method\. Kinds: structure learner, score function"):
        registry.build("learner", "tree")
    with pytest.raises(ValueError, match="Did you mean 'score function'"):
        registry.methods("score_function")
    with pytest.raises(
        ValueError, match=r"a recipe has no class to create by name; these have one: structure learner, "
    ):
        registry.build("recipe", "TREE")


def test_a_wrong_parameter():
    with pytest.raises(TypeError) as caught:
        bnplug.structure_learner("tree", dept=2)
    assert str(caught.value) == (
        "structure learner 'tree' has no parameter 'dept'. Did you mean 'depth'? "
        "Its parameters: depth, score, structure."
    )
    with pytest.raises(TypeError, match=r"'nb' has no parameter 'k'\. Its parameters: none\."):
        bnplug.structure_learner("nb", k=2)
    with pytest.raises(TypeError, match="parameter learner 'estimate' needs the parameter 'level'"):
        bnplug.parameter_learner("estimate")


@pytest.mark.parametrize(
    ("name", "cause", "error"),
    [
        ("fails", "construction: OSError: no licence", OSError),
        ("absent", "import of shop_goods:Absent: AttributeError: ", AttributeError),
        ("exits", "import of shop_exits:Tree: SystemExit: 4", SystemExit),
    ],
)
def test_a_factory_that_fails_is_named_with_its_plugin_and_cause(name, cause, error):
    with pytest.raises(PluginError) as caught:
        bnplug.structure_learner(name)
    assert str(caught.value).startswith(f"structure learner {name!r} of bnplug-shop 2.0 (shop) failed: {cause}")
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("name", ["bare", "bare-too", "constant"])
def test_a_factory_must_derive_from_its_contract(name):
    with pytest.raises(ContractError, match=r"bnplug-shop 2\.0 .*must be a class derived from bnplug.StructureLearner"):
        bnplug.structure_learner(name)


def test_methods_are_listed_by_kind_and_built_in_first():
    names = [method.name for method in registry.methods("structure learner")]
    assert names.index("nb") < names.index("tree") < names.index("fails")
    kinds = [method.kind for method in registry.methods()]
    assert kinds == sorted(kinds, key=list(Kind).index)
    assert set(kinds) >= {
        "structure learner",
        "score function",
        "parameter learner",
        "recipe",
        "reproduction",
    }


def test_kinds_are_texts_in_the_order_of_the_hooks():
    assert [descriptor.kind for descriptor in HOOKS.values()] == list(Kind)
    assert registry.methods(Kind.RECIPE) == registry.methods("recipe")
    assert f"{Kind.RECIPE}" == str(Kind.RECIPE) == "recipe"
    assert all(type(kind) is str for info in registry.plugins() for kind in info.names), "plain data, for JSON"


def test_plugins_lists_what_works_and_what_does_not():
    assert [(info.distribution, info.status) for info in bnplug.plugins()] == [
        ("bnplug", "ok"),
        ("bnplug-shop", "ok"),
        ("bnplug-broken", "failed"),
    ]


def test_build_takes_an_instance_a_name_or_a_pair(shop):
    tree = shop.Tree()
    assert registry.build("structure learner", tree) is tree
    assert isinstance(registry.build("score function", "count"), shop.Count)
    nested = {
        "score": ("count", {"cv": 2}),
        "structure": ("tree", {"depth": 5, "score": ("count", {"cv": 3})}),
    }
    built = registry.build("structure learner", ("tree", nested))
    assert (built.score.cv, built.structure.depth, built.structure.score.cv) == (2, 5, 3)
    assert isinstance(nested["score"], tuple), "the caller's mapping stays as it was"


def test_build_leaves_a_nested_name_to_the_learner():
    assert registry.build("structure learner", ("tree", {"score": "anything"})).score == "anything"


class Other(ScoreFunction):
    def score(self, table, dag):
        return 0.0


@pytest.mark.parametrize(
    "spec", [None, 3, StructureLearner, Other(), ("tree",), ("tree", 2), ("tree", {}, {}), ["tree", {}]]
)
def test_build_refuses_anything_else(spec):
    with pytest.raises(
        TypeError, match=r"structure learner: expected a name, a \(name, parameters\) pair or an instance"
    ):
        registry.build("structure learner", spec)


def test_provider_origin_and_name(shop):
    method = registry.find("score function", "count")
    assert registry.provider(method).distribution == "bnplug-shop"
    assert registry.origin(shop.Count()) == "score function 'count' of bnplug-shop 2.0 (shop)"
    nb = bnplug.structure_learner("nb")
    assert registry.origin(nb) == f"structure learner 'nb' of bnplug {bnplug.__version__} (builtin)"

    class Own(shop.Count):
        pass

    assert registry.origin(Own()).endswith("Own")
    assert (registry.name_of(shop.Count(cv=2)), registry.name_of(nb), registry.name_of(Own())) == ("count", "nb", None)
    assert "shop_exits" not in sys.modules


def test_signature():
    assert registry.signature(registry.find("structure learner", "tree")) == [
        ("depth", 1),
        ("score", "count"),
        ("structure", None),
    ]
    assert registry.signature(registry.find("structure learner", "nb")) == []


def test_a_reproduction_is_ready_to_run():
    found = registry.reproduction("me2026")
    assert found.run("data", "out", True) == "out"
    with pytest.raises(ContractError, match=r"reproduction 'wrong' of bnplug-shop 2\.0 .*must be a function, not 3"):
        registry.reproduction("wrong")


def install(monkeypatch, **hooks):
    plugin = SimpleNamespace(**{hook: bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()})
    found = [discovery.find_plugins()[0], FoundPlugin("kinds", "bnplug-kinds", "1.0", lambda: plugin)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()


def test_classifiers_discretizers_and_engines_are_made_by_name(monkeypatch):
    words = {"summary": "It does.", "reference": "Me (2026)"}
    install(
        monkeypatch,
        bnplug_classifiers=[
            bnplug.ClassifierMethod("gauss", "sklearn.naive_bayes:GaussianNB", **words),
            bnplug.ClassifierMethod("bins", "sklearn.preprocessing:KBinsDiscretizer", **words),
        ],
        bnplug_discretizers=[bnplug.DiscretizerMethod("k", "sklearn.preprocessing:KBinsDiscretizer", **words)],
        bnplug_engines=[bnplug.EngineMethod("g", "sklearn.naive_bayes:GaussianNB", **words)],
    )
    try:
        assert registry.classifier("gauss", var_smoothing=0.5).var_smoothing == 0.5
        assert registry.build("classifier", ("kinds:gauss", {})).var_smoothing == 1e-9
        assert bnplug.discretizer("k", n_bins=3).n_bins == 3
        with pytest.raises(TypeError, match="classifier 'gauss' has no parameter 'smoothing'"):
            registry.classifier("gauss", smoothing=1)
        with pytest.raises(ContractError, match="must be a class with the methods fit, predict, predict_proba, get"):
            registry.classifier("bins")
        with pytest.raises(ContractError, match=r"must be a class derived from bnplug\.Engine"):
            bnplug.engine("g")
        with pytest.raises(TypeError, match=r"^engine: expected a name, .* derived from bnplug\.Engine"):
            registry.build("engine", 5)
        with pytest.raises(bnplug.UnknownMethodError, match="'gauss' is a classifier, not an engine"):
            bnplug.engine("gauss")
    finally:
        monkeypatch.undo()
        discovery.refresh()
