"""Names: who has a word that several claim, qualified names, older names."""

import warnings
from types import SimpleNamespace

import pytest

import bnplug
from bnplug import (
    AmbiguousNameError,
    DiscretizerMethod,
    Recipe,
    ScoreFunction,
    ScoreFunctionMethod,
    StructureLearner,
    StructureLearnerMethod,
    UnknownMethodError,
)
from bnplug.hooks import discovery, recipes, registry
from bnplug.hooks.discovery import FoundPlugin
from bnplug.hooks.names import Claim, Names, normalize

WORDS = {"summary": "It does.", "reference": "Me (2026)"}


class Oak(StructureLearner):
    def __init__(self, depth=1, score="cost"):
        self.depth = depth
        self.score = score

    def learn(self, table):
        raise NotImplementedError


class Elm(Oak):
    pass


class OakCost(ScoreFunction):
    def score(self, table, dag):
        return 0.0


class ElmCost(OakCost):
    pass


def structure(name, factory=Oak, **fields):
    return StructureLearnerMethod(name, factory, **WORDS, **fields)


def score(name, factory, **fields):
    return ScoreFunctionMethod(name, factory, **WORDS, **fields)


def recipe(name, learner, **fields):
    return Recipe(name, learner, **WORDS, **fields)


def plugin(name, **hooks):
    brought = {f"bnplug_{hook}": bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()}
    return FoundPlugin(name, f"bnplug-{name}", "1.0", lambda: SimpleNamespace(**brought))


@pytest.fixture
def install(monkeypatch):
    """Return a function that installs plugins beside the built-in methods."""
    builtin = discovery.find_plugins()[0]

    def put(*plugins):
        monkeypatch.setattr(discovery, "find_plugins", lambda: [builtin, *plugins])
        discovery.refresh()

    yield put
    discovery.refresh()


@pytest.fixture
def clash(install):
    """Two plugins that claim a score, and one of them a built-in structure too."""
    oak = plugin(
        "oak",
        structure_learners=[structure("tan"), structure("oak")],
        score_functions=[score("cost", OakCost)],
        recipes=[recipe("OAK", ("oak", {"score": ("cost", {})})), recipe("BARE", "oak:tan")],
    )
    elm = plugin(
        "elm",
        score_functions=[score("cost", ElmCost)],
        recipes=[recipe("ELM", ("oak", {"score": "cost"}))],
    )
    install(oak, elm)


