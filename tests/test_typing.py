"""The types that annotations name."""

import subprocess
import sys

import pytest

import bnplug.typing
from bnplug import Structure


def test_graphs_and_a_network_of_pgmpy_are_of_these_types():
    structure = Structure(["a", "c"], [[1], []])
    assert isinstance(structure.to_dag(), bnplug.typing.DAG)
    assert isinstance(structure.cpdag().to_pdag(), bnplug.typing.PDAG)
    assert issubclass(bnplug.typing.DiscreteBayesianNetwork, bnplug.typing.DAG)


def test_importing_the_types_loads_pgmpy_only_when_one_of_its_own_is_asked_for():
    loaded = "print('pgmpy' in sys.modules)"
    probe = f"import sys, bnplug.typing as types; types.FloatArray; {loaded}; types.DAG; {loaded}"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_an_unknown_name_is_an_attribute_error_that_names_the_module():
    with pytest.raises(AttributeError, match=r"module 'bnplug\.typing' has no attribute 'Graph'"):
        bnplug.typing.Graph  # noqa: B018
