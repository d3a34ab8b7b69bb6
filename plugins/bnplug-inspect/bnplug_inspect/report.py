"""The report of a check: findings as a frame, as text, as JSON and as a page, and the fixes ready to paste."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bnplug.errors import printable
from bnplug.files import write_atomically
from bnplug.html import Cell, render
from bnplug_inspect.findings import SEVERITIES, Finding

_WIDTH, _REPAIRED = 100, "repaired.csv"
_CONTENTS = (
    "This page contains the names of columns, numbers of rows, and single values of columns: spellings, rare states, "
    "texts that are not numbers, and bounds. It contains no rows of data."
)


@dataclass(frozen=True)
class CheckReport:
    """The result of :func:`bnplug_inspect.check`.

    Attributes
    ----------
    findings : tuple of Finding
        The gravest first.
    n_rows, n_columns : int
        The size of the data, the class included.
    target : str or None
        The class.
    source : tuple of str
        The files, if the data were in files; "-" is standard input.
    csv : dict
        How CSV files were read.
    dropped : tuple of str
        Columns that were left out of the check.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_columns: int
    target: str | None = None
    source: tuple[str, ...] = ()
    csv: dict[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self._headline()]
        for finding in self.findings:
            what = f"{finding.severity:<7} {finding.kind}{': ' if finding.columns else ''}{finding.column}"
            lines += ["", printable(what)]
            for text in (finding.evidence, finding.advice):
                lines += textwrap.wrap(printable(text), _WIDTH, initial_indent="        ", subsequent_indent="        ")
        for title, text in (("Python", self.python()), ("Command line", self.command_line())):
            if text:
                lines += ["", f"{title}:", "", *(f"    {line}" for line in text.splitlines())]
        return "\n".join(lines)

    def _headline(self) -> str:
        size = f"{self.n_rows:,} rows, {self.n_columns} columns"
        if not self.findings:
            return f"{size}: no findings"
        counts = Counter(finding.severity for finding in self.findings)
        listed = ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES if counts[severity])
        n = len(self.findings)
        return f"{size}: {n} {'finding' if n == 1 else 'findings'} ({listed})"

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a frame with the columns severity, kind, columns, evidence and advice."""
        rows = [(f.severity, f.kind, f.column, f.evidence, f.advice) for f in self.findings]
        return pd.DataFrame(rows, columns=["severity", "kind", "columns", "evidence", "advice"])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return {
            "rows": self.n_rows,
            "columns": self.n_columns,
            "target": self.target,
            "findings": [finding.to_dict() for finding in self.findings],
            "python": self.python(),
            "command_line": self.command_line(),
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as one HTML page, which loads nothing, and write it to a file if `path` is given."""
        without_folders = replace(self, source=tuple(Path(name).name for name in self.source))
        page = render(
            "check.html",
            package="bnplug_inspect",
            title=f"Data check: {', '.join(Path(name).name for name in self.source) or 'rows in memory'}",
            headline=self._headline(),
            target=self.target,
            head=[[Cell(text, "words") for text in ("severity", "kind", "columns", "evidence", "what to do")]],
            rows=[self._row(finding) for finding in self.findings],
            # The page does not say where files are.
            python=without_folders.python(),
            command_line=without_folders.command_line(),
            contents=_CONTENTS,
        )
        if path is not None:
            write_atomically(Path(path), page)
        return page

    def _row(self, finding: Finding) -> list[Cell]:
        texts = (finding.kind, finding.column, finding.evidence, finding.advice)
        return [Cell(finding.severity, f"words {finding.severity}"), *(Cell(text, "words") for text in texts)]

    # Fixes.

    def _all(self, part: str) -> list[str]:
        """Return the texts to read as missing, the columns to drop, or the lines, each once."""
        return list(dict.fromkeys(item for finding in self.findings for item in getattr(finding.fix, part)))

    @property
    def missing(self) -> list[str]:
        """Texts to read as missing."""
        return self._all("missing")

    @property
    def drop(self) -> list[str]:
        """Columns to leave out: `dropped`, identifiers, constants, copies, and columns that determine the class."""
        return [*self.dropped, *(name for name in self._all("drop") if name != self.target)]

    @property
    def rules(self) -> dict[str, Any]:
        """Options of :class:`bnplug.ColumnRules`, which all estimators take."""
        rules: dict[str, Any] = {}
        for finding in self.findings:
            for name, value in finding.fix.rules.items():
                rules[name] = {**rules.get(name, {}), **value} if isinstance(value, dict) else value
        if "missing" in rules:
            rules["missing"] = {name: policy for name, policy in rules["missing"].items() if name not in self.drop}
        return {name: value for name, value in rules.items() if value != {}}

    def python(self) -> str:
        """Return the fixes as Python: reading, repairing the frame ``data``, and the options of the estimator."""
        lines = self._all("lines")
        if not (self._all("missing") or lines or self.drop or self.rules or self._decimal()):
            return ""
        code = ["import bnplug", "import pandas as pd", "", f"data = {self._read()}", *lines]
        if self.target is None:
            return "\n".join([*code, f"data = data.drop(columns={self.drop!r})"] if self.drop else code)
        leaks = [f.column for f in self.findings if f.kind == "leak" and f.fix.drop]
        code += [f"# {name!r} determines the class. Keep it only if it is known before the class." for name in leaks]
        rules = "".join(f", {name}={value!r}" for name, value in self.rules.items()).removeprefix(", ")
        return "\n".join(
            [
                *code,
                f"X, y = data.drop(columns={[self.target, *self.drop]!r}), data[{self.target!r}]",
                f"model = bnplug.BayesianNetworkClassifier({rules}).fit(X, y)",
            ]
        )

    def _read(self) -> str:
        """Return the expression that reads the data."""
        if not self.source:
            return f"X.assign(**{{{self.target!r}: y}})" if self.target else "X.copy()"
        options = "".join(f", {name}={value!r}" for name, value in self._read_options().items())
        is_parquet = self.source[0].endswith((".parquet", ".pq"))
        reader, options = ("pd.read_parquet", "") if is_parquet else ("pd.read_csv", options)
        if len(self.source) > 1:
            return f"pd.concat([{reader}(path{options}) for path in {list(self.source)!r}], ignore_index=True)"
        name = "data.csv" if self.source == ("-",) else self.source[0]
        return f"{reader}({name!r}{options})"

    def _decimal(self) -> bool:
        return any(finding.fix.decimal for finding in self.findings)

    def _read_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.csv.get("sep", ",") != ",":
            options["sep"] = self.csv["sep"]
        if self.csv.get("encoding"):
            options["encoding"] = self.csv["encoding"]
        # pandas would read words such as None as missing, too.
        options |= {"keep_default_na": False, "na_values": ["", *self.csv.get("missing", ()), *self.missing]}
        if self._decimal() or self.csv.get("decimal", ".") == ",":
            options["decimal"] = ","
        return options

    def command_line(self) -> str:
        """Return the fixes as options of ``bnplug fit``; empty if there is nothing that options can repair."""
        if not self.source or not self.target or not (self.missing or self.drop or self.rules or self._decimal()):
            return ""
        # Files that the lines for Python have repaired are read without options.
        repaired = bool(self._all("lines"))
        options = {} if repaired else self._read_options()
        words = ["bnplug", "fit", *([_REPAIRED] if repaired else self.source), "--target", self.target]
        for text in options.get("na_values", [""])[1:]:
            words += ["--na", text]
        if "decimal" in options:
            words += ["--decimal", ","]
        if "sep" in options:
            words += ["--sep", "tab" if options["sep"] == "\t" else options["sep"]]
        if "encoding" in options:
            words += ["--encoding", options["encoding"]]
        for name in self.drop:
            words += ["--drop", f'"{name}"' if "," in name else name]
        for name, policy in self.rules.get("missing", {}).items():
            words += ["--missing", f"{name}={policy}"]
        if "min_frequency" in self.rules:
            words += ["--set", f"min_frequency={self.rules['min_frequency']}"]
        note = f"# First run the lines for Python, then: data.to_csv({_REPAIRED!r}, index=False)\n" if repaired else ""
        return note + shlex.join([*words, "-o", "model"])
