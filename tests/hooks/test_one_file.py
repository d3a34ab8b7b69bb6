"""One-file plugins: registered in scripts, loaded by ``--plugin`` or the environment, and known to workers."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

import bnplug
from bnplug.datasets import iris
from bnplug.hooks import discovery, one_file, registering, registry
from bnplug.io._parameters import method_from_json

STAR = '''
"""A star with another centre than the class."""
import bnplug


class Star(bnplug.StructureLearner):
    def __init__(self, centre=0):
        self.centre = centre

    def learn(self, table):
        centre, target = table.features[self.centre], table.target_index
        parents = [[target] if v == centre else [target, centre] for v in range(len(table.names))]
        parents[target] = []
        return bnplug.Structure(table.names, parents)


bnplug.register(bnplug.StructureLearnerMethod("star", Star, "A star.", "Me (2026)"))
'''

SCRIPT = (
    STAR
    + """

if __name__ == "__main__":
    import sys
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from bnplug.datasets import iris

    X, y = iris()
    for structure in ("star", ("star", {"centre": 1}), Star(2)):
        model = bnplug.BayesianNetworkClassifier(structure, "ml")
        alone, together = (cross_val_score(model, X, y, cv=2, n_jobs=n, error_score="raise") for n in (1, 2))
        assert (alone == together).all()
    search = GridSearchCV(model, {"structure__centre": [0, 3]}, cv=2, n_jobs=2, error_score="raise").fit(X, y)
    search.best_estimator_.save(sys.argv[1])
"""
)

ON_DASK = '''
import sys

def there(model):
    """What the name means in a worker."""
    return registry.origin(registry.build("structure learner", model.structure))

if __name__ == "__main__":
    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from bnplug.dask import DaskBayesianNetworkClassifier
    from bnplug.datasets import iris
    from bnplug.hooks import registry

    X, y = iris()
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(processes=True, **options) as own, Client(own) as client:
        rows = dd.from_pandas(X.assign(kind=y), npartitions=2)
        model = DaskBayesianNetworkClassifier("star", "ml").fit(rows[list(X)], rows["kind"])
        local = bnplug.BayesianNetworkClassifier("star", "ml").fit(X, y.rename("kind"))
        assert model.tables_.edges == local.tables_.edges
        assert (model.predict(rows[list(X)]).compute() == local.predict(X)).all()
        print(client.submit(there, model).result())
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a plugin in a file; nothing of it stays loaded."""
    monkeypatch.setenv(one_file.ENVIRONMENT, "")
    (tmp_path / "star.py").write_text(STAR)
    yield tmp_path
    monkeypatch.undo()
    for name in [name for name in sys.modules if name.startswith(f"{one_file.__name__}.")]:
        del sys.modules[name]
    discovery.refresh()


def python(*arguments, code=0, **environment):
    """Run Python in a process of its own."""
    plain = {name: value for name, value in os.environ.items() if name != one_file.ENVIRONMENT}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**plain, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    return done


def descriptor(name="star", **changes):
    class Star(bnplug.StructureLearner):
        def learn(self, table):
            v = table.target_index
            return [[] if u == v else [v] for u in range(len(table.names))]

    return bnplug.StructureLearnerMethod(name, Star, "A star.", "Me (2026)", **changes)


# In a script or a notebook.


def test_what_is_registered_works_by_name():
    bnplug.register(descriptor())
    model = bnplug.BayesianNetworkClassifier("star", "ml").fit(*iris())
    assert model.components_[0] == {
        "kind": "structure learner", "name": "star", "distribution": "one-file", "version": "",
    }  # fmt: skip
    assert registry.find("structure learner", "one-file:star") == registry.find("structure learner", "star")
    assert registry.origin(model.structure_) == "structure learner 'star' of one-file plugin test_one_file.py"
    info = bnplug.plugins()[-1]
    assert (info.status, info.hooks, info.names) == (
        "ok", ("bnplug_structure_learners",), {"structure learner": ("star",)},
    )  # fmt: skip


