"""Each kind of finding on a hand-made column, no findings on noise, and the same findings from every source."""

import html
import json
import sys
from pathlib import Path

import bnplug_inspect._profile
import bnplug_inspect._reading
import numpy as np
import pandas as pd
import pytest
from bnplug_inspect import KINDS, check
from bnplug_inspect._text import same_forms, typing_errors
from click.testing import CliRunner

import bnplug
from bnplug.cli import cli

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import dirty_files

N = 400
RNG = np.random.default_rng(53)
Y = np.array(["ill", "well"])[RNG.integers(0, 2, N)]
NUMBERS = RNG.normal(50, 10, N).round(1)
WORDS = RNG.choice(["ash", "beech", "cedar"], N)


def with_rows(values, positions, value):
    values = np.array(values, dtype=object)
    values[list(positions)] = value
    return values


def formats(*styles):
    days = pd.Timestamp("2020-01-13") + pd.to_timedelta(np.arange(N), unit="D")
    return [day.strftime(styles[i % len(styles)]) for i, day in enumerate(days)]


#: A kind of finding, the column that has it, its severity, and a part of the evidence.
COLUMNS = {
    "leak": ("leak", np.where(Y == "ill", 1, 2), "high", "in 400 rows, each of 2 states"),
    "leak of numbers": ("leak", np.where(Y == "ill", NUMBERS, NUMBERS + 500), "high", "has one class"),
    "near leak": (
        "leak",
        with_rows(np.where(Y == "ill", "a", "b"), range(3), "a"),
        "medium",
        "% of 400 rows correctly",
    ),
    "constant": ("constant", ["x"] * N, "low", "always 'x'"),
    "empty": ("constant", [None] * N, "low", "no value at all"),
    "sequence": ("identifier", np.arange(N), "medium", "would repeat 200 times"),
    "codes": ("identifier", [f"P-{i:04d}" for i in RNG.permutation(N)], "medium", "100% of the values are distinct"),
    "remarks": ("free-text", [f"patient number {i} came in" for i in range(N)], "medium", "and they are text"),
    "marker": (
        "missing-marker",
        with_rows(NUMBERS, range(21), "?"),
        "high",
        "95% of the cells are numbers; others: '?' (21 rows)",
    ),
    "marker of words": ("missing-marker", with_rows(WORDS, range(7), "N/A"), "medium", "'N/A' (7 rows)"),
    "units": ("units", [f"{x} mg" for x in NUMBERS], "high", "the units are 'mg'"),
    "currency": ("units", [f"${x}" for x in NUMBERS], "high", "the units are '$'"),
    "thousands": ("thousands", [f"{1000 + 7 * i:,}" for i in range(N)], "high", "separators of thousands in 400 rows"),
    "commas": ("decimal-comma", [str(x).replace(".", ",") for x in NUMBERS], "high", "decimal commas in 400 rows"),
    "words": ("numbers-in-text", with_rows(NUMBERS, range(9), "high"), "high", "'high' (9 rows)"),
    "spelling": ("spelling", with_rows(WORDS, range(5), "Ash "), "medium", "in 5 rows: 'Ash ' and 'ash'"),
    "typing": ("spelling", with_rows(WORDS, range(2), "ceddar"), "low", "in 2 rows: 'ceddar' ('cedar')"),
    "dates": ("dates", formats("%Y-%m-%d", "%d.%m.%Y"), "medium", "YYYY-MM-DD ('2020-01-13', 200 rows)"),
    "orders": ("dates", formats("%d/%m/%Y", "%m/%d/%Y"), "medium", "DD/MM/YYYY ('13/01/2020'"),
    "one format": ("dates", formats("%d.%m.%Y"), "low", "dates that are not in ISO 8601"),
    "999": ("sentinel", with_rows(NUMBERS, range(6), 999), "medium", "999 (6 rows)"),
    "-1": ("sentinel", with_rows(NUMBERS, range(6), -1), "medium", "-1 (6 rows)"),
    "0": ("sentinel", with_rows(NUMBERS + 40, range(6), 0), "medium", "0 (6 rows)"),
    "99": ("sentinel", with_rows(RNG.integers(18, 71, N), range(6), 99), "medium", "99 (6 rows)"),
    "-9 beside codes": ("sentinel", with_rows(RNG.integers(1, 4, N), range(6), -9), "medium", "-9 (6 rows); all other"),
    "99 beside codes": ("sentinel", with_rows(RNG.integers(1, 4, N), range(6), 99), "medium", "99 (6 rows); all other"),
    "rare": ("rare-states", with_rows(WORDS, range(2), "yew"), "low", "'yew' (2 rows)"),
    "missing": (
        "missing-by-class",
        np.where((Y == "ill") & (np.arange(N) % 3 == 0), None, WORDS.astype(object)),
        "medium",
        "of class 'ill', 0% of 'well'",
    ),
    "ascending": ("sorted", np.sort(NUMBERS), "low", "in ascending order"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "severity", "evidence"), COLUMNS.values(), ids=list(COLUMNS))
