"""The built-in methods, and a plugin `bnplug-shop` that brings one of everything."""

from types import SimpleNamespace
from typing import ClassVar

import pytest

import bnplug
from bnplug import (
    ParameterLearner,
    ParameterLearnerMethod,
    PluginWarning,
    Recipe,
    Reproduction,
    ScoreFunction,
    ScoreFunctionMethod,
    StructureLearner,
    StructureLearnerMethod,
)
from bnplug.hooks import discovery
from bnplug.hooks.discovery import FoundPlugin


class Tree(StructureLearner):
    components: ClassVar = {"structure": "structure"}

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
    return descriptor(name=name, factory=factory, summary="It does.", reference="Me (2026)")


def recipe_of(name, structure, **fields):
    return Recipe(name, structure, summary="A recipe.", reference="Me (2026)", **fields)


@pytest.fixture
def shop(monkeypatch, tmp_path):
    """The built-in methods and a plugin `bnplug-shop`, factories in a real module; gives two classes."""
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
    builtin = discovery.find_plugins()[0]
    found = [
        builtin,
        FoundPlugin("shop", "bnplug-shop", "2.0", lambda: plugin),
        FoundPlugin("broken", "bnplug-broken", "0.3", lambda: None),
    ]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    with pytest.warns(PluginWarning, match="bnplug-broken"):
        discovery.discovered()
    yield SimpleNamespace(Tree=Tree, Count=Count)
    discovery.refresh()
