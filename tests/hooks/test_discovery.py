"""Discovery: each way in which a plugin can be broken, with plugins that are plain objects."""

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

import bnplug
from bnplug import Recipe, Reproduction, ScoreFunctionMethod, StructureLearnerMethod
from bnplug.errors import PluginError, PluginWarning
from bnplug.hooks import discovery
from bnplug.hooks.discovery import FoundPlugin, contain, discover


def structure(name="tree", **changes):
    fields = {"factory": "absent:Tree", "summary": "A tree.", "reference": "Me (2026)"}
    return StructureLearnerMethod(name=name, **{**fields, **changes})


def make_recipe(name="R", **changes):
    return Recipe(name, **{"structure": "tree", "summary": "A recipe.", "reference": "Me", **changes})


def hooked(**hooks):
    """A plugin whose hooks are the given functions."""
    return SimpleNamespace(**{name: bnplug.hookimpl(function) for name, function in hooks.items()})


def bringing(*descriptors):
    return hooked(bnplug_structure_learners=lambda: list(descriptors))


def candidate(plugin, name="mine"):
    return FoundPlugin(name, f"bnplug-{name}", "1.2", lambda: plugin)


def failure(plugin):
    """The cause that is given for a plugin, which must be left out whole."""
    with pytest.warns(PluginWarning):
        found = discover([candidate(plugin)])
    (info,) = found.plugins
    assert info.status == "failed"
    assert not found.methods
    assert not found.providers
    assert not info.names
    assert "\n" not in info.cause
    return info.cause


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.delenv("BNPLUG_STRICT", raising=False)
    monkeypatch.delenv("BNPLUG_DISABLE", raising=False)


def test_methods_and_their_providers_are_found():
    tree, score = structure(), ScoreFunctionMethod("s", "absent:S", "A score.", "Me", 1)
    plugin = hooked(bnplug_score_functions=lambda: (score,), bnplug_structure_learners=lambda: iter([tree]))
    found = discover([candidate(plugin)])
    (info,) = found.plugins
    assert (info.distribution, info.version, info.status, info.cause) == ("bnplug-mine", "1.2", "ok", "")
    assert info.hooks == ("bnplug_structure_learners", "bnplug_score_functions")
    assert info.names == {"structure learner": ("tree",), "score function": ("s",)}
    assert found.methods == {("structure learner", "tree"): tree, ("score function", "s"): score}
    assert list(found.providers.values()) == [info, info]
    assert json.loads(json.dumps(info.to_dict()))["names"] == {
        "structure learner": ["tree"],
        "score function": ["s"],
    }


def test_a_plugin_may_bring_nothing():
    assert discover([candidate(bringing())]).plugins[0].status == "ok"


def test_every_kind_of_descriptor_passes_in_its_good_forms():
    class Tree:
        pass

    plugin = hooked(
        bnplug_structure_learners=lambda: [
            structure(),
            structure("nested", factory="a.b:C.D"),
            structure("c", factory=Tree),
        ],
        bnplug_recipes=lambda: [
            make_recipe(),
            make_recipe("S", structure=("tree", {"k": 1}), requires=("bnplug-x",)),
        ],
        bnplug_reproductions=lambda: [
            Reproduction("p", "a:run", "Tables.", "Me"),
            Reproduction("q", print, "T.", "Me"),
        ],
    )
    assert len(discover([candidate(plugin)]).methods) == 7


@pytest.mark.parametrize(
    ("descriptor", "cause"),
    [
        (structure(name=""), "name of a structure learner must be a non-empty string, not ''"),
        (structure(name=3), "name of a structure learner must be a non-empty string, not 3"),
        (structure(factory=len), "its factory must be a class or 'module:Class'"),
        (
            structure(factory="module.Class"),
            "its factory must be a class or 'module:Class', not 'module.Class'",
        ),
        (structure(factory="a b:C"), "its factory"),
        (structure(summary=""), "its summary must be a non-empty string, not ''"),
        (structure(summary=" \n"), "its summary"),
        (structure(reference=None), "its reference must be a non-empty string, not None"),
        (
            structure(api=3),
            "hook api 3; bnplug " + bnplug.__version__ + " accepts 1: upgrade bnplug or the plugin",
        ),
        (structure(api=0), "hook api 0"),
        (structure(api=True), "hook api True"),
        (structure(api="1"), "hook api '1'"),
        (make_recipe(), "bnplug_structure_learners must give StructureLearnerMethod only, not Recipe("),
        ("tan", "bnplug_structure_learners must give StructureLearnerMethod only, not 'tan'"),
        (None, "StructureLearnerMethod only, not None"),
        (StructureLearnerMethod, "StructureLearnerMethod only, not <class"),
    ],
)
def test_a_bad_descriptor_leaves_out_the_whole_plugin(descriptor, cause):
    assert cause in failure(bringing(structure("good"), descriptor))


