"""Faults planted in forty made-up files, and how many of them ``bnplug_inspect.check`` reports.

The files were written before the checks. Each has 300 to 12,000 rows of one of five made-up domains, 8 to 10 clean
columns, a class that depends on some of them, and four planted faults; seeds are fixed. ``FAULTS`` lists all variants
of faults, each of which is planted in three or four files.

A planted fault counts as found if a finding of its kind names the column (for a pair: both columns; for a fault of the
whole file: any finding of that kind). A finding of high severity that was not planted counts as false, unless it names
a column in which a fault of another kind was planted.

On real data (the sets that DEVELOPMENT.csv lists in the folder BNPLUG_DATA), every finding of high severity is listed.
It counts as false unless the column, or the pair, really determines the class: no row contradicts it.

Bounds: at least 95% of the planted faults are found; on real data at most one false finding of high severity per ten
sets; 100,000 rows of 50 columns are checked in at most 5 s of processor time.

Usage: python benchmarks/dirty_files.py [files] [real] [speed] [list] [write FOLDER]
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from bnplug_inspect import CheckReport, check

N_FILES, FAULTS_PER_FILE = 40, 4


class DirtyFile(NamedTuple):
    """A made-up file: its name, its cells as text, its class, and the planted faults as (kind, columns)."""

    name: str
    frame: pd.DataFrame
    target: str
    faults: list[tuple[str, tuple[str, ...]]]


# The domains. Each returns clean columns and the log odds of the second class.


def hospital(rng, n):
    age = np.clip(rng.normal(58, 16, n).round(), 18, 97).astype(int)
    pressure = (110 + 0.4 * age + rng.normal(0, 14, n)).round().astype(int)
    sex = rng.choice(["female", "male"], n)
    smoker = rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2])
    score = 0.05 * (age - 58) + 0.03 * (pressure - 133) + 1.2 * (smoker == "current")
    return (
        {
            "age": age,
            "pressure": pressure,
            "sex": sex,
            "smoker": smoker,
            "glucose": np.exp(rng.normal(4.6, 0.25, n)).round(1),
            "ward": rng.choice(["cardiology", "surgery", "oncology", "neurology"], n),
            "weight": (rng.normal(76, 13, n) + 6 * (sex == "male")).round(1),
            "visits": rng.poisson(2.5, n),
        },
        score,
        ("outcome", ["discharged", "readmitted"]),
    )


def credit(rng, n):
    income = np.exp(rng.normal(10.3, 0.5, n)).round(-1).astype(int)
    months = rng.choice([6, 12, 18, 24, 36, 48, 60], n)
    housing = rng.choice(["own", "rent", "free"], n, p=[0.6, 0.3, 0.1])
    history = rng.choice(["good", "delayed", "critical"], n, p=[0.6, 0.25, 0.15])
    score = -0.8 * (np.log(income) - 10.3) + 0.03 * (months - 29) + 1.3 * (history == "critical")
    return (
        {
            "income": income,
            "months": months,
            "housing": housing,
            "history": history,
            "age": np.clip(rng.gamma(6, 6, n) + 18, 18, 80).round().astype(int),
            "amount": np.exp(rng.normal(8, 0.8, n)).round(2),
            "purpose": rng.choice(["car", "furniture", "business", "education", "repairs"], n),
            "rate": rng.integers(1, 5, n),
            "guarantor": rng.choice(["yes", "no"], n, p=[0.15, 0.85]),
        },
        score,
        ("risk", ["good", "bad"]),
    )


def sensors(rng, n):
    load = rng.beta(2, 2, n) * 100
    temperature = 40 + 0.5 * load + rng.normal(0, 5, n)
    vibration = np.exp(rng.normal(-1, 0.4, n) + 0.01 * load)
    line = rng.choice(["A1", "A2", "B1", "B2", "C1"], n)
    score = 0.12 * (temperature - 65) + 1.5 * (np.log(vibration) + 0.5) + 0.7 * (line == "C1")
    return (
        {
            "load": load.round(1),
            "temperature": temperature.round(2),
            "vibration": vibration.round(4),
            "line": line,
            "shift": rng.choice(["early", "late", "night"], n),
            "humidity": rng.normal(45, 8, n).round(1),
            "operator": rng.choice([f"team {c}" for c in "abcdefg"], n),
            "speed": (1200 + 4 * load + rng.normal(0, 60, n)).round().astype(int),
        },
        score,
        ("state", ["ok", "fault"]),
    )


def shop(rng, n):
    price = np.exp(rng.normal(3.4, 0.7, n)).round(2)
    visits = rng.geometric(0.25, n)
    channel = rng.choice(["search", "newsletter", "social", "direct"], n, p=[0.4, 0.2, 0.25, 0.15])
    member = rng.choice(["yes", "no"], n, p=[0.35, 0.65])
    score = 0.15 * (visits - 4) - 0.5 * (np.log(price) - 3.4) + 0.9 * (member == "yes")
    return (
        {
            "price": price,
            "visits": visits,
            "channel": channel,
            "member": member,
            "country": rng.choice(["Germany", "France", "Spain", "Italy", "Poland", "Sweden"], n),
            "seconds": rng.gamma(2, 90, n).round().astype(int),
            "device": rng.choice(["phone", "desktop", "tablet"], n, p=[0.6, 0.3, 0.1]),
            "basket": rng.gamma(2, 30, n).round(2),
        },
        score,
        ("bought", ["no", "yes"]),
    )


def survey(rng, n):
    age = rng.integers(18, 85, n)
    answers = {f"q{i}": rng.choice(["disagree", "neutral", "agree"], n, p=[0.3, 0.3, 0.4]) for i in range(1, 5)}
    region = rng.choice(["north", "south", "east", "west"], n)
    score = (
        0.02 * (age - 50)
        + 0.9 * (answers["q1"] == "agree")
        - 0.8 * (answers["q2"] == "agree")
        + 0.3 * (region == "east")
    )
    return (
        {
            "age": age,
            **answers,
            "region": region,
            "household": np.clip(rng.poisson(1.6, n) + 1, 1, 8),
            "height": rng.normal(171, 9, n).round().astype(int),
            "commute": rng.gamma(2.2, 12, n).round(1),
        },
        score,
        ("vote", ["a", "b", "c"]),
    )


DOMAINS = [hospital, credit, sensors, shop, survey]


class Draft:
    """A file in the making: its columns, its class, and columns in which no fault was planted yet."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng([53, number])
        domain = DOMAINS[number % len(DOMAINS)]
        n = int(self.rng.choice([300, 600, 1200, 2500, 5000, 12000]))
        columns, score, (self.target, labels) = domain(self.rng, n)
        noise = self.rng.logistic(0, 1, n)
        if len(labels) == 3:
            codes = np.digitize(score + noise, np.quantile(score + noise, [0.45, 0.8]))
        else:
            codes = (score + noise > np.quantile(score + noise, 0.65)).astype(int)
        self.codes, self.labels = codes, labels
        self.frame = pd.DataFrame({name: np.asarray(values, dtype=object) for name, values in columns.items()})
        self.numbers = [name for name, values in columns.items() if np.asarray(values).dtype.kind in "if"]
        self.many = [name for name in self.numbers if self.frame[name].nunique() > 30]
        self.words = [name for name in columns if name not in self.numbers]
        self.used: set[str] = set()
        self.faults: list[tuple[str, tuple[str, ...]]] = []

    def take(self, names: list[str]) -> str:
        """Choose an untouched column among some."""
        name = str(self.rng.choice([name for name in names if name not in self.used]))
        self.used.add(name)
        return name

    def add(self, name: str, values: Any, at: int | None = None) -> str:
        """Add a column, by default anywhere."""
        place = int(self.rng.integers(0, self.frame.shape[1] + 1)) if at is None else at
        self.frame.insert(place, name, np.asarray(values, dtype=object))
        self.used.add(name)
        return name

    def some(self, least: float, most: float) -> Any:
        """Choose rows, with a share drawn between two bounds, and at least six."""
        n = len(self.frame)
        return self.rng.choice(n, max(6, int(n * self.rng.uniform(least, most))), replace=False)

    def fault(self, kind: str, *columns: str) -> None:
        self.faults.append((kind, columns))


