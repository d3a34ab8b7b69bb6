"""Waiting for a cluster ends: with results, or with an error that says what to do."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest
from clusters import cluster
from distributed import KilledWorker

from bnplug.errors import ClusterError
from bnplug.sources.dask import _cluster
from bnplug.sources.dask._cluster import LOST, Cluster, _Watch, find_client


@pytest.fixture(scope="module")
def client():
    with cluster(2) as found:
        yield found


@pytest.fixture
def own(client):
    return Cluster(client)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_cluster, "_LOOK", 0.1)
    monkeypatch.setattr(_cluster, "_STUCK", 0.5)


def fail(error):
    raise error


def test_results_come_in_the_order_of_the_tasks(client, own):
    slow = client.submit(lambda: time.sleep(0.2) or "slow", pure=False)
    assert own.gather([slow, client.submit(lambda: "quick", pure=False)]) == ["slow", "quick"]


def test_what_a_task_raises_is_raised_as_it_is(client, own):
    with pytest.raises(ValueError, match=r"^column 'a' is empty$"):
        own.gather([client.submit(fail, ValueError("column 'a' is empty"), pure=False)])
    with pytest.raises(TimeoutError, match="own"):
        own.gather([client.submit(fail, TimeoutError("own"), pure=False)])
    with pytest.raises(ValueError, match="empty"):
        own.homes_of([client.submit(fail, ValueError("empty"), pure=False)])


def test_a_task_for_a_worker_that_has_gone_is_lost(client, own, impatient):
    there, gone = next(iter(own.workers())), "tcp://192.0.2.1:1"
    tasks = {
        client.submit(len, "abc", workers=[gone], pure=False): gone,
        client.submit(len, "ab", workers=[there], pure=False): there,
    }
    assert list(own.outcomes(tasks).values()) == [LOST, 2]


def test_data_that_cannot_be_made_again_are_told(client, own):
    scattered = client.scatter("abc", hash=False)
    task = client.submit(len, scattered, pure=False)
    assert own.gather([task]) == [3]
    client.cancel([scattered])
    with pytest.raises(ClusterError, match=r"lost.*scattered to a worker that died"):
        own.gather([scattered])
    with pytest.raises(ClusterError, match="Read them by Dask itself"):
        own.homes_of([scattered])


def test_a_task_that_kills_its_workers_is_told(client, own):
    class Worker:
        address = "tcp://x"

    with pytest.raises(ClusterError, match=r"4 workers died one after the other.*partitions smaller"):
        own.gather([client.submit(fail, KilledWorker("task", Worker(), 3), pure=False)])


def test_workers_are_known_whatever_the_client_asks_in_between(client, own):
    async def ask_again_and_again():
        while True:
            await client._update_scheduler_info()

    asking = asyncio.run_coroutine_threadsafe(ask_again_and_again(), client.loop.asyncio_loop)
    try:
        assert [len(own.workers()) for _ in range(200)] == [2] * 200
    finally:
        asking.cancel()


def test_where_data_are(client, own):
    first, second = own.workers()
    tasks = [client.submit(len, "ab", workers=[home], pure=False) for home in (second, first, second)]
    assert own.homes_of(tasks) == [second, first, second]


def test_a_cluster_without_workers(impatient):
    with cluster(0) as client, pytest.raises(ClusterError, match=r"no worker: none came within 0.5 s"):
        Cluster(client).wait_for_workers()


def test_there_is_no_client(monkeypatch):
    monkeypatch.setattr(_cluster, "default_client", lambda: fail(ValueError("none")))
    with pytest.raises(ClusterError, match=r"no Dask client: make one, such as client = distributed.Client\(\)"):
        find_client(None)


def test_the_client_that_is_used(client):
    assert find_client(client) is client
    assert find_client(None) is client

    class Asynchronous:
        asynchronous = True

    with pytest.raises(ClusterError, match="asynchronous; fitting takes a plain one"):
        find_client(Asynchronous())


def test_memory_is_looked_at_before_the_work(own, monkeypatch):
    own.check_memory(10_000)
    monkeypatch.setattr(own, "workers", lambda: {"a": {"memory_limit": 2_000_000}, "b": {"memory_limit": 3_000_000}})
    own.check_memory(5_000_000)
    with pytest.raises(
        ClusterError, match=r"coded rows take 4.86 MiB, and the 2 workers have 4.77 MiB of memory together"
    ):
        own.check_memory(5_100_000)
    monkeypatch.setattr(own, "workers", lambda: {"a": {"memory_limit": 0}})
    own.check_memory(10**15)


def test_a_worker_that_pauses_is_waited_for_but_not_for_ever(impatient):
    watch = _Watch()
    paused, running = {"status": "paused"}, {"status": "running"}
    for _ in range(3):
        watch.look({"a": paused, "b": running}, {"b"})
        watch.look({"a": paused, "b": running}, {None})
        time.sleep(0.3)
    watch.look({"a": paused}, {"a"})
    time.sleep(0.6)
    with pytest.raises(ClusterError, match=r"for 0.5 s no worker could run anything \(a is paused\)"):
        watch.look({"a": paused, "b": running}, {"a"})
    with pytest.raises(ClusterError, match="there is none"):
        watch.look({}, {None})


def test_two_fits_take_turns(own):
    seen = []

    def fit(name):
        with own.alone():
            seen.append(name)
            time.sleep(0.1)
            seen.append(name)

    threads = [threading.Thread(target=fit, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "".join(seen) in ("aabb", "bbaa")


FIT_THAT_DOES_NOT_END = """
import sys, time
from distributed import Client
from bnplug.sources.dask._cluster import Cluster
with Client(sys.argv[1]) as client, Cluster(client).alone():
    print("alone", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_client_that_died_is_released(impatient, monkeypatch):
    monkeypatch.setattr(_cluster, "_LOOK_FOR_DEAD", 0.3)
    with cluster(2, processes=True) as client:
        command = [sys.executable, "-c", FIT_THAT_DOES_NOT_END, client.scheduler.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout.readline() == "alone\n"
            monkeypatch.setattr(_cluster, "_LONGEST_FIT", 1.0)
            with pytest.raises(ClusterError, match="another fit"), Cluster(client).alone():  # while it is alive
                pass
            other.kill()
        monkeypatch.setattr(_cluster, "_LONGEST_FIT", 60.0)
        with Cluster(client).alone():
            pass


def test_another_fit_that_does_not_end(own, monkeypatch):
    monkeypatch.setattr(_cluster, "_LOOK_FOR_DEAD", 0.1)
    monkeypatch.setattr(_cluster, "_LONGEST_FIT", 0.1)
    with own.alone(), pytest.raises(ClusterError, match="another fit has had these workers"):  # noqa: SIM117
        with Cluster(own.client).alone():
            pass
    with own.alone():
        pass
