"""Sphinx directives that write what the code knows better than a page: methods, recipes, commands, data sets.

``{method-facts}``, ``{method-picture}`` and ``{method-parameters}`` belong on a method's page, whose own name says
which method it is; ``{methods}``, ``{plugin-directory}``, ``{recipes}``, ``{commands}`` and ``{datasets}``
are listings; ``{rooms}`` is the picture of the code, ``{front-explorer}`` a model to click through. The content of a
directive is for readers of the source: it says what the build writes there, or which command prints the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import described
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import bnplug
from bnplug import datasets
from bnplug.cli import cli
from bnplug.hooks import recipes, registry
from bnplug.hooks.descriptors import Method
from bnplug.hooks.discovery import PluginInfo

#: The file of the front page's explorer, beside the front page.
EXPLORER = "explorer.html"


class _Written(SphinxDirective):
    """A directive that is the Markdown it writes."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse what is written."""
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)

    def lines(self) -> Iterable[str]:
        """Return the lines of Markdown."""
        raise NotImplementedError

    @property
    def method(self) -> Method:
        """The method that the page is about."""
        found = described.pages()
        if self.env.docname not in found:
            raise self.error(f"{self.env.docname}: no registered method has this page; is its plugin installed?")
        return found[self.env.docname]


class MethodFacts(_Written):
    """What the descriptor says: summary, kind, origin, paper; and an entry in the index, where a search looks."""

    def run(self) -> list[nodes.Node]:
        """Write it."""
        target = f"method-{self.method.kind}-{self.method.name}".replace(" ", "-")
        entry = ("single", self.method.name, target, "main", None)
        return [addnodes.index(entries=[entry]), nodes.target(ids=[target]), *super().run()]

    def lines(self) -> Iterator[str]:
        """Write it."""
        method = self.method
        distribution = registry.provider(method).distribution
        yield f"{method.summary}"
        yield ""
        yield "; ".join([f"- **Kind**: {method.kind}", *_properties(method)])
        yield f"- **Comes with**: `{distribution}`"
        yield f"- **Paper**: {method.reference}"
        recipes = described.recipes_with(method)
        if recipes:
            yield f"- **Recipes**: {', '.join(f'`{name}`' for name in recipes)}"


def _properties(method: Method) -> list[str]:
    """Return in words what the descriptor declares: requirements, and what others may require."""
    decomposable = getattr(method, "needs_decomposable", False)
    words = {
        "stochastic": "depends on `random_state`",
        "needs_score": "" if decomposable else "searches by any score",
        "needs_decomposable": "searches by any decomposable score",
        "constraints": "keeps to what is required, forbidden and the tiers",
        "decomposable": "decomposable: a sum of terms, one for each family",
        "score_equivalent": "the same for Markov-equivalent graphs",
    }
    flags = method.capabilities()
    found = [text for name, text in words.items() if flags.get(name) and text]
    found += [] if flags.get("needs_target", True) else ["works without a class variable"]
    largest = getattr(method, "max_variables", None)
    return [*found, f"at most {largest} variables"] if largest else found


class MethodPicture(_Written):
    """A picture that the build draws."""

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        import pictures

        method = self.method
        name = f"{described.FOLDERS[method.kind]}-{method.name}.png"
        folder = Path(self.env.srcdir, "_generated")
        folder.mkdir(exist_ok=True)
        caption = pictures.draw(method, folder / name) if self.config.bnplug_pictures else "(not drawn in this build)"
        figure = nodes.figure()
        if self.config.bnplug_pictures:
            figure += nodes.image(uri=f"/_generated/{name}", alt=f"{method.name}: {caption}")
        words = nodes.caption()
        words += self.parse_inline(caption, lineno=self.lineno)[0]
        figure += words
        return [figure]


class MethodParameters(_Written):
    """The constructor's parameters and the learned attributes, in the words of the docstrings."""

    def lines(self) -> Iterator[str]:
        """Write it."""
        method = self.method
        cls = described.class_of(method)
        maker, found = described.MAKERS[method.kind], described.parameters(cls)
        yield f'Make one with `bnplug.{maker}("{method.name}")`, or give its name; the class is `{_path(cls)}`.'
        yield ""
        if found:
            yield "| parameter | default | |"
            yield "|---|---|---|"
        for name, default, item in found:
            yield f"| `{name}` | `{default!r}` | {_words(item)} |"
        attributes = described.attributes(cls)
        if attributes:
            yield ""
            yield "| after learning | |"
            yield "|---|---|"
        for item in attributes:
            yield f"| `{item.name}` | {_words(item)} |"


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _words(item: described.Item | None) -> str:
    if item is None:
        return ""
    text = described.to_markdown(item.text)
    return f"*{described.to_markdown(item.type)}*. {text}" if item.type else text


class Methods(_Written):
    """Every method of a kind, with a link to its page."""

    required_arguments = 1
    final_argument_whitespace = True

    def lines(self) -> Iterator[str]:
        """Write it."""
        yield "| name | | properties | comes with |"
        yield "|---|---|---|---|"
        for method in registry.methods(self.arguments[0]):
            page = f"/{described.page_of(method)}.md"  # type: ignore[arg-type]
            words, distribution = described.to_markdown(method.summary), registry.provider(method).distribution
            properties = "; ".join(_properties(method))  # type: ignore[arg-type]
            yield f"| [`{method.name}`]({page}) | {words} | {properties} | `{distribution}` |"