# The faults. Each changes a draft and notes what it planted.


def leak_text(d):
    words = np.array(["closed", "open", "pending"], dtype=object)
    d.fault("leak", d.add("final_note", words[d.codes]))


def leak_number(d):
    d.fault("leak", d.add("settled", (d.codes * 10 + d.rng.uniform(0, 9, len(d.frame))).round(2)))


def leak_near(d):
    wrong = d.rng.random(len(d.frame)) < 0.01
    codes = np.where(wrong, d.rng.integers(0, len(d.labels), len(d.frame)), d.codes)
    d.fault("leak", d.add("audit", np.array(["x", "y", "z"], dtype=object)[codes]))


def leak_missing(d):
    """A column that is recorded for one class only."""
    days = d.rng.integers(1, 60, len(d.frame)).astype(object)
    days[d.codes == 0] = None
    d.fault("leak", d.add("followup_days", days))


def leak_fine(d):
    """A code with many states, each of which occurs with one class."""
    codes = d.rng.integers(0, 12, len(d.frame)) * len(d.labels) + d.codes
    permuted = d.rng.permutation(12 * len(d.labels))[codes]
    d.fault("leak", d.add("billing", [f"K{100 + code}" for code in permuted]))


def leak_pair(d):
    """The remainder of the sum of two columns is the class; neither is informative alone."""
    k = len(d.labels)
    first = d.rng.integers(0, k, len(d.frame))
    left = d.add("key_in", np.array(["r", "s", "t"], dtype=object)[first])
    right = d.add("key_out", (d.codes - first) % k)
    d.fault("leak", left, right)