@pytest.mark.parametrize(
    ("recipe", "cause"),
    [
        (make_recipe(structure=None), "its structure must be a name or (name, parameters), not None"),
        (make_recipe(structure=("kdb", 2)), "its structure"),
        (make_recipe(structure=("kdb", {2: 3})), "its structure"),
        (make_recipe(parameters=""), "its parameters"),
        (make_recipe(discretizer=4), "its discretizer"),
        (
            make_recipe(requires="bnplug-x"),
            "its requires must be a tuple of distribution names, not 'bnplug-x'",
        ),
    ],
)
def test_a_bad_recipe(recipe, cause):
    assert cause in failure(hooked(bnplug_recipes=lambda: [recipe]))


def test_a_bad_reproduction():
    plugin = hooked(bnplug_reproductions=lambda: [Reproduction("p", "run", "Tables.", "Me")])
    assert "its run must be a function or 'module:function', not 'run'" in failure(plugin)


@pytest.mark.parametrize("answer", [None, 3, structure()])
def test_a_hook_that_returns_no_iterable(answer):
    cause = failure(hooked(bnplug_structure_learners=lambda: answer))
    assert cause.startswith("bnplug_structure_learners must return an iterable of StructureLearnerMethod, not ")


class Panic(BaseException):
    """As compiled extensions raise."""


class UnprintableError(Exception):
    def __str__(self):
        raise ValueError("no")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ValueError("first\nsecond"), "ValueError: first second"),
        (SystemExit(2), "SystemExit: 2"),
        (SystemExit(), "SystemExit"),
        (Panic("panicked"), "Panic: panicked"),
        (StopIteration("early"), "StopIteration: early"),
        (UnprintableError(), "UnprintableError: (its message cannot be shown)"),
        (ValueError("word " * 1000), "ValueError: word word"),
    ],
)
def test_whatever_is_raised_is_contained(error, shown):
    def fail():
        raise error

    def fail_late():
        yield structure()
        raise error

    with pytest.warns(PluginWarning, match="bnplug-mine 1.2"):
        (info,) = discover([FoundPlugin("mine", "bnplug-mine", "1.2", fail)]).plugins
    assert info.cause.startswith(f"import: {shown}")
    assert failure(hooked(bnplug_structure_learners=fail)).startswith(f"bnplug_structure_learners: {shown}")
    late = failure(hooked(bnplug_structure_learners=fail_late))
    assert late.startswith("bnplug_structure_learners: ")
    assert len(late) < 400


