"""Intervals between the cuts of all members: the common states of numeric features.

The members cut a numeric feature at different places. Between the cuts of all members lie *intervals*, and each bin of
a member consists of some of them. A network says nothing about the distribution within a bin: the mixture distributes
the probability of a bin over its intervals in proportion to their marginal probabilities. The marginal probability of
the values up to a cut is the mean over the networks that have this cut, and an interval has the difference between its
two ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bnplug.table.bins import bin_labels

if TYPE_CHECKING:
    from bnplug import BayesianNetworkClassifier
    from bnplug.typing import FloatArray, IntArray

# The least probability of an interval before the probabilities are normalized: values may occur anywhere.
_LEAST = 1e-6


class Intervals:
    """The intervals of one numeric feature.

    Parameters
    ----------
    networks : sequence of BayesianNetworkClassifier
        The generative twins of a mixture, which have the cuts of the members; without twins, the members.
    name : str
        A feature that all of them cut.

    Attributes
    ----------
    cuts : array
        The ascending cuts of all networks.
    shares : array of shape (intervals,)
        The probability of each interval among values that are not missing.
    labels : list of str
        The labels of the states: the intervals and, if missing cells are a state, that state.
    """

    def __init__(self, networks: Sequence[BayesianNetworkClassifier], name: str) -> None:
        self.name = name
        cuts = [network.encoder_.cut_points[name] for network in networks]
        self.cuts: FloatArray = np.unique(np.concatenate(cuts))
        below = np.full((len(networks), len(self.cuts)), np.nan)
        for number, (network, points) in enumerate(zip(networks, cuts, strict=True)):
            bins = _marginal(network, name)[: len(points) + 1]
            below[number, np.searchsorted(self.cuts, points)] = bins.cumsum()[:-1] / bins.sum()
        known = ~np.isnan(below)
        mean = np.where(known, below, 0.0).sum(axis=0) / known.sum(axis=0)
        shares = np.maximum(np.diff(np.concatenate([[0.0], np.maximum.accumulate(mean), [1.0]])), _LEAST)
        self.shares: FloatArray = shares / shares.sum()
        missing = networks[0].encoder_.missing_states.get(name)
        self.labels = [*bin_labels(self.cuts), *([] if missing is None else [missing])]

    def bins_of(self, network: BayesianNetworkClassifier) -> IntArray:
        """Return the state of a network that contains each of the states."""
        points = network.encoder_.cut_points[self.name]
        upper = np.concatenate([self.cuts, [np.inf]])
        bins = np.searchsorted(points, upper)
        return np.concatenate([bins, np.arange(len(self.labels) - len(upper)) + len(points) + 1])

    def shares_of(self, network: BayesianNetworkClassifier) -> FloatArray:
        """Return the probability of each state given the state of a network that contains it."""
        bins = self.bins_of(network)
        shares = np.concatenate([self.shares, np.ones(len(bins) - len(self.shares))])
        return np.asarray(shares / np.bincount(bins, shares)[bins])

    def spread(self, values: FloatArray, network: BayesianNetworkClassifier, axis: int = -1) -> FloatArray:
        """Replace the states of a network along an axis by the common states."""
        moved = np.moveaxis(values, axis, -1)
        spread = moved[..., self.bins_of(network)] * self.shares_of(network)
        return np.moveaxis(spread, -1, axis)

    def numbers(self) -> FloatArray:
        """Return a number in each interval: its middle, or the upper end of the first and just above the last cut."""
        if not len(self.cuts):
            return np.array([np.nan])
        middles = self.cuts[:-1] / 2 + self.cuts[1:] / 2
        return np.concatenate([self.cuts[:1], middles, [np.nextafter(np.float32(self.cuts[-1]), np.float32(np.inf))]])


def _marginal(network: BayesianNetworkClassifier, name: str) -> FloatArray:
    """Return the marginal probabilities of a feature; equal ones if the network is too dense to compute them."""
    try:
        return np.asarray(network.query(name)["probability"], dtype=np.float64)
    except ValueError:
        return np.full(len(network.schema_.states[name]), 1.0 / len(network.schema_.states[name]))
