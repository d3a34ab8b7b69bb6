"""Build every distribution of the repository, and try what was built as a stranger would.

    python .ci/distributions.py build DIST      wheels and sdists of the core and all plugins
    python .ci/distributions.py check DIST      their metadata, and an empty environment that they are installed in

The empty environment gets ours from DIST, by the one name that users type, and what they depend on from the index that
pip is set up with.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/bnplug-*/pyproject.toml"))]


def build(dist: Path) -> None:
    """Build wheels and sdists into a folder that then holds nothing else of ours."""
    dist.mkdir(parents=True, exist_ok=True)
    for old in [*dist.glob("bnplug*.whl"), *dist.glob("bnplug*.tar.gz")]:
        old.unlink()
    for source in SOURCES:
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(dist.resolve())]
        subprocess.run([*command, "--target", "sdist", "--target", "wheel"], cwd=source, check=True)


def check(dist: Path) -> None:
    """Check the metadata, install everything in an empty environment, and let it examine itself."""
    wheels, sdists = (sorted(dist.glob(f"bnplug*{ending}")) for ending in (".whl", ".tar.gz"))
    if not len(wheels) == len(sdists) == len(SOURCES):
        raise SystemExit(f"{dist} has {len(wheels)} wheels and {len(sdists)} sdists, not {len(SOURCES)} of each")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *wheels, *sdists], check=True)
    with tempfile.TemporaryDirectory(prefix="bnplug-dist-") as folder:
        examine(installed(Path(folder), dist, wheels[0].name.split("-")[1]))


def installed(folder: Path, dist: Path, version: str) -> Path:
    """Install what a user asks for by one name, with `dist` as an index, and return the folder of programs."""
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    uv = shutil.which("uv")
    pip = [uv, "pip"] if uv else [str(programs / "python"), "-m", "pip"]
    into = ["--python", str(programs / "python")] if uv else []
    local = ["--find-links", str(dist.resolve())]
    subprocess.run([*pip, "install", "--quiet", *into, *local, f"bnplug[all]=={version}"], check=True)
    return programs


def examine(programs: Path) -> None:
    """Run the commands of an installation, away from the checkout and from what else may be on the path."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    run = partial(subprocess.run, check=True, cwd=programs, env=clean)
    listed = run([str(programs / "bnplug"), "plugins", "--json"], capture_output=True, text=True).stdout
    found = {plugin["distribution"] for plugin in json.loads(listed)}
    if len(found) != len(SOURCES):
        raise SystemExit(f"bnplug[all] brought {sorted(found)}, not the {len(SOURCES)} distributions of the repository")
    for words in (["--version"], ["plugins"], ["doctor"]):
        run([str(programs / "bnplug"), *words])


def main() -> None:
    """Run what the command line asks for."""
    verbs = {"build": build, "check": check}
    if len(sys.argv) != 3 or sys.argv[1] not in verbs:
        raise SystemExit(__doc__)
    verbs[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    main()
