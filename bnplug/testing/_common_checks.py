"""What holds for every method, whatever its kind."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from bnplug.data.table import Table
from bnplug.errors import ManyBlocksError
from bnplug.hooks.descriptors import Method
from bnplug.testing import data
from bnplug.testing._probes import Taste
from bnplug.testing._subjects import MethodSubject, Subject, require

Check = Callable[[Any], None]


def only_if(holds: Callable[[Any], bool]) -> Callable[[Check], Check]:
    """Mark a check that is made only of methods whose descriptor fulfils a condition."""

    def mark(check: Check) -> Check:
        check.applies = holds  # type: ignore[attr-defined]
        return check

    return mark


def essential(check: Check) -> Check:
    """Mark a check without which nothing works; ``bnplug doctor`` makes these of every method that is installed."""
    check.essential = True  # type: ignore[attr-defined]
    return check


def check_described(subject: Subject) -> None:
    """Every method, recipe and reproduction has a summary of one line, and a reference."""
    for found in subject.descriptors:
        for attribute in ("summary", "reference"):
            text = getattr(found, attribute)
            require(
                isinstance(text, str) and text.strip() != "" and "\n" not in text.strip(),
                f"{found.kind} {found.name!r}: its {attribute} must be one line of text, not {text!r}",
            )


def check_cloneable(subject: MethodSubject) -> None:
    """It is made without arguments, and the constructor stores what it is given and nothing else, whatever it is."""
    plain = subject.factory()
    for name in plain.get_params(deep=False):
        default = inspect.signature(subject.factory).parameters[name].default
        for given, made in ((default, plain), (mark := ["anything"], subject.factory(**{name: mark}))):
            kept = getattr(made, name)
            require(
                kept is given,
                f"the constructor was given {name}={given!r} and keeps {kept!r}; store it as it is, and check and "
                "convert it where the work begins",
            )
    original = subject.make()
    copy = clone(original)
    require(
        _digest(copy.get_params()) == _digest(original.get_params()),
        f"the clone has the parameters {copy.get_params()}, the original {original.get_params()}",
    )


def check_parameters_untouched(subject: MethodSubject) -> None:
    """Running leaves every parameter as the user gave it, and components that are instances as they were."""
    instance = subject.make(**_component_instances(subject))
    before = _digest(instance.get_params())
    subject.call(instance, *subject.arguments(data.standard()))
    require(
        _digest(instance.get_params()) == before,
        "its parameters are others than before it ran; keep what you find out in attributes that end with an "
        "underscore, and take components through bnplug.hooks.components.component",
    )


def check_input_not_mutated(subject: MethodSubject) -> None:
    """Neither the table nor the graph, nor the frame that it is given is changed."""
    table = data.standard()
    arguments = subject.arguments(data.with_weights(table, np.ones(table.n_rows)))
    before = [_digest_input(argument) for argument in arguments]
    subject.call(subject.make(), *arguments)
    require(
        [_digest_input(argument) for argument in arguments] == before, "it changes the data or the graph it is given"
    )


def check_same_seed_same_result(subject: MethodSubject) -> None:
    """With one ``random_state`` the result is the same, bit for bit, whatever the global generators are at."""
    instance, arguments = subject.make(), subject.arguments(data.standard())
    first = subject.call(instance, *arguments, seed=0)
    for again in (subject.make(), instance):
        require(
            subject.same(first, subject.call(again, *arguments, seed=1)),
            "two runs differ; draw from sklearn.utils.check_random_state(self.random_state) alone",
        )


def check_n_jobs_does_not_matter(subject: MethodSubject) -> None:
    """One thread or two: the result is the same, bit for bit."""
    if subject.kind == "score function" or subject.has("n_jobs"):
        one, two = (subject.run_with_jobs(data.standard(), n_jobs) for n_jobs in (1, 2))
        require(subject.same(one, two), "n_jobs=1 and n_jobs=2 differ; add up in an order that follows from the data")


@only_if(lambda method: not method.stochastic)
def check_row_order_irrelevant(subject: MethodSubject) -> None:
    """The order of the rows does not matter, unless the descriptor says ``stochastic``."""
    table = data.standard()
    result = subject.run(data.shuffled(table), **subject.indifferent)
    require(
        subject.alike(subject.run(table, **subject.indifferent), result, table),
        "another order of the rows gives another result; if it draws from the rows, declare stochastic=True",
    )


def check_labels_of_any_type_agree(subject: MethodSubject) -> None:
    """States labelled by text, whole numbers, fractions or booleans give the same result."""
    labels: tuple[Callable[[int], Any], ...] = (str, int, lambda state: state + 0.5, bool)
    first, *others = (subject.run(data.binary(label)) for label in labels)
    for kind, other in zip(("integers", "floats", "booleans"), others, strict=True):
        require(subject.same(first, other), f"states labelled by {kind} give another result than by strings")


def check_pickles(subject: MethodSubject) -> None:
    """It can be pickled, before and after it ran, and comes back with its parameters."""
    instance = subject.make()
    for _ in range(2):
        copy = pickle.loads(pickle.dumps(instance))
        require(_digest(copy.get_params()) == _digest(instance.get_params()), "its pickle has other parameters")
        subject.call(instance, *subject.arguments(data.standard()))


def check_constant_feature(subject: MethodSubject) -> None:
    """A feature with a single state is accepted."""
    _require_usable(subject, data.with_constant_feature())


def check_single_feature(subject: MethodSubject) -> None:
    """A table of one feature and the class is accepted."""
    _require_usable(subject, data.with_single_feature())


def check_missing_cells(subject: MethodSubject) -> None:
    """Rows may have missing cells."""
    _require_usable(subject, data.with_missing_cells())


def check_missing_is_no_state(subject: MethodSubject) -> None:
    """A missing cell counts for no state: which of the states comes first does not matter."""
    table = data.with_telling_gaps()
    complete = table.take((table.codes != table.missing).all(axis=0))
    # A method may take states in order for reasons of its own; then it must not be as if each gap were the first.
    if subject.method.stochastic or not subject.indifferent_to_order(complete, complete):
        holds = not subject.takes_gaps_for_first_state(table)
    else:
        holds = subject.indifferent_to_order(table, complete)
    require(
        holds,
        "with cells missing, the result depends on which state of a feature comes first, as if missing were a state; "
        "leave out cells that are table.missing, as bnplug.counts.count does",
    )


def check_unit_weights_change_nothing(subject: MethodSubject) -> None:
    """Rows of weight 1 are rows without weights."""
    table = data.standard()
    weighted = subject.run(data.with_weights(table, np.ones(table.n_rows)))
    require(subject.alike(subject.result, weighted, table), "a weight of 1 for every row changes the result")


@only_if(lambda method: not method.stochastic)
def check_weight_repeats_a_row(subject: MethodSubject) -> None:
    """A row of weight 2 equals two rows, unless the method is ``stochastic`` or the class sets ``relative_weights``."""
    if _has_relative_weights(subject):
        return
    weighted, repeated = data.reweighted()
    of_weighted, of_repeated = (subject.run(table, **subject.indifferent) for table in (weighted, repeated))
    require(
        subject.alike(of_weighted, of_repeated, weighted),
        "weights give another result than rows repeated as often; use table.total_weight and bnplug.counts.counting. "
        "If the method leaves rows out, set relative_weights = True",
    )


def check_relative_weights(subject: MethodSubject) -> None:
    """If the class sets ``relative_weights``, multiplying all weights by a constant changes nothing."""
    if not _has_relative_weights(subject):
        return
    weighted, _ = data.reweighted()
    assert weighted.weights is not None
    scaled = data.with_weights(weighted, 3.7 * weighted.weights)
    of_weighted, of_scaled = (subject.run(table, **subject.indifferent) for table in (weighted, scaled))
    require(
        subject.alike(of_weighted, of_scaled, weighted),
        "multiplying all weights by 3.7 changes the result although relative_weights is True; learn from "
        "table.with_relative_weights()",
    )


def _has_relative_weights(subject: MethodSubject) -> bool:
    return bool(getattr(subject.make(), "relative_weights", False))


def check_rows_in_blocks(subject: MethodSubject) -> None:
    """Rows in many blocks, such as those that outgrow memory, give what the same rows in memory give."""
    table, _ = data.reweighted()
    try:
        found = subject.run(data.in_blocks(table))
    except ManyBlocksError as error:
        raise AssertionError(
            "it reads table.codes or table.weights, and the rows of a table may be in many blocks; take sums over them "
            "by table.counts, table.sum or table.spawn, or table.gather() where all rows must be in memory at once"
        ) from error
    require(
        subject.alike(subject.run(table), found, table),
        "rows in many blocks give another result than the same rows in memory; what blocks say is to be added up over "
        "all of them before anything is made of it",
    )


def _require_usable(subject: MethodSubject, table: Table) -> None:
    subject.require_usable(subject.run(table), table)


def _component_instances(subject: MethodSubject) -> dict[str, Any]:
    """Return a score as an instance, where the method takes one, with everything that it may be handed down unset."""
    return {"score": Taste()} if getattr(subject.method, "needs_score", False) else {}


def _digest(value: object) -> str:
    return str(joblib.hash(value))


def _digest_input(argument: Any) -> Any:
    """Return what must not change of data or of a graph; a graph also caches views of itself."""
    if hasattr(argument, "edges"):
        return list(argument.nodes), list(argument.edges)
    return _digest(vars(argument) if isinstance(argument, Table) else argument)


def applies(check: Check, method: Method) -> bool:
    """Whether a check is made of a method that is described like this."""
    return bool(getattr(check, "applies", lambda _: True)(method))


#: In the order in which they are made.
CHECKS: tuple[Check, ...] = (
    check_described,
    check_cloneable,
    check_parameters_untouched,
    check_input_not_mutated,
    check_same_seed_same_result,
    check_n_jobs_does_not_matter,
    check_row_order_irrelevant,
    check_labels_of_any_type_agree,
    check_pickles,
    check_constant_feature,
    check_single_feature,
    check_missing_cells,
    check_missing_is_no_state,
    check_unit_weights_change_nothing,
    check_weight_repeats_a_row,
    check_relative_weights,
    check_rows_in_blocks,
)
