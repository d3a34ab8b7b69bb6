"""Checks of text: numbers in disguise, dates, markers of missing values, and several spellings of one value."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bnplug.table.inspection import date_formats
from bnplug_inspect._profile import ColumnProfile
from bnplug_inspect.findings import Finding, Fix

#: Texts that stand for a missing value wherever they occur, and those that do among numbers.
MARKERS = {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "<na>", "n.a.", "nan", "nat", "null", "#null!", "(null)"}
WORDS = {"unknown", "missing", "not available", "not known", "none", "unk", "undefined", "not recorded", "n.d.", "nil"}

# A column contains numbers if at least this share of its cells does; with this many distinct numbers it would be cut.
_MOSTLY, _MANY_NUMBERS = 0.8, 10
# A unit is a unit if it follows this many distinct numbers.
_FEWEST_OF_UNIT = 3
_UNIT = re.compile(r"\s*([+-]?[0-9][0-9.,']*)\s*([A-Za-zµμ°%€$£²³/]{1,10})\s*")
_CURRENCY = re.compile(r"\s*([€$£])\s*([+-]?[0-9][0-9.,']*)\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:([,' \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*([.,][0-9]+)?\s*")
_POINTS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}((\.[0-9]{3})+,[0-9]+|(\.[0-9]{3}){2,})\s*")
_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*")
# Units that can be converted into each other, and their sizes.
_SIZES = [
    {"µg": 1e-6, "ug": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6},
    {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3},
    {"ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "dl": 0.1, "dL": 0.1, "l": 1.0, "L": 1.0},
    {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
]

_EVIDENCE = {
    "units": "numbers with a unit", "thousands": "separators of thousands", "decimal-comma": "decimal commas",
}  # fmt: skip
_ADVICE = "Convert the column to numbers."

# Evidence names this many values; a value is cut after so many characters.
_SHOWN, _LONGEST = 5, 40
# Columns with more distinct texts are not searched for spellings.
_MOST_SPELLINGS, _MOST_TYPOS = 5000, 2000
# A misspelled word is this long, and this much rarer than the right one.
_FEWEST_LETTERS, _RARER = 5, 0.05


def check_text(profile: ColumnProfile, is_csv: bool, decimal: str) -> tuple[list[Finding], bool]:
    """Return the findings about the text of a column, and whether the column is numbers or dates in disguise.

    Texts of CSV files (`is_csv`) can be read as missing. `decimal` is "," if a reader that takes a decimal comma would
    harm no other column of the file, and "." otherwise.
    """
    if profile.times or not (profile.n_texts or profile.n_written):
        return [], profile.times
    formats = date_formats(list(profile.texts.index), profile.texts.to_numpy()) if not profile.n_numbers else []
    if formats:
        return _check_dates(profile, formats), True
    findings = _check_numbers(profile, is_csv, decimal)
    if findings:
        return findings, True
    findings = [
        finding for finding in (_check_markers(profile, is_csv), *check_spellings(profile)) if finding is not None
    ]
    return findings, False


# Numbers in disguise.


def _check_numbers(profile: ColumnProfile, is_csv: bool, decimal: str) -> list[Finding]:
    """Return findings about a column of numbers that is text; none if it is no such column."""
    rows = profile.text_rows
    parts = _numeric_parts(rows)
    counts = {part: sum(rows[text] for text in texts) for part, texts in parts.items()}
    disguised = [part for part in ("units", "thousands", "decimal-comma") if parts[part]]
    n_numeric = profile.n_numbers + sum(counts[part] for part in disguised)
    if not n_numeric or n_numeric < _MOSTLY * (n_numeric + counts["other"]):
        return []
    n_distinct = len(profile.numbers) + sum(len(parts[part]) for part in disguised)
    severity = "high" if n_distinct >= _MANY_NUMBERS else "medium"
    fix = Fix(lines=_converted(profile.name, parts, is_csv))
    share = f"{share_text(n_numeric, profile.n_present)} of the cells are numbers"
    findings = []

    def note(kind: str, evidence: str, advice: str, fix: Fix = fix) -> None:
        findings.append(Finding(kind, (profile.name,), severity, evidence, advice, fix))

    if markers := parts["missing-marker"]:
        advice = f"Pass na_values={markers[:_SHOWN]} to pandas.read_csv ({_options(markers)})."
        as_read = Fix(missing=tuple(markers)) if is_csv else fix
        note("missing-marker", f"{share}; others: {_listed(rows, markers)}", advice, as_read)
    for part in disguised:
        evidence = f"{_EVIDENCE[part]} in {rows_text(counts[part])}, such as {_quoted(parts[part][0])}"
        if part == "units":
            units = sorted({_number_and_unit(text)[1] for text in parts[part]})
            several = len(units) > 1 or profile.n_numbers > 0
            evidence += f"; the units are {', '.join(map(repr, units))}{' and none' if profile.n_numbers else ''}"
            note(part, evidence, f"{_ADVICE}{' Check first what each unit, or none, means.' if several else ''}")
        elif part == "decimal-comma" and decimal == "," and len(disguised) == 1:
            note(part, evidence, 'Pass decimal="," to pandas.read_csv (--decimal ,).', Fix(decimal=","))
        else:
            note(part, evidence, _ADVICE)
    if parts["other"]:
        advice = "Convert the column to numbers. Other text becomes missing: check that it means that."
        note("numbers-in-text", f"{share}; others: {_listed(rows, parts['other'])}", advice)
    if not findings and profile.n_written and not profile.n_zeros and n_distinct >= _MANY_NUMBERS:
        severity = "medium"
        note("numbers-in-text", f"{rows_text(profile.n_written)} of numbers that are text", _ADVICE)
    return findings


def _numeric_parts(rows: Mapping[str, int]) -> dict[str, list[str]]:
    """Return texts by what they are: the kind of finding, or other."""
    parts: dict[str, list[str]] = {
        part: [] for part in ("missing-marker", "units", "thousands", "decimal-comma", "other")
    }
    for text in sorted(rows, key=lambda text: (-rows[text], text)):
        word = text.strip().casefold()
        if word in MARKERS or word in WORDS:
            parts["missing-marker"].append(text)
        elif _THOUSANDS.fullmatch(text) or _POINTS.fullmatch(text):
            parts["thousands"].append(text)
        elif _COMMA.fullmatch(text):
            parts["decimal-comma"].append(text)
        else:
            parts["units" if _number_and_unit(text)[1] else "other"].append(text)
    if parts["decimal-comma"]:
        # A comma before three digits is decimal if other commas of the column are.
        decimals = [text for text in parts["thousands"] if text.count(",") == 1 and "." not in text]
        parts["decimal-comma"] += decimals
        parts["thousands"] = [text for text in parts["thousands"] if text not in set(decimals)]
    numbers: dict[str, set[str]] = defaultdict(set)
    for text in parts["units"]:
        number, unit = _number_and_unit(text)
        numbers[unit].add(number)
    few = [text for text in parts["units"] if len(numbers[_number_and_unit(text)[1]]) < _FEWEST_OF_UNIT]
    parts["other"] += few
    parts["units"] = [text for text in parts["units"] if text not in set(few)]
    return parts


def _number_and_unit(text: str) -> tuple[str, str]:
    """Return the number and the unit of a text; both are empty if it is not a number with a unit."""
    match = _UNIT.fullmatch(text)
    if match:
        return match[1], match[2]
    match = _CURRENCY.fullmatch(text)
    return (match[2], match[1]) if match else ("", "")


def _converted(name: str, parts: Mapping[str, Sequence[str]], is_csv: bool) -> tuple[str, ...]:
    """Return the line that converts a column to numbers; it is a comment if units cannot be converted."""
    numbers = [*parts["thousands"], *(_number_and_unit(text)[0] for text in parts["units"])]
    marks = {match[1] for text in numbers if (match := _THOUSANDS.fullmatch(text))}
    points = any(_POINTS.fullmatch(text) for text in numbers)
    commas = parts["decimal-comma"] or any(_COMMA.fullmatch(text) for text in numbers if not _THOUSANDS.fullmatch(text))
    text = f'data[{name!r}].astype("string")'
    steps = ['.str.replace(r"[^0-9.,\'+-]", "", regex=True)'] if parts["units"] else []
    steps += [f'.str.replace({mark!r}, "")' for mark in sorted(marks | ({"."} if points else set()))]
    steps += ['.str.replace(",", ".")'] if commas or points else []
    errors = ', errors="coerce"' if parts["other"] or (parts["missing-marker"] and not is_csv) else ""
    line = f"data[{name!r}] = pd.to_numeric({text}{''.join(steps)}{errors})"
    units = [unit for unit, _ in Counter(_number_and_unit(text)[1] for text in parts["units"]).most_common()]
    if len(units) < 2:
        return (line,)
    sizes = next((sizes for sizes in _SIZES if set(units) <= set(sizes)), None)
    factors = {unit: 1.0 if sizes is None else float(f"{sizes[unit] / sizes[units[0]]:.12g}") for unit in units}
    line += f' * {text}.str.extract(r"([^0-9.,\'+\\s-]+)", expand=False).map({factors!r}).fillna(1)'
    return (line if sizes is not None else f"# Set the factors of the units: {line}",)


# Dates.


def _check_dates(profile: ColumnProfile, formats: Sequence[Any]) -> list[Finding]:
    name = profile.name
    listed = " and ".join(f"{known.name} ({known.example!r}, {rows_text(known.rows)})" for known in formats)
    patterns = [known.pattern for known in formats]
    if len(formats) == 1 and patterns == ["ISO8601"]:
        return []
    unclear = "" in patterns or {"%d/%m/%Y", "%m/%d/%Y"} <= set(patterns)
    if unclear:
        advice = "Days and months cannot always be told apart: find out which rows have which order."
        lines: tuple[str, ...] = ()
    else:
        advice = "Convert the column to points in time."
        tries = [f'pd.to_datetime(data[{name!r}], format="{pattern}", errors="coerce")' for pattern in patterns]
        joined = tries[0] + "".join(f".fillna({other})" for other in tries[1:])
        lines = (f"data[{name!r}] = {joined}",)
    severity = "medium" if len(formats) > 1 else "low"
    several = f"dates in {len(formats)} formats" if len(formats) > 1 else "dates that are not in ISO 8601"
    return [Finding("dates", (name,), severity, f"{several}: {listed}", advice, Fix(lines=lines))]


# Categories.


def _check_markers(profile: ColumnProfile, is_csv: bool) -> Finding | None:
    """Return the finding about states that stand for a missing value."""
    rows = profile.text_rows
    certain = [text for text in rows if text.strip().casefold() in MARKERS]
    words = [text for text in rows if text.strip().casefold() in WORDS - {"none", "nil"}]
    markers = sorted(certain or words, key=lambda text: -rows[text])
    if not markers or len(rows) < 2:
        return None
    line = f"data[{profile.name!r}] = data[{profile.name!r}].mask(data[{profile.name!r}].isin({markers!r}))"
    fix = Fix(missing=tuple(markers)) if is_csv else Fix(lines=(line,))
    return Finding(
        "missing-marker",
        (profile.name,),
        "medium" if certain else "low",
        f"states that usually stand for a missing value: {_listed(rows, markers)}",
        f"If they do, pass na_values={markers[:_SHOWN]} to pandas.read_csv ({_options(markers)}).",
        fix if certain else Fix(),
    )


def check_spellings(profile: ColumnProfile) -> Iterator[Finding]:
    """Yield findings about states that are probably one value: spellings that differ in form, and typing errors."""
    rows = profile.text_rows
    if not 1 < len(rows) <= _MOST_SPELLINGS:
        return
    forms = same_forms(rows)
    if forms:
        pairs = dict(list(forms.items())[:_SHOWN])
        listed = ", ".join(f"{_quoted(other)} and {_quoted(first)}" for other, first in pairs.items())
        more = f" and {len(forms) - _SHOWN} more" if len(forms) > _SHOWN else ""
        yield Finding(
            "spelling",
            (profile.name,),
            "medium",
            f"several spellings of one value, in {rows_text(sum(rows[text] for text in forms))}: {listed}{more}",
            "Replace them by one spelling.",
            Fix(lines=(f"data[{profile.name!r}] = data[{profile.name!r}].replace({forms!r})",)),
        )
    errors = typing_errors({text: n for text, n in rows.items() if text not in forms})
    if errors:
        listed = ", ".join(f"{_quoted(text)} ({right!r})" for text, right in list(errors.items())[:_SHOWN])
        more = f" and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
        yield Finding(
            "spelling",
            (profile.name,),
            "low",
            f"possible typing errors, in {rows_text(sum(rows[text] for text in errors))}: {listed}{more}",
            "Replace them if they are errors.",
            Fix(lines=(f"# data[{profile.name!r}] = data[{profile.name!r}].replace({errors!r})",)),
        )


def same_forms(rows: Mapping[str, int]) -> dict[str, str]:
    """Return the spellings that differ from a more frequent one only in case, blanks, accents or abbreviation.

    Examples
    --------
    >>> same_forms({"male": 50, "Male ": 3, "female": 40, "f": 2})
    {'Male ': 'male', 'f': 'female'}
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for text in rows:
        groups[_plain(text)].append(text)
    words = set(groups)
    for letter, word in _abbreviated(words).items():
        groups[word] += groups.pop(letter)
    replaced: dict[str, str] = {}
    for word, forms in groups.items():
        # An abbreviation does not name the group.
        best = max((form for form in forms if _plain(form) == word), key=lambda form: rows[form])
        replaced |= {form: best for form in forms if form != best}
    return dict(sorted(replaced.items(), key=lambda pair: -rows[pair[0]]))


