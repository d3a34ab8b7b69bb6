"""Kernels are kept where that is possible, are never mistaken for others, and are done without where it is not.

What may write where is a matter of users: where this process is root, other processes give that up (`setpriv`).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from tokenize import TokenError

import numpy as np
import pytest
from numba import config
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext

import bnplug
from bnplug.compiling import _cache, kernel

PACKAGE = Path(bnplug.__file__).parent
FIT = """
import numpy as np, bnplug
from bnplug import datasets
X, y = datasets.tic_tac_toe()
model = bnplug.BayesianNetworkClassifier("nb").fit(X, y)
print(len(np.unique(model.predict(X))), model.predict_proba(X).sum().round(6))
"""
PROGRAM = """
import numpy as np
from kernels import outer
print(outer(np.arange(4.0)))
print(sum(outer.stats.cache_hits.values()), sum(outer.stats.cache_misses.values()))
"""
KERNELS = """
from bnplug.compiling import kernel

FACTOR = {factor}

@kernel
def inner(x):
    return x + {shift}

@kernel
def outer(values):
    total = 0.0
    for value in values:
        total += FACTOR * inner(value)
    return total
"""


def run(program, folder, check=True, prefix=(), **environment):
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", str(PACKAGE.parent))}
    # A module that changes within a second, and not in length, is the same to Python.
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [*prefix, sys.executable, "-c", program],
        cwd=folder,
        env={**env, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def write_kernels(folder, factor=2, shift=1):
    (folder / "kernels.py").write_text(KERNELS.format(factor=factor, shift=shift))


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Keep kernels in a folder of the test's own."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@kernel
def doubled(x):
    return 2 * x


def cache_of(kernel):
    return _cache.KernelCache(kernel.py_func, kernel.targetoptions)


def loaded(kernel, *arguments):
    """Return what a new kernel of the same function answers, and whether it was loaded."""
    again = type(kernel)(kernel.py_func, targetoptions=dict(kernel.targetoptions))
    again._cache = cache_of(again)
    return again(*arguments), sum(again.stats.cache_hits.values())


def test_a_kernel_is_kept_by_signature(cached):
    assert loaded(doubled, 1.5) == (3.0, 0)
    assert loaded(doubled, 1.5) == (3.0, 1)
    assert loaded(doubled, 2) == (4, 0)
    assert len(list(cached.iterdir())) == 2
    assert doubled.stats.cache_path == str(cached)


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-9], lambda data: data[:500] + b"?" + data[501:]]
)
def test_a_damaged_file_is_not_read(cached, damage):
    loaded(doubled, 1.5)
    (path,) = cached.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert loaded(doubled, 1.5) == (3.0, 0)
    assert loaded(doubled, 1.5) == (3.0, 1)


def test_flushing_forgets_this_kernel_alone(cached):
    loaded(doubled, 1.5)
    (cached / "other.kernel-1.nbc").write_bytes(b"")
    cache_of(doubled).flush()
    assert [path.name for path in cached.iterdir()] == ["other.kernel-1.nbc"]


def test_the_oldest_files_of_a_kernel_go_when_there_are_many(cached, monkeypatch):
    monkeypatch.setattr(_cache, "_KEPT", 3)
    name = f"{__name__}.doubled"
    for age, digest in enumerate(["new", "older", "oldest"]):
        path = cached / f"{name}-{digest}.nbc"
        path.write_bytes(b"")
        os.utime(path, (1000 - age, 1000 - age))
    (cached / f"{name}_twice-other.nbc").write_bytes(b"")
    assert loaded(doubled, 1.5) == (3.0, 0)
    left = {path.name for path in cached.iterdir()}
    assert len(left) == 4
    assert f"{name}-oldest.nbc" not in left
    assert loaded(doubled, 1.5) == (3.0, 1)


USED = """
import sys
import numpy as np
from kernel_of_logs import entropy
print(round(entropy(np.full(4, 0.25)) / np.log(2), 9), "numba.typed.typedlist" in sys.modules)
print(sum(entropy.stats.cache_hits.values()))
"""
KERNEL_OF_LOGS = """
import numpy as np
from bnplug.compiling import kernel

