"""What the documentation says is so: what it names exists, what is public is in it, and what it shows runs."""

import ast
import contextlib
import inspect
import io
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import click
import networkx as nx
import pytest
from click.testing import CliRunner

import bnplug
from bnplug.cli import cli
from bnplug.datasets import iris, tic_tac_toe
from bnplug.experiments import compare
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Method
from bnplug.hooks.discovery import HOOKS
from bnplug.testing import check_plugin

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
import described  # noqa: E402
import rooms  # noqa: E402

BUILT = ("_build", "auto_examples", "_generated")
FILES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("plugins/bnplug-*/README.md"))]
FILES += sorted(path for path in DOCS.rglob("*.md") if not set(path.relative_to(DOCS).parts) & set(BUILT))
PAGES = {str(path.relative_to(ROOT)): path.read_text() for path in FILES}
README = PAGES["README.md"]
METHODS = described.pages()

#: Commands that take long, and are only parsed here.
SLOW = {"demo", "doctor", "reproduce", "warm"}

#: What each example is given so that it is quick; the gallery runs them all as they are.
QUICK = {
    "all_methods": ["--datasets", "corral", "--cv", "2"],
    "missing_features": ["", "", "1"],
    "what_to_ask": ["", "", "2"],
    "p08_synthetic": ["--draws", "1"],
    "z17_ill_conditioned": ["--draws", "1"],
}
#: Examples that are not run here, with the reason.
ONLY_ELSEWHERE = {
    "aode_plugin": "tests/test_third_parties.py runs it, and tests the methods that it installs",
    "third_party_plugin": "it installs a distribution and checks it in processes of its own; the gallery runs it",
}


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def lines_of_console(text):
    return [line for block in blocks(text, "console") for line in block.splitlines() if line.strip()]


def inline(text):
    """Return every piece of inline code outside code blocks, line ends as spaces."""
    without = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", without)]


def names_of(kind):
    return {method.name for method in registry.methods(kind)}


def with_python(pages):
    return [name for name, text in pages.items() if blocks(text, "python")]


# What is shown runs.


def run(snippet, page, namespace):
    """Run a snippet; each `print` says something, and none says that what is shown to be equal is not."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        exec(compile(snippet, page, "exec"), namespace)
    prints = [node for node in ast.parse(snippet).body if ast.unparse(node).startswith("print(")]
    said = written.getvalue().splitlines()
    assert len([line for line in said if line.strip()]) >= len(prints), snippet
    assert "False" not in said, snippet


@pytest.mark.parametrize("snippet", blocks(README, "python"), ids=lambda text: text.strip().splitlines()[0])
def test_each_snippet_of_the_readme_runs_alone(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(snippet, "README.md", {"__name__": "snippet"})


@pytest.mark.parametrize("page", [name for name in with_python(PAGES) if name != "README.md"])
def test_the_snippets_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "snippet"}
    warnings.simplefilter("error", UserWarning)
    for snippet in blocks(PAGES[page], "python"):
        run(snippet, page, namespace)


@pytest.mark.parametrize("snippet", ["print((1 == 2))", "print()", "1 / 0", "import warnings\nwarnings.warn('old')"])
def test_a_snippet_that_shows_nothing_or_something_else_is_found(snippet):
    warnings.simplefilter("error", UserWarning)
    with pytest.raises((AssertionError, ZeroDivisionError, UserWarning)):
        run(snippet, "a page", {})


def test_the_plugin_of_the_readme_is_a_method_as_it_says():
    (snippet,) = [text for text in blocks(README, "python") if "@hookimpl" in text]
    namespace = {"__name__": "snippet"}
    run(snippet, "README.md", namespace)
    (method,) = namespace["bnplug_structure_learners"]()
    model = bnplug.BayesianNetworkClassifier(structure=method.factory()).fit(*iris())
    features = iris()[0].columns
    assert {(a, b) for a, b in model.tables_.edges if a != "species"} == set(pairwise(features))


@pytest.mark.parametrize("page", [name for name, text in PAGES.items() if "\nbnplug " in text])
def test_the_commands_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours = [shlex.split(line)[1:] for line in lines_of_console(PAGES[page]) if line.startswith("bnplug ")]
    assert ours
    for name, *arguments in ours:
        if name in SLOW:
            cli.commands[name].make_context(name, arguments)
            continue
        done = CliRunner().invoke(cli, [name, *arguments])
        assert done.exit_code == 0, done.output


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("page", [name for name, text in PAGES.items() if blocks(text, "sh")])
def test_what_goes_through_pipes_runs_after_the_commands_of_its_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in lines_of_console(PAGES[page]):
        if line.startswith(("bnplug datasets iris ", "bnplug fit ")):
            CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
    command = f'set -euo pipefail\nbnplug() {{ "{sys.executable}" -m bnplug "$@"; }}\n'
    for block in blocks(PAGES[page], "sh"):
        done = subprocess.run(["bash", "-c", command + block], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for file in re.findall(r"(?:> |-o )([\w.-]{2,})$", block, re.MULTILINE):
            assert (tmp_path / file).exists(), file


def test_every_block_is_of_a_language_that_a_test_runs_or_reads():
    languages = {language for text in PAGES.values() for language in re.findall(r"^```([a-z]\w*)$", text, re.MULTILINE)}
    assert languages == {"console", "python", "sh", "text", "toml"}
    for page, text in PAGES.items():
        for block in blocks(text, "toml"):
            assert tomllib.loads(block), page


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path, monkeypatch, tmp_path, capsys):
    assert re.match(r'"""\n(.+)\n=+\n\n', path.read_text()), f"{path.name}: the gallery needs a title"
    if path.stem in ONLY_ELSEWHERE:
        compile(path.read_text(), path.name, "exec")
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", [path.name, *QUICK.get(path.stem, [])])
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out


