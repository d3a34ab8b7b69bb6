"""Small Dask clusters, tables whose blocks are on them, and what is done there: workers import this file alone."""

import os
from contextlib import contextmanager

from blocked import uneven
from distributed import Client, LocalCluster

from bnplug.dask import DaskStore
from bnplug.sources.dask._cluster import Cluster
from bnplug.table.block_table import BlockTable


@contextmanager
def cluster(n_workers=2, processes=False, **options):
    """Yield a client of a cluster; its workers are in this process unless processes are wanted."""
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50, **options}
    with LocalCluster(n_workers=n_workers, processes=processes, **options) as own, Client(own) as client:
        yield client


def rows_of(codes, weights):
    """A block, made by a task, so that it can be made again."""
    return codes, weights


def on_workers(table, client, n_blocks=7, sizes=None):
    """Return a table with the rows of another in blocks on workers, in turn."""
    workers = list(Cluster(client).workers())
    sizes = uneven(table.n_rows, n_blocks) if sizes is None else sizes
    blocks, low = [], 0
    for i, size in enumerate(sizes):
        rows = slice(low, low + size)
        weights = None if table.weights is None else table.weights[rows].copy()
        place = {"workers": [workers[i % len(workers)]], "allow_other_workers": True, "pure": False}
        blocks.append(client.submit(rows_of, table.codes[:, rows].copy(), weights, **place))
        low += size
    store = DaskStore(client, blocks, sizes, table.weights is not None)
    return BlockTable(store, table.names, table.states, table.target, table.left_out, checked=True)


def size(rows, more=0):
    return rows[0].shape[1] + more


class Sums:
    """An object of a block whose value is changed by calls."""

    def __init__(self, rows, start):
        self.start = self.total = start + rows[0].shape[1]

    def add(self, more):
        self.total += more

    def clear(self):
        self.total = self.start

    def value(self):
        return self.total

    def parts(self):
        return [self.total, self.total / 3]

    def odd(self):
        return self.total if self.total % 2 else None

    def worker(self):
        return os.getpid()