@kernel
def entropy(probabilities):
    total, logs = 0.0, np.empty(len(probabilities))
    for i, p in enumerate(probabilities):
        logs[i] = np.log(p)
        total -= p * logs[i]
    return total
"""


def test_what_is_kept_runs_without_the_compiler(tmp_path):
    (tmp_path / "kernel_of_logs.py").write_text(KERNEL_OF_LOGS)
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(USED, tmp_path, **kept).stdout.split() == ["2.0", "True", "0"]
    assert run(USED, tmp_path, **kept).stdout.split() == ["2.0", "False", "1"]


def test_a_name_that_only_the_compiler_brings_is_looked_for_there(cached, monkeypatch):
    loaded(doubled, 1.5)
    refreshed = []
    monkeypatch.setattr(_cache, "address_of_symbol", lambda name: None)
    monkeypatch.setattr(CPUContext, "refresh", lambda _: refreshed.append(True))
    assert loaded(doubled, 1.5) == (3.0, 1)
    assert refreshed


def test_a_change_in_a_kernel_that_is_called_or_in_a_constant_is_noticed_and_a_copy_is_not(tmp_path):
    write_kernels(tmp_path)
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(PROGRAM, tmp_path, **kept).stdout.split() == ["20.0", "0", "1"]
    assert run(PROGRAM, tmp_path, **kept).stdout.split() == ["20.0", "1", "0"]
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copyfile(tmp_path / "kernels.py", copy / "kernels.py")
    assert run(PROGRAM, copy, **kept).stdout.split() == ["20.0", "1", "0"]
    write_kernels(copy, shift=2)
    assert run(PROGRAM, copy, **kept).stdout.split() == ["28.0", "0", "1"]
    write_kernels(copy, factor=3)
    assert run(PROGRAM, copy, **kept).stdout.split() == ["30.0", "0", "1"]


# Two processes that both find the cache empty; of the files that they put in place, the first of `a` comes before the
# first of `b`, the second of `b` before the second of `a`. With an index and numbered files, as numba has them, the
# index is then of one process and the file that it names of the other.
IN_TURN = """
import os, sys, time
from pathlib import Path
import numpy as np
from alone import total

own, dtype = sys.argv[1:]
turns, marks, replace = ["a1", "b1", "b2", "a2"], Path("turns"), os.replace
mine = iter([f"{own}1", f"{own}2"])

def wait_for(names):
    until = time.monotonic() + 60
    while not all((marks / name).exists() for name in names):
        assert time.monotonic() < until, names
        time.sleep(0.005)

def replace_in_turn(*paths):
    turn = next(mine)
    (marks / own).touch()
    wait_for(["a", "b", *turns[: turns.index(turn)]])
    replace(*paths)
    (marks / turn).touch()

os.replace = replace_in_turn
assert total(np.arange(4, dtype=dtype)) == 6
for turn in (own, *mine):
    (marks / turn).touch()
"""
ALONE = """
from bnplug.compiling import kernel

@kernel
def total(values):
    found = values[0]
    for value in values:
        found += value
    return found
"""
AFTERWARDS = """
import numpy as np
from alone import total
print(total(np.arange(4.0)), total(np.arange(4)), sum(total.stats.cache_hits.values()))
"""


def test_processes_that_fill_one_empty_cache_at_once_do_not_mix_up_their_kernels(tmp_path):
    (tmp_path / "alone.py").write_text(ALONE)
    (tmp_path / "in_turn.py").write_text(IN_TURN)
    (tmp_path / "turns").mkdir()
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "in_turn.py", *own], cwd=tmp_path, env={**os.environ, **kept}, stderr=subprocess.PIPE
        )
        for own in (("a", "int64"), ("b", "float64"))
    ]
    ended = [(process.communicate()[1], process.returncode) for process in processes]
    assert all(code == 0 for _, code in ended), ended
    assert run(AFTERWARDS, tmp_path, **kept).stdout.split() == ["6.0", "6", "2"]
    assert not list((tmp_path / "cache").glob("*.tmp"))


@pytest.fixture
def open_folder():
    """Return a folder that everybody may read; pytest closes its own to other users, also in the middle of a run."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture
