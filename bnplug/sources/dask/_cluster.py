"""Wait for the workers of a Dask cluster and their results, and give up when no result can arrive."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, TypeVar

from dask.utils import format_bytes
from distributed import Client, Future, KilledWorker, MultiLock, as_completed, default_client

from bnplug.errors import ClusterError

_T = TypeVar("_T")

# While waiting, the workers are checked after this many seconds.
_LOOK = 1.0
# After this many seconds without a running worker, none is expected.
_STUCK = 60.0
# The most seconds to wait for another fit on the same workers.
_LONGEST_FIT = 24 * 3600.0
# Meanwhile, its client is checked after this many seconds: one that died does not release its lock.
_LOOK_FOR_DEAD = 5.0
# The prefix of the locks of fits.
_OURS = "bnplug "
# Errors, and states of futures, for results that were lost with their worker and cannot be computed again.
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)
_WITHOUT_RESULT = ("cancelled", "lost")


class State(Enum):
    """Returned instead of results if the objects that a task needs are lost."""

    LOST = "lost"


LOST = State.LOST


def find_client(client: Client | None) -> Client:
    """Return the given client, or the one created last; raise a ``ClusterError`` if there is none."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ClusterError(
                "there is no Dask client: make one, such as client = distributed.Client(), or give client="
            ) from None
    if client.asynchronous:
        raise ClusterError("the Dask client is asynchronous; fitting takes a plain one: distributed.Client(address)")
    return client


class Cluster:
    """The workers of a client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return the properties of each worker by its address; raise a ``ClusterError`` if the scheduler is gone."""
        try:
            # client.scheduler_info sometimes lacks workers, since the client refreshes it without them.
            identity: dict[str, Any] = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        except OSError as error:
            raise ClusterError(f"the scheduler of the cluster cannot be reached any more: {error}") from error
        workers: dict[str, dict[str, Any]] = identity["workers"]
        return workers

    def wait_for_workers(self) -> None:
        """Wait until there is a worker; raise a ``ClusterError`` if none comes."""
        try:
            self.client.wait_for_workers(1, timeout=_STUCK)
        except TimeoutError:
            workers = self.workers()
            if workers:
                raise _paused(workers) from None
            raise ClusterError(
                f"the cluster has no worker: none came within {_STUCK:g} s, so that none can hold data; start some"
            ) from None

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of tasks that may run anywhere."""
        results = self.outcomes(dict.fromkeys(futures))
        if any(result is LOST for result in results.values()):
            raise _lost_data()
        return [results[future] for future in futures]

    def outcomes(self, homes: Mapping[Future, str | None]) -> dict[Future, Any]:
        """Return the results of tasks; LOST if the worker in `homes` (None: any) that must run a task is gone."""
        results: dict[Future, Any] = {}
        rest = list(homes)
        while rest:
            try:
                with _clear_errors():
                    gathered = self._watched(self._results(rest), {homes[future] for future in rest})
                results.update(zip(rest, gathered, strict=True))
            except (_GoneError, *_CANCELLED) as error:
                gone = error.args if isinstance(error, _GoneError) else ()
                lost = [future for future in rest if homes[future] in gone or future.status in _WITHOUT_RESULT]
                results.update(dict.fromkeys(lost, LOST))
            rest = [future for future in rest if future not in results]
        return results

    async def _done(self, futures: Sequence[Future]) -> None:
        """Wait for tasks; ``distributed.wait`` would use the client created last, which may be another one."""
        async for _ in as_completed(futures, loop=self.client.loop):
            pass

    async def _results(self, futures: Sequence[Future]) -> list[Any]:
        """Wait for tasks before gathering: a canceled gather would log errors."""
        await self._done(futures)
        return list(await self.client.gather(futures, asynchronous=True))

    def _watched(self, coming: Coroutine[Any, Any, _T], homes: set[str | None]) -> _T:
        """Wait for a result of the workers `homes` (None: any); raise if one of them is gone."""
        watch = _Watch()
        future = asyncio.run_coroutine_threadsafe(coming, self.client.loop.asyncio_loop)
        try:
            while not concurrent.futures.wait([future], timeout=_LOOK).done:
                watch.look(self.workers(), homes)
            return future.result()
        finally:
            future.cancel()

    def homes_of(self, futures: Sequence[Future]) -> list[str]:
        """Wait for results without fetching them; return the address of a worker that has each."""
        while True:
            with _clear_errors():
                self._watched(self._done(futures), {None})
                for failed in [future for future in futures if future.status == "error"]:
                    failed.result()
            if any(future.status == "cancelled" for future in futures):
                raise _lost_data()
            held = self.client.who_has(list(futures))
            homes = [min(held.get(future.key, ()), default="") for future in futures]
            if all(homes):
                return homes
            time.sleep(_LOOK / 10)

    def check_memory(self, n_bytes: int) -> None:
        """Raise a ``ClusterError`` if the workers together cannot hold so many bytes."""
        limits = [worker["memory_limit"] for worker in self.workers().values()]
        if limits and all(limits) and n_bytes > sum(limits):
            raise ClusterError(
                f"the coded rows take {format_bytes(n_bytes)}, and the {len(limits)} workers have "
                f"{format_bytes(sum(limits))} of memory together: give them more, or more workers"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the workers: two fits at once would need twice the memory; raise a ``ClusterError`` after a day."""
        lock = MultiLock([f"bnplug {address}" for address in sorted(self.workers())], client=self.client)
        # The id names the owner of the lock.
        lock.id = f"{_OURS}{self.client.id} {lock.id}"
        deadline = time.monotonic() + _LONGEST_FIT
        while not lock.acquire(timeout=_LOOK_FOR_DEAD):
            self._release_dead()
            if time.monotonic() > deadline:
                raise ClusterError(f"another fit has had these workers for {_LONGEST_FIT / 3600:g} hours")
        try:
            yield
        finally:
            lock.release()

    def _release_dead(self) -> None:
        """Release the locks of fits whose client is gone."""

        # A local function is pickled by value: the scheduler need not have bnplug.
        def release(dask_scheduler: Any, ours: str) -> None:
            locks = dask_scheduler.extensions["multi_locks"]
            for name, n_left in list(locks.requests_left.items()):
                if n_left == 0 and name.startswith(ours) and name.split()[1] not in dask_scheduler.clients:
                    locks.release(name)

        # A scheduler may refuse to run functions; the lock then stays.
        with suppress(ValueError):
            self.client.run_on_scheduler(release, ours=_OURS)


