"""Data sets that ship with scikit-learn or follow from a rule; nothing is downloaded."""

from bnplug.datasets.generated import tic_tac_toe
from bnplug.datasets.shipped import breast_cancer, digits, iris, wine

__all__ = ["breast_cancer", "digits", "iris", "tic_tac_toe", "wine"]