def nobody():
    """Return the beginning of a command that runs as another user, who owns nothing here and has no home."""
    prefix = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups")
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can run a process as another user, by setpriv")
    done = subprocess.run([*prefix, sys.executable, "-c", "import bnplug"], check=False, cwd="/", capture_output=True)
    if done.returncode:
        pytest.skip("another user cannot read this installation")
    return prefix


@pytest.fixture
def installation(open_folder):
    """Return a copy of the package in which nothing has been compiled, and nobody but root can write."""
    shutil.copytree(PACKAGE, open_folder / "site" / "bnplug", ignore=shutil.ignore_patterns("__pycache__"))
    return open_folder / "site"


@pytest.mark.parametrize(
    ("home", "program", "answer"),
    [(None, FIT, "2"), ("/", PROGRAM, "20.0"), ("/nonexistent", PROGRAM, "20.0")],
    ids=["no home", "the root", "a home that is not there"],
)
def test_another_user_without_any_place_to_write_gets_answers_and_one_note(installation, nobody, home, program, answer):
    write_kernels(installation)
    environment = {"PYTHONPATH": str(installation), "BNPLUG_DISABLE": "all"} | ({} if home is None else {"HOME": home})
    done = run(program, "/", prefix=nobody, **environment)
    assert done.stdout.split()[0] == answer
    assert done.stderr.count("compiled kernels cannot be cached") == 1
    assert not list(installation.rglob("*.nbc"))
    assert not Path("/~").exists()


def test_a_read_only_installation_keeps_kernels_in_the_users_own_folder(installation, nobody, open_folder):
    home = open_folder / "home"
    home.mkdir()
    os.chown(home, 54321, 54321)
    write_kernels(installation)
    done = run(PROGRAM, "/", prefix=nobody, PYTHONPATH=str(installation), HOME=str(home))
    assert "cannot be cached" not in done.stderr
    assert list(home.rglob("*.nbc"))
    assert not list(installation.rglob("*.nbc"))


def test_kernels_that_came_with_a_read_only_installation_are_used(installation, nobody):
    write_kernels(installation)
    run(PROGRAM, "/", PYTHONPATH=str(installation), HOME="/root")
    kept = {path: path.stat().st_mtime_ns for path in installation.rglob("*.nbc")}
    assert kept
    done = run(PROGRAM, "/", prefix=nobody, PYTHONPATH=str(installation))
    assert "cannot be cached" not in done.stderr
    assert kept == {path: path.stat().st_mtime_ns for path in installation.rglob("*.nbc")}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Use a temporary folder as the user's cache folder, and forget the warnings that were issued."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(_cache, "_noted", set())
    return tmp_path / "home" / "bnplug"


posix_only = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has neither user numbers nor permissions")
root_only = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give files away")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Return a folder that NUMBA_CACHE_DIR names."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    monkeypatch.setattr(config, "CACHE_DIR", str(folder))
    return folder


@root_only
def test_a_kernel_of_another_user_is_not_loaded(shared, home):
    loaded(doubled, 1.5)
    (path,) = shared.iterdir()
    os.chown(path, 54321, 54321)
    assert loaded(doubled, 1.5) == (3.0, 0)
    # It was compiled again, and cached in a file of this user.
    assert path.stat().st_uid == 0
    assert loaded(doubled, 1.5) == (3.0, 1)


@posix_only
@pytest.mark.parametrize("mode", [0o646, 0o664, 0o666])
def test_a_kernel_that_others_can_write_is_not_loaded(shared, home, monkeypatch, mode):
    monkeypatch.setattr(_cache, "_is_private_group", lambda gid: False)
    loaded(doubled, 1.5)
    (path,) = shared.iterdir()
    path.chmod(mode)
    assert loaded(doubled, 1.5) == (3.0, 0)
    assert loaded(doubled, 1.5) == (3.0, 1)


