"""The published data files, where they are at hand: the environment variable BNPLUG_DATA names their folder."""

import os
from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def data_folder():
    folder = Path(os.environ.get("BNPLUG_DATA", ""))
    if not (folder / "MANIFEST.csv").is_file():
        pytest.skip("BNPLUG_DATA names no folder of published data files")
    return folder


@pytest.fixture
def published_file(data_folder):
    return lambda name: pd.read_csv(data_folder / f"{name}.csv.gz")
