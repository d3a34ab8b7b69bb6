"""Running the checks: under pytest, one test for each, or all of a plugin at once with a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bnplug.errors import UnknownMethodError, did_you_mean, one_line
from bnplug.hooks import registry
from bnplug.hooks.containing import contain
from bnplug.hooks.descriptors import Method
from bnplug.hooks.names import normalize
from bnplug.testing import _classifier_checks, _common_checks, _engine_checks, _network_checks, _search_checks
from bnplug.testing._common_checks import Check
from bnplug.testing._subjects import MethodSubject, PluginSubject, Subject, subject_of

#: All checks, by the kind of what they are made of, in the order in which they are made.
CHECKS: dict[str, tuple[Check, ...]] = {
    "plugin": _common_checks.PLUGIN_CHECKS,
    "structure learner": _search_checks.STRUCTURE_CHECKS,
    "score function": _search_checks.SCORE_CHECKS,
    "parameter learner": _network_checks.PARAMETER_CHECKS,
    "engine": _engine_checks.CHECKS,
    "classifier": _classifier_checks.CHECKS,
    "discretizer": _classifier_checks.DISCRETIZER_CHECKS,
}

#: Why a check is expected to fail, by its name, or by what pytest calls it: "score-mm-check_pickles".
ExpectedFailures = Mapping[str, str]


@dataclass(frozen=True)
class BoundCheck:
    """A check with its subject; calling it raises an error if the check fails.

    ``reason`` says why the check is expected to fail, and is empty if it is not.
    """

    subject: Subject
    check: Check
    reason: str = ""

    @property
    def name(self) -> str:
        """The name of the check."""
        return self.check.__name__

    def __call__(self) -> None:
        """Make the check; warnings of the method, to be expected on such small data, are ignored."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check(self.subject)

    def __str__(self) -> str:
        return f"{self.subject.kind.split()[0]}-{self.subject.name}-{self.name}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of the check named `check` of a method or plugin, given by its `kind` and `name`.

    ``status`` is ``"passed"``, ``"failed"``, ``"expected failure"`` or ``"unexpected success"``; ``detail`` says what
    is wrong, or why the failure is expected.
    """

    kind: str
    name: str
    check: str
    status: str
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether this is as it should be."""
        return self.status in ("passed", "expected failure")

    def __str__(self) -> str:
        return f"{self.status}: {self.kind} {self.name!r}: {self.check}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True)
