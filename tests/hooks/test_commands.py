"""Commands of plugins under ``bnplug``, and the formats of plugins in its commands."""

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.shell_completion import ShellComplete
from commands import run

import bnplug
from bnplug.cli import cli
from bnplug.datasets import corral
from bnplug.hooks import discovery
from bnplug.hooks.descriptors import BUILTIN_COMMANDS
from bnplug.hooks.discovery import FoundPlugin
from bnplug.io.network_files import write_network

UAI = Path(__file__).parents[2] / "examples" / "uai_plugin.py"

GREETING = """
import click

@click.command("greet")
@click.argument("name")
def greet(name):
    '''Never seen: the descriptor says it.'''
    if name == "nobody":
        raise KeyError("nobody\\nis here")
    click.echo(f"hello {name}")
"""


@click.command("hello", help="Say hello.")
@click.option("--loud", is_flag=True)
def hello(loud):
    click.echo("HELLO" if loud else "hello")


def command(name, target="shop_commands:greet"):
    return bnplug.PluginCommand(name, target, "Greet somebody.")


@pytest.fixture
def shop(monkeypatch, tmp_path):
    """Give a function that installs plugins with these commands."""
    (tmp_path / "shop_commands.py").write_text(GREETING)
    monkeypatch.syspath_prepend(tmp_path)
    # Its commands would be in the same part of the help.
    installed = [plugin for plugin in discovery.find_plugins() if plugin.distribution != "bnplug-inspect"]

    def install(**plugins):
        found = []
        for name, commands in plugins.items():
            plugin = SimpleNamespace(bnplug_commands=bnplug.hookimpl(lambda commands=commands: commands))
            found.append(FoundPlugin(name, f"bnplug-{name}", "1.0", lambda plugin=plugin: plugin))
        monkeypatch.setattr(discovery, "find_plugins", lambda: [*installed, *found])
        discovery.refresh()

    yield install
    monkeypatch.undo()
    sys.modules.pop("shop_commands", None)
    discovery.refresh()


def info_of(name):
    return next(info for info in json.loads(run("plugins", "--json").output) if info["name"] == name)


def test_the_built_in_names_are_those_of_the_commands():
    assert set(cli.commands) == BUILTIN_COMMANDS


def test_a_click_command_and_a_described_one_are_commands(shop):
    shop(shop=[hello, command("greet")])
    text = run("--help").output
    assert "From plugins:\n  hello       Say hello.\n  greet       Greet somebody.\n" in text
    assert "shop_commands" not in sys.modules
    assert run("hello", "--loud").output == "HELLO\n"
    assert run("greet", "Ann").output == "hello Ann\n"
    assert "Usage: cli greet [OPTIONS] NAME" in run("greet", "--help").output
    assert "Missing argument 'NAME'" in run("greet", code=2).stderr
    assert info_of("shop")["names"] == {"command": ["hello", "greet"]}
    assert info_of("shop")["status"] == "ok"
    assert "bnplug_commands" in info_of("shop")["hooks"]


def test_what_a_command_raises_is_one_line(shop):
    shop(shop=[command("greet")])
    assert run("greet", "nobody", code=1).stderr == "bnplug: 'nobody\\nis here'\n"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("shop_absent:greet", "import of shop_absent:greet: ModuleNotFoundError: No module named 'shop_absent'"),
        ("shop_commands:absent", "import of shop_commands:absent: AttributeError"),
        ("shop_commands:GREETING", "import of shop_commands:GREETING: AttributeError"),
        ("shop_commands:click", "expected a click command, got <module 'click'"),
    ],
)
def test_a_command_that_fails_to_import_is_contained(shop, target, message):
    shop(shop=[command("lost", target), hello])
    assert "  lost        Greet somebody.\n" in run("--help").output
    said = run("lost", code=1).stderr
    assert said.startswith("bnplug: command 'lost' of bnplug-shop 1.0 (shop)")
    assert message in said
    assert len(said.splitlines()) == 1
    assert run("hello").output == "hello\n"
    assert info_of("shop")["status"] == "partial"
    assert message in info_of("shop")["cause"]
    # While a shell completes words, nothing is said.
    words = ShellComplete(cli, {}, "bnplug", "_BNPLUG_COMPLETE").get_completions([], "")
    assert "hello" in {word.value for word in words}
    assert "lost" not in {word.value for word in words}


def test_doctor_lists_a_command_that_fails(shop, monkeypatch):
    from bnplug.cli import _doctor

    monkeypatch.setattr(_doctor, "_checks", lambda: [])
    shop(shop=[command("lost", "shop_absent:greet")])
    said = run("doctor", code=1).output
    assert "bnplug-shop 1.0 (shop): partial, 1 methods; cause: command 'lost'" in said
    assert "1 thing does not work: bnplug-shop 1.0 (shop)" in said


def test_a_built_in_command_is_not_replaced(shop):
    shop(shop=[command("fit"), hello])
    with pytest.warns(bnplug.PluginWarning, match="the command name 'fit' belongs to a built-in command; choose"):
        bnplug.plugins()
    assert "Learn a classifier" in run("fit", "--help").output
    assert run("hello").output == "hello\n"
    assert info_of("shop")["status"] == "partial"
    assert info_of("shop")["names"] == {"command": ["hello"]}


