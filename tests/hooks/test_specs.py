"""The hook contract: what it names, and how a plugin marks what it implements."""

import inspect

import pluggy

import bnplug
from bnplug.hooks import discovery, specs

SPECIFIED = {name: found for name, found in vars(specs).items() if name.startswith("bnplug_")}


def test_every_hook_of_the_contract_has_its_descriptor():
    assert set(SPECIFIED) == set(discovery.HOOKS)
    for name, function in SPECIFIED.items():
        assert discovery.HOOKS[name].__name__ in function.__annotations__["return"]


def test_hooks_only_ask_and_each_shows_how_it_is_answered():
    for name, function in SPECIFIED.items():
        assert not inspect.signature(function).parameters
        assert f"def {name}():" in inspect.getdoc(function)


def test_what_is_marked_is_found_by_a_manager_of_the_project():
    @bnplug.hookimpl
    def bnplug_recipes():
        return ["a recipe"]

    manager = pluggy.PluginManager(specs.PROJECT)
    manager.add_hookspecs(specs)
    manager.register(type("Plugin", (), {"bnplug_recipes": staticmethod(bnplug_recipes)}))
    assert manager.hook.bnplug_recipes() == [["a recipe"]]