class _GoneError(Exception):
    """Workers with these addresses are gone."""


class _Watch:
    """Check the workers while waiting for a result."""

    def __init__(self) -> None:
        self._well = time.monotonic()

    def look(self, workers: Mapping[str, Mapping[str, Any]], homes: set[str | None]) -> None:
        """Raise a ``_GoneError`` if a worker is gone, and a ``ClusterError`` if none could run for a long time."""
        gone = {home for home in homes if home is not None} - workers.keys()
        if gone:
            raise _GoneError(*gone)
        needed = workers if None in homes else {home: workers[home] for home in homes if home is not None}
        if any(worker["status"] == "running" for worker in needed.values()):
            self._well = time.monotonic()
        elif time.monotonic() - self._well > _STUCK:
            raise _paused(needed)


def _paused(workers: Mapping[str, Mapping[str, Any]]) -> ClusterError:
    state = ", ".join(f"{address} is {worker['status']}" for address, worker in workers.items())
    return ClusterError(
        f"for {_STUCK:g} s no worker could run anything ({state or 'there is none'}): a worker pauses where its memory "
        "is nearly full. Give the workers more memory, or make the partitions smaller"
    )


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Explain what to do if Dask gives up on a task."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers died one after the other while they worked on a task of this fit, "
            "most likely for want of memory: give the workers more, or make the partitions smaller"
        ) from error


def _lost_data() -> ClusterError:
    return ClusterError(
        "data that the fit needs are lost, and Dask does not know how they were made: were they scattered to a worker "
        "that died? Read them by Dask itself, so that they can be read again"
    )
