"""Requirements of descriptors: what is refused before anything is learned, and flags that are true."""

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from saboteurs.structures import Exact
from saboteurs.trying import failing

import bnplug
from bnplug import BayesianNetworkClassifier, ScoreFunction, Structure, StructureLearner
from bnplug.contracts import Composite
from bnplug.hooks import discovery, expressions, recipes, registry
from bnplug.hooks.components import component
from bnplug.hooks.discovery import FoundPlugin
from bnplug.hooks.requirements import check_table
from bnplug.scoring import DecomposableScore, PredictiveScore
from bnplug.testing import checks_of, data, subject_of

WORDS = {"summary": "It does.", "reference": "Me (2026)"}
EXACT = bnplug.StructureLearnerMethod(
    "my-exact", Exact, needs_score=True, needs_decomposable=True, max_variables=3, needs_target=False, **WORDS
)
DECOMPOSABLE = "Use 'bdeu', 'k2', 'll' or 'mdl'."
REFUSED = f"^'my-exact' needs a decomposable score; 'cr' is not one. {DECOMPOSABLE}$"


class Wrapped(StructureLearner):
    """Learns what another learner learns."""

    components: ClassVar = {"base": "structure learner"}

    def __init__(self, base="tan"):
        self.base = base

    def learn(self, table):
        return component("structure", self.base, self).learn(table)


class Whole(ScoreFunction):
    """A score that is asked about whole graphs."""

    def score(self, table, dag):
        return 0.0


class Evaluated(Whole):
    """A score that does not say whether its evaluator adds up terms."""

    def evaluator(self, table, n_jobs=1):
        return bnplug.score_function("mdl").evaluator(table)


class Declared(Evaluated):
    decomposable = False


class Terms(DecomposableScore):
    def local(self, table, child, parents, counts):
        return -float(len(parents))


class Rows(PredictiveScore):
    pass


@pytest.fixture
def exact(monkeypatch):
    """A plugin with an exact learner, and recipes of it."""
    hooks = {
        "bnplug_structure_learners": [EXACT, bnplug.StructureLearnerMethod("wrapped", Wrapped, **WORDS)],
        "bnplug_recipes": [
            bnplug.Recipe("EXACT-CR", ("my-exact", {"score": ("cr", {"cv": 5})}), **WORDS),
            bnplug.Recipe("WRAPPED-CR", ("wrapped", {"base": ("my-exact", {"score": "cr"})}), **WORDS),
            bnplug.Recipe("EXACT-K2", ("my-exact", {"score": "k2"}), **WORDS),
        ],
    }
    plugin = SimpleNamespace(**{hook: bnplug.hookimpl(lambda found=found: found) for hook, found in hooks.items()})
    found = [discovery.find_plugins()[0], FoundPlugin("exact", "bnplug-exact", "1.0", lambda: plugin)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    yield
    monkeypatch.undo()
    discovery.refresh()


def rows(n_features):
    random = np.random.RandomState(0)
    X = pd.DataFrame({f"x{i}": random.choice(["a", "b"], 40) for i in range(n_features)})
    return X, random.choice(["no", "yes"], 40)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    "compose",
    [
        lambda: bnplug.structure_learner("my-exact", score="cr"),
        lambda: bnplug.structure_learner("my-exact", score=("cr", {"cv": 3})),
        lambda: bnplug.structure_learner("my-exact", score=bnplug.score_function("cr")),
        lambda: registry.build("structure", ("my-exact", {"score": ("cr", {"cv": 3})})),
        lambda: registry.build("structure", Exact("cr")),
        lambda: registry.build("structure", Wrapped(Exact("cr"))),
        lambda: registry.build("structure", ("wrapped", {"base": ("my-exact", {"score": "cr"})})),
        lambda: expressions.components(expressions.parse("my-exact[cr]+ml")),
        lambda: recipes.parts("EXACT-CR"),
        lambda: bnplug.recipe("WRAPPED-CR"),
        lambda: BayesianNetworkClassifier(Exact(bnplug.score_function("cr"))).fit(*rows(2)),
        lambda: BayesianNetworkClassifier("my-exact").set_params(structure__score="cr").fit(*rows(2)),
        lambda: BayesianNetworkClassifier(Wrapped(("my-exact", {"score": "cr"}))).fit(*rows(2)),
        lambda: Exact("cr").learn(data.narrowed(data.standard(), 3)),
    ],
)
def test_a_score_that_is_not_decomposable_is_refused(compose):
    with pytest.raises(ValueError, match=REFUSED):
        compose()


