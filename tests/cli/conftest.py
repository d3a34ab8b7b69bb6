"""What tests of several commands share."""

import pytest
from commands import run

from bnplug.datasets import iris


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder of data files."""
    folder = tmp_path_factory.mktemp("data")
    X, y = iris()
    X.assign(species=y).to_csv(folder / "iris.csv", index=False)
    X.assign(species=y).to_parquet(folder / "iris.parquet")
    X.to_csv(folder / "unlabelled.csv.gz", index=False)
    return folder


@pytest.fixture(scope="module")
def model(files):
    """The folder of a model of them."""
    run("fit", files / "iris.csv", "--target", "species", "-o", files / "model")
    return files / "model"
