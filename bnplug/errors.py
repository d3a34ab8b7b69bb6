"""What bnplug raises and warns with, apart from Python's own exceptions."""

from __future__ import annotations


class BnplugWarning(UserWarning):
    """Base of every warning that bnplug gives."""


class PluginWarning(BnplugWarning):
    """A plugin, or one of its methods, was left out."""


class UnseenValueWarning(BnplugWarning):
    """A value that training never saw is treated as missing."""


class MissingColumnWarning(BnplugWarning):
    """A column the model knows is absent from the data, and is marginalised."""


class UnknownMethodError(LookupError):
    """No method of that kind is registered under that name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ContractError(TypeError):
    """A plugin returned something that its contract does not allow."""


class PluginError(RuntimeError):
    """A plugin failed, and ``BNPLUG_STRICT`` asks for that to be an error."""


class NotRepresentableError(ValueError):
    """A classifier has no Bayesian network with its structure and the same posterior."""


class ModelFileError(ValueError):
    """A model file or folder is damaged, cut off, or not one of ours."""
