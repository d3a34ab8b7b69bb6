"""Tests mirror the code: each module of the core has a file of tests of its name, or only re-exports."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT / "bnplug") for path in (ROOT / "bnplug").rglob("*.py"))


def only_passes_on(text):
    """Return whether a module has nothing of its own: a docstring, imports, assignments of dunder names."""
    return all(_passes_on(node) for node in ast.parse(text).body)


def _passes_on(node):
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return all(map(_passes_on, node.body)) and not node.orelse
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets)
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or isinstance(node, (ast.Import, ast.ImportFrom))


def files_of_tests(module):
    """Return where the tests of a module may be: in a folder for each package, or in that of its room."""
    *packages, name = module.with_suffix("").parts
    if name == "__init__":
        name = packages[-1] if packages else "init"
    file = f"test_{name.strip('_')}.py"
    return {Path(*packages, file), Path(*packages[:1], file)}


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ('"""Words."""\n', True),
        ('from bnplug.a import b\n\n__all__ = ["b"]\n', True),
        ("if TYPE_CHECKING:\n    from bnplug.a import b\n", True),
        ("from bnplug.a import b\n\nc = b + 1\n", False),
        ("def f(): ...\n", False),
        ("if TYPE_CHECKING:\n    from bnplug.a import b\nelse:\n    b = 1\n", False),
    ],
)
def test_what_a_pure_re_export_is(text, passes):
    assert only_passes_on(text) == passes


def test_where_tests_are_looked_for():
    assert files_of_tests(Path("data/_coding.py")) == {Path("data/test_coding.py")}
    assert files_of_tests(Path("show/report/page.py")) == {Path("show/report/test_page.py"), Path("show/test_page.py")}
    assert files_of_tests(Path("builtin/__init__.py")) == {Path("builtin/test_builtin.py")}
    assert files_of_tests(Path("__main__.py")) == {Path("test_main.py")}


def without_tests():
    """Return the modules that do something and have no tests of their name."""
    found = []
    for module in MODULES:
        tests = [ROOT / "tests" / file for file in files_of_tests(module)]
        has = any(file.is_file() and "def test_" in file.read_text() for file in tests)
        if not has and not only_passes_on((ROOT / "bnplug" / module).read_text()):
            found.append(str(module))
    return found


def test_every_module_has_its_tests():
    assert len(MODULES) > 100
    assert not without_tests()
