"""Shell completion: the script that a shell runs, and the names that arguments may have.

Commands and options complete by themselves; here are the names of methods, data sets and papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import get_completion_class

from bnplug.cli._errors import one_line_errors

#: Where each shell keeps what it runs when it starts.
_PLACES = {
    "bash": 'eval "$(bnplug completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(bnplug completion zsh)" in ~/.zshrc',
    "fish": "bnplug completion fish > ~/.config/fish/completions/bnplug.fish",
}

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_PLACES)))
@click.pass_context
@one_line_errors
def completion_command(context: click.Context, shell: str) -> None:
    """Print what makes the shell complete bnplug's commands, options and names.

    bash: eval "$(bnplug completion bash)" in ~/.bashrc.  zsh: eval "$(bnplug completion zsh)" in ~/.zshrc.
    fish: bnplug completion fish > ~/.config/fish/completions/bnplug.fish.
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {}, "bnplug", "_BNPLUG_COMPLETE").source())


def methods(*kinds: str, listed: bool = False) -> Complete:
    """Return what completes the names of methods of some kinds, or of all; `listed` ones are parted by commas."""

    def names() -> Iterable[str]:
        from bnplug.hooks import registry

        return [str(registry.name_of(own)) for own in registry.methods() if not kinds or own.kind.value in kinds]

    return _completing(names, listed)


def datasets(listed: bool = False) -> Complete:
    """Return what completes the names of data sets."""

    def names() -> Iterable[str]:
        from bnplug import datasets

        return [entry.name for entry in datasets.entries()]

    return _completing(names, listed)


def _completing(names: Callable[[], Iterable[str]], listed: bool) -> Complete:
    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",") if listed else ("", "", incomplete)
        taken = before.split(",")
        try:
            known = list(names())
        except Exception:  # a shell must not be told of an error while a word is typed
            return []
        return [f"{before}{comma}{name}" for name in known if name.startswith(begun) and name not in taken]

    return complete


COMMANDS = [completion_command]
