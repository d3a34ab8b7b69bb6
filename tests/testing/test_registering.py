"""What is checked is registered while that lasts, and what is registered stays as it is."""

from saboteurs.classifiers import Wrapped
from saboteurs.discretizers import Median

from bnplug import ClassifierMethod, DiscretizerMethod
from bnplug.hooks import registry
from bnplug.testing._common_checks import registered


def test_a_registered_method_has_its_own_name():
    tan = registry.find("structure learner", "tan")
    before = registry.methods()
    with registered(tan) as name:
        assert name == "tan"
        assert registry.methods() == before


def test_another_one_has_a_name_until_the_context_ends():
    method = ClassifierMethod("wrapped", Wrapped, "Healthy.", "Nobody (2026)")
    before = registry.methods()
    with registered(method) as name:
        assert type(registry.classifier(name)) is Wrapped
        assert registry.name_of(Wrapped()) == name == "wrapped"
    assert registry.methods() == before
    assert registry.name_of(Wrapped()) is None


def test_a_name_that_is_taken_is_qualified():
    with registered(DiscretizerMethod("mdl", Median, "Healthy.", "Nobody (2026)")) as name:
        assert name == "under-check:mdl"
        assert type(registry.discretizer(name)) is Median
        assert type(registry.discretizer("mdl")) is not Median
