import base64
import hashlib

from bnplug.show._policy import content_policy


def test_one_script_by_its_digest_and_nothing_else():
    digest = base64.b64encode(hashlib.sha256("let ä = 1".encode()).digest()).decode()
    assert content_policy("let ä = 1") == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
