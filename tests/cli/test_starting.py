import subprocess
import sys

import bnplug
from bnplug.datasets import wine

SPARED = """
import sys
from bnplug.cli._starting import load_scikit_learn

load_scikit_learn()
assert "sklearn.base" in sys.modules
assert "scipy.stats" not in sys.modules
import numpy as np
from sklearn.utils.fixes import _mode

assert _mode(np.array([1, 2, 2])).mode == 2
import scipy.stats

assert scipy.stats is sys.modules["scipy.stats"]
assert scipy.stats.norm.cdf(0) == 0.5
load_scikit_learn()
assert scipy.stats is sys.modules["scipy.stats"]
"""

ASKED = """
import sys
from bnplug.cli._starting import _StandIn

sys.modules["scipy.stats"] = stand_in = _StandIn("scipy.stats")
from scipy.stats import norm
import scipy.stats.distributions

assert norm is sys.modules["scipy.stats"].norm is stand_in.norm
assert sys.modules["scipy.stats"] is not stand_in
"""

PREDICTED = """
import sys
from bnplug.cli import cli

cli.main(sys.argv[1:], standalone_mode=False)
assert "scipy.stats" not in sys.modules
"""


def python(code, *args):
    return subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True).stdout


def test_scikit_learn_is_loaded_without_what_it_does_not_need_and_finds_it_later():
    python(SPARED)


def test_what_is_asked_of_a_stand_in_comes_from_the_module_itself():
    python(ASKED)


def test_predict_is_spared_it(tmp_path):
    X, y = wine()
    X.to_csv(tmp_path / "wine.csv", index=False)
    bnplug.BayesianNetworkClassifier("tan").fit(X, y).save(tmp_path / "model")
    assert len(python(PREDICTED, "predict", str(tmp_path / "model"), str(tmp_path / "wine.csv")).splitlines()) == 179