def test_there_are_examples_of_each_kind():
    found = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert {
        "first_classifier", "reading_a_network", "missing_features", "compose_by_hand", "all_methods", "custom_loss",
        "third_party_plugin", "export_networks",
    } <= found  # fmt: skip


# What is named exists.


def test_commands_and_options_that_are_named_exist():
    named = [code for text in PAGES.values() for code in [*inline(text), *lines_of_console(text)]]
    named = [re.sub(r"^bnplug( --plugin \S+)+", "bnplug", code) for code in named]
    commands = [code.split() for code in named if re.match(r"bnplug [a-z]", code)]
    assert len(commands) > 20
    for _, name, *words in commands:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        options = {option for parameter in command.params for option in parameter.opts}
        for word in words:
            # A dash alone is standard input or output.
            if word.startswith("-") and word != "-":
                assert word.partition("=")[0] in options, (name, word)


def test_every_console_line_is_of_a_kind_that_a_test_checks():
    for page, text in PAGES.items():
        for line in lines_of_console(text):
            assert line.split()[0] in ("bnplug", "make", "pip", "python", "python3", "source", "uv"), (page, line)


def test_make_verbs_that_are_named_exist():
    makefile, every = (ROOT / "Makefile").read_text(), "\n".join(PAGES.values())
    named = {*re.findall(r"^make ([\w-]+)", every, re.MULTILINE), *re.findall(r"`make ([\w-]+)", every)}
    assert {"demo", "test", "test-long", "docs"} <= named
    for verb in named:
        assert re.search(rf"^{verb}:", makefile, flags=re.MULTILINE), verb


def test_files_of_the_checkout_that_are_named_exist():
    file = r"\b(?:benchmarks|bnplug|docs|examples|tests)/[\w/]+\.(?:md|py)"
    named = {path for text in PAGES.values() for path in re.findall(file, text)}
    assert len(named) > 10
    for path in named:
        # A plugin called `mine` is the example of its page.
        assert (ROOT / path).is_file() or "mine" in path, path


