"""Blocks on workers: passes in their order, objects that are kept there, and workers that die."""

import os
import signal

import numpy as np
import pytest
from clusters import Sums, cluster, on_workers, size
from hypothesis import given
from hypothesis import strategies as st
from test_in_blocks import drawn

from bnplug.dask import DaskStore
from bnplug.errors import ClusterError, ContractError
from bnplug.sources.dask import _store as store
from bnplug.sources.dask._store import Kept, sum_whole
from bnplug.table.blocks import EachBlock


@pytest.fixture(scope="module")
def client():
    with cluster(2, threads_per_worker=2) as found:
        yield found


@pytest.fixture
def blocks(client):
    return on_workers(drawn(300, weights=[0.1, 0.7]), client)


def sizes_and_halves(rows):
    return [rows[0].shape[1], np.full(3, 0.1 * rows[0].shape[1])]


def test_a_pass_is_in_the_order_of_the_blocks(blocks):
    table = blocks.store
    assert table.map(size) == list(table.sizes) == list(blocks.block_sizes)
    assert table.map(size, 5) == [own + 5 for own in table.sizes]
    assert table.map(size, EachBlock(range(7))) == [own + i for i, own in enumerate(table.sizes)]


def test_who_asks_may_stop_before_the_end(blocks):
    found = blocks.store.each(size)
    assert next(found) == blocks.block_sizes[0]
    found.close()


def test_sums_do_not_depend_on_which_worker_has_which_block(blocks, client):
    one = [own.tolist() for own in map(np.asarray, blocks.store.sum(sizes_and_halves))]
    other = on_workers(drawn(300, weights=[0.1, 0.7]), client)
    other.store.homes = other.store.homes[:1] * 7
    assert [own.tolist() for own in map(np.asarray, other.store.sum(sizes_and_halves))] == one
    assert one[0] == 300


@given(st.lists(st.tuples(st.sampled_from([1.0, 3.0, 2.0**39, 0.1, 1 / 3, 1e-9]), st.integers(0, 2)), min_size=1))
def test_sums_are_the_same_whatever_share_of_the_blocks_a_task_has(blocks_and_tasks):
    values, tasks = zip(*blocks_and_tasks, strict=True)

    def joined(task_of):
        shares = [tuple(i for i, own in enumerate(task_of) if own == task) for task in set(task_of)]
        return store._joined((share, sum_whole([[values[i]] for i in share])) for share in shares)

    assert joined(tasks) == joined([0] * len(values)) == joined(range(len(values)))


def test_large_arguments_go_to_a_worker_once(blocks, client, monkeypatch):
    sent = []
    scatter = client.scatter
    monkeypatch.setattr(client, "scatter", lambda *args, **kw: sent.append(kw["workers"]) or scatter(*args, **kw))
    monkeypatch.setattr(store, "_LARGE", 1000)
    assert blocks.store.map(lambda rows, large: len(large), np.zeros(1000)) == [1000] * 7
    assert sorted(sent) == sorted([home] for home in set(blocks.store.homes))


def test_some_rows_of_every_block(blocks):
    numbers = [np.arange(0, own, 2) if i else np.array([], dtype=int) for i, own in enumerate(blocks.block_sizes)]
    part = blocks.store.take(numbers)
    assert list(part.sizes) == [len(own) for own in numbers[1:]]
    for (codes, weights), (own, own_weights), rows in zip(
        part.map(lambda rows: rows[:2]), blocks.store.map(lambda rows: rows[:2])[1:], numbers[1:], strict=True
    ):
        assert codes.tolist() == own[:, rows].tolist()
        assert weights.tolist() == own_weights[rows].tolist()


def test_objects_are_kept_and_changed_where_the_blocks_are(blocks):
    kept = blocks.store.spawn(Sums, EachBlock(range(0, 70, 10)))
    start = [own + 10 * i for i, own in enumerate(blocks.block_sizes)]
    assert kept.call("value") == list(kept.each("value")) == start
    assert kept.call("add", EachBlock(range(7))) == [None] * 7
    kept.call("add", 1)
    now = [own + i + 1 for i, own in enumerate(start)]
    assert kept.call("value") == now
    total, thirds = kept.sum("parts")
    assert total == sum(now)
    assert thirds == pytest.approx(sum(now) / 3)


def test_clearing_forgets_what_was_changed_before(blocks):
    kept = blocks.store.spawn(Sums, 0)
    kept.call("add", 1)
    kept.call("clear")
    kept.call("add", 2)
    assert kept._log == [("add", [2])]
    assert kept.call("value") == [own + 2 for own in blocks.block_sizes]


def test_changes_that_are_put_off_go_with_the_next_call(blocks, monkeypatch):
    kept = blocks.store.spawn(Sums, 0)
    kept.call("add", 50)
    noted = []
    submit = type(blocks.store).submit
    monkeypatch.setattr(type(blocks.store), "submit", lambda *own, **named: noted.append(1) or submit(*own, **named))
    kept.call("value")
    n_tasks = len(noted)
    kept.change("clear")
    kept.change("add", EachBlock(range(7)))
    kept.change("add", 1)
    assert len(noted) == n_tasks
    now = [own + i + 1 for i, own in enumerate(blocks.block_sizes)]
    assert kept.sum("parts")[0] == sum(now)
    assert len(noted) == 2 * n_tasks
    assert [method for method, _ in kept._log] == ["add", "add"]
    kept.change("add", 2)
    kept._objects[2] = emptied(kept, 2)
    assert kept.call("value") == [own + 2 for own in now]
    kept.change("value")
    with pytest.raises(ContractError, match="value must not return a result"):
        kept.call("value")


def test_a_method_either_changes_all_objects_or_none(blocks):
    with pytest.raises(ContractError, match="odd returned None for some blocks"):
        blocks.store.spawn(Sums, 0).call("odd")


def test_objects_that_were_lost_are_made_again_with_their_changes(blocks):
    kept = blocks.store.spawn(Sums, 0)
    kept.call("add", EachBlock(range(7)))
    kept._objects[2] = emptied(kept, 2)
    kept.call("add", 1)
    assert kept.call("value") == [own + i + 1 for i, own in enumerate(blocks.block_sizes)]


def emptied(kept, number):
    """An object as a worker has it that got a copy: empty."""
    return kept._store.submit(kept._homes[number], Kept)


def test_workers_that_die_again_and_again_are_told(blocks, monkeypatch):
    kept = blocks.store.spawn(Sums, 0)
    monkeypatch.setattr(type(kept), "_make", lambda self, numbers: None)
    kept._objects[3] = emptied(kept, 3)
    with pytest.raises(ClusterError, match="workers died 5 times while they worked on the same rows"):
        kept.call("value")


def test_a_worker_that_is_killed():
    with cluster(2, processes=True) as client:
        blocks = on_workers(drawn(300), client).store
        kept = blocks.spawn(Sums, 0)
        kept.call("add", EachBlock(range(7)))
        dead = kept.call("worker")[2]
        os.kill(dead, signal.SIGKILL)
        kept.call("add", 1)
        assert kept.call("value") == [own + i + 1 for i, own in enumerate(blocks.sizes)]
        assert blocks.map(size) == list(blocks.sizes)
        assert dead not in kept.call("worker")


def test_a_store_of_given_blocks(client):
    made = client.submit(lambda: (np.zeros((2, 4), dtype=np.uint8), None), pure=False)
    found = DaskStore(client, [made], [4], weighted=False)
    assert found.map(size) == [4]
