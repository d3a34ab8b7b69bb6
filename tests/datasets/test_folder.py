"""A folder of data files: layout, manifest, splits, and what is refused."""

import pandas as pd
import pytest

from bnplug import datasets
from bnplug.table.kinds import discrete_columns

ROWS = "colour,code,size,class\nred,01,1.5,a\nblue,02,,b\n,01,3.5,a\nred,02,4.5,b\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "toy.csv").write_text(ROWS)
    return tmp_path


def write_manifest(folder, *lines):
    (folder / "MANIFEST.csv").write_text("\n".join(["name,nominal_columns", *lines]) + "\n")


def test_without_a_manifest_the_classifier_decides(folder):
    toy = datasets.load("toy", folder)
    assert toy.X.columns.tolist() == ["colour", "code", "size"]
    assert toy.y.tolist() == ["a", "b", "a", "b"]
    assert toy.categorical_features == "auto"
    assert toy.split is None
    assert "toy.csv" in toy.source


def test_an_empty_field_is_missing(folder):
    assert datasets.load("toy", folder).X.isna().sum().to_dict() == {"colour": 1, "code": 0, "size": 1}


def test_nominal_columns_of_the_manifest_are_categories_and_stay_as_written(folder):
    write_manifest(folder, "toy,code")
    toy = datasets.load("toy", folder)
    assert toy.categorical_features == ("code",)
    assert toy.X["code"].tolist() == ["01", "02", "01", "02"]
    assert discrete_columns(toy.X, toy.categorical_features).tolist() == [True, True, False]


def test_zeros_before_numbers_mean_nothing_where_the_manifest_says_what_is_nominal(folder):
    assert datasets.load("toy", folder).X["code"].tolist() == ["01", "02", "01", "02"]
    write_manifest(folder, "toy,colour")
    toy = datasets.load("toy", folder)
    assert toy.X["code"].tolist() == [1, 2, 1, 2]
    assert discrete_columns(toy.X, toy.categorical_features).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("listed", "expected"), [("ALL", ("colour", "code", "size")), ("", ()), ("colour; size", ("colour", "size"))]
)
def test_nominal_columns_may_be_all_or_none(folder, listed, expected):
    write_manifest(folder, f"toy,{listed}")
    assert datasets.load("toy", folder).categorical_features == expected


def test_a_data_set_that_the_manifest_does_not_list_is_left_to_the_classifier(folder):
    write_manifest(folder, "other,ALL")
    assert datasets.load("toy", folder).categorical_features == "auto"


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.xz", ".parquet"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path, suffix):
    X, y = datasets.iris()
    frame = X.assign(**{"class": y})
    path = tmp_path / f"flowers{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    flowers = datasets.load("flowers", tmp_path)
    pd.testing.assert_frame_equal(flowers.X, X)
    assert flowers.y.tolist() == y.tolist()


def test_the_class_is_the_column_class_wherever_it_stands_or_else_the_last(tmp_path):
    (tmp_path / "first.csv").write_text("class,a\nx,1\ny,2\n")
    (tmp_path / "last.csv").write_text("a,kind\n1,x\n2,y\n")
    assert datasets.load("first", tmp_path).y.tolist() == ["x", "y"]
    assert datasets.load("last", tmp_path).y.name == "kind"


def test_a_training_and_a_test_file_make_one_set_with_its_split(tmp_path):
    (tmp_path / "toy-train.csv").write_text("a,class\n1,x\n2,y\n3,x\n")
    (tmp_path / "toy-test.csv").write_text("a,class\n4,y\n")
    write_manifest(tmp_path, "toy-train,ALL", "toy-test,ALL")
    toy = datasets.load("toy", tmp_path)
    train, test = toy.split
    assert toy.X["a"].tolist() == ["1", "2", "3", "4"]
    assert (train.tolist(), test.tolist()) == ([0, 1, 2], [3])
    assert toy.categorical_features == ("a",)
    assert datasets.load("toy-test", tmp_path).split is None
    (tmp_path / "toy-test.csv").write_text("b,class\n4,y\n")
    write_manifest(tmp_path)
    with pytest.raises(ValueError, match="different columns"):
        datasets.load("toy", tmp_path)


def test_a_file_wins_over_a_set_of_the_same_name_that_ships(tmp_path):
    (tmp_path / "iris.csv").write_text("a,class\n1,x\n2,y\n")
    assert datasets.load("iris", tmp_path).X.shape == (2, 1)
    assert datasets.load("wine", tmp_path).X.shape == (178, 13)


def test_listing_tells_sizes_from_the_manifest(folder):
    (folder / "other.csv").write_text(ROWS)
    (folder / "notes.txt").write_text("not data")
    (folder / "MANIFEST.csv").write_text("name,rows,features,classes\ntoy,4,3,2\n")
    listed = {entry.name: entry for entry in datasets.entries(folder) if entry.origin == str(folder)}
    assert {name: entry.summary for name, entry in listed.items()} == {
        "other": "other.csv",
        "toy": "4 rows, 3 features, 2 classes",
    }


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"toy.csv": "a,class\n1,x\n2,\n"}, "1 rows have no class"),
        ({"toy.csv": "class\nx\ny\n"}, "no features"),
        ({"toy.csv": ""}, "toy.csv: not readable"),
        ({"toy.csv": "a,a,class\n1,2,x\n"}, "duplicate column names"),
        ({"toy.csv": ROWS, "toy.parquet": ""}, "have one data set name"),
        ({"toy.csv": ROWS, "MANIFEST.csv": "name,nominal_columns\ntoy,color\n"}, r"\['color'\].* mean 'colour'"),
        ({"toy.csv": ROWS, "MANIFEST.csv": "set,nominal_columns\ntoy,code\n"}, "no column 'name'"),
        ({"toy.csv": ROWS, "MANIFEST.csv": "name,nominal_columns\ntoy,code\ntoy,\n"}, "more than once"),
        ({"toy.csv": ROWS, "MANIFEST.csv": ""}, "MANIFEST.csv: not readable"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load("toy", tmp_path)
    assert "\n" not in str(caught.value).strip()


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no such folder"):
        datasets.names(tmp_path / "nowhere")


def test_the_published_files_are_read_as_their_manifest_says(data_folder):
    manifest = pd.read_csv(data_folder / "MANIFEST.csv", index_col="name")
    small = manifest[manifest["rows"] <= 1000]
    for name, told in small.iterrows():
        found = datasets.load(str(name), data_folder)
        assert found.X.shape == (told["rows"], told["features"]), name
        assert found.y.nunique() == told["classes"], name
        assert len(found.categorical_features) == told["nominal_features"], name
        discrete = discrete_columns(found.X, found.categorical_features)
        assert (~discrete).sum() == told["numeric_features"], name
        assert found.X.isna().to_numpy().sum() == told["missing_cells"], name
