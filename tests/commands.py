"""The ``bnplug`` command, run in this process."""

from click.testing import CliRunner

from bnplug.cli import cli


def run(*args, code=0, stdin=None):
    """Run the command with these arguments, and return what it wrote; it must end with this exit code."""
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    return result
