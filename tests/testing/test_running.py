"""How checks are run: the report, expected failures, and what is said of mistakes."""

import sys

import pytest
from saboteurs import parameters, structures

from bnplug import ParameterLearnerMethod, StructureLearnerMethod, UnknownMethodError
from bnplug.testing import CHECKS, Report, _running, check_plugin, checks_of, parametrize_with_checks, subject_of

CHAIN = StructureLearnerMethod("chain", structures.Chain, "Healthy.", "Nobody (2026)")
LAMBDA = StructureLearnerMethod("lambda", structures.KeepsALambda, "Keeps a lambda.", "Nobody (2026)")
UNNORMALIZED = ParameterLearnerMethod("raw", parameters.LeavesColumnsAsTheyAre, "Raw.", "Nobody (2026)")


def params(decorator):
    """What a test is parametrised with: checks by id, with the marks they have."""
    name, sets = decorator.args
    assert name == "check"
    return {one.id: (one.values[0], list(one.marks)) for one in sets}


def report_of(method, expected=()):
    checks = _running._bound_checks([subject_of(method)], dict(expected))
    return Report("mine", tuple(map(_running._outcome, checks)))


def test_each_check_has_one_line_that_says_what_holds():
    for checks in CHECKS.values():
        assert len({check.__name__ for check in checks}) == len(checks)
        for check in checks:
            assert check.__name__.startswith("check_")
            assert check.__doc__.endswith(".")
            assert "\n" not in check.__doc__


def test_a_test_for_each_check_that_applies():
    found = params(parametrize_with_checks([CHAIN, UNNORMALIZED]))
    assert "structure-chain-check_returns_a_structure" in found
    assert "structure-chain-check_row_order_irrelevant" in found
    assert "structure-chain-check_any_score_goes" not in found  # it needs none
    assert "parameter-raw-check_columns_sum_to_one" in found
    assert not any(marks for _, marks in found.values())
    found["structure-chain-check_returns_a_structure"][0]()
    with pytest.raises(AssertionError, match=r"columns that do not sum to one; return tables\.normalize"):
        found["parameter-raw-check_columns_sum_to_one"][0]()


def test_a_stochastic_method_may_depend_on_the_order_of_rows():
    drawn = StructureLearnerMethod("drawn", structures.Chain, "Draws.", "Nobody (2026)", stochastic=True)
    found = params(parametrize_with_checks(drawn))
    assert not {name for name in found if "row_order" in name or "repeats_a_row" in name}


def test_a_descriptor_is_checked_as_a_plugin_is():
    report = check_plugin(UNNORMALIZED)
    assert [outcome.name for outcome in report.failures] == ["raw"] * len(report.failures) != []
    assert str(report).startswith("raw: ")
    assert list(map(str, checks_of(CHAIN))) == list(map(str, checks_of(subject_of(CHAIN)))) != []
    for check in (check_plugin, checks_of):
        with pytest.raises(TypeError, match="expected the name of a plugin or the descriptor of a method"):
            check(structures.Chain)


def test_a_plugin_by_entry_point_or_distribution_brings_itself_and_its_methods():
    found = params(parametrize_with_checks("builtin"))
    assert found.keys() == params(parametrize_with_checks(["BNplug"])).keys()
    assert {"plugin-builtin-check_described", "score-cll-check_finite_scores"} <= found.keys()


@pytest.mark.parametrize("key", ["check_pickles", "structure-lambda-check_pickles"])
def test_an_expected_failure_is_strict_and_has_its_reason(key):
    found = params(parametrize_with_checks([LAMBDA], expected_failures={key: "it keeps a lambda"}))
    (mark,) = found["structure-lambda-check_pickles"][1]
    assert mark.kwargs == {"reason": "it keeps a lambda", "strict": True}
    assert sum(bool(marks) for _, marks in found.values()) == 1


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"check_pickle": "why"}, "no check 'check_pickle' is made here. Did you mean 'check_pickles'"),
        ({"score-chain-check_pickles": "why"}, "Did you mean 'structure-chain-check_pickles'"),
        ({"check_pickles": " "}, "'check_pickles' needs a reason in words, not ' '"),
        ({"check_pickles": True}, "needs a reason in words, not True"),
    ],
)
def test_an_expected_failure_names_a_check_and_a_reason(expected, message):
    with pytest.raises(ValueError, match=message):
        parametrize_with_checks([CHAIN], expected_failures=expected)


def test_the_report_names_what_failed_and_why():
    report = report_of(LAMBDA)
    assert not report.ok
    (failure,) = report.failures
    assert (failure.kind, failure.name, failure.check) == ("structure learner", "lambda", "check_pickles")
    heading, line = str(report).splitlines()
    assert heading == f"mine: {len(report.outcomes) - 1} of {len(report.outcomes)} checks passed"
    assert line.startswith("  failed: structure learner 'lambda': check_pickles: ")
    assert "lambda" in failure.detail


def test_the_report_takes_an_expected_failure_as_well_and_an_unexpected_success_as_ill():
    expected = report_of(LAMBDA, {"check_pickles": "it keeps a lambda"})
    assert expected.ok
    assert "expected failure: structure learner 'lambda': check_pickles: it keeps a lambda" in str(expected)
    unexpected = report_of(CHAIN, {"check_pickles": "it keeps a lambda"})
    assert not unexpected.ok
    assert [failure.status for failure in unexpected.failures] == ["unexpected success"]


def test_a_method_that_exits_fails_its_checks_and_stops_nothing(monkeypatch):
    monkeypatch.setattr(structures.Chain, "learn", lambda self, table: sys.exit("leaving"))
    report = report_of(CHAIN)
    assert {failure.detail for failure in report.failures if failure.check == "check_returns_a_structure"} == {
        "SystemExit: leaving"
    }


def test_a_factory_that_cannot_be_imported_fails_checks_not_collection():
    absent = StructureLearnerMethod("absent", "no_such_module:Learner", "Absent.", "Nobody (2026)")
    found = params(parametrize_with_checks(absent))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        found["structure-absent-check_returns_a_structure"][0]()


def test_a_plugin_that_is_not_installed_is_named():
    with pytest.raises(
        UnknownMethodError, match=r"no plugin 'bultin' is installed. Did you mean 'builtin'\? Installed: "
    ):
        check_plugin("bultin")


def test_only_plugins_and_descriptors_are_checked():
    with pytest.raises(TypeError, match="expected the name of a plugin or the descriptor of a method"):
        parametrize_with_checks([structures.Chain()])


def test_pytest_is_needed_for_tests_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(ImportError, match=r'pip install "bnplug\[testing\]"'):
        parametrize_with_checks([CHAIN])
    assert report_of(CHAIN).ok


def test_global_random_generators_are_given_back():
    import numpy as np

    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert report_of(CHAIN).ok
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