@pytest.fixture
def interrupts():
    """Handle Ctrl-C as Python does at a terminal: a shell tells what runs in the background to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_by_the_user_is_not_contained():
    def interrupted():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        discover([FoundPlugin("mine", "bnplug-mine", "1.2", interrupted)])
    with pytest.raises(KeyboardInterrupt):
        discover([candidate(hooked(bnplug_structure_learners=interrupted))])


def test_a_misspelled_hook_names_the_right_one():
    cause = failure(hooked(bnplug_structure_learner=lambda: []))
    assert cause == "there is no hook 'bnplug_structure_learner'. Did you mean 'bnplug_structure_learners'?"


def test_a_hook_that_this_version_does_not_know_is_named_and_the_others_stay():
    plugin = hooked(bnplug_of_the_future=lambda: [], bnplug_structure_learners=lambda: [structure()])
    with pytest.warns(PluginWarning, match=r"bnplug-mine 1\.2 \(mine\): there is no hook 'bnplug_of_the_future'\."):
        found = discover([candidate(plugin)])
    (info,) = found.plugins
    assert (info.status, info.cause) == ("partial", "there is no hook 'bnplug_of_the_future'.")
    assert info.hooks == ("bnplug_structure_learners",)
    assert list(found.methods) == [("structure learner", "tree")]


def test_a_hook_marked_as_optional_may_be_unknown():
    plugin = bringing(structure())
    plugin.bnplug_of_the_future = bnplug.hookimpl(optionalhook=True)(lambda: [])
    (info,) = discover([candidate(plugin)]).plugins
    assert (info.status, info.hooks) == ("ok", ("bnplug_structure_learners",))


@pytest.mark.parametrize("plugin", [None, SimpleNamespace(), SimpleNamespace(bnplug_recipes=list)])
def test_a_plugin_without_any_marked_hook(plugin):
    assert failure(plugin) == "it implements no hook; mark its functions with @bnplug.hookimpl"


def test_a_hook_that_wants_arguments():
    assert "can not be found in the hookspec" in failure(hooked(bnplug_recipes=lambda discovery: []))


def test_a_broken_plugin_stops_no_other_and_one_warning_names_all():
    def fail():
        raise OSError("broken")

    broken = hooked(bnplug_recipes=fail, bnplug_structure_learners=lambda: [structure("lost")])
    found = [
        candidate(broken, "first"),
        candidate(bringing(structure()), "second"),
        candidate(None, "third"),
        candidate(bringing(structure("oak")), "fourth"),
    ]
    with pytest.warns(PluginWarning) as warned:
        discovery = discover(found)
    assert [info.status for info in discovery.plugins] == ["failed", "ok", "failed", "ok"]
    assert [name for kind, name in discovery.methods] == ["tree", "oak"]
    (message,) = [str(warning.message) for warning in warned]
    assert "bnplug-first 1.2 (first): bnplug_recipes: OSError: broken" in message
    assert "bnplug-third 1.2 (third): it implements no hook" in message
    assert "bnplug-second" not in message


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_distributions_with_one_name_both_are_there_by_their_qualified_names(order):
    first, second = bringing(structure()), bringing(structure(summary="Another."), structure("oak"))
    candidates = [candidate(first, "first"), candidate(second, "second")]
    found = discover([candidates[i] for i in order])
    one, other = (found.plugins[i] for i in order)
    assert (one.status, other.status) == ("ok", "ok")
    assert one.names == {"structure learner": ("first:tree",)}
    assert other.names == {"structure learner": ("second:tree", "oak")}
    assert one.clashes == (
        "its structure learner 'tree' is available as 'first:tree', because bnplug-second has that name too",
    )
    assert ("structure learner", "tree") not in found.methods
    assert found.methods["structure learner", "second:tree"].summary == "Another."
    assert found.providers["structure learner", "first:tree"].name == "first"
    assert found.providers["structure learner", "oak"].name == "second"


def test_a_name_is_taken_once_in_a_distribution():
    twins = [FoundPlugin(name, "bnplug-mine", "1.2", lambda: bringing(structure())) for name in ("a", "b")]
    with pytest.warns(PluginWarning, match=r"\(b\): the name of its .* 'tree' is taken by bnplug-mine 1.2 \(a\)"):
        found = discover(twins)
    assert [info.status for info in found.plugins] == ["ok", "partial"]
    assert found.providers["structure learner", "tree"].name == "a"


def test_a_name_may_be_used_once_per_kind():
    plugin = hooked(bnplug_structure_learners=lambda: [structure("x")], bnplug_recipes=lambda: [make_recipe("x")])
    assert len(discover([candidate(plugin)]).methods) == 2
    with pytest.warns(PluginWarning, match="'x' is taken by this plugin itself"):
        discover([candidate(bringing(structure("x"), structure("x")))])


def test_strict_raises_with_the_cause(monkeypatch):
    monkeypatch.setenv("BNPLUG_STRICT", "1")

    def fail():
        raise OSError("broken")

    with pytest.raises(PluginError, match=r"bnplug-mine 1\.2 \(mine\): import: OSError: broken") as caught:
        discover([FoundPlugin("mine", "bnplug-mine", "1.2", fail)])
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(PluginError, match=r"^bnplug-mine 1\.2 \(mine\): .* 'x' is taken by this plugin itself$"):
        discover([candidate(bringing(structure("x"), structure("x")))])
    with pytest.raises(PluginError, match=r"^bnplug-mine 1\.2 \(mine\): there is no hook 'bnplug_teas'\.$"):
        discover([candidate(hooked(bnplug_teas=lambda: [], bnplug_recipes=lambda: []))])
    discover([candidate(bringing(structure()), name) for name in "ab"])
    monkeypatch.setenv("BNPLUG_STRICT", "0")
    with pytest.warns(PluginWarning):
        discover([FoundPlugin("mine", "bnplug-mine", "1.2", fail)])


@pytest.mark.parametrize("value", ["mine", "bnplug-mine", "Bnplug_Mine", "other, bnplug.mine ,"])
def test_disabled_plugins_are_not_even_imported(monkeypatch, value):
    monkeypatch.setenv("BNPLUG_DISABLE", value)
    monkeypatch.setenv("BNPLUG_STRICT", "1")

    def load():
        raise AssertionError("imported")

    found = discover([FoundPlugin("mine", "bnplug-mine", "1.2", load), candidate(bringing(structure()), "yours")])
    assert [info.status for info in found.plugins] == ["disabled", "ok"]
    assert found.plugins[0].cause == "disabled by BNPLUG_DISABLE"


def test_contain_passes_a_result_through():
    assert contain("import", lambda: 1) == 1


def write_distribution(folder, name, entry_points, version="1.0"):
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_bytes(entry_points.encode("latin-1"))
    return metadata


def test_installed_plugins_come_after_the_built_in_one_in_a_fixed_order(monkeypatch, tmp_path):
    write_distribution(tmp_path, "bnplug-test-z", "[bnplug]\nz = a_z\n")
    write_distribution(tmp_path, "bnplug-test-A", "[bnplug]\nd = a_d\nc = a_c\n[other]\nx = a_x\n")
    write_distribution(tmp_path, "bnplug-test-none", "[console_scripts]\nbnplug = a:b\n")
    write_distribution(tmp_path / "shadowed", "bnplug_test_z", "[bnplug]\nold = a_old\n", version="0.9")
    monkeypatch.syspath_prepend(tmp_path / "shadowed")
    monkeypatch.syspath_prepend(tmp_path)
    builtin, *others = discovery.find_plugins()
    assert (builtin.name, builtin.distribution, builtin.version) == ("builtin", "bnplug", bnplug.__version__)
    found = [(c.distribution, c.version, c.name) for c in others if c.distribution.startswith("bnplug-test")]
    assert found == [
        ("bnplug-test-A", "1.0", "c"),
        ("bnplug-test-A", "1.0", "d"),
        ("bnplug-test-z", "1.0", "z"),
    ]


def test_damaged_metadata_are_named_and_stop_nobody(monkeypatch, tmp_path):
    write_distribution(tmp_path, "bnplug-test-damaged", "[bnplug]\nno equals sign\n")
    write_distribution(tmp_path, "foreign", "[console_scripts]\nb\xe4d = not utf 8\n")
    (write_distribution(tmp_path, "bnplug-test-nameless", "[bnplug]\nx = absent_module\n") / "METADATA").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(PluginWarning, match="bnplug-test-damaged 1.0"):
        infos = {info.name: info for info in discover(discovery.find_plugins()[1:]).plugins}
    assert infos["unreadable"].cause.startswith("its entry_points.txt is damaged: ")
    assert infos["x"].cause.startswith("import: ModuleNotFoundError")
    assert str(infos["x"]) == "(nameless distribution) (no version) (x)"


@pytest.fixture
def installed(monkeypatch):
    """Makes the given candidates all there is."""

    def install(*found):
        monkeypatch.setattr(discovery, "find_plugins", lambda: list(found))
        discovery.refresh()

    yield install
    monkeypatch.undo()
    discovery.refresh()


def test_plugins_are_asked_once_until_refreshed(installed):
    asked = []

    def ask():
        asked.append(True)
        time.sleep(0.05)  # long enough for the other threads to come by
        return [structure()]

    installed(candidate(hooked(bnplug_structure_learners=ask)))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: discovery.discovered(), range(8)))
    assert all(one is found[0] for one in found)
    assert len(asked) == 1
    discovery.refresh()
    discovery.discovered()
    assert len(asked) == 2


def test_a_plugin_that_asks_for_methods_while_it_is_asked(installed):
    def ask():
        return discovery.discovered().methods.values()

    installed(candidate(hooked(bnplug_structure_learners=ask)), candidate(bringing(structure()), "good"))
    with pytest.warns(PluginWarning, match="asks bnplug for methods while bnplug is asking it"):
        assert [info.status for info in discovery.discovered().plugins] == ["failed", "ok"]


def test_output_of_a_plugin_goes_to_standard_error(capsys):
    def load():
        print("hello")
        return bringing(structure())

    discover([FoundPlugin("mine", "bnplug-mine", "1.2", load)])
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "hello\n")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_plugin_that_is_too_slow_is_stopped(monkeypatch):
    handler = signal.getsignal(signal.SIGALRM)
    monkeypatch.setenv("BNPLUG_IMPORT_SECONDS", "0.05")
    with pytest.warns(PluginWarning, match=r"it takes longer than 0\.05 seconds"):
        discover([FoundPlugin("mine", "bnplug-mine", "1.2", lambda: time.sleep(30))])
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.parametrize(("seconds", "limit"), [("0", 0), ("-3", 0), ("soon", 60)])
def test_the_time_limit_is_read_from_the_environment(monkeypatch, seconds, limit):
    left = []

    def load():
        left.append(signal.getitimer(signal.ITIMER_REAL)[0])
        return bringing(structure())

    monkeypatch.setenv("BNPLUG_IMPORT_SECONDS", seconds)
    discover([FoundPlugin("mine", "bnplug-mine", "1.2", load)])
    assert limit - 10 * bool(limit) <= left[0] <= limit
