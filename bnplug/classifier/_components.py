"""Components of a classifier: its bins, its structure learner, and parameter learners for rows without a class."""

from __future__ import annotations

from typing import Any

from bnplug.errors import ContractError, UnknownMethodError
from bnplug.hooks import registry, requirements
from bnplug.hooks.components import component
from bnplug.hooks.descriptors import AUTO_DISCRETIZER, Kind, as_written, is_component
from bnplug.model.checks import check_learned
from bnplug.model.log_tables import check_size
from bnplug.structure import Learned, Structure
from bnplug.table.discretizer import unfitted
from bnplug.table.table import Table


def wanted_discretizer(model: Any) -> Any:
    """Return the discretizer of a classifier; for ``"auto"``, the one that the parameter learner prefers."""
    if not isinstance(model.discretizer, str) or model.discretizer != AUTO_DISCRETIZER:
        return model.discretizer
    learner = registry.build(Kind.PARAMETER_LEARNER, model.parameters)
    # A learner need not derive from the contract's class.
    wanted = getattr(learner, "discretizer", "mdl")
    try:
        unfitted(wanted)
    except (UnknownMethodError, TypeError) as error:
        raise ContractError(
            f"{registry.origin(learner)}: the discretizer that it wants is none, {wanted!r}: {error}. Say "
            "discretizer=..., such as 'mdl', to do without"
        ) from error
    return wanted


def uses_relative_weights(model: Any) -> bool:
    """Return whether a learner of a classifier uses only the ratios of weights."""
    learners = [registry.build(Kind.PARAMETER_LEARNER, model.parameters)]
    if is_component(model.structure) or hasattr(model.structure, "learn"):
        learners.append(registry.build(Kind.STRUCTURE_LEARNER, model.structure))
    # A learner need not derive from the contract's class.
    return any(getattr(learner, "relative_weights", False) for learner in learners)


def find_structure(model: Any, table: Table) -> tuple[Any, Learned]:
    """Return the structure learner of a classifier, None if the structure is given, and the learned structure."""
    learner = None
    requirements.check_table(registry.build(Kind.PARAMETER_LEARNER, model.parameters), table)
    if is_component(model.structure) or hasattr(model.structure, "learn"):
        learner = component("structure learner", model.structure, model)
        requirements.check_table(learner, table)
        _check_fewest(model, table, learner)
        weighted = table
        if table.weighted and uses_relative_weights(model):
            # Class weights that affect only the class prior would add noise to measures of dependence.
            uses_class_weights = hasattr(learner, "score") or getattr(learner, "relative_weights", False)
            weighted = table.with_relative_weights(by_class=not uses_class_weights)
        learned = _learn(model, learner, weighted)
    else:
        try:
            learned = Learned(Structure.of(model.structure, table))
        except TypeError:
            known = "a name, a learner, a Structure, a DAG or a list of edges (parent, child)"
            raise TypeError(f"structure must be {known}, not {model.structure!r}") from None
        except ValueError as error:
            raise ValueError(f"structure: {error}") from None
    check_size(table, learned.structure.parents, model.max_parameters)
    return learner, learned


def _learn(model: Any, learner: Any, table: Table) -> Learned:
    """Return the learned structure; with missing cells and ``missing="em"``, by structural EM."""
    if not table.learned_by_em:
        return check_learned(learner.learn(table), table, learner)
    from bnplug.inference.expected_table import structural_em

    return structural_em(
        lambda rows: check_learned(learner.learn(rows), rows, learner),
        table,
        model.random_state,
        model.n_jobs,
        model.verbose,
        component("engine", model.engine, model),
    )


def _check_fewest(model: Any, table: Table, learner: Any) -> None:
    """Refuse a structure that will be too large before it is searched for."""
    ask = getattr(learner, "fewest_parameters", None)
    fewest = 0 if ask is None else ask(table)
    if fewest > model.max_parameters:
        largest = max(table.features, key=lambda v: table.cards[v])
        raise ValueError(
            f"{type(learner).__name__} finds a structure with at least {fewest:,} parameters, more than "
            f"max_parameters={model.max_parameters:,}; the column with the most states is "
            f"{table.names[largest]!r}: {table.cards[largest]:,}. Use fewer parents, fewer states, or a larger "
            "max_parameters"
        )


def check_unlabeled(table: Table, learner: Any, written: Any) -> None:
    """Raise a ``ValueError`` if rows have no class and a parameter learner does not accept them."""
    if table.lacks_classes and not getattr(learner, "takes_unlabeled", False):
        raise ValueError(
            f"some rows have no class, and parameters={as_written(written)!r} do not learn from such rows; "
            f"drop these rows, or use one of {registry.listing(Kind.PARAMETER_LEARNER, 'takes_unlabeled')}"
        )
