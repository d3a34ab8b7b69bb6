"""Making the checks of the conformance kit, one after the other."""

from bnplug.testing import checks_of, subject_of


def failing(method):
    """Return the names of the checks that a method fails, with what they say."""
    failed = {}
    for check in checks_of(subject_of(method)):
        try:
            check()
        except Exception as error:
            failed[check.name] = str(error)
    return failed


def name_of(saboteur):
    """Return what pytest calls a saboteur."""
    return f"{saboteur.method.kind}-{saboteur.method.name}"