@pytest.mark.usefixtures("exact")
def test_it_is_refused_before_rows_are_looked_at(monkeypatch):
    monkeypatch.setattr("bnplug.classifier._fitting._encode_source", lambda *_, **__: pytest.fail("encoded"))
    with pytest.raises(ValueError, match=REFUSED):
        BayesianNetworkClassifier(("my-exact", {"score": "cr"})).fit(*rows(2))


@pytest.mark.filterwarnings("ignore::bnplug.ConstantPredictionWarning")
@pytest.mark.usefixtures("exact")
def test_what_composes_is_learned():
    for structure in ("my-exact", Exact("bdeu"), Wrapped("my-exact"), Exact(Terms()), Exact(Evaluated())):
        assert BayesianNetworkClassifier(structure, "ml").fit(*rows(2)).predict(rows(2)[0]).shape == (40,)
    assert bnplug.recipe("EXACT-K2").fit(*rows(2)).made_["structure"] == "Exact(score='k2')"


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("score", "named"), [(Whole(), "Whole"), (Declared(), "Declared"), (Rows(), "Rows")])
def test_a_score_that_is_not_registered_is_judged_by_its_class(score, named):
    with pytest.raises(ValueError, match=f"^'my-exact' needs a decomposable score; {named} is not one"):
        registry.build("structure", Exact(score))


@pytest.mark.usefixtures("exact")
def test_a_table_with_too_many_variables_is_refused():
    message = (
        r"^'my-exact' takes at most 3 variables; this table has 4\. Use fewer columns, or another structure learner"
    )
    for structure in ("my-exact", Exact(), ("my-exact", {"score": "k2"})):
        with pytest.raises(ValueError, match=message):
            BayesianNetworkClassifier(structure).fit(*rows(3))


@pytest.mark.usefixtures("exact")
def test_a_table_without_a_class_is_refused_by_what_needs_one():
    table = data.without_class()
    with pytest.raises(ValueError, match=r"^'tan' needs a class variable; this table has none\. Use 'hill-climb' or "):
        check_table(bnplug.structure_learner("tan"), table)
    with pytest.raises(ValueError, match=r"^'cr' needs a class variable; .* Use 'bdeu', 'k2', 'll' or 'mdl'\."):
        check_table(bnplug.structure_learner("hill-climb", score="cr"), table)
    check_table(bnplug.structure_learner("hill-climb"), table)
    check_table(bnplug.parameter_learner("ml"), table)
    with pytest.raises(ValueError, match="variables"):
        check_table(Exact(), table)


@pytest.mark.usefixtures("exact")
def test_the_kit_respects_requirements_of_a_registered_method():
    assert failing(EXACT) == {}
    names = {check.name for check in checks_of(subject_of(EXACT))}
    assert {"check_any_score_goes", "check_score_decides", "check_works_without_class"} <= names


def test_there_are_rules_for_limits():
    for wrong in (1, 2.5, True, "20"):
        with pytest.raises(
            bnplug.ContractError, match="its max_variables must be a whole number of at least 2 or None"
        ):
            discovery.check_descriptor(replace(EXACT, max_variables=wrong))


# The flags of all registered methods


