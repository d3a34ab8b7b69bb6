"""Files are replaced whole, or not at all; what was there keeps its kind, its owner and its permissions."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from bnplug.files import TEMPORARY, _writing_atomically, replace_file, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="devices, pipes and modes are those of POSIX")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Sets the umask for a test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def refuse(number):
    def fail(path="", *_, **__):
        raise OSError(number, os.strerror(number), str(path))

    return fail


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_file_has_the_usual_permissions_and_follows_links(tmp_path):
    plain, target, link = tmp_path / "plain", tmp_path / "target", tmp_path / "link"
    plain.write_text("")
    link.symlink_to(target)
    write_atomically(link, b"content\r\n")
    assert link.is_symlink()
    assert target.read_bytes() == b"content\r\n"
    assert target.stat().st_mode == plain.stat().st_mode


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"out\.csv cannot be written: there is no folder .*nowhere"):
        write_atomically(tmp_path / "nowhere" / "out.csv", "text")


@posix
def test_a_device_is_written_to_and_stays_one(tmp_path):
    device, link = tmp_path / "device", tmp_path / "link"
    try:
        # One of our own: root would lose the system's where this goes wrong.
        os.mknod(device, 0o666 | stat.S_IFCHR, os.stat(os.devnull).st_rdev)
        device.write_text("text")
    except OSError:
        if os.access("/dev", os.W_OK):
            pytest.skip("no device can be made here")
        device = os.devnull
    link.symlink_to(device)
    for path in (device, link):
        write_atomically(path, "text")
        assert stat.S_ISCHR(os.stat(path).st_mode)
    assert link.is_symlink()


@posix
def test_a_pipe_gets_the_content_and_stays_one(tmp_path):
    pipe, link, got = tmp_path / "pipe", tmp_path / "link", []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
        reader.start()
        write_atomically(path, b"x" * 200_000)
        reader.join(30)
        assert pipe.is_fifo()
    assert got == [b"x" * 200_000] * 2


@posix
@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("through_a_file", [True, False])
def test_standard_output_is_written_where_it_stands(tmp_path, path, through_a_file):
    script = f"from bnplug.files import write_atomically as w\nprint('a')\nw({path!r}, 'b\\n')\nprint('c')"
    out = tmp_path / "out"
    out.write_text("before\n")
    if through_a_file:
        with out.open("a") as stream:
            subprocess.run([sys.executable, "-c", script], stdout=stream, check=True)
        assert out.read_text() == "before\na\nb\nc\n"
    else:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
        assert done.stdout == "a\nb\nc\n"


@posix
@pytest.mark.parametrize("before", [0o640, 0o600, 0o664, 0o444 | 0o200, 0o755])
def test_permissions_of_what_was_there_are_kept(tmp_path, umask, before):
    umask(0o077)
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(before)
    link.symlink_to("file")
    write_atomically(path, "new")
    assert (mode(path), path.read_text()) == (before, "new")
    write_atomically(link, "newer")
    assert (mode(path), path.read_text(), link.is_symlink()) == (before, "newer", True)


@posix
@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_new_file_gets_what_the_umask_leaves(tmp_path, umask, mask, expected):
    umask(mask)
    write_atomically(tmp_path / "file", "new")
    assert mode(tmp_path / "file") == expected


@posix
def test_nobody_else_can_read_it_while_it_is_written(tmp_path, umask, monkeypatch):
    umask(0)
    path, seen = tmp_path / "file", []
    path.write_text("old")
    path.chmod(0o600)
    fsync, chmod = os.fsync, os.chmod

    def watch(*_):
        seen.extend(mode(file) for file in tmp_path.iterdir() if TEMPORARY.fullmatch(file.name))

    monkeypatch.setattr("os.chmod", lambda *args: (watch(), chmod(*args), watch()))
    monkeypatch.setattr("os.fsync", lambda *args: (watch(), fsync(*args)))
    write_atomically(path, "secret")
    assert seen == [0o600] * 3


@posix
@as_root
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 4321, 8765)
    path.chmod(0o640)
    write_atomically(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (4321, 8765, 0o640)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_that_takes_no_new_file_may_hold_one_that_can_be_written(tmp_path, monkeypatch, number):
    path, real_open = tmp_path / "file", os.open
    path.write_text("a longer old text")

    def open_no_new(path, flags, *args, **kwargs):
        return refuse(number)(path) if flags & os.O_CREAT else real_open(path, flags, *args, **kwargs)

    monkeypatch.setattr("os.open", open_no_new)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(OSError, match=rf"{os.strerror(number)}.*other"):
        write_atomically(tmp_path / "other", "new")


def test_a_mounted_file_is_written_in_place(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("a longer old text")
    monkeypatch.setattr("os.replace", refuse(errno.EBUSY))
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="file cannot be written: its permissions"):
        write_atomically(path, "new")
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["folder", "link", "new/", ""])
def test_a_folder_is_not_written(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(IsADirectoryError, match="it is a folder; give the name of a file"):
        write_atomically(name, "text")
    assert sorted(os.listdir(tmp_path)) == ["folder", "link"]


def test_links_that_dangle_make_their_target_and_those_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "folder").mkdir()
    links = {"one": "two", "two": "folder/file", "lost": "nowhere/file", "a": "b", "b": "a"}
    for link, target in links.items():
        (tmp_path / link).symlink_to(target)
    write_atomically(tmp_path / "one", "text")
    assert (tmp_path / "folder" / "file").read_text() == "text"
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        write_atomically(tmp_path / "lost", "text")
    with pytest.raises(OSError, match=r"symbolic links|loop"):
        write_atomically(tmp_path / "a", "text")
    assert all(os.readlink(tmp_path / link) == target for link, target in links.items())


def test_of_two_hard_links_the_other_keeps_its_content(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old")
    os.link(one, two)
    write_atomically(one, "new")
    assert (one.read_text(), two.read_text()) == ("new", "old")


def test_a_text_that_is_no_unicode_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"


def test_replacing_a_link_leaves_what_it_points_to(tmp_path):
    strange, link = tmp_path / "strange", tmp_path / "link"
    strange.write_text("theirs")
    link.symlink_to(strange)
    replace_file(link, b"ours")
    assert (strange.read_text(), link.read_text(), link.is_symlink()) == ("theirs", "ours", False)


@posix
def test_a_new_file_is_no_more_open_than_it_is_meant_to_be(tmp_path, umask, monkeypatch):
    umask(0)
    like, new = tmp_path / "like", tmp_path / "new"
    like.write_text("")
    like.chmod(0o640)
    replace_file(new, b"", like.stat())
    assert mode(new) == 0o640
    others = SimpleNamespace(st_uid=4321, st_gid=like.stat().st_gid, st_mode=like.stat().st_mode)
    chown = os.chown

    def deny_owner(path, owner, group):
        return refuse(errno.EPERM)(path) if owner == 4321 else chown(path, owner, group)

    monkeypatch.setattr("os.chown", deny_owner)
    replace_file(new, b"", others)
    assert mode(new) == 0o640
    monkeypatch.setattr("os.chown", refuse(errno.EPERM))
    replace_file(new, b"", others)
    assert mode(new) == 0o600


def test_what_is_written_piece_by_piece_is_there_in_the_end_or_not_at_all(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"former")
    os.chmod(path, 0o640)
    with _writing_atomically(path) as file:
        file.write(b"one, ")
        assert path.read_bytes() == b"former"
        file.write(b"two")
    assert path.read_bytes() == b"one, two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(ZeroDivisionError), _writing_atomically(path) as file:
        file.write(bytes([1 // 0]))
    assert path.read_bytes() == b"one, two"
    assert [own.name for own in tmp_path.iterdir()] == ["a.bin"]
    with pytest.raises(FileNotFoundError, match="there is no folder"), _writing_atomically(tmp_path / "gone" / "a.bin"):
        pass
