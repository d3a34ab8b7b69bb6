"""Blocks of rows on the workers of a Dask cluster.

A pass over the blocks is a task for each thread of a worker, or a few, on the worker that has the blocks; results come
back in the order of the blocks, whichever worker is first. Blocks are the results of Dask tasks, so those of a worker
that dies are computed again on another.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from distributed import Client, Future

from bnplug.arrays import IntArray
from bnplug.dask import _tasks
from bnplug.dask._cluster import Cluster
from bnplug.dask._parcels import Calls, pack
from bnplug.data.blocks import Blocks, BlockStore, EachBlock, sum_in_order
from bnplug.errors import ClusterError, ContractError

_T = TypeVar("_T")

# So many blocks of a worker are one task of a pass whose results are brought back block by block.
_BLOCKS_OF_A_TASK = 4
# Arguments of more bytes than this go to a worker once, and not with each task.
_LARGE = 1 << 20
# A pass is begun so often on blocks whose worker dies.
_TRIES = 5

#: The blocks of a task, by their numbers.
_Share = tuple[int, ...]


class _Task(NamedTuple):
    """A task under way: its blocks, the address of its worker, and its result to be."""

    share: _Share
    home: str
    future: Future


class _Pass(NamedTuple):
    """Something that is done with all blocks.

    Attributes
    ----------
    submit : function
        Starts the task of some blocks on the worker of an address.
    homes : function
        Tells the address of every block's worker.
    recover : function
        Brings back what some blocks need, whose worker has gone; `homes` then tells where it is.
    """

    submit: Callable[[_Share, str], Future]
    homes: Callable[[], list[str]]
    recover: Callable[[_Share], None]


class DaskStore(BlockStore):
    """Blocks that are results of Dask tasks.

    Parameters
    ----------
    client : distributed.Client
    blocks : sequence of Future
        Each gives codes (variables, rows), and weights or None.
    sizes : sequence of int
        The number of rows of each.
    weighted : bool
        Whether rows have weights.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     blocks = [client.submit(lambda i: (np.full((1, 3), i, dtype=np.uint8), None), i) for i in range(2)]
    ...     DaskStore(client, blocks, [3, 3], weighted=False).map(lambda rows: int(rows[0].sum()))
    [0, 3]
    """

    def __init__(self, client: Client, blocks: Sequence[Future], sizes: Sequence[int], weighted: bool) -> None:
        self.cluster = Cluster(client)
        self.blocks, self.sizes, self.weighted = list(blocks), tuple(sizes), weighted
        self.locate()

    def map(self, function: Callable[..., _T], *args: Any) -> list[_T]:
        """Return what `function` makes of every block, in their order."""
        return list(self.each(function, *args))

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield what `function` makes of every block, in their order; results wait on the workers for their turn."""
        ready: dict[int, _T] = {}
        turn = 0
        for share, found in self.done(self._pass(_tasks.run, function, args), _BLOCKS_OF_A_TASK):
            ready.update(zip(share, found, strict=True))
            while turn in ready:
                yield ready.pop(turn)
                turn += 1

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up what `function` returns of every block: whole numbers on the workers, all else in their order."""
        return _joined(self.done(self._pass(_tasks.run_and_sum, function, args)))

    def _pass(self, task: Callable[..., Any], function: Callable[..., Any], args: Sequence[Any]) -> _Pass:
        parcels = _Parcels(self, [[function, *args]])

        def submit(share: _Share, home: str) -> Future:
            return self.submit(home, task, [self.blocks[i] for i in share], parcels.at(home, share))

        return _Pass(submit, lambda: self.homes, lambda lost: self.locate())

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Return what `factory` makes of every block, kept where the block is."""
        return _DaskBlocks(self, factory, args)

    def take(self, rows: Sequence[IntArray]) -> DaskStore:
        """Return a store of some rows of each block, which are copied on its worker."""
        kept = [i for i, own in enumerate(rows) if len(own)]
        blocks = [self.submit(self.homes[i], _tasks.take, self.blocks[i], rows[i], strict=False) for i in kept]
        return DaskStore(self.cluster.client, blocks, [len(rows[i]) for i in kept], self.weighted)

    def submit(self, home: str, function: Callable[..., Any], *args: Any, strict: bool = True) -> Future:
        """Start a task on a worker; if it is not `strict`, on any where that one has gone."""
        return self.cluster.client.submit(function, *args, workers=[home], allow_other_workers=not strict, pure=False)

    def locate(self) -> None:
        """Find out where the blocks are, once those of workers that died are computed again."""
        self.homes = self.cluster.homes_of(self.blocks)
        self.threads = {address: int(own["nthreads"]) for address, own in self.cluster.workers().items()}

    def done(self, work: _Pass, most: int | None = None) -> Iterator[tuple[_Share, Any]]:
        """Yield the blocks of tasks and what each task gave, in the order of the first blocks.

        Parameters
        ----------
        work : _Pass
        most : int, optional
            So many blocks are a task, and its results wait on the worker for their turn; by default a task has as many
            as a thread has to do, and all results come together.
        """
        tasks = deque(self._begun(range(len(self.blocks)), work, most))
        together = len(tasks) if most is None else 2 * len({task.home for task in tasks})
        while tasks:
            # What is out of the queue is forgotten by the workers too.
            yield from self._finished([tasks.popleft() for _ in range(min(together, len(tasks)))], work)

    def _begun(self, numbers: Iterable[int], work: _Pass, most: int | None = None) -> list[_Task]:
        """Start the tasks of some blocks; they are in the order of their first blocks."""
        homes = work.homes()
        shares = self._shares(numbers, homes, most)
        return [_Task(share, homes[share[0]], work.submit(share, homes[share[0]])) for share in shares]

    def _finished(self, tasks: list[_Task], work: _Pass) -> Iterator[tuple[_Share, Any]]:
        """Yield what tasks gave, once all are done; those that were lost are begun again."""
        tries: Counter[int] = Counter()
        while tasks:
            found = self.cluster.outcomes({task.future: task.home for task in tasks})
            yield from [(own.share, found[own.future]) for own in tasks if found[own.future] is not _tasks.LOST]
            lost = sorted(i for own in tasks if found[own.future] is _tasks.LOST for i in own.share)
            tries.update(lost)
            if max(tries.values(), default=0) == _TRIES:
                raise ClusterError(
                    f"workers died {_TRIES} times while they worked on the same rows, most likely for want of memory: "
                    "give the workers more, or make the partitions smaller"
                )
            if lost:
                work.recover(tuple(lost))
            tasks = self._begun(lost, work)

    def _shares(self, numbers: Iterable[int], homes: Sequence[str], most: int | None = None) -> list[_Share]:
        """Return the blocks of each task, in the order of their first ones; those of a task are of one worker."""
        of_home: dict[str, list[int]] = {}
        for i in numbers:
            of_home.setdefault(homes[i], []).append(i)
        found: list[_Share] = []
        for home, own in of_home.items():
            size = most or -(-len(own) // self.threads.get(home, 1))
            found += [tuple(own[low : low + size]) for low in range(0, len(own), size)]
        return sorted(found)


class _DaskBlocks(Blocks):
    """Objects on workers, one for each block; what :meth:`DaskStore.spawn` gives.

    The changes that calls made are kept here, from the last ``clear`` on: where a worker dies, its objects are made
    anew on another, and the changes are made to them again. Changes that were put off go with the next call.

    Parameters
    ----------
    store : DaskStore
    factory : callable
    args : sequence
    """

    def __init__(self, store: DaskStore, factory: Callable[..., Any], args: Sequence[Any]) -> None:
        self._store = store
        self._recipe = _Parcels(store, [[factory, *args]])
        self._log: list[_tasks.Change] = []
        self._n_changes = 0
        self._put_off: list[_tasks.Change] = []
        self._homes = list(store.homes)
        self._objects: list[Any] = [None] * len(store.blocks)
        self._make(range(len(store.blocks)))

    def call(self, method: str, *args: Any) -> list[Any]:
        """Return what a method of each object returns, in the order of the blocks."""
        found = dict(
            pair for share, own in self._done(_tasks.call, method, args) for pair in zip(share, own, strict=True)
        )
        changed = [found[i] is None for i in range(len(found))]
        if any(changed) and not all(changed):
            raise ContractError(f"{method} returned None for some blocks, and something for others")
        if changed[0]:
            self._note([(method, list(args))])
        return [found[i] for i in range(len(found))]

    def change(self, method: str, *args: Any) -> None:
        """Have a method change each object, together with the next call."""
        self._put_off.append((method, list(args)))

    def each(self, method: str, *args: Any) -> Iterator[Any]:
        """Yield what a method of each object returns, in the order of the blocks."""
        return iter(self.call(method, *args))

    def sum(self, method: str, *args: Any) -> list[Any]:
        """Add up what a method of each object returns: whole numbers on the workers, all else in their order."""
        return _joined(self._done(_tasks.call_and_sum, method, args))

    def _done(self, task: Callable[..., Any], method: str, args: Sequence[Any]) -> list[tuple[_Share, Any]]:
        """Return the blocks of tasks and what each gave; the changes that were put off are made first."""
        calls = [[name, *own] for name, own in (*self._put_off, (method, args))]
        submit = partial(self._submit, task, _Parcels(self._store, calls))
        done = list(self._store.done(_Pass(submit, lambda: self._homes, self._recover)))
        self._note(self._put_off)
        self._put_off = []
        return done

    def _note(self, changes: Iterable[_tasks.Change]) -> None:
        """Keep changes that were made to all objects, for those that have to be made anew."""
        for method, args in changes:
            self._n_changes += 1
            self._log = [] if method == "clear" else [*self._log, (method, args)]

    def _submit(self, task: Callable[..., Any], parcels: _Parcels, share: _Share, home: str) -> Future:
        kept = [self._objects[i] for i in share]
        return self._store.submit(home, task, kept, self._n_changes, parcels.at(home, share))

    def _make(self, numbers: Iterable[int]) -> None:
        """Make the objects of some blocks, with all changes so far."""
        store = self._store
        for i in numbers:
            home = self._homes[i] = store.homes[i]
            log = pack([(method, EachBlock.of(args, i)) for method, args in self._log])
            parcel = self._recipe.at(home, (i,))
            self._objects[i] = store.submit(home, _tasks.make, store.blocks[i], parcel, log, self._n_changes)

    def _recover(self, lost: _Share) -> None:
        self._store.locate()
        self._make(lost)


def _joined(done: Iterable[tuple[_Share, _tasks.Sums]]) -> list[Any]:
    """Add up the sums that tasks gave: those of whole numbers first, then all else in the order of the blocks."""
    tasks = list(done)
    others = {share[position]: parts for share, own in tasks for position, parts in own.others}
    return sum_in_order([*(own.whole for _, own in tasks if own.whole), *(others[i] for i in sorted(others))])


class _Parcels:
    """What is called in a pass, as tasks are given it: what is large is sent to each worker once.

    Parameters
    ----------
    store : DaskStore
    calls : sequence of sequence
        See :class:`~bnplug.dask._parcels.Calls`.
    """

    def __init__(self, store: DaskStore, calls: Sequence[Sequence[Any]]) -> None:
        self._client = store.cluster.client
        self._calls = Calls(calls)
        self._there: dict[tuple[str, _Share], Future] = {}

    def at(self, home: str, share: _Share) -> bytes | Future:
        """Return what is called for some blocks of a worker."""
        packed = self._calls.of(share)
        if len(packed) < _LARGE:
            return packed
        place = home, share if self._calls.each else ()
        if place not in self._there:
            try:
                self._there[place] = self._client.scatter(packed, workers=[home], hash=False)
            except TimeoutError:  # the worker has gone, which whoever waits for the task will notice
                return packed
        return self._there[place]