def test_a_column_has_the_finding(kind, values, severity, evidence):
    X = pd.DataFrame({"a": RNG.normal(size=N), "it": values, "b": WORDS[::-1]})
    found = [finding for finding in check(X, Y).findings if finding.kind == kind and finding.columns == ("it",)]
    assert [finding.severity for finding in found] == [severity]
    assert evidence in found[0].evidence
    assert check(X.drop(columns="it"), Y).findings == ()


@pytest.mark.parametrize(
    ("copy", "found"),
    [
        (WORDS, True),
        (np.array(["B", "C", "A"])[pd.factorize(WORDS)[0]], True),
        (with_rows(WORDS, range(3), "ash"), True),
        (with_rows(WORDS, range(80), "ash"), False),
        (RNG.permutation(WORDS), False),
    ],
    ids=["equal", "recoded", "nearly", "often", "other"],
)
def test_a_copy_of_words_is_found(copy, found):
    X = pd.DataFrame({"a": RNG.normal(size=N), "b": WORDS, "c": copy})
    assert [f.columns for f in check(X, Y).findings if f.kind == "copy"] == [("b", "c")] * found


def test_copies_of_numbers_are_found_in_other_units_and_with_noise():
    X = pd.DataFrame({"a": NUMBERS, "b": NUMBERS * 2.2 + 1, "c": RNG.permutation(NUMBERS), "d": np.exp(NUMBERS / 10)})
    pairs = {finding.columns for finding in check(X, Y).findings if finding.kind == "copy"}
    assert pairs == {("a", "b"), ("a", "d")}


@pytest.mark.parametrize("codes", [[-1, 0, 1], [-9, 0, 9], [1, 2, 9], [10, 50, 99], [0, 99]])
def test_codes_are_no_sentinels(codes):
    assert check(pd.DataFrame({"a": RNG.choice(codes, N), "b": NUMBERS}), Y).findings == ()


def test_columns_without_equal_values_are_no_codes_of_each_other():
    X = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
    assert check(X, Y).findings == ()


def test_a_pair_that_determines_the_class_is_found_and_named():
    first = RNG.integers(0, 2, N)
    X = pd.DataFrame({"a": WORDS, "left": first, "right": first ^ (Y == "ill"), "b": NUMBERS})
    (finding,) = check(X, Y).findings
    assert (finding.kind, finding.columns, finding.severity) == ("leak", ("left", "right"), "high")


def test_duplicates_and_contradictions_are_counted():
    X, y = pd.DataFrame({"a": NUMBERS, "b": WORDS, "c": RNG.normal(size=N)}), pd.Series(Y, name="y")
    twice = pd.concat([X, X[:20], X[20:35]], ignore_index=True)
    labels = pd.concat([y, y[:20], y[20:35].map({"ill": "well", "well": "ill"})], ignore_index=True)
    found = {finding.kind: finding.evidence for finding in check(twice, labels).findings}
    assert set(found) == {"duplicates", "contradictions"}
    assert found["duplicates"].startswith("20 rows")
    assert found["contradictions"].startswith("30 rows")


def test_equal_rows_of_few_states_are_chance():
    X = pd.DataFrame(RNG.integers(0, 2, (N, 3)), columns=list("abc"))
    assert [f.kind for f in check(X, Y).findings if f.kind in ("duplicates", "contradictions")] == []


