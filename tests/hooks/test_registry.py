"""From names to methods: creation, its errors, recipes and what they lack."""

import sys
from types import SimpleNamespace

import pytest

import bnplug
from bnplug import (
    ContractError,
    ParameterLearner,
    ParameterLearnerMethod,
    PluginError,
    PluginWarning,
    Recipe,
    Reproduction,
    ScoreFunction,
    ScoreFunctionMethod,
    StructureLearner,
    StructureLearnerMethod,
    UnknownMethodError,
)
from bnplug.hooks import discovery as manager
from bnplug.hooks import registry
from bnplug.hooks.discovery import Candidate


class Tree(StructureLearner):
    def __init__(self, depth=1, score="count", structure=None):
        self.depth = depth
        self.score = score
        self.structure = structure

    def learn(self, table):
        raise NotImplementedError


class Count(ScoreFunction):
    def __init__(self, cv=4):
        self.cv = cv

    def score(self, table, dag):
        return 0.0


class Estimate(ParameterLearner):
    def __init__(self, level):
        self.level = level

    def fit(self, table, dag):
        raise NotImplementedError


class Fails(StructureLearner):
    def __init__(self):
        raise OSError("no licence")

    def learn(self, table):
        raise NotImplementedError


class Bare:
    """Derives from no contract."""


def described(descriptor, name, factory):
    return descriptor(name=name, factory=factory, summary="It does.", reference="Me (2026)", api=1)


def recipe_of(name, structure, **fields):
    return Recipe(name, structure, summary="A recipe.", reference="Me (2026)", **fields)


@pytest.fixture
def shop(monkeypatch, tmp_path):
    """The built-in methods and a plugin `bnplug-shop`, whose string factories are in a real module."""
    (tmp_path / "shop_goods.py").write_text("class Bare: pass\nCONSTANT = 3\ndef run(data, out, quick): return out\n")
    (tmp_path / "shop_exits.py").write_text("raise SystemExit(4)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("BNPLUG_STRICT", raising=False)
    monkeypatch.delenv("BNPLUG_DISABLE", raising=False)
    structures = {
        "tree": Tree,
        "fails": Fails,
        "bare": Bare,
        "bare-too": "shop_goods:Bare",
        "constant": "shop_goods:CONSTANT",
        "absent": "shop_goods:Absent",
        "exits": "shop_exits:Tree",
    }
    hooks = {
        "bnplug_structure_learners": [
            described(StructureLearnerMethod, name, factory) for name, factory in structures.items()
        ],
        "bnplug_score_functions": [described(ScoreFunctionMethod, "count", Count)],
        "bnplug_parameter_learners": [described(ParameterLearnerMethod, "estimate", Estimate)],
        "bnplug_recipes": [
            recipe_of("TREE", ("tree", {"depth": 3, "score": ("count", {"cv": 7})})),
            recipe_of("FAR", "far", requires=("bnplug-far", "bnplug-shop")),
            recipe_of("OLD", ("tree", {"score": "far-score"}), requires=("bnplug_shop",)),
            recipe_of("BROKEN", "tree", parameters=("lost", {}), requires=("bnplug-broken",)),
            recipe_of("NOWHERE", "far"),
        ],
        "bnplug_reproductions": [
            Reproduction("me2026", "shop_goods:run", "Table 1.", "Me (2026)"),
            Reproduction("wrong", "shop_goods:CONSTANT", "Table 1.", "Me (2026)"),
        ],
    }
    plugin = SimpleNamespace(**{hook: bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()})
    builtin = manager.candidates()[0]
    found = [
        builtin,
        Candidate("shop", "bnplug-shop", "2.0", lambda: plugin),
        Candidate("broken", "bnplug-broken", "0.3", lambda: None),
    ]
    monkeypatch.setattr(manager, "candidates", lambda: found)
    manager.refresh()
    with pytest.warns(PluginWarning, match="bnplug-broken"):
        manager.discovery()
    yield
    manager.refresh()


pytestmark = pytest.mark.usefixtures("shop")


def test_methods_are_created_with_their_parameters():
    assert bnplug.structure_learner("tree", depth=2).depth == 2
    assert bnplug.score_function("count").cv == 4
    assert bnplug.parameter_learner("estimate", level=3).level == 3
    assert isinstance(registry.create("structure learner", "nb"), StructureLearner)
    assert bnplug.structure_learner("tree") is not bnplug.structure_learner("tree")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "structure learner",
            "tere",
            "there is no structure learner 'tere'. Did you mean 'tree'? Registered: absent, bare",
        ),
        ("structure learner", "TAN", "there is no structure learner 'TAN'. Did you mean 'tan'?"),
        ("structure learner", "count", "'count' is a score function, not a structure learner. Registered: "),
        ("parameter learner", "zzz", "there is no parameter learner 'zzz'. Registered: estimate, ml."),
        ("score function", "count ", "Did you mean 'count'?"),
    ],
)
def test_an_unknown_name(kind, name, message):
    with pytest.raises(UnknownMethodError) as caught:
        registry.create(kind, name)
    assert message in str(caught.value)
    assert isinstance(caught.value, LookupError)
    assert "Plugins left out (see `bnplug plugins`): bnplug-broken 0.3 (broken)." in str(caught.value)