def _abbreviated(states: set[str]) -> dict[str, str]:
    """Return the word of each single letter, if all letters are the first letters of exactly one word each."""
    letters = [state for state in states if len(state) == 1 and state.isalpha()]
    words = [state for state in states if len(state) > 1 and state.isalpha()]
    if not letters or len(letters) + len(words) < len(states):
        return {}
    meant = {letter: [word for word in words if word[0] == letter.casefold()] for letter in letters}
    return {letter: found[0] for letter, found in meant.items()} if all(len(w) == 1 for w in meant.values()) else {}


def typing_errors(rows: Mapping[str, int]) -> dict[str, str]:
    """Return rare words that differ in one letter from a much more frequent word.

    Examples
    --------
    >>> typing_errors({"permanent": 400, "permannt": 2, "temporary": 300})
    {'permannt': 'permanent'}
    """
    words = [text for text in rows if len(text) >= _FEWEST_LETTERS - 1 and not any(map(str.isdigit, text))]
    if len(words) > _MOST_TYPOS:
        return {}
    near: dict[str, set[str]] = defaultdict(set)
    for word in words:
        for i in range(-1, len(word)):
            near[word if i < 0 else word[:i] + word[i + 1 :]].add(word)
    found: dict[str, str] = {}
    for group in near.values():
        if len(group) < 2:
            continue
        right = max(group, key=lambda word: (rows[word], word))
        rare = [
            word
            for word in group
            if word != right and rows[word] <= _RARER * rows[right] and len(right) >= _FEWEST_LETTERS
        ]
        found |= {word: right for word in rare if rows[found.get(word, word)] < rows[right]}
    return dict(sorted(found.items(), key=lambda pair: (-rows[pair[0]], pair[0])))