def test_classes_have_findings():
    y = pd.Series(with_rows(np.repeat(["p", "q"], [395, 5]), range(3), None), name="y")
    X = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.choice(["u", "v"], N)})
    found = {finding.kind: finding for finding in check(X, y).findings}
    assert set(found) == {"missing-class", "imbalance"}
    assert "'q' (5 rows" in found["imbalance"].evidence
    found = {finding.kind: finding for finding in check(X, np.sort(Y)).findings}
    assert set(found) == {"sorted"}
    assert "the class changes 1 times" in found["sorted"].evidence


@pytest.mark.parametrize("seed", range(25))
def test_noise_has_no_findings_by_chance(seed):
    """Few rows, many columns, classes at random: nothing graver than a rare state."""
    rng = np.random.default_rng(seed)
    n, names = int(rng.integers(20, 300)), [f"x{i}" for i in range(30)]
    columns = [rng.integers(0, rng.integers(2, 9), n) if i % 2 else rng.normal(size=n) for i in range(30)]
    report = check(pd.DataFrame(dict(zip(names, columns, strict=True))), rng.integers(0, 3, n))
    assert {f.kind for f in report.findings if f.severity != "low"} <= {"imbalance"}


def test_planted_faults_are_found_and_few_others():
    """At least 95% of the faults in forty made-up files."""
    n_faults, missed, false = 0, [], []
    for file in dirty_files.files():
        report = check(file.frame.drop(columns=file.target), file.frame[file.target])
        n_faults += len(file.faults)
        missed += dirty_files.missed(file, report)
        false += dirty_files.false_alarms(file, report)
    assert n_faults == 160
    assert len(missed) <= 0.05 * n_faults, missed
    assert false == []


def findings(report):
    return [(finding.kind, finding.columns, finding.severity, finding.evidence) for finding in report.findings]


@pytest.mark.parametrize("number", [1, 11, 24, 34])
def test_files_in_batches_have_the_findings_of_the_frame(number, tmp_path, monkeypatch):
    file = dirty_files.make(number)
    (tmp_path / "rows.csv").write_text(dirty_files.text_of(file))
    whole = check(tmp_path / "rows.csv", file.target)
    pd.read_csv(tmp_path / "rows.csv", keep_default_na=False, na_values=[""]).to_parquet(tmp_path / "rows.parquet")
    assert findings(check(tmp_path / "rows.parquet", file.target)) == [(kind, *rest) for kind, *rest in findings(whole)]
    monkeypatch.setattr(bnplug_inspect._reading, "BATCH_ROWS", 97)
    assert findings(check(tmp_path / "rows.csv", file.target)) == findings(whole)


def test_memory_is_bounded_and_evidence_stays(monkeypatch):
    monkeypatch.setattr(bnplug_inspect._profile, "MOST_VALUES", 100)
    monkeypatch.setattr(bnplug_inspect._profile, "MOST_SAMPLED", 150)
    monkeypatch.setattr(bnplug_inspect._profile, "MOST_PRINTS", 256)
    monkeypatch.setattr(bnplug_inspect._reading, "BATCH_ROWS", 100)
    X = pd.DataFrame(
        {"a": with_rows(RNG.normal(size=N).round(3), range(21), "?"), "b": WORDS, "c": np.where(Y == "ill", 1, 2)}
    ).assign(d=NUMBERS)
    X = pd.concat([X, X[100:200]], ignore_index=True)
    report = check(X, np.append(Y, Y[100:200]))
    found = {finding.kind: finding.evidence for finding in report.findings}
    assert "'?' (21 rows)" in found["missing-marker"]
    assert "in 150 rows" in found["leak"]
    assert found["duplicates"].startswith("about ")
    assert 50 < int(found["duplicates"].split()[1]) < 200


def test_spellings_and_typing_errors():
    assert same_forms({"Zürich": 40, "Zurich": 3, "new york": 9, "New-York": 2}) == {
        "Zurich": "Zürich",
        "New-York": "new york",
    }
    assert same_forms({"m": 3, "F": 2, "male": 40, "female": 50}) == {"m": "male", "F": "female"}
    assert same_forms({"g": 3, "G": 2, "a": 5}) == {}
    assert typing_errors({"grade 1": 500, "grade 2": 3, "formal": 10, "normal": 9}) == {}


