import json

from commands import run

import bnplug


def test_plugins_lists_what_is_there():
    text = run("plugins").output
    assert f"bnplug {bnplug.__version__} (builtin): ok" in text
    assert "nb, tan, kdb" in text
    listed = json.loads(run("plugins", "--json").output)
    assert listed[0]["distribution"] == "bnplug"
    assert "bnplug_structure_learners" in listed[0]["hooks"]


def test_methods_tell_about_themselves():
    assert "k-" not in run("methods").output.splitlines()[0]
    assert all(name in run("methods").output for name in ("nb", "tan", "kdb", "ml"))
    text = run("methods", "kdb").output
    assert "Sahami" in text
    assert "k       2" in text
    assert "Did you mean 'hill-climb'" in run("methods", "hillclimb", code=1).stderr
