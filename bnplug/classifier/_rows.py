"""Rows of files as a model takes them: what it knows as text stays text, and what it does not know is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from bnplug.errors import BnplugWarning, warn_outside
from bnplug.sources.files import _separator_hint
from bnplug.table._checks import number_of


class Rows(NamedTuple):
    """Rows for a model: their features, the class where the file has it, and columns that are repeated in answers."""

    X: Any = None
    y: Any = None
    keys: Any = None


def kinds_for(model: Any, target: str | None, ids: Iterable[str] = ()) -> dict[str, str]:
    """Return how the columns that a model knows are read: as text, number or date; keys as they are written."""
    if hasattr(model, "encoder_"):
        numeric = model.encoder_.numeric
        kinds = {
            name: "number" if name in numeric else _kind_of_labels(states)
            for name, states in model.schema_.states.items()
        }
        kinds |= dict.fromkeys(model.encoder_.dates, "date")
    else:
        kinds = getattr(model, "column_kinds_", {})
    of_class = {} if target is None else {target: _kind_of_labels(model.classes_)}
    return {**dict.fromkeys(ids, "text"), **kinds, **of_class}


def rows_for(model: Any, frame: pd.DataFrame, target: str | None, ids: Sequence[str] = ()) -> Rows:
    """Return rows as a model takes them; columns that training did not have are ignored with a warning."""
    names = _features(model)
    used = [name for name in frame.columns if name != target and (names is None or name in names)]
    told = [name for name in frame.columns if name not in used and name != target and name not in ids]
    hint = "" if used else _separator_hint(list(frame.columns))
    if hint:
        raise ValueError(f"the only column is {frame.columns[0]!r}, which the model does not have.{hint}")
    if told:
        warn_outside(f"columns {told} were not in the training data; they are ignored", BnplugWarning)
    X, y = frame[used], frame[target] if target in frame.columns else None
    if hasattr(model, "encoder_"):
        # A number among text is the number that the model knows.
        for name in used:
            states = model.schema_.states.get(name, ())
            as_read = name in model.encoder_.numeric or all(isinstance(state, str) for state in states)
            if not as_read and X[name].dtype.kind not in "biuf":
                X = X.assign(**{name: as_states(X[name], states)})
    return Rows(X, y, frame[list(ids)])


def answers(model: Any, rows: Rows, target: str | None = None) -> pd.DataFrame:
    """Return what a model predicts, as a frame: the keys, the class, and each class's probability."""
    from bnplug.show.evaluation import decisions

    probabilities = model.predict_proba(rows.X)
    name = target or getattr(model, "target_", "class")
    result = pd.DataFrame({name: model.classes_[decisions(model, rows.X, probabilities)]})
    for label, column in zip(model.classes_, probabilities.T, strict=True):
        result[f"P({label})"] = column
    return result if rows.keys is None else pd.concat([rows.keys.reset_index(drop=True), result], axis=1)


def _kind_of_labels(labels: Iterable[Any]) -> str:
    return "text" if all(isinstance(label, str) for label in labels) else "number"


def _features(model: Any) -> list[str] | None:
    """Return the columns that a model was trained on; None where it does not say."""
    if hasattr(model, "encoder_"):
        return [*model.encoder_.columns, *model.encoder_.names]
    names = getattr(model, "feature_names_in_", getattr(model, "column_kinds_", None))
    return None if names is None else list(names)


def used_columns(model: Any) -> list[str] | None:
    """Return the columns that a model's predictions depend on; None if it does not report its columns."""
    names = _features(model)
    left_out = model.encoder_.left_out if hasattr(model, "encoder_") else ()
    return None if names is None else [name for name in names if name not in left_out]


def as_states(column: pd.Series[Any], states: Sequence[Any]) -> pd.Series[Any]:
    """Return a column of text with the states that it names: one cell that is no number made text of all the others."""
    # The spellings of truth values that pandas recognizes in CSV files.
    cases = (str, str.lower, str.upper)
    truths = {case(str(state)): state for state in states if isinstance(state, bool) for case in cases}
    known, among = truths | {str(state): state for state in states}, set(states)
    numbers = {value: _number(value) for value in column.dropna().unique() if isinstance(value, str)}
    meant = {value: known.get(value, number if number in among else value) for value, number in numbers.items()}
    # Series.map would convert whole numbers beside fractions to floats.
    return pd.Series([meant.get(value, value) for value in column], column.index, dtype=object, name=column.name)


def _number(text: str) -> int | float | None:
    try:
        return number_of(text)
    except ValueError:
        return None