@pytest.mark.parametrize("number", range(0, 40, 3))
def test_the_printed_lines_repair_what_they_name(number, tmp_path, monkeypatch):
    file = dirty_files.make(number)
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(dirty_files.text_of(file))
    report = check("rows.csv", file.target)
    names = {}
    exec(report.python().partition("model = ")[0], names)
    fixed = {
        (f.kind, f.columns) for f in report.findings if f.fix.missing or f.fix.decimal or f.fix.drop or f.fix.lines
    }
    left = {(f.kind, f.columns) for f in check(names["X"], names["y"]).findings}
    # Typing errors are a comment: they may be words.
    assert {(kind, columns) for kind, columns in fixed & left if kind != "spelling"} == set()


def test_units_of_one_quantity_are_converted():
    X = pd.DataFrame({"dose": [f"{i / 1000} g" if i % 4 == 0 else f"{i} mg" for i in range(1, 301)]})
    names = {"X": X, "y": np.resize(["p", "q"], 300)}
    exec(check(X, names["y"]).python().partition("model = ")[0], names)
    assert names["X"]["dose"].tolist() == pytest.approx(range(1, 301))


def test_options_fit_the_command_line(tmp_path):
    file = tmp_path / "rows.csv"
    rows = pd.DataFrame({"row": np.arange(N), "x": [str(x).replace(".", ",") for x in NUMBERS], "w": WORDS, "y": Y})
    rows.loc[:20, "x"] = "?"
    rows.to_csv(file, sep=";", index=False)
    report = check(file, "y", csv={"sep": ";"})
    written = f"bnplug fit {file} --target y --na '?' --decimal , --sep ';' --drop row -o model"
    assert report.command_line() == written
    assert "pd.read_csv(" in report.python()
    assert "sep=';', keep_default_na=False, na_values=['', '?'], decimal=','" in report.python()
    done = CliRunner().invoke(cli, ["fit", str(file), *written.replace("'", "").split()[3:-1], str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    assert bnplug.load(tmp_path / "model").encoder_.numeric == ("x",)


def test_lines_read_all_files_and_keep_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = RNG.permutation(N) / 8
    rows = pd.DataFrame({"x": [f"{x} mg" for x in numbers], "y": np.where(Y == "ill", "None", "well")})
    rows[:150].to_csv("a.csv", index=False)
    rows[150:].to_csv("b.csv", index=False)
    report, names = check(["a.csv", "b.csv"], "y"), {}
    exec(report.python().partition("model = ")[0], names)
    assert names["y"].tolist() == rows["y"].tolist()
    assert names["X"]["x"].tolist() == numbers.tolist()
    report = check(["a.csv", "b.csv"], "y", drop=["x"])
    assert (report.n_columns, report.drop) == (1, ["x"])


def test_pages_and_models_contain_no_rows(tmp_path):
    names = [f"Name{i:05d}" for i in RNG.permutation(N)]
    notes = [f"came with token{i:05d} today" for i in RNG.permutation(N)]
    X = pd.DataFrame({"name": names, "note": notes, "w": with_rows(WORDS, range(5), "Ash"), "x": NUMBERS, "<b>": WORDS})
    page = check(X, Y).to_html(tmp_path / "check.html")
    model = bnplug.BayesianNetworkClassifier("nb")
    with pytest.warns(bnplug.BnplugWarning):
        model.fit(X, Y).save(tmp_path / "model")
    model.report(tmp_path / "report.html", X, Y)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    for content in (page, (tmp_path / "report.html").read_text(encoding="utf-8"), stored.decode("latin-1")):
        assert "Name0" not in content
        assert "token0" not in content
    assert (tmp_path / "check.html").read_text(encoding="utf-8") == page
    assert "It contains no rows of data." in page
    assert "default-src 'none'; style-src 'unsafe-inline'\">" in html.unescape(page)
    assert "<b>" not in page.partition("<main>")[2].replace("<b></b>", "")
    assert "&lt;b&gt;" in page


def test_the_report_in_all_forms():
    X = pd.DataFrame({"x": [f"{x} mg" for x in NUMBERS], "w": WORDS})
    report = check(X, pd.Series(Y, name="y"))
    assert report.to_frame().iloc[0].tolist()[:3] == ["high", "units", "x"]
    stored = json.loads(report.to_json())
    assert (stored["rows"], stored["columns"], stored["target"]) == (N, 3, "y")
    assert stored["findings"][0]["columns"] == ["x"]
    assert str(report).startswith("400 rows, 3 columns: 1 finding (1 high)\n\nhigh    units: x\n")
    assert str(check(X[["w"]], Y)) == "400 rows, 2 columns: no findings"
    assert set(KINDS) >= {finding.kind for finding in report.findings}


class TestCommand:
    @pytest.fixture
    def rows(self, tmp_path):
        pd.DataFrame({"x": with_rows(NUMBERS, range(21), "?"), "w": WORDS, "y": Y}).to_csv(
            tmp_path / "a.csv", index=False
        )
        return tmp_path / "a.csv"

    def run(self, *arguments):
        return CliRunner().invoke(cli, ["check", *map(str, arguments)])

    def test_it_prints_the_report_and_writes_a_page(self, rows, tmp_path):
        done = self.run(rows, "--target", "y", "--html", tmp_path / "a.html")
        assert done.exit_code == 0
        assert "high    missing-marker: x\n" in done.output
        assert "--na '?'" in done.output
        assert "missing-marker" in (tmp_path / "a.html").read_text()

    def test_it_prints_json_and_takes_options_of_the_reader(self, rows):
        assert json.loads(self.run(rows, "--target", "y", "--json").stdout)["findings"][0]["kind"] == "missing-marker"
        assert json.loads(self.run(rows, "--target", "y", "--json", "--na", "?").stdout)["findings"] == []

    def test_it_takes_standard_input_and_omits_columns(self, rows):
        arguments = ["check", "-", "--target", "y", "--drop", "w"]
        done = CliRunner().invoke(cli, arguments, input=rows.read_bytes())
        assert done.stdout.startswith(f"{N} rows, 2 columns: ")
        assert done.stdout.endswith("bnplug fit repaired.csv --target y --drop w -o model\n")
        done = CliRunner().invoke(cli, arguments[:-2], input=rows.read_bytes())
        assert done.stdout.endswith("bnplug fit - --target y --na '?' -o model\n")
        assert "standard input: " in CliRunner().invoke(cli, arguments, input=b"w;y\n1;2\n").stderr
        assert "Did you mean 'w'?" in self.run(rows, "--target", "y", "--drop", "W").stderr

    def test_its_exit_code_is_3_from_a_severity_on(self, rows, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["bnplug", "check", str(rows), "--target", "y", "--fail-on", "high"])
        with pytest.raises(SystemExit) as exit_code:
            bnplug.cli.main()
        assert exit_code.value.code == 3
        assert self.run(rows, "--target", "y", "--fail-on", "medium").exit_code == 3
        assert self.run(rows, "--target", "y", "--na", "?", "--fail-on", "low").exit_code == 0

    def test_it_suggests_the_separator_and_the_column(self, rows, tmp_path):
        (tmp_path / "s.csv").write_text(rows.read_text().replace(",", ";"))
        assert """--sep ";", in Python csv={"sep": ";"}""" in self.run(tmp_path / "s.csv", "--target", "y").stderr
        assert "Did you mean 'y'?" in self.run(rows, "--target", "Y").stderr
        assert "there is no such file" in self.run(tmp_path / "none.csv").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((pd.DataFrame({"a": []}),), "X has no rows"),
        ((pd.DataFrame({"a": [1, 2]}), [1]), "X has 2 rows, but y has 1"),
        ((pd.DataFrame({"a": range(2000)}), range(2000)), "more than 1,000 distinct values"),
        (("*.none",), "no file matches"),
    ],
)
def test_bad_input_is_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        check(*arguments)


def test_an_unknown_option_of_csv_is_named():
    with pytest.raises(ValueError, match=r"csv: there is no option 'seperator'\."):
        check("x.csv", csv={"seperator": ";"})