class PluginDirectory(_Written):
    """Every plugin that is installed and loads, with its methods."""

    def lines(self) -> Iterator[str]:
        """Write it."""
        for plugin in bnplug.plugins():
            if plugin.status in ("ok", "partial"):
                yield from self._plugin(plugin)

    def _plugin(self, plugin: PluginInfo) -> Iterator[str]:
        yield f"## `{plugin.distribution}`"
        yield ""
        yield f"{described.to_markdown(described.about(plugin))} (version {plugin.version})"
        yield ""
        yield "| method | kind | | after |"
        yield "|---|---|---|---|"
        for method in described.brought(plugin):
            words = described.to_markdown(method.summary), described.to_markdown(method.reference)
            yield f"| {self._link(method)} | {method.kind} | {words[0]} | {words[1]} |"
        yield ""
        for kind in ("recipe", "reproduction"):
            if names := plugin.names.get(kind):
                yield f"{kind.capitalize()}s: {', '.join(f'`{name}`' for name in names)}."
                yield ""

    def _link(self, method: Method) -> str:
        has_page = method.kind in described.FOLDERS and described.page_of(method) in self.env.found_docs
        return f"[`{method.name}`](/{described.page_of(method)}.md)" if has_page else f"`{method.name}`"


class Recipes(_Written):
    """Every recipe, with its parts."""

    def lines(self) -> Iterator[str]:
        """Write it."""
        yield "| recipe | structure | parameters | comes with |"
        yield "|---|---|---|---|"
        for found in recipes.availabilities():
            recipe = found.recipe
            parts = f"`{_component(recipe.structure)}` | `{_component(recipe.parameters)}`"
            yield f"| `{recipe.name}` | {parts} | `{registry.provider(recipe).distribution}` |"


def _component(spec: Any) -> str:
    if isinstance(spec, str):
        return spec
    name, params = spec
    shown = (f"{key}={_component(value) if key == 'score' else repr(value)}" for key, value in params.items())
    return f"{name}({', '.join(shown)})"


class Commands(_Written):
    """Every command, with its arguments and options."""

    def lines(self) -> Iterator[str]:
        """Write it."""
        for name, command in sorted(cli.commands.items()):
            context = click.Context(command, info_name=f"bnplug {name}")
            yield f"## `bnplug {name}`"
            yield ""
            yield inspect.cleandoc(command.help or "")
            yield ""
            yield "```text"
            yield command.get_usage(context).removeprefix("Usage: ")
            yield "```"
            yield ""
            options = [p for p in command.params if isinstance(p, click.Option)]
            if options:
                yield "| option | |"
                yield "|---|---|"
            for option in options:
                names, words = option.get_help_record(context) or ("", "")
                yield f"| `{described.to_markdown(names)}` | {described.to_markdown(' '.join(words.split()))} |"
            yield ""


class Rooms(SphinxDirective):
    """The picture of the rooms, from the imports in the code."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        import rooms

        folder = Path(self.env.srcdir, "_generated")
        folder.mkdir(exist_ok=True)
        caption = rooms.draw(folder / "rooms.png")
        figure = nodes.figure()
        figure += nodes.image(uri="/_generated/rooms.png", alt="The packages of the core and their imports.")
        words = nodes.caption()
        words += self.parse_inline(caption, lineno=self.lineno)[0]
        figure += words
        return [figure]


class FrontExplorer(SphinxDirective):
    """The explorer of the front page's network, in a frame."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Put the frame where the page says; the file itself is written with the pages."""
        frame = (
            f'<iframe class="explorer" id="the-explorer" src="{EXPLORER}" loading="lazy" '
            'title="A network to click through"></iframe>'
            f'<p><a class="reference external" href="{EXPLORER}">Open it on a page of its own</a></p>'
        )
        return [nodes.raw("", frame, format="html")]


def _write_explorer(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        X, y = datasets.breast_cancer()
        X = X[[name for name in X.columns if name.startswith("mean ")]].rename(
            columns=lambda name: name[len("mean ") :]
        )
        bnplug.BayesianNetworkClassifier().fit(X, y).explore(Path(app.outdir, EXPLORER), X, y, rows=40)


class Datasets(_Written):
    """Every data set that can be loaded by name without a file."""

    def lines(self) -> Iterator[str]:
        """Write it."""
        yield "| name | origin | |"
        yield "|---|---|---|"
        for entry in datasets.entries():
            yield f"| `{entry.name}` | {entry.origin} | {entry.summary} |"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_config_value("bnplug_pictures", True, "env", types=frozenset({bool}))
    app.add_directive("method-facts", MethodFacts)
    app.add_directive("method-picture", MethodPicture)
    app.add_directive("method-parameters", MethodParameters)
    app.add_directive("methods", Methods)
    app.add_directive("plugin-directory", PluginDirectory)
    app.add_directive("front-explorer", FrontExplorer)
    app.add_directive("recipes", Recipes)
    app.add_directive("commands", Commands)
    app.add_directive("datasets", Datasets)
    app.add_directive("rooms", Rooms)
    app.connect("build-finished", _write_explorer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
