"""The workers of a cluster: which there are, and waiting for them, which ends where nothing can come any more."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from distributed import Client, Future, KilledWorker, MultiLock, as_completed, default_client

from bnplug.dask._tasks import LOST
from bnplug.errors import ClusterError

_T = TypeVar("_T")

# While something is waited for, the workers are looked at every so many seconds.
_LOOK = 1.0
# So many seconds without a worker that can run anything, and it will not come.
_STUCK = 60.0
# Another fit on the same workers may take so many seconds before this one gives up.
_LONGEST_FIT = 24 * 3600.0
# While it does, its client is looked for every so many seconds: one that died with the lock does not release it.
_LOOK_FOR_DEAD = 5.0
# The locks of fits are known by this.
_OURS = "bnplug "
# What is raised for a result that was lost with its worker, and cannot be computed again; such a future's states.
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)
_WITHOUT_RESULT = ("cancelled", "lost")


def find_client(client: Client | None) -> Client:
    """Return the client to use: the given one, or the one that was made last.

    Raises
    ------
    ClusterError
        If there is none.
    """
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
    """The workers that a client leads to.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each worker, by its address.

        The scheduler is asked itself: what ``client.scheduler_info`` returns has no workers where the client happens
        to ask, as it does again and again, for all else.

        Raises
        ------
        ClusterError
            If the scheduler has gone.
        """
        try:
            found: dict[str, dict[str, Any]] = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        except OSError as error:
            raise ClusterError(f"the scheduler of the cluster cannot be reached any more: {error}") from error
        return found

    def wait_for_workers(self) -> None:
        """Wait until there is a worker.

        Raises
        ------
        ClusterError
            If none comes.
        """
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
        found = self.outcomes(dict.fromkeys(futures))
        if any(own is LOST for own in found.values()):
            raise _lost_data()
        return [found[future] for future in futures]

    def outcomes(self, homes: Mapping[Future, str | None]) -> dict[Future, Any]:
        """Return the results of tasks; :data:`LOST` where the worker that a task is for has gone.

        Parameters
        ----------
        homes : mapping of Future to str or None
            The address of the worker that each task must run on; None where any may.
        """
        found: dict[Future, Any] = {}
        rest = list(homes)
        while rest:
            try:
                with _clear_errors():
                    found.update(zip(rest, self._gather(rest, {homes[future] for future in rest}), strict=True))
            except _GoneError as gone:
                lost = [own for own in rest if homes[own] in gone.addresses or own.status in _WITHOUT_RESULT]
                found.update(dict.fromkeys(lost, LOST))
            rest = [future for future in rest if future not in found]
        return found

    def _gather(self, futures: list[Future], homes: set[str | None]) -> list[Any]:
        """Return results once all are there; raise where a worker has gone that one must come from."""
        try:
            return self._watched(self._results(futures), homes)
        except _CANCELLED as error:
            raise _GoneError(set()) from error

    async def _done(self, futures: Sequence[Future]) -> None:
        """Wait for tasks; ``distributed.wait`` does so by the client that was made last, which may be another."""
        async for _ in as_completed(futures, loop=self.client.loop):
            pass

    async def _results(self, futures: Sequence[Future]) -> list[Any]:
        """Wait for results; what is not there yet is not gathered, as that would complain where it is given up."""
        await self._done(futures)
        return list(await self.client.gather(futures, asynchronous=True))

    def _watched(self, coming: Coroutine[Any, Any, _T], homes: set[str | None]) -> _T:
        """Wait for what the client waits for, of one of these workers; None is any."""
        watch = _Watch()
        future = asyncio.run_coroutine_threadsafe(coming, self.client.loop.asyncio_loop)
        try:
            while not concurrent.futures.wait([future], timeout=_LOOK).done:
                self._look(watch, homes)
            return future.result()
        finally:
            future.cancel()

    def _look(self, watch: _Watch, homes: set[str | None]) -> None:
        workers = self.workers()
        gone = {home for home in homes if home is not None} - workers.keys()
        if gone:
            raise _GoneError(gone)
        watch.look(workers, homes)

    def homes_of(self, futures: Sequence[Future]) -> list[str]:
        """Wait until results are on workers, without bringing them here; return the address of one for each."""
        while True:
            with _clear_errors():
                self._watched(self._done(futures), {None})
                for failed in [own for own in futures if own.status == "error"]:
                    failed.result()
            if any(own.status == "cancelled" for own in futures):
                raise _lost_data()
            held = self.client.who_has(list(futures))
            homes = [min(held.get(future.key, ()), default="") for future in futures]
            if all(homes):
                return homes
            time.sleep(_LOOK / 10)

    def check_memory(self, n_bytes: int) -> None:
        """Raise a :class:`~bnplug.errors.ClusterError` if the workers together cannot hold so many bytes."""
        limits = [own["memory_limit"] for own in self.workers().values()]
        if limits and all(limits) and n_bytes > sum(limits):
            raise ClusterError(
                f"the coded rows take {_in_words(n_bytes)}, and the {len(limits)} workers have "
                f"{_in_words(sum(limits))} of memory together: give them more, or more workers"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Fit on these workers while no other fit does: two at once would need twice the memory and starve each other.

        Raises
        ------
        ClusterError
            If another fit does not end.
        """
        lock = MultiLock([f"bnplug {address}" for address in sorted(self.workers())], client=self.client)
        # So that others know whose it is.
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
        """Release what is locked for a fit whose client has gone; the scheduler knows all clients."""

        # Not of the module, so that it goes to the scheduler whole: bnplug need not be there.
        def release(dask_scheduler: Any, ours: str) -> None:
            locks = dask_scheduler.extensions["multi_locks"]
            for name, n_left in list(locks.requests_left.items()):
                if n_left == 0 and name.startswith(ours) and name.split()[1] not in dask_scheduler.clients:
                    locks.release(name)

        # Where the scheduler runs nothing that clients send, a dead one's lock stays.
        with suppress(ValueError):
            self.client.run_on_scheduler(release, ours=_OURS)


class _GoneError(Exception):
    """Workers are not there any more, or results of them."""

    def __init__(self, addresses: set[str]) -> None:
        super().__init__(addresses)
        self.addresses = addresses


class _Watch:
    """Told again and again how the workers are, while something is waited for."""

    def __init__(self) -> None:
        self._well = time.monotonic()

    def look(self, workers: Mapping[str, Mapping[str, Any]], homes: set[str | None]) -> None:
        """Raise a :class:`~bnplug.errors.ClusterError` where nothing has run, and nothing could, for a long time."""
        own = workers if None in homes else {home: workers[home] for home in homes if home is not None}
        if any(worker["status"] == "running" for worker in own.values()):
            self._well = time.monotonic()
        elif time.monotonic() - self._well > _STUCK:
            raise _paused(own)


def _paused(workers: Mapping[str, Mapping[str, Any]]) -> ClusterError:
    state = ", ".join(f"{address} is {worker['status']}" for address, worker in workers.items())
    return ClusterError(
        f"for {_STUCK:g} s no worker could run anything ({state or 'there is none'}): a worker pauses where its memory "
        "is nearly full. Give the workers more memory, or make the partitions smaller"
    )


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Say what to do where Dask gives a task up."""
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


def _in_words(n_bytes: float) -> str:
    """Return a number of bytes as one reads it.

    Examples
    --------
    >>> _in_words(5_300_000_000)
    '5.3 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} GB"