@posix_only
def test_a_link_is_not_followed(shared, home, tmp_path):
    loaded(doubled, 1.5)
    (path,) = shared.iterdir()
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert loaded(doubled, 1.5) == (3.0, 0)


@posix_only
@pytest.mark.parametrize(
    ("mode", "said"), [(0o777, "can be written by every user"), (0o775, "can be written by a group of users")]
)
def test_a_folder_that_others_can_write_to_gives_way_to_the_users_own(shared, home, monkeypatch, mode, said):
    monkeypatch.setattr(_cache, "_is_private_group", lambda gid: False)
    loaded(doubled, 1.5)
    shared.chmod(mode)
    with pytest.warns(bnplug.BnplugWarning, match=rf"NUMBA_CACHE_DIR={shared} {said}, .* kept in {home} instead"):
        assert loaded(doubled, 1.5) == (3.0, 0)
    assert len(list(home.iterdir())) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(doubled, 1.5) == (3.0, 1)
    assert len(list(shared.iterdir())) == 1


@root_only
def test_a_folder_of_another_user_gives_way_to_the_users_own(shared, home):
    os.chown(shared, 54321, 54321)
    with pytest.warns(bnplug.BnplugWarning, match=r"belongs to another user \(54321\), and loading .* runs code"):
        assert loaded(doubled, 1.5) == (3.0, 0)
    assert not list(shared.iterdir())
    assert loaded(doubled, 1.5) == (3.0, 1)


@posix_only
def test_in_a_folder_that_all_users_share_each_has_one_of_their_own(shared, home):
    shared.chmod(0o1777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(doubled, 1.5) == (3.0, 0)
        assert loaded(doubled, 1.5) == (3.0, 1)
    (folder,) = shared.iterdir()
    assert folder.name == f"bnplug-{os.geteuid()}"
    # Another user created that folder first.
    shutil.rmtree(folder)
    folder.symlink_to(shared)
    with pytest.warns(bnplug.BnplugWarning, match="can be written by every user"):
        assert loaded(doubled, 1.5) == (3.0, 0)
    assert loaded(doubled, 1.5) == (3.0, 1)
    assert len(list(home.iterdir())) == 1


@posix_only
def test_a_group_of_the_user_alone_may_write(shared, home, monkeypatch):
    monkeypatch.setattr(_cache, "_is_private_group", lambda gid: gid == shared.stat().st_gid)
    shared.chmod(0o775)
    assert loaded(doubled, 1.5) == (3.0, 0)
    assert loaded(doubled, 1.5) == (3.0, 1)
    assert len(list(shared.iterdir())) == 1


@posix_only
def test_files_are_written_so_that_others_cannot_change_them(shared, home):
    before = os.umask(0)
    try:
        loaded(doubled, 1.5)
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in shared.iterdir()] == [0o644]


def test_without_user_numbers_every_file_is_read(shared, home, monkeypatch):
    """As on Windows."""
    shared.chmod(0o777)
    monkeypatch.delattr(os, "geteuid", raising=False)
    assert loaded(doubled, 1.5) == (3.0, 0)
    assert loaded(doubled, 1.5) == (3.0, 1)
    assert len(list(shared.iterdir())) == 1


def test_the_doctor_says_that_kernels_are_kept_nowhere(cached, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(cached / "file" / "folder"))
    (cached / "file").write_text("in the way")
    assert cache_of(doubled).cache_path == ""


def test_a_constant_array_is_told_apart_by_what_it_holds():
    one, other = _cache._constant(np.array([1.0, 2.0])), _cache._constant(np.array([1.0, 3.0]))
    assert one != other
    assert _cache._constant(np) == _cache._constant(np)


def test_a_kernel_whose_source_cannot_be_read_is_compiled_and_not_kept(monkeypatch):
    def unreadable(self):
        raise TokenError("EOF in multi-line statement")

    monkeypatch.setattr(CompileResult, "_reduce", unreadable)

    @kernel
    def doubled(x):
        return 2 * x

    assert doubled(21) == 42
