"""Plugins as sources, each with one fault and the check that must find it; a healthy one comes first."""

_METHOD = """
import bnplug

@bnplug.hookimpl
def bnplug_structure_learners():
    yield bnplug.StructureLearnerMethod(
        name="{name}", factory="bnplug.builtin.structures.nb:NaiveBayes", summary="A saboteur.",
        reference="Nobody (2026)")
"""

_RECIPE = """
@bnplug.hookimpl
def bnplug_recipes():
    yield bnplug.Recipe("{name}-recipe", {structure}, summary={summary!r}, reference="Nobody (2026)")
"""


def _recipe(name, structure="'nb'", summary="A saboteur."):
    return _METHOD.format(name=name) + _RECIPE.format(name=name, structure=structure, summary=summary)


_COMMAND = """
@bnplug.hookimpl
def bnplug_commands():
    yield bnplug.PluginCommand("{name}-command", "{command}", "A saboteur.")

@bnplug.hookimpl
def bnplug_formats():
    yield bnplug.NetworkFormat("{name}-format", (".{name}",), "bnplug.io.bif:write", None, "A saboteur.")
"""

HEALTHY = _recipe("healthy") + _COMMAND.format(name="healthy", command="bnplug.cli:cli")

#: By name: the check that must fail, and the source of the plugin's module.
SABOTEURS = {
    "takes-a-name": ("check_everything_is_registered", _METHOD.format(name="tan")),
    "lacks-its-command": (
        "check_everything_is_registered",
        _METHOD.format(name="lacks-its-command") + _COMMAND.format(name="lacks-its-command", command="nowhere:cli"),
    ),
    "has-two-lines": ("check_described", _recipe("has-two-lines", summary="Two\nlines.")),
    "loads-numba": ("check_loads_without_pgmpy_or_numba", "import numba\n" + _METHOD.format(name="loads-numba")),
    "loads-pgmpy": (
        "check_loads_without_pgmpy_or_numba",
        _METHOD.format(name="loads-pgmpy") + "import bnplug.model.pgmpy\n",
    ),
    "lacks-a-method": ("check_recipes_can_be_made", _recipe("lacks-a-method", "'nobody-has-this'")),
    "wrong-parameter": ("check_recipes_can_be_made", _recipe("wrong-parameter", "('kdb', {'kk': 2})")),
}
