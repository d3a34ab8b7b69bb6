"""The types that annotations name."""

import subprocess
import sys

import numpy as np
import pytest

import bnplug.typing
from bnplug import Structure, Table


def test_a_learned_graph_and_a_network_are_of_these_types():
    table = Table(np.zeros((2, 1), dtype=np.uint8), ["a", "c"], {"a": ["x", "y"], "c": [0, 1]}, target="c")
    assert isinstance(Structure(table.names, [[1], []]), bnplug.typing.DAG)
    assert issubclass(bnplug.typing.DiscreteBayesianNetwork, bnplug.typing.DAG)


def test_importing_the_types_loads_pgmpy_only_when_one_of_its_own_is_asked_for():
    loaded = "print('pgmpy' in sys.modules)"
    probe = f"import sys, bnplug.typing as types; types.FloatArray; {loaded}; types.DAG; {loaded}"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_an_unknown_name_is_an_attribute_error_that_names_the_module():
    with pytest.raises(AttributeError, match=r"module 'bnplug\.typing' has no attribute 'Graph'"):
        bnplug.typing.Graph  # noqa: B018