def test_registering_again_replaces_and_nothing_else_is_loaded_again(monkeypatch):
    discovery.discovered()
    monkeypatch.setattr(discovery, "find_plugins", lambda: pytest.fail("plugins are looked for again"))
    bnplug.register(descriptor())
    again = descriptor()
    bnplug.register(again)
    assert registry.find("structure learner", "star") is again
    assert [method.name for method in registry.methods("structure learner")].count("star") == 1


def test_an_instance_of_a_class_that_was_defined_again_keeps_its_name():
    bnplug.register(descriptor())
    old = bnplug.structure_learner("star")
    bnplug.register(descriptor())
    assert type(old) is not type(bnplug.structure_learner("star"))
    assert registry.name_of(old) == "star"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (descriptor("tan"), r"bnplug .* \(builtin\) has a structure learner 'tan' already; register yours under"),
        (descriptor("mine", aliases=("tan",)), "has a structure learner 'tan' already"),
        (bnplug.PluginCommand("fit", "m:fit", "Fit."), "the command name 'fit' belongs to a built-in command"),
    ],
)
def test_a_name_of_somebody_else_is_an_error(method, message):
    with pytest.raises(ValueError, match=message):
        bnplug.register(method)
    assert registry.name_of(bnplug.structure_learner("tan")) == "tan"
    assert not [info for info in bnplug.plugins() if info.distribution == one_file.ONE_FILE]


def test_a_name_that_another_file_registered_is_an_error():
    bnplug.register(descriptor())
    other = {"bnplug": bnplug, "method": descriptor(), "__name__": "other", "__file__": "/somewhere/other.py"}
    with pytest.raises(ValueError, match=r"one-file plugin test_one_file\.py has a structure learner 'star' already"):
        exec("bnplug.register(method)", other)


def test_what_is_no_descriptor_is_named():
    with pytest.raises(TypeError, match=r"expected a descriptor such as bnplug\.ScoreFunctionMethod"):
        bnplug.register(dict)
    with pytest.raises(bnplug.ContractError, match="its summary must be a non-empty string"):
        bnplug.register(bnplug.StructureLearnerMethod("star", "m:Star", "", "Me (2026)"))


def test_a_plugin_that_registers_while_it_is_looked_for_is_left_out(monkeypatch):
    def load():
        exec("bnplug.register(method)", {"bnplug": bnplug, "method": descriptor(), "__name__": "eager"})

    eager = discovery.FoundPlugin("eager", "bnplug-eager", "1.0", load)
    monkeypatch.setattr(discovery, "find_plugins", lambda: [eager])
    discovery.refresh()
    with pytest.warns(bnplug.PluginWarning, match="it asks bnplug for methods while bnplug is asking it"):
        assert bnplug.plugins()[0].status == "failed"
    monkeypatch.undo()
    discovery.refresh()


def test_registered_classes_travel_with_estimators(tmp_path):
    # Plain pickle finds a class of the main module by its name alone: what travels is the name and what it means.
    (tmp_path / "script.py").write_text(
        STAR + "\nimport pickle, sys\n"
        "model = bnplug.BayesianNetworkClassifier('star', 'ml')\n"
        "open(sys.argv[1], 'wb').write(pickle.dumps(model))"
    )
    python(tmp_path / "script.py", tmp_path / "model.pickle")
    read = "import pickle, sys; from bnplug.datasets import iris; model = pickle.load(open(sys.argv[1], 'rb'))\n"
    read += (
        "again = pickle.loads(pickle.dumps(model)); print(again.structure, model.fit(*iris()).components_[0]['name'])"
    )
    assert python("-c", read, tmp_path / "model.pickle").stdout == "star star\n"


def test_what_arrives_replaces_nothing_of_this_process():
    bnplug.register(descriptor("theirs"))
    theirs = pickle.dumps(bnplug.BayesianNetworkClassifier("theirs"))
    registering.forget()
    mine = descriptor("mine")
    bnplug.register(mine)
    pickle.loads(theirs)
    assert {"mine", "theirs"} <= {method.name for method in registry.methods("structure learner")}
    both = pickle.dumps(bnplug.BayesianNetworkClassifier("mine"))
    registering.forget()
    pickle.loads(both)
    assert {"mine", "theirs"} <= {method.name for method in registry.methods("structure learner")}
    # This process only passes on what it received.
    assert pickle.dumps(bnplug.BayesianNetworkClassifier("mine")) == both


