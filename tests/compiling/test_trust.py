"""Files that another user can have written are not trusted."""

import os

import pytest

from bnplug.compiling._cache import _is_private, _is_shared_by_all, _trusted_bytes

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no permission bits")


def test_only_a_regular_file_that_others_cannot_write_is_read(tmp_path):
    file = tmp_path / "kernel"
    file.write_bytes(b"code")
    file.chmod(0o644)
    assert _trusted_bytes(file) == b"code"
    file.chmod(0o646)
    assert _trusted_bytes(file) is None
    link = tmp_path / "link"
    link.symlink_to(file)
    with pytest.raises(OSError, match="link"):
        _trusted_bytes(link)


def test_a_folder_is_private_if_others_cannot_write_to_it(tmp_path):
    folder = tmp_path / "cache"
    assert _is_private(folder)
    folder.mkdir(mode=0o700)
    assert _is_private(folder)
    folder.chmod(0o777)
    assert not _is_private(folder)
    assert not _is_shared_by_all(folder.stat())
    folder.chmod(0o1777)
    assert _is_shared_by_all(folder.stat())