class Report:
    """The outcomes of all checks of a plugin, given with its version; printed, it lists what needs attention."""

    plugin: str
    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        """Whether every check passed, or failed as expected."""
        return all(outcome.ok for outcome in self.outcomes)

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes that are not as they should be."""
        return [outcome for outcome in self.outcomes if not outcome.ok]

    def __str__(self) -> str:
        passed = sum(outcome.status == "passed" for outcome in self.outcomes)
        heading = f"{self.plugin}: {passed} of {len(self.outcomes)} checks passed"
        return "\n".join([heading, *(f"  {o}" for o in self.outcomes if o.status != "passed")])


def check_plugin(name: str | Method, expected_failures: ExpectedFailures | None = None) -> Report:
    """Run all checks of an installed plugin and its methods, or of one method, and return the report.

    Parameters
    ----------
    name : str or descriptor
        The name of the plugin's entry point, or of its distribution; or the descriptor of a method, registered or not.
    expected_failures : mapping, optional
        As for :func:`parametrize_with_checks`.

    Raises
    ------
    UnknownMethodError
        If no such plugin is installed.

    Examples
    --------
    >>> from bnplug.testing import check_plugin
    >>> print(check_plugin("builtin"))
    bnplug ... (builtin): ... checks passed
    """
    subjects = _subjects(name)
    title = next((str(subject.info) for subject in subjects if isinstance(subject, PluginSubject)), subjects[0].name)
    return Report(title, tuple(map(_outcome, _bound_checks(subjects, expected_failures or {}))))


def parametrize_with_checks(
    methods: str | Method | Iterable[str | Method], expected_failures: ExpectedFailures | None = None
) -> Callable[[Any], Any]:
    """Turn a test function with one argument, ``check``, into one test for each check (needs pytest).

    Parameters
    ----------
    methods : str, descriptor, or several of them
        An installed plugin, by the name of its entry point or distribution: it and every method that it brings
        are checked. Or the descriptor of a learner or score, registered or not.
    expected_failures : mapping, optional
        Why a check fails, by its name, which means that of all methods, or as pytest calls it, with the method
        in front. Such a check *must* fail: one that passes is an error, so that no reason outlives its cause.

    Examples
    --------
    The whole conformance test of a plugin, with an expected failure and the reason for it:

    >>> from bnplug.testing import parametrize_with_checks
    >>> @parametrize_with_checks(
    ...     "builtin", expected_failures={"score-cr-check_pickles": "it holds an open file"})
    ... def test_conformance(check):
    ...     check()
    """
    try:
        import pytest
    except ImportError as error:
        message = 'parametrize_with_checks needs pytest: pip install "bnplug[testing]"; check_plugin works without it'
        raise ImportError(message) from error
    asked = [methods] if isinstance(methods, str | Method) else methods
    subjects = [subject for one in asked for subject in _subjects(one)]
    params = []
    for bound in _bound_checks(subjects, expected_failures or {}):
        marks = [pytest.mark.xfail(reason=bound.reason, strict=True)] if bound.reason else []
        params.append(pytest.param(bound, id=str(bound), marks=marks))
    return pytest.mark.parametrize("check", params)


def checks_of(subject: Subject | Method, essential: bool = False) -> list[BoundCheck]:
    """Return the checks that are made of a subject, in order.

    Parameters
    ----------
    subject : descriptor, or what :func:`subject_of` returns
    essential : bool
        Only those without which nothing works; they are quick.

    Examples
    --------
    >>> from bnplug.hooks import registry
    >>> from bnplug.testing import checks_of
    >>> for check in checks_of(registry.find("structure learner", "nb")):
    ...     check()  # raises an error if it fails
    """
    if not isinstance(subject, MethodSubject | PluginSubject):
        subject = subject_of(subject)
    return [
        BoundCheck(subject, check)
        for check in CHECKS[subject.kind]
        if not isinstance(subject, MethodSubject) or getattr(check, "applies", lambda _: True)(subject.method)
        if getattr(check, "essential", False) or not essential
    ]


def _subjects(asked: str | Method) -> list[Subject]:
    """Return a method; or a plugin, followed by its methods."""
    if not isinstance(asked, str):
        return [subject_of(asked)]
    wanted = normalize(asked)
    plugins = [info for info in registry.plugins() if wanted in (normalize(info.name), normalize(info.distribution))]
    if not plugins:
        known = [info.name for info in registry.plugins()]
        raise UnknownMethodError(
            f"no plugin {asked!r} is installed.{did_you_mean(asked, known)} Installed: {', '.join(known)}. "
            "Install one from its folder with `pip install --editable .`"
        )
    subjects: list[Subject] = []
    for plugin in map(PluginSubject, plugins):
        subjects += [plugin, *plugin.methods]
    return subjects


def _bound_checks(subjects: list[Subject], expected: ExpectedFailures) -> Iterator[BoundCheck]:
    """Yield every check of every subject, with the reason why it is expected to fail."""
    bound = [check for subject in subjects for check in checks_of(subject)]
    known = {key for check in bound for key in (check.name, str(check))}
    for key, reason in expected.items():
        if key not in known:
            names = sorted({check.name for check in bound})
            hint = did_you_mean(key, known)
            raise ValueError(f"expected_failures: no check {key!r} is made here.{hint} Checks: {', '.join(names)}")
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"expected_failures: {key!r} needs a reason in words, not {reason!r}")
    for check in bound:
        yield replace(check, reason=expected.get(str(check), expected.get(check.name, "")))


def _outcome(bound: BoundCheck) -> Outcome:
    """Make a check and return its outcome; a method may raise anything."""
    done = Outcome(bound.subject.kind, bound.subject.name, bound.name, "passed")
    try:
        contain(bound.name, bound)
    except Exception as error:
        cause = error.__cause__
        detail = str(cause) if isinstance(cause, AssertionError) else f"{type(cause).__name__}: {cause}"
        if bound.reason:
            return replace(done, status="expected failure", detail=bound.reason)
        return replace(done, status="failed", detail=one_line(detail))
    if bound.reason:
        return replace(done, status="unexpected success", detail=f"it was expected to fail: {bound.reason}")
    return done
