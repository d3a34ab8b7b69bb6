import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from commands import run

import bnplug
from bnplug.hooks import discovery
from bnplug.hooks.discovery import FoundPlugin


def test_plugins_lists_what_is_there():
    text = run("plugins").output
    assert f"bnplug {bnplug.__version__} (builtin): ok" in text
    assert "nb, tan, kdb" in text
    listed = json.loads(run("plugins", "--json").output)
    assert listed[0]["distribution"] == "bnplug"
    assert "bnplug_structure_learners" in listed[0]["hooks"]


def test_methods_tell_about_themselves():
    assert "k-" not in run("methods").output.splitlines()[0]
    assert all(name in run("methods").output for name in ("nb", "tan", "kdb", "ml"))
    text = run("methods", "kdb").output
    assert "Sahami" in text
    assert "  k = 2 (int)\n      The largest number of features among the parents of a feature.\n" in text
    assert "Did you mean 'hill-climb'" in run("methods", "hillclimb", code=1).stderr


def test_methods_are_listed_by_kind_and_flags():
    text = run("methods", "--kind", "score", "--that", "decomposable", "--that", "not-score-equivalent").output
    assert text.splitlines() == ["score functions:", "  k2  The marginal likelihood under uniform priors."]
    (found,) = json.loads(run("methods", "--kind", "engine", "--that", "not_exact", "--json").output)
    assert found["name"] == "sampling"
    (learner,) = json.loads(run("methods", "hill-climb", "--that", "constraints", "--json").output)
    assert learner["max_variables"] is None
    assert "hill-climb: structure learner" in run("methods", "hill-climb", "--kind", "structure").output
    assert "no engine has the flag 'decomposable'" in run(
        "methods", "--kind", "engine", "--that", "decomposable", code=1
    ).stderr  # fmt: skip
    assert "Did you mean 'score'?" in run("methods", "--kind", "scor", code=1).stderr
    nothing = run("methods", "--kind", "engine", "--that", "not-exact", "--that", "not-stochastic")
    assert (nothing.stdout, nothing.stderr) == ("", "no installed method matches --kind and --that\n")
    message = "'hill-climb' is a structure learner, but does not match --kind and --that"
    assert message in run("methods", "hill-climb", "--that", "needs-target", code=1).stderr


def test_methods_as_json():
    listed = {(method["kind"], method["name"]): method for method in json.loads(run("methods", "--json").output)}
    assert {name for kind, name in listed if kind == "structure learner"} >= {"nb", "tan", "kdb"}
    assert {name for kind, name in listed if kind == "recipe"} >= {"TAN-CR-ML"}
    tan = listed["structure learner", "tan"]
    assert (tan["distribution"], tan["version"]) == ("bnplug", bnplug.__version__)
    (kdb,) = json.loads(run("methods", "kdb", "--json").output)
    assert kdb == listed["structure learner", "kdb"]
    assert kdb["parameters"]["k"] == {
        "default": 2, "type": "int", "description": "The largest number of features among the parents of a feature.",
    }  # fmt: skip
    found = [(own["name"], *item) for own in listed.values() for item in own.get("parameters", {}).items()]
    assert len(found) > 200
    assert not [told for told in found if not told[2]["type"] or not told[2]["description"]]
    (recipe,) = json.loads(run("methods", "TAN-CR-ML", "--json").output)
    assert recipe["components"]["parameters"] == ["ml", {"alpha": 0.0, "floor": 1e-05}]
    assert recipe["unavailable"] == ""
    assert "no method 'nowhere'" in run("methods", "nowhere", "--json", code=1).stderr


class Bins(bnplug.MDLDiscretizer):
    """A discretiser of a plugin."""


@pytest.fixture
def clash(monkeypatch):
    """Two plugins that bring a discretiser of one name, which one of them has renamed a recipe for."""
    words = {"summary": "It cuts.", "reference": "Me (2026)"}
    bins = bnplug.DiscretizerMethod("bins", Bins, parameter_aliases={"discrete": "categorical_features"}, **words)
    recipe = bnplug.Recipe("NEW", "nb", discretizer="oak:bins", aliases=("OLD",), **words)
    other = replace(bins, summary="It cuts otherwise.")
    plugins = [
        SimpleNamespace(bnplug_discretizers=bnplug.hookimpl(lambda: [bins])),
        SimpleNamespace(
            bnplug_discretizers=bnplug.hookimpl(lambda: [other]), bnplug_recipes=bnplug.hookimpl(lambda: [recipe])
        ),
    ]
    found = [
        FoundPlugin(name, f"bnplug-{name}", "1.0", lambda plugin=plugin: plugin)
        for name, plugin in zip(("elm", "oak"), plugins, strict=True)
    ]
    installed = discovery.find_plugins()
    monkeypatch.setattr(discovery, "find_plugins", lambda: [*installed, *found])
    discovery.refresh()
    yield
    monkeypatch.undo()
    discovery.refresh()


def test_every_kind_is_listed(clash):
    text = run("methods").output
    for heading in ("engines:", "discretizers:", "recipes:"):
        assert f"{heading}\n" in text
    assert "elimination" in text
    assert "oak:bins" in text
    assert "exact" in run("methods", "elimination").output


def test_clashes_are_shown_by_their_qualified_names(clash):
    text = run("plugins").output
    assert "  discretizers: elm:bins\n" in text
    assert "  clash: its discretizer 'bins' is available as 'oak:bins', because bnplug-elm has that name too\n" in text
    both = run("methods", "bins").output
    assert "elm:bins: discretizer, from bnplug-elm 1.0 (elm)" in both
    assert "oak:bins: discretizer, from bnplug-oak 1.0 (oak)" in both
    assert "discrete is an older name of categorical_features" in both
    assert run("methods", "bnplug-oak:bins").output.count("discretizer, from") == 1


def test_qualified_and_older_names_in_a_fit(clash, files, tmp_path):
    fit = ("fit", files / "iris.csv", "--target", "species", "-o")
    done = run(*fit, tmp_path / "a", "--discretizer", "oak:bins", "--structure", "bnplug:nb")
    assert "warning" not in done.stderr
    done = run(*fit, tmp_path / "b", "--recipe", "OLD")
    assert "bnplug: warning: the recipe 'OLD' is called 'NEW' now\n" in done.stderr
    done = run(*fit, tmp_path / "c", "--discretizer", "bins", code=1)
    assert "2 plugins have a discretizer 'bins': use 'elm:bins' or 'oak:bins'" in done.stderr


def test_one_method_that_fails_does_not_keep_the_others_from_being_told(clash, monkeypatch):
    from bnplug.hooks import registry

    factory = registry._factory

    def fails(method):
        if method.summary == "It cuts otherwise.":
            raise bnplug.PluginError("bnplug-oak failed")
        return factory(method)

    monkeypatch.setattr(registry, "_factory", fails)
    one, other = json.loads(run("methods", "bins", "--json").output)
    assert one["parameters"]
    assert (other["failed"], "parameters" in other) == ("bnplug-oak failed", False)


def test_older_names_are_told(clash):
    text = run("methods", "OLD").output
    assert "NEW: recipe, from bnplug-oak 1.0 (oak)" in text
    assert "  older names: OLD\n" in text