def test_a_kind_of_which_there_is_none(monkeypatch):
    monkeypatch.setattr(manager, "candidates", lambda: [])
    manager.refresh()
    with pytest.raises(UnknownMethodError, match=r"no recipe 'TAN'\. No recipe is registered\.$"):
        bnplug.recipe("TAN")


def test_a_name_that_is_no_string():
    with pytest.raises(TypeError, match="the name of a structure learner is a string, not 3"):
        bnplug.structure_learner(3)


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"no kind 'learner' of method\. Kinds: structure learner, score function"):
        registry.create("learner", "tree")
    with pytest.raises(ValueError, match="Did you mean 'score function'"):
        registry.methods("score_function")
    with pytest.raises(ValueError, match=r"a recipe is not created; use bnplug\.hooks\.registry\.recipe"):
        registry.create("recipe", "TREE")


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
    assert kinds == sorted(kinds, key=registry.KINDS.index)
    assert set(kinds) >= {
        "structure learner",
        "score function",
        "parameter learner",
        "recipe",
        "reproduction",
    }


def test_plugins_lists_what_works_and_what_does_not():
    assert [(info.distribution, info.status) for info in bnplug.plugins()] == [
        ("bnplug", "ok"),
        ("bnplug-shop", "ok"),
        ("bnplug-broken", "failed"),
    ]


def test_build_takes_an_instance_a_name_or_a_pair():
    tree = Tree()
    assert registry.build("structure learner", tree) is tree
    assert isinstance(registry.build("score function", "count"), Count)
    nested = {
        "score": ("count", {"cv": 2}),
        "structure": ("tree", {"depth": 5, "score": ("count", {"cv": 3})}),
    }
    built = registry.build("structure learner", ("tree", nested))
    assert (built.score.cv, built.structure.depth, built.structure.score.cv) == (2, 5, 3)
    assert isinstance(nested["score"], tuple), "the caller's mapping stays as it was"


def test_build_leaves_a_nested_name_to_the_learner():
    assert registry.build("structure learner", ("tree", {"score": "anything"})).score == "anything"


@pytest.mark.parametrize("spec", [None, 3, Tree, Count(), ("tree",), ("tree", 2), ("tree", {}, {}), ["tree", {}]])
def test_build_refuses_anything_else(spec):
    with pytest.raises(TypeError, match=r"a structure learner is a name, a \(name, parameters\) pair or an instance"):
        registry.build("structure learner", spec)


def test_provider_and_origin():
    method = registry.find("score function", "count")
    assert registry.provider(method).distribution == "bnplug-shop"
    assert registry.origin(Count()) == "score function 'count' of bnplug-shop 2.0 (shop)"
    nb = bnplug.structure_learner("nb")
    assert registry.origin(nb) == f"structure learner 'nb' of bnplug {bnplug.__version__} (builtin)"

    class Own(Count):
        pass

    assert registry.origin(Own()).endswith("Own")
    assert "shop_exits" not in sys.modules


def test_signature():
    assert registry.signature(registry.find("structure learner", "tree")) == [
        ("depth", 1),
        ("score", "count"),
        ("structure", None),
    ]
    assert registry.signature(registry.find("structure learner", "nb")) == []


def test_a_recipe_makes_a_classifier():
    made = bnplug.recipe("TREE", random_state=3)
    assert isinstance(made, bnplug.BayesianNetworkClassifier)
    assert (made.structure.depth, made.structure.score.cv, made.random_state) == (3, 7, 3)
    assert isinstance(made.parameters, ParameterLearner)
    assert bnplug.recipe("TREE", discretizer="uniform").discretizer == "uniform"


def test_a_recipe_with_a_wrong_parameter():
    with pytest.raises(TypeError, match=r"recipe 'TREE' has no parameter 'random_stat'\. Did you mean 'random_state'"):
        bnplug.recipe("TREE", random_stat=3)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("FAR", "no working plugin brings structure learner 'far'; pip install bnplug-far"),
        ("OLD", "no working plugin brings score function 'far-score'; pip install --upgrade bnplug_shop"),
        (
            "BROKEN",
            "no working plugin brings parameter learner 'lost'; bnplug-broken 0.3 (broken) is left out: "
            "it implements no hook; mark its functions with @bnplug.hookimpl",
        ),
        ("NOWHERE", "no working plugin brings structure learner 'far'"),
    ],
)
def test_a_recipe_that_lacks_a_component(name, reason):
    (found,) = [found for found in registry.recipes() if found.recipe.name == name]
    assert (found.available, found.reason) == (False, reason)
    with pytest.raises(UnknownMethodError) as caught:
        bnplug.recipe(name)
    assert str(caught.value) == f"recipe {name!r} is not available: {reason}"


def test_available_recipes():
    assert [found.recipe.name for found in registry.recipes() if found.available] == ["TREE"]


def test_a_reproduction_is_ready_to_run():
    found = registry.reproduction("me2026")
    assert found.run("data", "out", True) == "out"
    with pytest.raises(ContractError, match=r"reproduction 'wrong' of bnplug-shop 2\.0 .*must be a function, not 3"):
        registry.reproduction("wrong")
