"""Data sets: what scikit-learn ships, what a rule generates, a folder of files, and OpenML by name.

The functions return features and class, ``(X, y)``; `load` finds any data set by name and returns a
`Dataset`, which also says which columns are categorical. No network is touched unless OpenML is asked for.
"""

from bnplug.datasets.dataset import Dataset
from bnplug.datasets.generated import (
    balance_scale,
    breast_cancer,
    corral,
    digits,
    iris,
    led,
    mofn_3_7_10,
    monks,
    p08_synthetic,
    poker_hand,
    tic_tac_toe,
    waveform,
    wine,
    z17_synthetic,
)
from bnplug.datasets.registry import Entry, entries, load, names

__all__ = [
    "Dataset",
    "Entry",
    "balance_scale",
    "breast_cancer",
    "corral",
    "digits",
    "entries",
    "iris",
    "led",
    "load",
    "mofn_3_7_10",
    "monks",
    "names",
    "p08_synthetic",
    "poker_hand",
    "tic_tac_toe",
    "waveform",
    "wine",
    "z17_synthetic",
]
