"""Versions side by side: each in a folder of its own, and what leads from one to the others.

``make docs`` writes the folder ``docs/_build/VERSION``. Beside it this writes ``versions.js``, the list of all versions
that are there, and ``index.html``, which leads to the newest. Pages read the list by a script element, which
works on any host and for files opened from a disk, where a page may not fetch anything.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_VERSION = re.compile(r"\d+(\.\d+)*")
_INDEX = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>bnplug</title>
<meta http-equiv="refresh" content="0; url=%(newest)s/index.html">
<p><a href="%(newest)s/index.html">bnplug %(newest)s</a></p>
</html>
"""


def versions(folder: Path) -> list[str]:
    """Return the versions that have been built in a folder, the newest first.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for version in ("0.9.0", "0.10.0", ".doctrees"):
    ...         Path(name, version).mkdir()
    ...         Path(name, version, "index.html").touch()
    ...     versions(Path(name))
    ['0.10.0', '0.9.0']
    """
    found = [path.parent.name for path in folder.glob("*/index.html")]
    return sorted(filter(_VERSION.fullmatch, found), key=lambda own: [*map(int, own.split("."))], reverse=True)


def write(folder: Path) -> None:
    """Write the list of versions, and the page that leads to the newest."""
    found = versions(folder)
    (folder / "versions.js").write_text(f"window.bnplugVersions = {json.dumps(found)};\n")
    (folder / "index.html").write_text(_INDEX % {"newest": found[0]})


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html" and Path(app.outdir).name == app.config.release:
        write(Path(app.outdir).parent)


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the list once the pages are there."""
    app.connect("build-finished", _finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
