"""Reading CSV files: one type for each column, every field in its own column, or an error that says where."""

import gzip
import io

import pandas as pd
import pytest

from bnplug import datasets
from bnplug.sources.files import read_data, read_text


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="data.csv"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


@pytest.mark.parametrize("place", [0, 399_999])
def test_one_text_among_many_numbers_makes_the_whole_column_text(write, place):
    cells = [("1", "2", "03", "4.50")[i % 4] for i in range(400_000)]
    cells[place] = "x"
    frame = read_data(write("a,b,class\n" + "".join(f"{cell},{i % 7},{i % 2}\n" for i, cell in enumerate(cells))))
    assert frame["a"].tolist() == cells
    assert frame["b"].dtype.kind == frame["class"].dtype.kind == "i"


def test_a_truth_value_among_numbers_is_text_too(write):
    assert read_data(write("a,b\n1,True\nTrue,False\n"))["a"].tolist() == ["1", "True"]


@pytest.mark.parametrize(
    ("text", "line", "fields"),
    [
        ("a,b\n1,2,\n3,4,\n", 2, 3),
        ("a,b\n1,2,3\n4,5,6\n", 2, 3),
        ("a,b\n1,2\n3,4,\n", 3, 3),
        ("a,b\n1\n3,4\n5,6,7,8\n", 4, 4),
        ("\n\na,b\n\n1,2,3\n", 5, 3),
        ('a,b\n"x\ny\nz",2\n\n"p\nq",4\n3,4,5\n', 8, 3),
        ('"a\nA",b\r\n1,2\r\n1,2,3\r\n', 4, 3),
        ('\ufeff"a",b\n1,2,3\n', 2, 3),
    ],
)
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_a_row_longer_than_the_header_is_refused_by_its_line(write, text, line, fields, name):
    with pytest.raises(ValueError, match=rf"{name}: .*line {line} has {fields} fields, but the header has 2"):
        read_data(write(text, name))


def test_a_late_row_that_is_too_long_is_refused_by_its_line(write):
    rows = ["1,2"] * 300_000
    rows[250_000] = "1,2,3"
    with pytest.raises(ValueError, match="line 250002 has 3 fields"):
        read_data(write("a,b\n" + "\n".join(rows)))


@pytest.mark.parametrize("end", [",", ",,"])
def test_delimiters_at_the_ends_of_all_lines_make_no_column(write, end):
    frame = read_data(write("".join(f"{line}{end}\n" for line in ("a,b", "1,x", "2,"))))
    assert frame["a"].tolist() == [1, 2]
    assert list(frame.columns) == ["a", "b"]
    assert list(read_data(write("a,b,\n1,2\n")).columns) == ["a", "b"]
    assert list(read_text(write("a,b,\n1,2,\n")).columns) == ["a", "b"]
    assert list(read_data(write("a,b,\n")).columns) == ["a", "b"]


def test_a_column_of_values_without_a_name_is_called_as_pandas_calls_it(write):
    frame = read_data(write(",a,,b,\n1,2,,4,5\n"))
    assert frame.to_dict("list").keys() == {"Unnamed: 0", "a", "Unnamed: 2", "b", "Unnamed: 4"}
    assert frame["Unnamed: 4"].tolist() == [5]
    assert read_data(write(",a\n01,2\n"), text=["Unnamed: 0"])["Unnamed: 0"].tolist() == ["01"]


def test_what_is_read_as_ever(write):
    frame = read_data(write(b'\xef\xbb\xbf"a",b,a\n\n"x\ny",2\n   \nz,,4\n'))
    assert list(frame.columns) == ["a", "b", "a"]
    assert frame.iloc[:, 0].tolist() == ["x\ny", "z"]
    assert frame.iloc[:, 1].isna().tolist() == [False, True]
    assert frame.iloc[:, 2].isna().tolist() == [True, False]
    one = read_data(write("a,b\n01,?\n02,NA\n"), text=["a"], missing=["?"])
    assert one["a"].tolist() == ["01", "02"]
    assert one["b"].isna().tolist() == [True, False]


