"""Broken plugins installed for real, each as a distribution of its own, next to healthy ones.

The wheels are written here by hand and installed by pip into one folder, which a fresh interpreter
has on its path.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bnplug

CORE = f"bnplug {bnplug.__version__}"

HEADER = """
import bnplug

def tree(name, **changes):
    fields = dict(factory="MODULE:Tree", summary="A tree.", reference="Me (2026)")
    return bnplug.StructureLearnerMethod(name=name, **{**fields, **changes})

def __getattr__(name):
    # Defined late, so that discovery does not load what a contract class is derived from.
    if name != "Tree":
        raise AttributeError(name)
    class Tree(bnplug.StructureLearner):
        def __init__(self, depth=1):
            self.depth = depth
        def learn(self, table):
            raise RuntimeError
    return Tree
"""

HOOK = """
@bnplug.hookimpl
def bnplug_structure_learners():
"""

SOURCES = {
    "healthy": HOOK + "    yield tree('healthy')",
    "import-error": "import no_such_module_of_anybody",
    "raise-in-hook": HOOK + "    raise RuntimeError('hook is\\nunwell')",
    "late-raise": HOOK + "    yield tree('lost')\n    raise ZeroDivisionError('too late')",
    "wrong-type": HOOK + "    return [tree('lost-too'), {'name': 'dict'}]",
    "wrong-api": HOOK + "    return [tree('from-the-future', api=99)]",
    "builtin-name": HOOK + "    return [tree('tan'), tree('beside-tan')]",
    "twin": HOOK + "    return [tree('healthy'), tree('beside-healthy')]",
    "future-hook": HOOK + "    yield tree('beside-future')\n@bnplug.hookimpl\ndef bnplug_teas(): return []",
    "unknown-hook": "@bnplug.hookimpl\ndef bnplug_structure_learner():\n    return [tree('never')]",
    "exit-at-import": "raise SystemExit(3)",
    "exit-in-hook": "import sys\n" + HOOK + "    sys.exit('leaving')",
    "bad-factory": HOOK + "    return [tree('bad-factory', factory='MODULE_absent:Tree')]",
}

#: What must be said of each; those that are not here are in order.
CAUSES = {
    "import-error": "import: ModuleNotFoundError: No module named 'no_such_module_of_anybody'",
    "raise-in-hook": "bnplug_structure_learners: RuntimeError: hook is unwell",
    "late-raise": "bnplug_structure_learners: ZeroDivisionError: too late",
    "wrong-type": "bnplug_structure_learners must give StructureLearnerMethod only, not {'name': 'dict'}",
    "wrong-api": f"structure learner 'from-the-future' is written for hook api 99; {CORE} "
    "accepts 1: upgrade bnplug or the plugin, whichever is older",
    "future-hook": "there is no hook 'bnplug_teas'.",
    "unknown-hook": "there is no hook 'bnplug_structure_learner'. Did you mean 'bnplug_structure_learners'?",
    "exit-at-import": "import: SystemExit: 3",
    "exit-in-hook": "bnplug_structure_learners: SystemExit: leaving",
}
PARTIAL = {"future-hook"}

#: The modules of what is asked for by each name.
MADE = {
    "healthy:healthy": "bnplug_healthy",
    "bnplug-healthy:healthy": "bnplug_healthy",
    "twin:healthy": "bnplug_twin",
    "beside-tan": "bnplug_builtin_name",
    "beside-future": "bnplug_future_hook",
    "beside-healthy": "bnplug_twin",
    "tan": "bnplug.builtin.structures.tan",
    "bnplug:tan": "bnplug.builtin.structures.tan",
    "Bnplug_Builtin.Name:tan": "bnplug_builtin_name",
}

LIST_AND_CREATE = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    import bnplug
    found = [info.to_dict() for info in bnplug.plugins()]
    heavy = sorted({"numba", "pgmpy", "sklearn", "pandas", "numpy"} & set(sys.modules))
    bnplug.plugins()
made = {}
try:
    bnplug.structure_learner("healthy")
except bnplug.AmbiguousNameError as error:
    ambiguous = str(error)
for name in NAMES:
    made[name] = type(bnplug.structure_learner(name)).__module__
try:
    bnplug.structure_learner("bad-factory")
except bnplug.PluginError as error:
    failure = str(error)
print(json.dumps({
    "plugins": found, "heavy": heavy, "made": made, "failure": failure, "ambiguous": ambiguous,
    "warnings": [str(w.message) for w in warned if issubclass(w.category, bnplug.PluginWarning)],
}))
"""


