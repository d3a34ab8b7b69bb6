"""
A format and a command in one file
==================================

A plugin need not be a distribution. This file adds the UAI format of network files, which inference programs read, and
a command to ``bnplug``. Name the file to use it::

    bnplug --plugin examples/uai_plugin.py export MODEL network.uai
    bnplug --plugin examples/uai_plugin.py uai-numbers MODEL

The environment variable ``BNPLUG_PLUGINS`` does the same for every command and for Python.

Run: ``python examples/uai_plugin.py``
"""

# %%
# A format is a function of the tables of a network. UAI files contain numbers only: how many states each variable has,
# the variables of each table (parents first, then the node), and the tables, in which the last variable varies fastest.
from collections.abc import Iterator

import click
import numpy as np

import bnplug
from bnplug.datasets import corral


def format_uai(tables: bnplug.LogTables, encoder: object = None) -> str:
    """Return the text of a UAI file."""
    number = {name: i for i, name in enumerate(tables.names)}
    lines = ["BAYES", str(len(number)), " ".join(str(len(tables.states[name])) for name in tables.names)]
    lines.append(str(len(number)))
    for name in tables.names:
        scope = [*tables.parents[name], name]
        lines.append(" ".join(map(str, [len(scope), *(number[variable] for variable in scope)])))
    for values in tables.probabilities().values():
        cells = np.moveaxis(values, 0, -1).ravel()  # the axes were (node, parents)
        lines += ["", str(len(cells)), " ".join(repr(float(cell)) for cell in cells)]
    return "\n".join(lines) + "\n"


@bnplug.hookimpl
def bnplug_formats() -> Iterator[bnplug.NetworkFormat]:
    yield bnplug.NetworkFormat(
        name="uai",
        endings=(".uai",),
        write=format_uai,
        read=None,  # a UAI file has no names, so it cannot be read as a model
        summary="UAI: libDAI, merlin, toulbar2, pgmpy.",
        reference="UAI 2014 inference competition: model file format",
    )


# %%
# A command is a click command. As the files have no names, this command prints the number of each variable and state.
@click.command("uai-numbers")
@click.argument("model")
def uai_numbers(model: str) -> None:
    """Print the numbers that variables and states have in a UAI file."""
    tables = bnplug.load(model).tables_
    for i, name in enumerate(tables.names):
        click.echo(f"{i} {name}: " + ", ".join(f"{k} {state}" for k, state in enumerate(tables.states[name])))


@bnplug.hookimpl
def bnplug_commands() -> Iterator[click.Command]:
    yield uai_numbers


# %%
# The plugin is complete. Run as a script, the file loads itself as a plugin in separate processes.
if __name__ == "__main__":
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    bnplug.BayesianNetworkClassifier("tan").fit(*corral()).save(folder / "model")
    command = [sys.executable, "-m", "bnplug", "--plugin", str(Path(sys.argv[0]).resolve())]
    for arguments in (["uai-numbers", "model"], ["export", "model", "corral.uai"]):
        done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=True)
        print(done.stdout, end="")
    print(*(folder / "corral.uai").read_text().splitlines()[:6], sep="\n")
