"""What importing costs, and who may import what."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bnplug
from bnplug import datasets

ROOT = Path(bnplug.__file__).parent


def loaded_after(code):
    probe = f"import sys; {code}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"pgmpy", "numba", "sklearn", "pandas", "numpy", "scipy", "matplotlib", "jinja2"}
    assert not heavy & loaded_after("import bnplug")


def test_listing_plugins_loads_neither_numba_nor_pgmpy():
    assert not {"pgmpy", "numba"} & loaded_after("import bnplug; bnplug.plugins()")


def test_creating_a_built_in_learner_loads_no_pgmpy():
    assert "pgmpy" not in loaded_after("import bnplug; bnplug.structure_learner('nb')")


FIT = "import bnplug; from bnplug import datasets; X, y = datasets.tic_tac_toe(); "
FIT += "model = bnplug.BayesianNetworkClassifier({}).fit(X, y); model.predict(X)"


@pytest.mark.parametrize("structure", ["nb", "tan", "kdb", "hill-climb", "rmcv"])
def test_fitting_and_predicting_load_neither_pgmpy_nor_networkx_nor_more_of_scikit_learn(structure):
    loaded = loaded_after(FIT.format(f"structure={structure!r}"))
    heavy = {"pgmpy", "networkx", "matplotlib", "jinja2", "sklearn.datasets", "sklearn.ensemble", "sklearn.metrics"}
    assert not heavy & loaded


def test_a_model_predicts_and_is_judged_without_the_compiler_and_the_metrics_of_scikit_learn(tmp_path):
    X, y = datasets.tic_tac_toe()
    X.assign(**{"class": y}).to_csv(tmp_path / "data.csv", index=False)
    bnplug.BayesianNetworkClassifier("tan").fit(X, y).save(tmp_path / "model")
    for command in ("predict", "evaluate"):
        call = f"['{command}', '{tmp_path}/model', '{tmp_path}/data.csv']"
        loaded = loaded_after(f"from bnplug.cli import cli; cli.main({call}, standalone_mode=False)")
        assert "bnplug.compiling" in loaded
        assert not {"pgmpy", "networkx", "sklearn.metrics", "sklearn.preprocessing", "numba.typed.typedlist"} & loaded


def test_the_graph_of_a_fitted_model_is_one_of_pgmpy():
    assert "pgmpy" in loaded_after(FIT.format("") + "; assert type(model.dag_).__module__ == 'pgmpy.base.DAG'")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_only_two_modules_import_pgmpy_and_none_imports_a_plugin():
    for path in ROOT.rglob("*.py"):
        modules = list(imports(path))
        if path.name != "pgmpy.py":
            assert not [module for module in modules if module.split(".")[0] == "pgmpy"], path
        assert not [module for module in modules if module.startswith("bnplug_")], path