def copy_exact(d):
    source = d.take(d.numbers + d.words)
    d.fault("copy", source, d.add(f"{source}_2", d.frame[source]))


def copy_recoded(d):
    source = d.take([name for name in d.words if d.frame[name].nunique() > 2])
    codes, _ = pd.factorize(d.frame[source])
    d.fault("copy", source, d.add(f"{source}_code", codes + 10))


def copy_unit(d):
    source = d.take(d.many)
    d.fault("copy", source, d.add(f"{source}_us", (d.frame[source].astype(float) * 2.2046).round(3)))


def copy_near(d):
    source = d.take(d.words)
    values = d.frame[source].to_numpy(copy=True)
    changed = d.rng.random(len(values)) < 0.01
    values[changed] = d.rng.permutation(values)[changed]
    d.fault("copy", source, d.add(f"{source}_old", values))


def copy_near_number(d):
    source = d.take(d.many)
    values = d.frame[source].astype(float)
    noise = d.rng.normal(0, 0.01 * values.std(), len(values))
    d.fault("copy", source, d.add(f"{source}_raw", (values + noise).round(3)))


def identifier_sequence(d):
    d.fault("identifier", d.add("row", np.arange(1, len(d.frame) + 1), at=0))


def identifier_shuffled(d):
    d.fault("identifier", d.add("case", 10_000 + d.rng.permutation(len(d.frame)), at=0))


def identifier_text(d):
    numbers = d.rng.permutation(5 * len(d.frame))[: len(d.frame)]
    d.fault("identifier", d.add("patient", [f"P-{number:06d}" for number in numbers]))


def identifier_hex(d):
    d.fault("identifier", d.add("token", [d.rng.bytes(6).hex() for _ in range(len(d.frame))]))


def constant(d):
    value = d.rng.choice(["2021", "site 1", "1.0"])
    d.fault("constant", d.add("source", [value] * len(d.frame)))


def marker_number(d):
    name = d.take(d.numbers)
    d.frame.loc[d.some(0.01, 0.08), name] = str(d.rng.choice(["?", "n/a", "-", "unknown", "NULL"]))
    d.fault("missing-marker", name)


