"""The formats of this plugin, named by the entry point ``bnplug``."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import NetworkFormat, hookimpl


@hookimpl
def bnplug_formats() -> Iterable[NetworkFormat]:
    """Return XDSL and NET."""
    yield NetworkFormat(
        name="xdsl",
        endings=(".xdsl",),
        write="bnplug_deploy.xdsl:format_xdsl",
        read="bnplug_deploy.xdsl:parse_xdsl",
        summary="XDSL: GeNIe, SMILE, pgmpy.",
        signature=r"<smile\b",
    )
    yield NetworkFormat(
        name="net",
        endings=(".net",),
        write="bnplug_deploy.net:format_net",
        read="bnplug_deploy.net:parse_net",
        summary="NET: Hugin, pgmpy, pyAgrum.",
        signature=r"^\s*(net|class\s+\w+)\s*\{",
    )