def deprecations(call):
    """Return the deprecations that a call warns of, and what it returns."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = call()
    return [str(one.message) for one in warned if issubclass(one.category, DeprecationWarning)], found


def test_distributions_have_a_normal_form():
    assert normalize(" Bnplug__Oak.tree-") == "bnplug-oak-tree-"


@pytest.mark.parametrize("order", [1, -1])
def test_a_word_belongs_to_the_built_in_else_to_who_alone_claims_it(order):
    claims = [Claim("bnplug", structure("tan")), Claim("bnplug-oak", structure("tan")), Claim("elm", structure("x"))]
    names = Names(claims[::order])
    kind = "structure learner"
    assert names.claims(kind, "tan") == [claims[0]]
    assert names.claims(kind, "x") == [claims[2]]
    assert not names.claims("recipe", "tan")
    assert not names.claims(kind, "oak:x")
    assert [names.shortest(claim) for claim in claims] == ["tan", "oak:tan", "x"]


@pytest.mark.parametrize("word", ["oak:tan", "bnplug-oak:tan", "Bnplug_Oak:tan", "OAK:tan"])
def test_a_qualified_name_is_always_accepted(clash, word):
    assert type(registry.build("structure learner", word)) is Oak
    assert type(registry.build("structure learner", (word, {"depth": 2}))) is Oak
    assert type(bnplug.BayesianNetworkClassifier(word).set_params(structure__depth=2).structure) is Oak
    assert registry.find("structure learner", "bnplug:tan") is registry.find("structure learner", "tan")


def test_a_colon_in_a_name_takes_no_qualified_name_away():
    claims = [Claim("bnplug-oak", structure("x")), Claim("elm", structure("oak:x"))]
    names = Names(claims)
    assert names.claims("structure learner", "oak:x") == [claims[0]]
    assert [names.shortest(claim) for claim in claims] == ["x", "elm:oak:x"]
    assert names.claims("structure learner", "elm:oak:x") == [claims[1]]


def test_two_distributions_of_which_one_is_called_as_the_other_in_short():
    long, short = (Claim(distribution, structure("x")) for distribution in ("bnplug-oak", "oak"))
    names = Names([long, short])
    assert names.qualified(long) == "bnplug-oak:x"
    assert names.qualified(short) == "oak:x"
    for claim in (long, short):
        assert names.claims("structure learner", names.qualified(claim)) == [claim]


def test_the_bare_name_of_a_clash_is_an_error_that_gives_both(clash):
    for ask in (registry.find, registry.build):
        with pytest.raises(AmbiguousNameError, match=r"^2 plugins have .* 'cost': use 'oak:cost' or 'elm:cost'$"):
            ask("score function", "cost")
    assert issubclass(AmbiguousNameError, UnknownMethodError)


def test_a_component_is_called_by_the_shortest_name_that_means_it(clash):
    assert registry.name_of(OakCost()) == "oak:cost"
    assert registry.name_of(ElmCost()) == "elm:cost"
    assert registry.name_of(Oak()) == "oak:tan"  # the first of two that its class is registered under
    assert registry.name_of(registry.structure_learner("tan")) == "tan"
    assert registry.origin(ElmCost()) == "score function 'cost' of bnplug-elm 1.0 (elm)"
    assert registry.provider(registry.find("score function", "elm:cost")).name == "elm"


def test_a_recipe_means_the_method_of_its_own_distribution(clash):
    for name, cost in {"OAK": OakCost, "ELM": ElmCost}.items():
        learner = recipes.parts(name)["structure"]
        assert type(registry.build("score function", learner.score)) is cost
    assert type(recipes.parts("BARE")["structure"]) is Oak


def test_a_recipe_of_a_third_one_is_told_to_be_ambiguous(install):
    costs = [plugin(name, score_functions=[score("cost", OakCost)]) for name in ("a", "b")]
    install(*costs, plugin("c", recipes=[recipe("C", ("hill-climb", {"score": "cost"}))]))
    with pytest.raises(UnknownMethodError, match="several plugins bring its score function 'cost': a:cost, b:cost"):
        recipes.parts("C")


@pytest.fixture
def renamed(install):
    """A plugin that renamed methods and a parameter."""
    install(
        plugin(
            "oak",
            structure_learners=[
                structure("oak", aliases=("quercus",), parameter_aliases={"height": "depth"}),
                structure("elm", Elm),
            ],
            discretizers=[DiscretizerMethod("b", bnplug.MDLDiscretizer, **WORDS, aliases=("bins",))],
            recipes=[recipe("OAK", ("quercus", {"height": 4}), aliases=("QUERCUS",))],
        )
    )


@pytest.mark.parametrize("word", ["quercus", "oak:quercus", "bnplug-oak:quercus"])
def test_an_older_name_works_with_one_warning_that_names_the_new_one(renamed, word):
    for spec in (word, (word, {"depth": 2})):
        warned, made = deprecations(lambda spec=spec: registry.build("structure learner", spec))
        assert warned == [f"the structure learner {word!r} is called 'oak' now"]
        assert type(made) is Oak


def test_the_warning_is_given_where_the_older_name_was_used(renamed):
    with pytest.warns(DeprecationWarning, match="'quercus'") as warned:
        bnplug.structure_learner("quercus")
    assert warned[0].filename == __file__


def test_an_older_name_of_a_parameter_works_with_one_warning(renamed):
    for make in (
        lambda: bnplug.structure_learner("oak", height=3),
        lambda: registry.build("structure learner", ("oak", {"height": 3})),
    ):
        warned, made = deprecations(make)
        assert warned == ["the parameter 'height' of structure learner 'oak' is called 'depth' now"]
        assert made.depth == 3
    with pytest.raises(TypeError, match="'depth' twice, by its old name and by its new one"), pytest.deprecated_call():
        bnplug.structure_learner("oak", height=3, depth=2)


@pytest.mark.parametrize("structure", ["oak", Oak()])
def test_an_older_name_of_a_parameter_can_be_set(renamed, structure):
    model = bnplug.BayesianNetworkClassifier(structure)
    warned, _ = deprecations(lambda: model.set_params(structure__height=7))
    assert warned == ["the parameter 'height' of structure learner 'oak' is called 'depth' now"]
    assert model.structure.depth == 7
    with pytest.raises(ValueError, match="Invalid parameter 'width' for estimator Oak"):
        model.set_params(structure__width=7)


def test_older_names_in_recipes_and_of_them(renamed):
    warned, parts = deprecations(lambda: recipes.parts("QUERCUS"))
    assert warned == [
        "the recipe 'QUERCUS' is called 'OAK' now",
        "the structure learner 'quercus' is called 'oak' now",
        "the parameter 'height' of structure learner 'oak' is called 'depth' now",
    ]
    assert parts["structure"].depth == 4


def test_present_names_do_not_warn(renamed):
    warned, _ = deprecations(lambda: bnplug.structure_learner("oak", depth=3))
    assert not warned


def test_an_alias_is_claimed_as_a_name_is(install):
    oak = plugin("oak", score_functions=[score("oak-cost", OakCost, aliases=("cost", "cll"))])
    install(oak, plugin("elm", score_functions=[score("cost", ElmCost)]))
    with pytest.raises(AmbiguousNameError, match="'elm:cost' or 'oak:oak-cost'"):
        registry.find("score function", "cost")
    assert registry.find("score function", "cll").factory != OakCost  # a built-in keeps its name
    warned, found = deprecations(lambda: registry.find("score function", "oak:cost"))
    assert warned == ["the score function 'oak:cost' is called 'oak-cost' now"]
    assert found.factory is OakCost


def test_in_one_distribution_a_name_goes_before_an_alias(install):
    install(plugin("oak", score_functions=[score("old", OakCost, aliases=("new",)), score("new", ElmCost)]))
    assert registry.find("score function", "new").factory is ElmCost