def marker_word(d):
    name = d.take(d.words)
    d.frame.loc[d.some(0.01, 0.08), name] = str(d.rng.choice(["?", "N/A", "-", "null"]))
    d.fault("missing-marker", name)


def units(d):
    name = d.take(d.numbers)
    unit = str(d.rng.choice([" mg", "kg", " cm", "%"]))
    d.frame[name] = [f"{value}{unit}" for value in d.frame[name]]
    d.fault("units", name)


def units_some(d):
    """A unit in some cells only."""
    name = d.take(d.numbers)
    unit = str(d.rng.choice([" mg", "kg", " cm"]))
    rows = d.some(0.05, 0.4)
    d.frame.loc[rows, name] = [f"{value}{unit}" for value in d.frame.loc[rows, name]]
    d.fault("units", name)


def thousands(d):
    values = np.exp(d.rng.normal(9, 1.5, len(d.frame))).round().astype(int)
    d.fault("thousands", d.add("turnover", [f"{value:,}" for value in values]))


def thousands_blank(d):
    values = np.exp(d.rng.normal(9, 1.5, len(d.frame))).round().astype(int)
    d.fault("thousands", d.add("budget", [f"{value:,}".replace(",", " ") for value in values]))


def decimal_comma(d):
    values = d.rng.normal(20, 6, len(d.frame)).round(2)
    d.fault("decimal-comma", d.add("ratio", [str(value).replace(".", ",") for value in values]))


def decimal_comma_some(d):
    values = d.rng.normal(20, 6, len(d.frame)).round(2)
    text = np.array([str(value) for value in values], dtype=object)
    rows = d.some(0.05, 0.3)
    text[rows] = [value.replace(".", ",") for value in text[rows]]
    d.fault("decimal-comma", d.add("ratio", text))


def spelling_case(d):
    name = d.take(d.words)
    rows = d.some(0.05, 0.3)
    styles = [str.upper, str.title, lambda text: f" {text}", lambda text: f"{text} "]
    d.frame.loc[rows, name] = [styles[d.rng.integers(len(styles))](value) for value in d.frame.loc[rows, name]]
    d.fault("spelling", name)


def spelling_accents(d):
    cities = np.array(["Zürich", "Genève", "Málaga", "Köln", "Bern"], dtype=object)
    values = cities[d.rng.integers(0, 5, len(d.frame))]
    plain = str.maketrans("üèáö", "ueao")
    rows = d.some(0.05, 0.2)
    values[rows] = [value.translate(plain) for value in values[rows]]
    d.fault("spelling", d.add("city", values))


def spelling_typos(d):
    words = np.array(["permanent", "temporary", "freelance", "retired", "student"], dtype=object)
    values = words[d.rng.integers(0, 5, len(d.frame))]
    rows = d.some(0.01, 0.03)
    values[rows] = [value[: (at := int(d.rng.integers(1, len(value) - 1)))] + value[at + 1 :] for value in values[rows]]
    d.fault("spelling", d.add("contract", values))


def spelling_short(d):
    """Ten spellings of two sexes."""
    forms = np.array([["male", "Male", "M", "m", "MALE"], ["female", "Female", "F", "f", "FEMALE"]], dtype=object)
    which = d.rng.integers(0, 2, len(d.frame))
    d.fault("spelling", d.add("gender", forms[which, d.rng.choice(5, len(d.frame), p=[0.5, 0.2, 0.15, 0.1, 0.05])]))


def dates_mixed(d):
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(d.rng.integers(0, 1500, len(d.frame)), unit="D")
    text = np.array(days.strftime("%Y-%m-%d"), dtype=object)
    rows = d.some(0.1, 0.5)
    text[rows] = days[rows].strftime(str(d.rng.choice(["%d.%m.%Y", "%d/%m/%Y", "%b %d, %Y"])))
    d.fault("dates", d.add("admitted", text))


