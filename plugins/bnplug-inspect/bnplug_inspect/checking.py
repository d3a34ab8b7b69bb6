"""Check a data set: one pass over the rows, then all checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnplug.errors import did_you_mean
from bnplug_inspect import _reading
from bnplug_inspect._columns import check_distinct, check_missing, check_rare_states, check_sentinels
from bnplug_inspect._profile import Profile
from bnplug_inspect._relations import check_copies, check_leaks, sampled_columns
from bnplug_inspect._rows import check_classes, check_duplicates, check_order
from bnplug_inspect._text import check_spellings, check_text
from bnplug_inspect.findings import KINDS, SEVERITIES, Finding
from bnplug_inspect.report import CheckReport


def check(X: Any, y: Any = None, *, drop: Sequence[str] = (), csv: Mapping[str, Any] | None = None) -> CheckReport:
    """Check a data set before learning from it.

    All rows are read once, in batches. Values, missing cells and equal rows are counted over all rows; relations
    between columns are examined on a random sample of at most 20,000 rows.

    Parameters
    ----------
    X : frame, array, path or paths
        The features, or data files that need not fit into memory: CSV with a header, compressed or not, or Parquet; a
        pattern such as ``"rows/*.csv"``, or several of them.
    y : array-like or str, optional
        The class of every row, or the name of its column in `X`. Without it, checks that concern the class are
        omitted.
    drop : list of str
        Columns to leave out.
    csv : dict, optional
        How CSV files are read: ``sep``, ``encoding``, ``missing`` (texts that are missing values), ``decimal``.

    Returns
    -------
    CheckReport

    Raises
    ------
    ValueError
        If the data cannot be read, or `y` does not belong to `X`.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"dose": ["5 mg", "7 mg", "9 mg"] * 20, "result": ["pos", "neg", "neg"] * 20})
    >>> report = check(X, ["ill", "well", "well"] * 20)
    >>> report.to_frame()[["severity", "kind", "columns"]].head(2)
      severity  kind columns
    0     high  leak    dose
    1     high  leak  result
    """
    reading = _reading.Reading.of(csv)
    paths = _reading.paths_of(X)
    if paths is not None:
        if y is not None and not isinstance(y, str):
            raise ValueError("for files, y is the name of the column that holds the class")
        names, frames = _reading.first_of(_reading.batches(paths, reading), str(paths[0]))
    else:
        target = _name_of(y, X)
        names, frames = _reading.first_of(_reading.slices(X, y, target), "X")
    target = y if isinstance(y, str) or y is None else _name_of(y, X)
    if target is not None and target not in names:
        raise ValueError(f"y={target!r}: no such column.{did_you_mean(target, names)} The columns are {names}")
    for name in drop:
        if name not in names or name == target:
            raise ValueError(f"drop: there is no feature {name!r}.{did_you_mean(name, names)} The columns are {names}")
    names = [name for name in names if name not in drop]
    profile = Profile(names, target)
    for frame in frames:
        profile.add(frame[names])
    is_csv = paths is not None and not _reading.is_parquet(paths[0])
    takes_commas = is_csv and not _has_points(profile)
    if paths is not None and takes_commas:
        takes_commas = not any(_reading.has_points(path, reading) for path in paths)
    findings = _findings(profile, is_csv, "," if takes_commas else ".")
    source = tuple(map(str, paths or ()))
    return CheckReport(findings, profile.n_rows, len(names), target, source, dict(csv or {}), tuple(drop))


def _name_of(y: Any, X: Any) -> str | None:
    """Return the name of the class: that of `y`, or "class", made different from the columns of `X`."""
    if y is None or isinstance(y, str):
        return None
    name = y.columns[0] if isinstance(y, pd.DataFrame) else getattr(y, "name", None)
    name = str(name) if name not in (None, "") else "class"
    taken = set(map(str, getattr(X, "columns", ())))
    while name in taken:
        name += "_"
    return name


def _findings(profile: Profile, is_csv: bool, decimal: str) -> tuple[Finding, ...]:
    """Run all checks; the gravest findings come first."""
    findings: list[Finding] = []
    skipped: set[str] = set()
    for name in profile.features:
        column = profile.columns[name]
        text, is_disguised = check_text(column, is_csv, decimal)
        useless = check_distinct(column, profile.sample[name], is_disguised)
        if useless is not None:
            findings.append(useless)
            skipped.add(name)
            continue
        findings += text
        findings += check_sentinels(column)
        if not is_disguised and (rare := check_rare_states(column, profile.n_rows)) is not None:
            findings.append(rare)
    if profile.target is not None:
        findings += check_spellings(profile.columns[profile.target])
    columns = sampled_columns(profile)
    findings += check_leaks(profile, columns, skipped)
    findings += check_copies(columns, skipped)
    findings += [*check_missing(profile), *check_classes(profile), *check_duplicates(profile, columns)]
    findings += check_order(profile, skipped)
    return tuple(sorted(_once(findings), key=lambda f: (SEVERITIES.index(f.severity), list(KINDS).index(f.kind))))


def _once(findings: list[Finding]) -> Iterator[Finding]:
    """Yield findings; of two of one kind about the same columns, the graver one."""
    best: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for finding in findings:
        key = finding.kind, finding.columns
        if key not in best or SEVERITIES.index(finding.severity) < SEVERITIES.index(best[key].severity):
            best[key] = finding
    return iter(best.values())


def _has_points(profile: Profile) -> bool:
    """Return whether the data contain numbers with decimal points."""
    return any(
        len(column.numbers) and (column.numbers.index.to_numpy(np.float64) % 1 != 0).any()
        for column in profile.columns.values()
    )