def version_of(name):
    return f"1.{list(SOURCES).index(name)}"


def write_wheel(folder: Path, name: str) -> Path:
    """Write the wheel of a distribution `bnplug-NAME` with one module and one entry point."""
    module, version = f"bnplug_{name.replace('-', '_')}", version_of(name)
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": (HEADER + SOURCES[name]).replace("MODULE", module),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: bnplug-{name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[bnplug]\n{name} = {module}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, text in files.items():
            wheel.writestr(member, text)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder into which pip installed every distribution of this module."""
    folder = tmp_path_factory.mktemp("plugins")
    wheels = [str(write_wheel(folder, name)) for name in SOURCES]
    options = ["--isolated", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile", "-q"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), *wheels]
    subprocess.run(command, check=True, timeout=120)
    return folder / "site"


def run(site, code, **environment):
    """Run code in a fresh interpreter that has the plugins installed."""
    path = os.pathsep.join([str(site), str(Path(bnplug.__file__).parents[1])])
    clean = {key: value for key, value in os.environ.items() if not key.startswith("BNPLUG_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env={**clean, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def seen(site):
    done = run(site, LIST_AND_CREATE.replace("NAMES", repr(list(MADE))))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", SOURCES)
def test_each_plugin_is_named_with_version_status_and_cause(seen, name):
    (info,) = [info for info in seen["plugins"] if info["distribution"] == f"bnplug-{name}"]
    expected = "partial" if name in PARTIAL else "failed" if name in CAUSES else "ok"
    assert (info["name"], info["version"], info["status"]) == (name, version_of(name), expected)
    assert info["cause"] == CAUSES.get(name, "")


def test_one_warning_names_all_that_were_left_out(seen):
    (warning,) = seen["warnings"]
    for name, cause in CAUSES.items():
        assert f"bnplug-{name} {version_of(name)} ({name}): {cause}" in warning
    assert len(warning.splitlines()) == 1 + len(CAUSES)


def test_none_stops_the_others(seen):
    builtin = seen["plugins"][0]
    assert (builtin["distribution"], builtin["status"]) == ("bnplug", "ok")
    assert seen["made"] == MADE


def test_of_a_name_that_two_have_the_bare_one_is_an_error_that_gives_both(seen):
    assert seen["ambiguous"] == "2 plugins have a structure learner 'healthy': use 'healthy:healthy' or 'twin:healthy'"
    names = {info["name"]: info["names"].get("structure learner") for info in seen["plugins"]}
    assert names["twin"] == ["twin:healthy", "beside-healthy"]
    assert names["builtin-name"] == ["builtin-name:tan", "beside-tan"]
    assert "tan" in names["builtin"]


def test_nothing_of_a_failed_plugin_is_registered(seen):
    for info in seen["plugins"]:
        assert bool(info["names"]) == (info["status"] in ("ok", "partial"))


def test_a_factory_that_cannot_be_imported_is_named_when_it_is_asked_for(seen):
    version = version_of("bad-factory")
    assert seen["failure"].startswith(f"structure learner 'bad-factory' of bnplug-bad-factory {version} (bad-factory)")
    assert "ModuleNotFoundError: No module named 'bnplug_bad_factory_absent'" in seen["failure"]


def test_discovery_loads_no_heavy_library(seen):
    assert seen["heavy"] == []


def test_strict_raises_the_first_failure_with_its_cause(site):
    done = run(site, "import bnplug; bnplug.plugins()", BNPLUG_STRICT="1")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    first = min(name for name in CAUSES)
    assert last == f"bnplug.errors.PluginError: bnplug-{first} {version_of(first)} ({first}): {CAUSES[first]}"


def test_disabled_plugins_are_blocked_and_shown_as_such(site):
    healthy = ["healthy", "bad-factory", "builtin-name", "twin"]
    disabled = ",".join(name if len(name) % 2 else f"Bnplug_{name}" for name in CAUSES)
    code = "import bnplug, json; print(json.dumps([info.to_dict() for info in bnplug.plugins()]))"
    done = run(site, code, BNPLUG_DISABLE=disabled, BNPLUG_STRICT="1")
    assert done.returncode == 0, done.stderr
    status = {info["name"]: info["status"] for info in json.loads(done.stdout)}
    ours = {name: status[name] for name in SOURCES}
    assert ours == {name: "ok" if name in healthy else "disabled" for name in SOURCES}