@pytest.mark.parametrize("method", bnplug.methods("score"), ids=lambda method: method.name)
def test_score_equivalence_is_a_property_of_the_score(method):
    """Chains and forks over three variables are Markov equivalent, and so are complete graphs."""
    score = subject_of(method).make()
    if "floor" in score.get_params():  # without it, equivalent graphs have the same estimated distribution
        score.set_params(floor=0.2)
    equal = []
    for seed in range(4):
        random = np.random.RandomState(seed)
        frame = pd.DataFrame({"a": random.randint(0, 2, 60), "b": random.randint(0, 4, 60)})
        frame["c"] = (frame["a"] + (random.random_sample(60) < 0.3)) % 2
        table = bnplug.Table.from_frame(frame, "c")
        for classes in (
            [[[], [0], [1]], [[1], [2], []], [[1], [], [1]]],
            [[[], [0], [0, 1]], [[1], [], [0, 1]], [[1, 2], [2], []]],
        ):
            values = [score.score(table, Structure(table.names, parents)) for parents in classes]
            equal.append(np.allclose(values, values[0], rtol=1e-9))
    assert all(equal) is method.score_equivalent


@pytest.mark.parametrize(
    "method", [*bnplug.methods("structure"), *bnplug.methods("score"), *bnplug.methods("parameters")], ids=str
)
def test_methods_that_declare_that_they_need_a_class_do(method):
    subject = subject_of(method)
    if method.name == "nb":  # it runs, and returns a graph without edges
        assert method.needs_target
        assert not subject.run(data.without_class()).edges
    elif method.needs_target:
        with pytest.raises((TypeError, ValueError, IndexError, KeyError)):
            subject.run(data.without_class(), **subject.indifferent)
    else:
        subject.require_usable(subject.run(data.without_class(), **subject.indifferent), data.without_class())


@pytest.mark.parametrize("method", bnplug.methods("score"), ids=lambda method: method.name)
def test_the_class_of_a_score_agrees_with_its_descriptor(method):
    score = subject_of(method).make()
    assert score.decomposable is method.decomposable
    assert score.evaluator(data.standard()).decomposable is method.decomposable


@pytest.mark.parametrize("method", bnplug.methods("structure"), ids=lambda method: method.name)
def test_what_a_learner_says_of_its_parameters_is_so(method):
    parameters = dict(registry.signature(method))
    assert method.needs_score is ("score" in parameters)
    assert method.constraints is ({"required", "forbidden", "tiers"} <= set(parameters))
    assert not method.stochastic or "random_state" in parameters


# Finding methods


def names(*kind, **flags):
    return [method.name for method in bnplug.methods(*kind, **flags)]


@pytest.mark.usefixtures("exact")
def test_methods_are_found_by_their_flags():
    assert (
        names("score", decomposable=True) == names("score function", decomposable=True) == ["ll", "mdl", "k2", "bdeu"]
    )
    assert names("score", decomposable=True, score_equivalent=False) == ["k2"]
    assert names("structure", needs_decomposable=True) == names(needs_decomposable=True) == ["my-exact"]
    assert names("parameters", needs_target=False) == ["ml", "backoff"]
    assert names(exact=False) == ["sampling"]
    assert names(supervised=False) == ["quantile", "log2-quantile", "uniform"]
    assert set(names()) == {name for kind in bnplug.hooks.descriptors.Kind for name in names(kind)}


def test_an_unknown_flag_is_an_error_that_lists_the_known_ones():
    with pytest.raises(TypeError) as caught:
        bnplug.methods("score", decomposible=True)
    assert str(caught.value) == (
        "no score function has the flag 'decomposible'. Did you mean 'decomposable'? "
        "Flags: stochastic, decomposable, score_equivalent, needs_target"
    )
    with pytest.raises(TypeError, match=r"no recipe has the flag 'featured'\. Flags: none"):
        bnplug.methods("recipe", featured=True)
    with pytest.raises(TypeError, match=r"no method has the flag 'fast'\. Flags: stochastic, needs_score, "):
        bnplug.methods(fast=True)
    with pytest.raises(ValueError, match=r"no kind 'parameter' of method\. Did you mean 'parameters'"):
        bnplug.methods("parameter")


def test_declarations_of_base_classes_are_merged():
    class Base(Composite):
        components: ClassVar = {"first": "score", "last": "engine"}

    class Derived(Base):
        components: ClassVar = {"last": "parameters", "model": "classifier"}

    kinds = bnplug.hooks.descriptors.component_kinds(Derived)
    assert kinds == {"first": "score function", "last": "parameter learner", "model": "classifier"}