def test_methods_in_arguments_exist():
    kinds = {"structure": "structure learner", "score": "score function", "parameters": "parameter learner"}
    makers = {"structure_learner", "score_function", "parameter_learner", "recipe"}
    seen = 0
    for page, text in PAGES.items():
        own = {*re.findall(r'name="([^"]+)"', text), *re.findall(r'aliases=\("([^"]+)"', text)}
        for argument, name in re.findall(r'\b(structure|score|parameters)="([^"]+)"', text):
            assert name in own or registry.find(kinds[argument], name), (page, argument, name)
            seen += 1
        for maker, name in re.findall(r'\b(\w+)\("([^"]+)"', text):
            if maker in makers:
                assert name in own or registry.find(maker.replace("_", " "), name), (page, maker, name)
                seen += 1
    assert seen > 40


def test_parameters_of_methods_that_are_named_exist():
    every = {name for method in METHODS.values() for name, _ in registry.signature(method)}
    every |= set(inspect.signature(bnplug.BayesianNetworkClassifier).parameters)
    every |= set(inspect.signature(compare).parameters) | set(inspect.signature(bnplug.recommend).parameters)
    model = bnplug.BayesianNetworkClassifier
    log_joint = bnplug.CompiledNetwork.log_joint
    for function in (
        model.explore,
        model.impute,
        model.predict_files,
        bnplug.Table,
        bnplug.Table.with_relative_weights,
        log_joint,
    ):
        every |= set(inspect.signature(function).parameters)
    every |= {field.name for kind in (*Method.__subclasses__(), bnplug.NetworkFormat) for field in fields(kind)}
    every |= {
        "target",
        "aggregate",
        "needs_finite",
        "member__calibrate",
        "member__parameters",
        "resamples",
        "BNPLUG_STRICT",
        "BNPLUG_DISABLE",
        "BNPLUG_PLUGINS",
        "NUMBA_DISABLE_JIT",
    }
    for page, text in PAGES.items():
        if not page.startswith("docs/measured"):
            for code in inline(text):
                for name in re.findall(r"^(\w+)=", code):
                    assert name in every, (page, code)


@pytest.mark.parametrize("page", METHODS)
def test_names_on_a_methods_page_are_those_of_the_method(page):
    cls = described.class_of(METHODS[page])
    learned = {item.name for item in described.attributes(cls)}
    for code in inline(PAGES[f"docs/{page}.md"]):
        if re.fullmatch(r"\w+_", code):
            assert code in learned, code


def test_hooks_that_are_named_exist_and_all_are_documented():
    guide, api = PAGES["docs/plugins.md"], PAGES["docs/api.md"]
    for text in PAGES.values():
        assert set(re.findall(r"@hookimpl\ndef (\w+)", text)) <= set(HOOKS)
    rows = re.findall(r"^\| .* \| `(\w+)` \| `(\w+)` \| \[.*\]\((plugins/\w+\.md)\) \|$", guide, re.MULTILINE)
    assert sorted(hook for hook, _, _ in rows) == sorted(HOOKS)
    for hook, descriptor, page in rows:
        assert f"def {hook}(" in PAGES[f"docs/{page}"]
        assert f"yield {descriptor}(" in PAGES[f"docs/{page}"]
        assert hook in api


def test_the_table_of_checks_is_that_of_the_kit():
    table = re.findall(r"^\|.*\|$", PAGES["docs/plugins/conformance.md"], re.MULTILINE)
    assert table == described.checks(), "replace it by what `python docs/_ext/described.py` prints"


