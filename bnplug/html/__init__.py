"""The HTML kit: templates, one theme and a few functions that make every page and notebook display.

A page is a Jinja2 template that extends ``page.html``; a plugin can bring its own and render it with :func:`render`.
Pages load nothing, and whatever a name or label contains is shown as text.
"""

from bnplug.html._kit import Cell, contents, number, render

__all__ = ["Cell", "contents", "number", "render"]
