"""Column rules: the options that say how raw columns become discrete ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from bnplug.errors import BnplugWarning, did_you_mean, warn_outside

#: The policies for missing cells in training.
POLICIES = ("ignore", "em", "drop", "value", "error")
# Policies that concern the whole table: how to learn from cells that stay missing.
_WHOLE_TABLE = ("ignore", "em")
# The key of all columns that a dict does not name.
_OTHERS = "*"


@dataclass(frozen=True)
class ColumnRules:
    """Options that say how columns become discrete: keyword arguments of all estimators.

    Parameters
    ----------
    discretizer, categorical_features, missing, unlabeled, on_useless, max_categories, min_frequency, dates
        As parameters of :class:`~bnplug.BayesianNetworkClassifier`. ``discretizer="auto"`` selects the bins for its
        default parameters.
    states : dict of str to sequence, optional
        States that columns have in addition to those that occur. Such columns are discrete, and their states are
        never pooled.
    relative_weights : bool
        Whether only the ratios of weights matter, as for learners that leave rows out. The number of rows then decides
        which columns of whole numbers are discrete and which states are rare, and cuts depend on weights within each
        class, but not on class weights. By default, a row of weight 2 is equivalent to two rows.
    """

    discretizer: Any = "auto"
    categorical_features: Any = "auto"
    missing: Any = "ignore"
    unlabeled: Any = None
    on_useless: str = "drop"
    max_categories: int | None = None
    min_frequency: Any = "auto"
    dates: str = "parts"
    states: Mapping[str, Sequence[Any]] | None = None
    relative_weights: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        if self.on_useless not in ("drop", "error"):
            raise ValueError(f"on_useless={self.on_useless!r} is not 'drop' or 'error'")
        if self.dates not in ("parts", "drop", "error"):
            raise ValueError(f"dates={self.dates!r} is not 'parts', 'drop' or 'error'")
        _check_limits(self.max_categories, self.min_frequency)
        MissingPolicies.of(self.missing)

    @classmethod
    def of(cls, estimator: Any, **others: Any) -> Self:
        """Return the rules among the parameters of an estimator; `others` override them."""
        names = [rule.name for rule in fields(cls) if rule.name not in others and hasattr(estimator, rule.name)]
        return cls(**{name: getattr(estimator, name) for name in names}, **others)

    @property
    def policies(self) -> MissingPolicies:
        """The policy for missing cells of each column."""
        return MissingPolicies.of(self.missing)


@dataclass(frozen=True)
class MissingPolicies:
    """The policies for missing cells: of named columns, and of all others.

    Examples
    --------
    >>> policies = MissingPolicies.of({"age": "value", "*": "em"})
    >>> policies["age"], policies["name"], policies.of_table
    ('value', 'em', 'em')
    """

    others: str
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, missing: Any) -> MissingPolicies:
        """Return the policies of the option ``missing``: one policy, or a dict by column."""
        if not isinstance(missing, Mapping):
            _check_policy(missing, f"missing={missing!r}")
            return cls(missing)
        for name, policy in missing.items():
            _check_policy(policy, f"missing={dict(missing)!r}: for {name!r}, {policy!r}")
        whole = {policy for policy in missing.values() if policy in _WHOLE_TABLE}
        others = missing.get(_OTHERS, next(iter(whole), "ignore"))
        if len(whole) > 1:
            raise ValueError(
                f'missing={dict(missing)!r}: "ignore" and "em" concern the whole table, so only one of them can be '
                'used; {"a": "value", "*": "em"} makes missing a state of column "a", and learns from the others by EM'
            )
        return cls(others, {str(name): policy for name, policy in missing.items() if name != _OTHERS})

    def __getitem__(self, column: str) -> str:
        return self.named.get(column, self.others)

    @property
    def of_table(self) -> str:
        """How to learn from rows in which cells stay missing: "em" or "ignore"."""
        return "em" if "em" in (self.others, *self.named.values()) else "ignore"

    @property
    def drops(self) -> bool:
        """Whether rows with missing cells in some column are dropped."""
        return "drop" in (self.others, *self.named.values())

    def columns(self, policy: str, among: Iterable[str]) -> list[str]:
        """Return the columns `among` the given ones that have a policy."""
        return [name for name in among if self[name] == policy]

    def check_names(self, columns: Iterable[str]) -> None:
        """Raise a ``ValueError`` if a column is named that does not exist."""
        existing = list(columns)
        for name in self.named:
            if name not in existing:
                hint = did_you_mean(name, existing)
                raise ValueError(f"missing names the column {name!r}, which does not exist.{hint}")


def _report_dropped(n_rows: int, n_kept: int, lost: Iterable[object]) -> None:
    """Warn if dropping incomplete rows removed all rows of some classes, or more than half of the rows."""
    classes = ", ".join(map(repr, lost))
    if not classes and 2 * n_kept >= n_rows:
        return
    without = f", and none of class {classes}" if classes else ""
    warn_outside(
        f'missing="drop" keeps {n_kept:,} of {n_rows:,} rows{without}. missing="ignore" and missing="em" use all rows',
        BnplugWarning,
    )


def _check_policy(policy: Any, description: str) -> None:
    if not isinstance(policy, str) or policy not in POLICIES:
        raise ValueError(f"{description} is not one of {list(POLICIES)}")


def _check_limits(max_categories: Any, min_frequency: Any) -> None:
    """Raise a ``ValueError`` for invalid limits of pooling."""
    if max_categories is not None and not _is_whole(max_categories, 2):
        raise ValueError(f"max_categories={max_categories!r}: expected a whole number of at least 2, or None")
    if min_frequency is None or (isinstance(min_frequency, str) and min_frequency == "auto"):
        return
    is_share = isinstance(min_frequency, float | np.floating) and 0 < min_frequency < 1
    if not is_share and not _is_whole(min_frequency, 1):
        expected = "a number of rows, a share of them (above 0, below 1), 'auto' or None"
        raise ValueError(f"min_frequency={min_frequency!r}: expected {expected}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least