def test_what_is_no_csv_is_an_error_that_names_the_file(write):
    for text in ("", 'a,b\n"1,2\n'):
        with pytest.raises(ValueError, match=r"data\.csv: not readable"):
            read_data(write(text))
        with pytest.raises(ValueError, match=r"data\.csv: not readable"):
            read_text(write(text))


def test_text_keeps_empty_fields(write):
    assert read_text(write("a,b\n,01\n")).to_dict("list") == {"a": [""], "b": ["01"]}


def test_the_two_parts_of_a_data_set_have_one_type_for_a_column(write, tmp_path):
    write("x,flag,n,class\n1,0,1,a\n2,1,2,b\n", "toy-train.csv")
    write("x,flag,n,class\n1,True,2.5,a\nno,False,,b\n", "toy-test.csv")
    toy = datasets.load("toy", tmp_path)
    assert toy.X["x"].tolist() == ["1", "2", "1", "no"]
    assert toy.X["flag"].tolist() == ["0", "1", "True", "False"]
    assert toy.X["n"].dtype == float
    assert isinstance(toy.X, pd.DataFrame)


@pytest.mark.parametrize("text", ["name,nominal_columns\ntoy,x,\n", "name,nominal_columns\nother,,\ntoy,x\n"])
def test_a_manifest_with_a_row_that_is_too_long_is_refused(write, tmp_path, text):
    write("x,class\n1,a\n2,b\n", "toy.csv")
    write(text, "MANIFEST.csv")
    with pytest.raises(ValueError, match=r"MANIFEST\.csv: .*line 2 has 3 fields"):
        datasets.load("toy", tmp_path)


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_whole_numbers_that_begin_with_a_zero_stay_as_they_are_written(write, name):
    path = write("zip,size,share,n,none\n00123,1,0.05,0,\n10115,20,007.5,10,\n,30,1e05,0,\n", name)
    frame = read_data(path)
    assert frame["zip"].iloc[:2].tolist() == ["00123", "10115"]
    assert frame["zip"].isna().tolist() == [False, False, True]
    assert [frame[column].dtype.kind for column in ("size", "share", "n")] == ["i", "f", "i"]
    assert read_data(path, numbers=["zip"])["zip"].iloc[0] == 123


def test_a_zero_that_would_be_lost_is_found_wherever_it_is(write):
    rows = [f"{i},5" for i in range(120_000)]
    rows[90_000] = '7,"05"'
    frame = read_data(write("a,b\n" + "\n".join(rows)))
    assert (frame["b"].iloc[90_000], frame["b"].iloc[0], frame["a"].dtype.kind) == ("05", "5", "i")
    utf16 = read_data(write("b\n05\n".encode("utf-16")), encoding="utf-16")
    assert utf16["b"].tolist() == ["05"]


def test_other_separators_and_encodings(write):
    path = write("Stadt;n\nKöln;1\n".encode("latin-1"))
    assert read_data(path, sep=";", encoding="latin-1").to_dict("list") == {"Stadt": ["Köln"], "n": [1]}
    with pytest.raises(ValueError, match=r"data\.csv: no text in utf-8, so give its encoding"):
        read_data(path, sep=";")
    with pytest.raises(ValueError, match="unknown encoding"):
        read_data(path, encoding="latin-99")
    with pytest.raises(ValueError, match="line 2 has 3 fields"):
        read_data(write("a\tb\n1\t2\t3\n"), sep="\t")


def test_the_content_of_a_file_is_read_like_the_file(write):
    content = b"a,b\n01,2\n"
    path = write(content)
    parquet = io.BytesIO()
    read_data(path).to_parquet(parquet)
    for given in (content, gzip.compress(content), parquet.getvalue()):
        pd.testing.assert_frame_equal(read_data(given), read_data(path))
    with pytest.raises(ValueError, match="standard input: not readable as CSV"):
        read_data(b"")