def test_what_cannot_be_pickled_stops_no_estimator():
    method = descriptor()
    method.factory.open_file = sys.stdout
    bnplug.register(method)
    model = pickle.loads(pickle.dumps(bnplug.BayesianNetworkClassifier("star")))
    assert model.structure == "star"


def test_a_script_works_in_joblib_workers_and_its_models_come_back(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    python(tmp_path / "script.py", tmp_path / "model")
    X, _ = iris()
    lost = bnplug.load(tmp_path / "model")
    with pytest.raises(
        ValueError, match=r"'star' comes from a one-file plugin that is not loaded\. Load its file with"
    ):
        lost.fit(*iris())
    # The same file as a plugin has the same methods.
    code = "import bnplug, sys; from bnplug.datasets import iris; m = bnplug.load(sys.argv[1])\n"
    code += "print(m.predict(iris()[0]).tolist() == m.fit(*iris()).predict(iris()[0]).tolist(), m.structure.centre)"
    done = python("-c", code, tmp_path / "model", BNPLUG_PLUGINS=str(tmp_path / "script.py"))
    assert done.stdout in ("True 0\n", "True 3\n")
    assert lost.predict(X).shape == (150,)


@pytest.mark.parametrize("how", ["registered", "in the environment"])
def test_names_mean_the_same_in_dask_workers(tmp_path, how):
    pytest.importorskip("distributed")
    (tmp_path / "star.py").write_text(STAR)
    head = STAR if how == "registered" else "import bnplug\n"
    (tmp_path / "script.py").write_text(head + "\nfrom bnplug.hooks import registry\n" + ON_DASK)
    environment = {} if how == "registered" else {"BNPLUG_PLUGINS": str(tmp_path / "star.py")}
    file = "script.py" if how == "registered" else "star.py"
    said = python(tmp_path / "script.py", **environment).stdout
    assert said == f"structure learner 'star' of one-file plugin {file}\n"


# From a file.


def test_a_file_is_a_plugin_of_the_command_line(folder, tmp_path):
    X, y = iris()
    X.assign(species=y).to_csv(tmp_path / "iris.csv", index=False)
    command = ["-m", "bnplug", "--plugin", folder / "star.py"]
    data, model = tmp_path / "iris.csv", tmp_path / "model"
    python(
        *command, "fit", data, "--target", "species", "--structure", "star", "--set", "structure.centre=1", "-o", model
    )
    assert "structure learner star (one-file)" in python(*command, "show", model).stdout
    compare = [
        "compare",
        "--methods",
        "nb,star",
        "--datasets",
        "iris",
        "--cv",
        "2",
        "--n-jobs",
        "2",
        "-o",
        tmp_path / "c",
    ]
    table = python(*command, *compare).stdout
    assert "star" in table
    assert "failed" not in table
    # Predicting needs no plugin.
    assert python("-m", "bnplug", "evaluate", model, data).stdout.startswith("rows ")
    refused = python("-m", "bnplug", "fit", data, "--target", "species", "--structure", "star", "-o", model, code=1)
    assert "there is no structure learner 'star'" in refused.stderr


def test_a_file_may_have_hooks_and_several_files_are_loaded(folder):
    (folder / "more-stars.py").write_text(
        STAR.replace("bnplug.register(", "@bnplug.hookimpl\ndef bnplug_structure_learners():\n    yield (").replace(
            '"star"', '"more"'
        )
    )
    paths = [folder / "star.py", folder / "more-stars.py"]
    listed = json.loads(run(*(word for path in paths for word in ("--plugin", path)), "plugins", "--json").output)
    assert [(info["name"], info["names"]) for info in listed[-2:]] == [
        ("star.py", {"structure learner": ["star"]}),
        ("more-stars.py", {"structure learner": ["more"]}),
    ]
    assert os.environ["BNPLUG_PLUGINS"].split(os.pathsep) == list(map(str, paths))
    model = bnplug.structure_learner("more", centre=1)
    assert pickle.loads(pickle.dumps(model)).centre == 1
    # Each time that plugins are looked for, they are there.
    discovery.refresh()
    assert type(bnplug.structure_learner("more")) is type(model)


BROKEN = {
    "def f(:\n": "line 1: import: SyntaxError",
    "import bnplug\n\n\nnp.zeros(3)": "line 4: import: NameError: name 'np' is not defined",
    "import nothing_of_that_name": "line 1: import: ModuleNotFoundError",
    "raise SystemExit(3)": "line 1: import: SystemExit: 3",
    "x = 1": "it implements no hook; mark its functions with @bnplug.hookimpl, or call bnplug.register",
    "import bnplug\n@bnplug.hookimpl\ndef bnplug_formats():\n    return 1 / 0": "line 4: bnplug_formats: ZeroDivision",
    STAR.replace('"star"', '"tan"'): "the name of its structure learner 'tan' is taken by bnplug",
    STAR.replace('"Me (2026)"', '""'): "line 17: structure learner 'star': its reference must be a non-empty string",
}


@pytest.mark.parametrize("source", BROKEN, ids=range(len(BROKEN)))
def test_a_file_that_cannot_be_loaded_is_named_with_the_line(folder, source):
    path = folder / "broken.py"
    path.write_text(source)
    said = run("--plugin", path, "methods", code=1).stderr
    assert len(said.splitlines()) == 1
    assert said.startswith(f"bnplug: {path}")
    assert BROKEN[source] in said
    assert "Correct or omit the file" in said
    assert not os.environ.get("BNPLUG_PLUGINS")
    # From the environment it is left out, as an installed plugin is.
    os.environ["BNPLUG_PLUGINS"] = os.pathsep.join(map(str, (path, folder / "star.py")))
    discovery.refresh()
    with pytest.warns(bnplug.PluginWarning, match="one-file plugin broken.py"):
        assert bnplug.structure_learner("star").centre == 0
    assert BROKEN[source] in bnplug.plugins()[-2].cause


def test_a_file_that_is_not_there_is_named(folder):
    said = run("--plugin", folder / "absent.py", "methods", code=1).stderr
    assert said == f"bnplug: {folder / 'absent.py'}: there is no such file. Check the path\n"


def test_two_files_of_one_name_are_an_error(folder):
    (folder / "more").mkdir()
    (folder / "more" / "star.py").write_text(STAR.replace('"star"', '"more"'))
    said = run("--plugin", folder / "star.py", "--plugin", folder / "more" / "star.py", "methods", code=1).stderr
    assert f"{folder / 'star.py'} is loaded as the module star already; rename one of them" in said


def test_a_worker_that_lacks_the_file_says_what_to_do(folder):
    run("--plugin", folder / "star.py", "methods")
    content = pickle.dumps(bnplug.structure_learner("star"))
    done = python("-c", f"import pickle; pickle.loads({content!r})", code=1)
    assert "does not know the one-file plugin star.py: put its path into the environment variable" in done.stderr
    done = python("-c", f"import pickle; print(pickle.loads({content!r}))", BNPLUG_PLUGINS=str(folder / "star.py"))
    assert done.stdout == "Star()\n"


def test_a_model_folder_loads_no_file(folder):
    forged = {
        "kind": "structure learner", "name": "star", "distribution": "one-file", "version": str(folder / "star.py"),
    }  # fmt: skip
    with pytest.raises(bnplug.UnknownMethodError) as caught:
        method_from_json(forged)
    assert str(folder) not in str(caught.value)
    assert not [name for name in sys.modules if name.startswith(f"{one_file.__name__}.")]


def test_loading_files_stays_light(folder):
    code = "import sys, bnplug; bnplug.plugins()\n"
    code += "print([name for name in ('click', 'pgmpy', 'numba', 'sklearn') if name in sys.modules])"
    light = "import bnplug\nbnplug.register(bnplug.ScoreFunctionMethod('late', 'm:Late', 'Late.', 'Me (2026)'))"
    Path(folder / "light.py").write_text(light)
    assert python("-c", code, BNPLUG_PLUGINS=str(folder / "light.py")).stdout == "[]\n"