def dates_order(d):
    """Days first in some rows, months first in others."""
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(d.rng.integers(0, 1500, len(d.frame)), unit="D")
    text = np.array(days.strftime("%d/%m/%Y"), dtype=object)
    rows = d.some(0.2, 0.5)
    text[rows] = days[rows].strftime("%m/%d/%Y")
    d.fault("dates", d.add("recorded", text))


def sentinel_large(d):
    name = d.take([name for name in d.many if d.frame[name].astype(float).max() < 900])
    d.frame.loc[d.some(0.01, 0.06), name] = int(d.rng.choice([999, 9999, -999]))
    d.fault("sentinel", name)


def sentinel_negative(d):
    name = d.take(d.many)
    d.frame.loc[d.some(0.01, 0.06), name] = int(d.rng.choice([-1, -9, -99]))
    d.fault("sentinel", name)


def sentinel_zero(d):
    """Zeros among numbers that cannot be zero."""
    values = d.rng.normal(120, 18, len(d.frame)).round()
    values[d.some(0.01, 0.06)] = 0
    d.fault("sentinel", d.add("diastolic", values))


def duplicates(d):
    """Rows that occur twice; added when all columns are finished."""
    d.fault("duplicates")


def contradictions(d):
    """Rows that occur twice, with different classes; added when all columns are finished."""
    d.fault("contradictions")


def imbalance(d):
    """One class is reduced to few rows, before columns are added."""
    d.fault("imbalance", d.target)


def missing_by_class(d):
    name = d.take(d.numbers + d.words)
    rates = np.array([0.02, d.rng.uniform(0.15, 0.4), 0.05])
    d.frame.loc[d.rng.random(len(d.frame)) < rates[d.codes], name] = None
    d.fault("missing-by-class", name)


def rare_states(d):
    common = d.rng.choice(["standard", "express"], len(d.frame), p=[0.6, 0.4]).astype(object)
    rows = d.rng.choice(len(d.frame), 12, replace=False)
    kinds = ["courier", "pigeon", "drone", "bicycle", "horse", "balloon"]
    common[rows] = [kinds[i % 6] for i in range(12)]
    d.fault("rare-states", d.add("delivery", common))


def free_text(d):
    text = "the patient customer machine reported was very quite slow late broken fine good today again with"
    words = text.split()
    remarks = [" ".join(d.rng.choice(words, d.rng.integers(3, 9))) for _ in range(len(d.frame))]
    d.fault("free-text", d.add("remarks", remarks))


def sorted_by_class(d):
    """Rows sorted by class when all columns are finished."""
    d.fault("sorted", d.target)


def sorted_by_number(d):
    """Rows sorted by a number when all columns are finished."""
    d.fault("sorted", d.take(d.many))


FAULTS: list[Callable[[Draft], None]] = [
    leak_text, leak_number, leak_near, leak_missing, leak_fine, leak_pair, copy_exact, copy_recoded, copy_unit,
    copy_near, copy_near_number, identifier_sequence, identifier_shuffled, identifier_text, identifier_hex, constant,
    marker_number, marker_word, units, units_some, thousands, thousands_blank, decimal_comma, decimal_comma_some,
    spelling_case, spelling_accents, spelling_typos, spelling_short, dates_mixed, dates_order, sentinel_large,
    sentinel_negative, sentinel_zero, duplicates, contradictions, imbalance, missing_by_class, rare_states, free_text,
    sorted_by_class, sorted_by_number,
]  # fmt: skip

_CLASS = {imbalance, sorted_by_class, sorted_by_number, duplicates, contradictions}
_LEAKS = {leak_text, leak_number, leak_near, leak_missing, leak_fine, leak_pair}


def _fits(chosen: list[Callable[[Draft], None]], fault: Callable[[Draft], None]) -> bool:
    """Return whether a fault can be planted beside others: none spoils another, and names of columns differ."""
    both = {*chosen, fault}
    if fault in chosen or {decimal_comma, decimal_comma_some} <= both:
        return False
    if len(both & _CLASS) > 1 or len(both & _LEAKS) > 1:
        return False
    # Contradicting rows spoil a leak, and a class of a few rows makes every leak an accident.
    return not (both & _LEAKS and both & {contradictions, imbalance, missing_by_class})


