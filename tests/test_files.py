"""Files are replaced whole, or not at all."""

from __future__ import annotations

import pytest

from bnplug.files import write_atomically


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
