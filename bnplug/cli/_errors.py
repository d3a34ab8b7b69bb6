"""How a command of ``bnplug`` ends when something is wrong: in one line, without a traceback."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

import bnplug
from bnplug.errors import one_line, printable

# Errors whose message stands on its own; of any other, the type says more than the text.
_EXPECTED = (ValueError, TypeError, LookupError, RuntimeError, ImportError, MemoryError)


class CommandError(click.ClickException):
    """What went wrong, in one line."""

    def show(self, file: Any = None) -> None:
        """Print it to standard error."""
        click.echo(f"bnplug: {printable(self.format_message())}", file=file, err=True)


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an exception into one line, and warnings into lines of their own."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always", bnplug.BnplugWarning)
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
            except (click.ClickException, BrokenPipeError):  # click ends quietly where a pipe is closed
                raise
            except OSError as error:
                said = f"standard output: {error.strerror}" if _is_of_output(error) else one_line(error)
                raise CommandError(said or type(error).__name__) from error
            except _EXPECTED as error:
                raise CommandError(one_line(error) or type(error).__name__) from error
            except Exception as error:  # a plugin's learner may raise anything
                raise CommandError(f"{type(error).__name__}: {one_line(error)}") from error

    return wrapped


def _is_of_output(error: OSError) -> bool:
    """Whether what a command prints could not be written, such as to a full disk; such an error names no file."""
    frames = traceback.walk_tb(error.__traceback__)
    return error.filename is None and any(frame.f_code is click.echo.__code__ for frame, _ in frames)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    kind = "" if issubclass(category, bnplug.BnplugWarning) else f"{category.__name__}: "
    click.echo(f"bnplug: warning: {kind}{printable(one_line(message))}", err=True)