def test_generated_parts_say_without_a_build_where_to_find_their_content():
    for page, text in PAGES.items():
        for directive, content in re.findall(r"^```\{([\w-]+)\}[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            assert content or directive in ("include", "literalinclude"), (page, directive)


def test_the_plugin_of_the_guide_goes_from_an_empty_folder_to_a_listed_method(tmp_path):
    guide, source, site = PAGES["docs/plugins.md"], tmp_path / "source", tmp_path / "site"
    source.mkdir()
    (source / "pyproject.toml").write_text(blocks(guide, "toml")[0])
    (source / "bnplug_info_chain.py").write_text(blocks(guide, "python")[0])
    install = ["pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(site), "."]
    subprocess.run([sys.executable, "-m", *install], cwd=source, check=True)
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "bnplug", "methods", "info-chain"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout in blocks(guide, "text")
    namespace = {"__name__": "snippet"}
    run(blocks(guide, "python")[0], "docs/plugins.md", namespace)
    (method,) = namespace["bnplug_structure_learners"]()
    failed = check_plugin(replace(method, factory=namespace["InfoChain"])).failures
    assert [outcome.check for outcome in failed] == ["check_pickles"]  # a class of a snippet cannot be pickled


def test_python_names_in_roles_exist():
    named = {name for text in PAGES.values() for name in re.findall(r"\{py:\w+\}`~?(bnplug[\w.]+)`", text)}
    assert named
    for name in named:
        pkgutil.resolve_name(name)


def rows_of_rooms():
    rows = re.findall(r"^\| (`.*?`) \|", PAGES["docs/architecture.md"], re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_the_architecture_page_has_the_rooms_of_the_core_in_their_order():
    assert rows_of_rooms() == rooms.order()
    assert set(rows_of_rooms()) == {info.name for info in pkgutil.iter_modules(bnplug.__path__)}


def test_the_picture_of_the_rooms_is_that_of_the_imports(tmp_path):
    rank = {room: position for position, room in enumerate(rooms.order())}
    against = {(room, other) for room, other in rooms.imports() if rank[other] > rank[room]}
    assert against == {("structure", "model")}
    drawn = nx.DiGraph(rooms.needed())
    assert nx.is_directed_acyclic_graph(drawn)
    for room, other in rooms.imports():
        if (room, other) not in against and not {room, other} & set(rooms.GROUND):
            assert nx.has_path(drawn, other, room)
    rooms.draw(tmp_path / "rooms.png")
    assert (tmp_path / "rooms.png").stat().st_size > 10_000


def test_every_word_of_the_glossary_is_explained_once_and_in_order():
    (listed,) = re.findall(r"^```\{glossary\}\n(.*?)^```", PAGES["docs/glossary.md"], re.MULTILINE | re.DOTALL)
    words = re.findall(r"^(\S.*)$", listed, re.MULTILINE)
    assert words == sorted(set(words), key=str.lower)
    assert {"C1", "block", "candidate", "class child", "covering parent", "family", "fold", "gain", "gap", "log joint",
            "loss", "term"} <= set(words)  # fmt: skip
    for word in re.findall(r"\{term\}`([^`]+)`", "".join(PAGES.values())):
        assert word in words, word


def test_what_cannot_leave_is_what_the_page_says(tmp_path):
    (said,) = re.findall(r"need not be one: (.*?) raise `NotRepresentableError`[^,]*, while (.*?) work\.",
                         PAGES["docs/exporting.md"], re.DOTALL)  # fmt: skip
    raising, working = (re.findall(r"`(\w+)`", part) for part in said)
    X, y = tic_tac_toe()
    kdb, free = bnplug.structure_learner("kdb", k=2), bnplug.parameter_learner("ccbn-d", max_iter=2)
    model = bnplug.BayesianNetworkClassifier(kdb, free).fit(X, y)
    arguments = {
        "to_bif": [tmp_path / "a.bif"], "to_xmlbif": [tmp_path / "a.xml"], "write": [tmp_path / "a.xml"],
        "to_dot": [], "to_mermaid": [], "sample": [1], "predict": [X.head(1)],
        "explain": [X.head(1)], "query": ["class", {"top-left": "x"}], "report": [tmp_path / "a.html", X, y],
        "save": [tmp_path / "model"],
    }  # fmt: skip
    assert {*raising, *working} == {"network_", *arguments}
    for name in raising:
        with pytest.raises(bnplug.NotRepresentableError):
            getattr(model, name)(*arguments[name])
    for name in working:
        getattr(model, name)(*arguments[name])


# What is public is documented.


def test_every_method_has_a_page_and_every_page_a_method():
    found = {str(path.relative_to(DOCS).with_suffix("")) for path in (DOCS / "methods").glob("*/*.md")}
    assert found == set(METHODS)


@pytest.mark.parametrize("page", METHODS)
def test_a_methods_page_has_all_its_parts(page):
    text = PAGES[f"docs/{page}.md"]
    assert text.startswith(f"# `{METHODS[page].name}`: ")
    parts = [text.find(f"```{{method-{part}}}") for part in ("facts", "picture", "parameters")]
    parts[1:1] = [text.find("## What it does")]
    parts[3:3] = [text.find("## When to use it")]
    assert -1 not in parts
    assert parts == sorted(parts)


@pytest.mark.parametrize("page", METHODS)
def test_every_parameter_of_a_method_is_described(page):
    for name, _, item in described.parameters(described.class_of(METHODS[page])):
        assert item is not None, f"{page}: the docstring says nothing about {name!r}"


def test_every_parameter_of_the_classifier_is_described():
    for name, _, item in described.parameters(bnplug.BayesianNetworkClassifier):
        assert item is not None, name


def test_every_command_is_told_about():
    session = PAGES["docs/command-line.md"]
    assert "```{commands}" in session
    for name, command in cli.commands.items():
        assert command.help, name
        for parameter in command.params:
            described_here = getattr(parameter, "help", None) or parameter.param_type_name == "argument"
            shown = getattr(parameter, "show_default", None)
            assert described_here or shown, (name, parameter.name)


def test_the_readme_lists_every_distribution_with_what_it_brings():
    rows = dict(re.findall(r"^\| `(bnplug[\w-]*)` \| (.*) \|$", README, re.MULTILINE))
    for plugin in bnplug.plugins():
        if plugin.distribution.startswith("bnplug"):
            brought = {name for kind in registry.CONTRACTS for name in plugin.names.get(kind, ())}
            assert brought == set(re.findall(r"`([\w-]+)`", rows[plugin.distribution])), plugin.distribution


def test_the_directory_of_plugins_has_every_method_once_with_what_it_is_and_whence():
    assert "```{plugin-directory}" in PAGES["docs/directory.md"]
    listed = [method for plugin in bnplug.plugins() for method in described.brought(plugin)]
    every = [(kind, method.name) for kind in registry.CONTRACTS for method in registry.methods(kind)]
    assert sorted((method.kind, method.name) for method in listed) == sorted(every)
    assert all(method.summary and method.reference for method in listed)
    assert all(described.about(plugin) for plugin in bnplug.plugins())


def test_the_front_page_shows_before_it_tells():
    page = PAGES["docs/index.md"]
    parts = ["front-network.png", "front-missing.png", "```{front-explorer}", "```python", "## Where to go"]
    assert [page.find(part) for part in parts] == sorted(page.find(part) for part in parts)
    assert page.find(parts[0]) > 0
    for name in re.findall(r"measured/([\w-]+\.png)", page + README):
        assert (DOCS / "measured" / name).stat().st_size > 5_000


# Installing.


def test_the_install_command_of_a_checkout_takes_the_plugins_from_it():
    commands = [command for command in re.findall(r"pip install [^`\n]+", README) if "[all]" in command]
    checkout, wheels, released = commands
    assert checkout == 'pip install ".[all]" ./plugins/bnplug-*/'
    assert wheels == 'pip install --find-links dist "bnplug[all]"'
    assert released == 'pip install "bnplug[all]"'


def test_extras_named_in_install_commands_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    commands = [line for text in PAGES.values() for line in re.findall(r"pip install [^`\n]+", text)]
    named = {
        extra for line in commands for group in re.findall(r"bnplug\[([a-z,]+)\]", line) for extra in group.split(",")
    }
    assert named
    assert named <= set(extras)