def _plain(text: str) -> str:
    """Return a text without case, accents, blanks and signs between words."""
    if text.isascii() and text.isalnum():
        # Single letters are often codes, in which case matters.
        return text.casefold() if len(text) > 1 else text
    letters = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    words = re.sub(r"[\s_\-]+", " ", letters).strip().casefold()
    return words or text


# Words of evidence.


def rows_text(n: float) -> str:
    """Return a number of rows, such as "1 row" or "2,000 rows"."""
    return f"{int(n):,} {'row' if n == 1 else 'rows'}"


def share_text(part: float, whole: float) -> str:
    """Return a share in percent; less than all is not 100%."""
    share = part / max(whole, 1)
    return f"{share:.1%}" if share > 0.99 and part < whole else f"{share:.0%}"


def _quoted(text: object) -> str:
    whole = str(text)
    return repr(whole if len(whole) <= _LONGEST else whole[: _LONGEST - 1] + "…")


def _listed(rows: Mapping[str, int], texts: Sequence[str]) -> str:
    shown = ", ".join(f"{_quoted(text)} ({rows_text(rows[text])})" for text in texts[:_SHOWN])
    return shown + (f" and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else "")


def _options(texts: Sequence[str]) -> str:
    return " ".join(f"--na {text!r}" for text in texts[:_SHOWN])