def plan() -> list[list[Callable[[Draft], None]]]:
    """Return the faults of each file: every variant equally often, at most one apart."""
    rng = np.random.default_rng(1953)
    files: list[list[Callable[[Draft], None]]] = [[] for _ in range(N_FILES)]
    queue: list[Callable[[Draft], None]] = []
    while any(len(file) < FAULTS_PER_FILE for file in files):
        if not queue:
            queue = [FAULTS[i] for i in rng.permutation(len(FAULTS))]
        fault = queue.pop()
        open_files = [file for file in files if len(file) < FAULTS_PER_FILE]
        fitting = [file for file in open_files if _fits(file, fault)]
        if not fitting:
            continue
        fewest = min(map(len, fitting))
        candidates = [i for i, file in enumerate(fitting) if len(file) == fewest]
        fitting[int(rng.choice(candidates))].append(fault)
    return files


def make(number: int) -> DirtyFile:
    """Make a file; `number` counts from 0."""
    draft, faults = Draft(number), plan()[number]
    rng = draft.rng
    if imbalance in faults:
        kept = (draft.codes != 1) | (np.cumsum(draft.codes == 1) <= max(4, int(0.01 * len(draft.codes))))
        draft.frame, draft.codes = draft.frame[kept].reset_index(drop=True), draft.codes[kept]
    for fault in faults:
        fault(draft)
    frame = draft.frame.assign(**{draft.target: np.array(draft.labels, dtype=object)[draft.codes]})
    n = len(frame)
    if duplicates in faults:
        again = frame.iloc[rng.choice(n, max(8, n // 40), replace=False)]
        frame = pd.concat([frame, again]).iloc[rng.permutation(n + len(again))]
    if contradictions in faults:
        again = frame.iloc[rng.choice(n, max(8, n // 40), replace=False)].copy()
        others = {label: draft.labels[(i + 1) % len(draft.labels)] for i, label in enumerate(draft.labels)}
        again[draft.target] = again[draft.target].map(others)
        frame = pd.concat([frame, again]).iloc[rng.permutation(n + len(again))]
    if sorted_by_class in faults:
        frame = frame.sort_values(draft.target, kind="stable")
    if sorted_by_number in faults:
        name = next(columns[0] for kind, columns in draft.faults if kind == "sorted")
        frame = frame.sort_values(name, kind="stable", key=lambda column: column.astype(float))
    name = f"{number + 1:02d}-{DOMAINS[number % len(DOMAINS)].__name__}"
    return DirtyFile(name, frame.reset_index(drop=True), draft.target, draft.faults)


def text_of(file: DirtyFile) -> str:
    """Return a file as CSV."""
    return file.frame.to_csv(index=False, lineterminator="\n")


def files() -> list[DirtyFile]:
    """Return all files."""
    return [make(number) for number in range(N_FILES)]


# The checks.


def missed(file: DirtyFile, report: CheckReport) -> list[str]:
    """Return the planted faults that a report does not name."""
    kinds = [(finding.kind, set(finding.columns)) for finding in report.findings]
    return [
        f"{file.name}: {kind} {' + '.join(columns)}"
        for kind, columns in file.faults
        if not any(kind == known and named >= set(columns) for known, named in kinds)
    ]


def false_alarms(file: DirtyFile, report: CheckReport) -> list[str]:
    """Return the findings of high severity about columns without a planted fault."""
    planted = {name for _, columns in file.faults for name in columns}
    grave = [finding for finding in report.findings if finding.severity == "high"]
    return [f"{file.name}: {f.kind} {f.column}: {f.evidence}" for f in grave if not planted & set(f.columns)]


def measure_files() -> None:
    """Check all files as CSV and print the share of planted faults that are found."""
    n_faults, not_found, false = 0, [], []
    with TemporaryDirectory() as folder:
        write(folder)
        for file in files():
            report = check(Path(folder, f"{file.name}.csv"), file.target)
            n_faults += len(file.faults)
            not_found += missed(file, report)
            false += false_alarms(file, report)
    print(f"planted faults: {n_faults}; found: {n_faults - len(not_found)} ({1 - len(not_found) / n_faults:.1%})")
    print(f"false findings of high severity: {len(false)}", *not_found, *false, sep="\n  ")


def measure_real() -> None:
    """Check the development sets, and print their findings of high severity and how many others there are."""
    folder = Path(os.environ["BNPLUG_DATA"])
    names = pd.read_csv(folder / "DEVELOPMENT.csv")["name"]
    severities: Counter[str] = Counter()
    false = 0
    for name in names:
        path = folder / f"{name}.csv.gz"
        report = check(path, "class")
        severities.update(finding.severity for finding in report.findings)
        for finding in report.findings:
            if finding.severity == "high":
                is_true = finding.kind == "leak" and determines(pd.read_csv(path), finding.columns)
                false += not is_true
                print(f"{name}: {'true' if is_true else 'false'}: {finding.kind} {finding.column}: {finding.evidence}")
    print(f"{len(names)} sets; findings: {dict(severities)}; false ones of high severity: {false}")


def determines(rows: pd.DataFrame, columns: tuple[str, ...]) -> bool:
    """Return whether no two rows with the same values in some columns have different classes."""
    return bool((rows.groupby(list(columns), dropna=False)["class"].nunique() == 1).all())


def measure_speed(n_rows: int = 100_000, n_columns: int = 50) -> None:
    """Print the seconds that checking takes: a frame, and the same rows as CSV and Parquet."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    columns = {}
    for j in range(n_columns):
        numbers = rng.normal(size=n_rows) + y * (j % 7 == 0)
        steps = np.digitize(numbers, [-1, 0, 1])
        holes = np.where(rng.random(n_rows) < 0.01, np.nan, numbers.round(3))
        words = np.array(["ash", "beech", "cedar", "oak"], dtype=object)[steps]
        columns[f"x{j}"] = [holes, steps, words, rng.integers(0, 1000, n_rows)][j % 4]
    X, labels = pd.DataFrame(columns), np.array(["no", "yes"])[y]
    check(X[:1000], labels[:1000])
    with TemporaryDirectory() as folder:
        X.assign(y=labels).to_csv(f"{folder}/rows.csv", index=False)
        X.assign(y=labels).to_parquet(f"{folder}/rows.parquet")
        sources = {"frame": (X, labels), "CSV": (f"{folder}/rows.csv", "y"), "Parquet": (f"{folder}/rows.parquet", "y")}
        for name, source in sources.items():
            started, clock = time.process_time(), time.perf_counter()
            check(*source)
            processor, wall = time.process_time() - started, time.perf_counter() - clock
            print(f"{name}: {n_rows:,} x {n_columns}, {processor:.1f} s of the processor, {wall:.1f} s in all")


def listing() -> None:
    """Print a table of the files and their faults."""
    print("| file | rows | columns | faults |\n|---|---|---|---|")
    for file in files():
        faults = "; ".join(f"{kind}{' ' if columns else ''}{', '.join(columns)}" for kind, columns in file.faults)
        print(f"| {file.name} | {len(file.frame):,} | {file.frame.shape[1]} | {faults} |")


def write(folder: str) -> None:
    """Write all files as CSV."""
    for file in files():
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, f"{file.name}.csv").write_text(text_of(file), encoding="utf-8")


if __name__ == "__main__":
    asked = sys.argv[1:] or ["files", "real", "speed"]
    if "list" in asked:
        listing()
    if "write" in asked:
        write(asked[asked.index("write") + 1])
    if "files" in asked:
        measure_files()
    if "real" in asked and "BNPLUG_DATA" in os.environ:
        measure_real()
    if "speed" in asked:
        measure_speed()