def test_of_two_commands_of_one_name_both_work_by_their_qualified_names(shop):
    shop(elm=[command("greet")], oak=[hello, command("greet")])
    assert "  elm:greet " in run("--help").output
    assert run("oak:greet", "Ann").output == "hello Ann\n"
    assert "No such command 'greet'" in run("greet", "Ann", code=2).stderr


def test_what_is_no_command_is_left_out(shop):
    shop(shop=[print])
    with pytest.warns(bnplug.PluginWarning, match="bnplug_commands must give PluginCommand only"):
        bnplug.plugins()
    shop(shop=[bnplug.PluginCommand("two words", 3, "Nothing.")])
    with pytest.warns(bnplug.PluginWarning, match="its command must be a click command or 'module:command', not 3"):
        bnplug.plugins()
    assert "First steps" in run("--help").output


def test_a_registered_command_is_there():
    bnplug.register(hello)
    assert run("hello").output == "hello\n"


# Formats.


@pytest.fixture
def uai(shop):
    """The example as an installed plugin, and a model folder's network."""
    spec = importlib.util.spec_from_file_location("uai_plugin", UAI)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shop()
    found = discovery.find_plugins()
    discovery.find_plugins = lambda: [*found, FoundPlugin("uai", "bnplug-uai", "1.0", lambda: module)]
    discovery.refresh()
    return module


def joint_of_uai(text):
    """Return the joint distribution of a UAI file, by its definition."""
    words = iter(text.split())
    assert next(words) == "BAYES"
    cards = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    tables = [[float(next(words)) for _ in range(int(next(words)))] for _ in scopes]
    assert not list(words)
    joint = {}
    for states in itertools.product(*map(range, cards)):
        joint[states] = 1.0
        for scope, table in zip(scopes, tables, strict=True):
            place = 0
            for variable in scope:
                place = place * cards[variable] + states[variable]
            joint[states] *= table[place]
    return joint


def test_a_format_of_a_plugin_is_written_by_its_ending_and_its_name(uai, tmp_path):
    model = bnplug.BayesianNetworkClassifier("tan", "ml").fit(*corral())
    model.save(tmp_path / "model")
    assert "7 nodes, " in run("export", tmp_path / "model", tmp_path / "net.uai").output
    text = (tmp_path / "net.uai").read_text()
    assert run("export", tmp_path / "model", "-", "--format", "uai").output == text
    model.write(tmp_path / "again.uai")
    assert (tmp_path / "again.uai").read_text() == text
    tables = model.tables_
    joint, places = joint_of_uai(text), {name: i for i, name in enumerate(tables.names)}
    assert sum(joint.values()) == pytest.approx(1)
    for states, found in joint.items():
        own = [
            np.exp(t.values[tuple(states[places[v]] for v in (name, *t.parents))]) for name, t in tables.tables.items()
        ]
        assert found == pytest.approx(np.prod(own), rel=1e-12)
    assert "6 class: 0 0, 1 1" in run("uai-numbers", tmp_path / "model").output


def test_formats_lists_all_with_their_endings(uai):
    listed = {each["name"]: each for each in json.loads(run("formats", "--json").output)}
    assert set(listed) >= {"bif", "xmlbif", "dot", "mermaid", "uai"}
    assert listed["uai"] == {
        "name": "uai", "endings": [".uai"], "uses": ["export"], "graph": False,
        "summary": "UAI: libDAI, merlin, toulbar2, pgmpy.", "distribution": "bnplug-uai",
    }  # fmt: skip
    assert listed["bif"]["uses"] == ["export", "import"]
    assert listed["dot"]["graph"]
    lines = run("formats").output.splitlines()
    assert len(lines) == len(listed)
    assert all(ending in text for each, text in zip(listed.values(), lines, strict=True) for ending in each["endings"])


def test_an_unknown_ending_names_all_endings(uai, tmp_path):
    bnplug.BayesianNetworkClassifier("nb").fit(*corral()).save(tmp_path / "model")
    listed = json.loads(run("formats", "--json").output)
    for use, arguments in (
        ("export", ["export", tmp_path / "model", tmp_path / "net.json"]),
        ("import", ["import", tmp_path / "net.json", "-o", tmp_path / "back"]),
    ):
        said = run(*arguments, code=1).stderr
        assert "the ending '.json'" in said
        for each in listed:
            named = f"{each['name']} ({', '.join(each['endings'])})"
            assert (named in said) == (use in each["uses"]), (use, named)
    (tmp_path / "x.uai").write_text("BAYES")
    assert "'uai' can be written only" in run("import", tmp_path / "x.uai", "-o", tmp_path / "b", code=1).stderr
    said = run("export", tmp_path / "model", "-", code=1).stderr
    assert "uai" in said


def test_a_graph_needs_no_normalized_tables(tmp_path):
    tables = {"c": ((), np.log([0.5, 0.6])), "a": (("c",), np.log([[0.5, 0.6], [0.5, 0.4]]))}
    network = bnplug.LogTables(["a", "c"], {"a": [0, 1], "c": [0, 1]}, tables, target="c")
    assert not network.normalized
    for ending, word in (("dot", '"c" -> "a"'), ("gv", '"c" -> "a"'), ("mmd", "n1 --> n0")):
        write_network(network, tmp_path / f"net.{ending}")
        assert word in (tmp_path / f"net.{ending}").read_text()
