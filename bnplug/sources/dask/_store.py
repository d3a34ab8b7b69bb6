"""Blocks of rows on the workers of a Dask cluster, and the tasks that run there.

A pass over the blocks consists of a few tasks for each thread of a worker, on the worker that has the blocks; results
are returned in the order of the blocks. Blocks are the results of Dask tasks. The blocks of a worker that dies are
therefore computed again on another.

The object that is kept of a block between calls is the value of a Dask task, and calls change it in place. It counts
its changes: if a worker died, or Dask moved the value, the count differs from the expected one, and the caller creates
the object again. Hence no change is made twice, or left out.
"""

from __future__ import annotations

import io
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import cloudpickle
import numpy as np
from distributed import Client, Future
from numba.extending import is_jitted

from bnplug.errors import ClusterError, ContractError
from bnplug.sources.dask._cluster import LOST, Cluster, State
from bnplug.table.blocks import Block, Blocks, BlockStore, EachBlock, Rows, check_change, sum_in_order
from bnplug.typing import IntArray

_T = TypeVar("_T")

# The blocks of a task, if results are returned block by block.
_BLOCKS_OF_A_TASK = 4
# Arguments of more bytes are sent to a worker once, not with each task.
_LARGE = 1 << 20
# How often a pass is started on blocks whose worker dies.
_TRIES = 5

# Sums of whole numbers below this are exact in any order.
_LARGEST_WHOLE = 2.0**40

#: A change of the objects of blocks: a method and its arguments.
Change = tuple[str, list[Any]]

#: The blocks of a task, by their numbers.
_Share = tuple[int, ...]


class _Task(NamedTuple):
    share: _Share
    home: str
    future: Future


class _Pass(NamedTuple):
    """A pass over all blocks: start tasks, locate the worker of every block, and restore blocks of dead workers."""

    submit: Callable[[_Share, str], Future]
    homes: Callable[[], list[str]]
    recover: Callable[[_Share], None]


class DaskStore(BlockStore):
    """Blocks that are results of Dask tasks.

    Parameters
    ----------
    client : distributed.Client
    blocks : sequence of Future
        The result of each is a pair of codes (variables, rows), and weights or None.
    sizes : sequence of int
        The number of rows of each block.
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

    def each(self, function: Callable[..., _T], *args: Any) -> Iterator[_T]:
        """Yield the results of `function` for every block, in their order; results wait on the workers."""
        ready: dict[int, _T] = {}
        turn = 0
        for share, results in self.done(self._pass(list, function, args), _BLOCKS_OF_A_TASK):
            ready.update(zip(share, results, strict=True))
            while turn in ready:
                yield ready.pop(turn)
                turn += 1

    def sum(self, function: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
        """Add up the results of `function` for all blocks: whole numbers on the workers, others in block order."""
        return _joined(self.done(self._pass(sum_whole, function, args)))

    def _pass(self, collect: Callable[..., Any], function: Callable[..., Any], args: Sequence[Any]) -> _Pass:
        calls = Calls([[function, *args]])

        def submit(share: _Share, home: str) -> Future:
            blocks = [self.blocks[i] for i in share]
            return self.submit(home, run, blocks, self.parcel(calls, home, share), collect)

        return _Pass(submit, lambda: self.homes, lambda lost: self.locate())

    def spawn(self, factory: Callable[..., Any], *args: Any) -> Blocks:
        """Create an object for every block with `factory`, and keep it on the worker of the block."""
        return _DaskBlocks(self, factory, args)

    def take(self, rows: Sequence[IntArray]) -> DaskStore:
        """Return a store of some rows of each block, which are copied on its worker."""
        kept = [i for i, numbers in enumerate(rows) if len(numbers)]
        blocks = [self.submit(self.homes[i], take_rows, self.blocks[i], rows[i], strict=False) for i in kept]
        return DaskStore(self.cluster.client, blocks, [len(rows[i]) for i in kept], self.weighted)

    def submit(self, home: str, function: Callable[..., Any], *args: Any, strict: bool = True) -> Future:
        """Start a task on a worker; unless `strict`, any other worker may run it if that one is gone."""
        return self.cluster.client.submit(function, *args, workers=[home], allow_other_workers=not strict, pure=False)

    def parcel(self, calls: Calls, home: str, share: _Share) -> bytes | Future:
        """Return the pickled calls for some blocks of a worker; large ones are sent to each worker once."""
        packed = calls.of(share)
        if len(packed) < _LARGE:
            return packed
        place = home, share if calls.each else ()
        if place not in calls.sent:
            try:
                calls.sent[place] = self.cluster.client.scatter(packed, workers=[home], hash=False)
            except TimeoutError:  # the worker is gone, which waiting for the task will show
                return packed
        return calls.sent[place]

    def locate(self) -> None:
        """Find the workers of the blocks, after the blocks of dead workers are computed again."""
        self.homes = self.cluster.homes_of(self.blocks)
        self.threads = {address: int(worker["nthreads"]) for address, worker in self.cluster.workers().items()}

    def done(self, work: _Pass, most: int | None = None) -> Iterator[tuple[_Share, Any]]:
        """Yield the blocks and the results of tasks, in the order of their first blocks.

        With `most`, a task has that many blocks, and its results wait on the worker.
        """
        tasks = deque(self._begun(range(len(self.blocks)), work, most))
        together = len(tasks) if most is None else 2 * len({task.home for task in tasks})
        while tasks:
            # Workers forget the results of tasks that are no longer in the queue.
            yield from self._finished([tasks.popleft() for _ in range(min(together, len(tasks)))], work)

    def _begun(self, numbers: Iterable[int], work: _Pass, most: int | None = None) -> list[_Task]:
        """Start the tasks of some blocks, in the order of their first blocks."""
        homes = work.homes()
        shares = self._shares(numbers, homes, most)
        return [_Task(share, homes[share[0]], work.submit(share, homes[share[0]])) for share in shares]

    def _finished(self, tasks: list[_Task], work: _Pass) -> Iterator[tuple[_Share, Any]]:
        """Yield the results of tasks, when all are done; lost tasks are started again."""
        tries: Counter[int] = Counter()
        while tasks:
            results = self.cluster.outcomes({task.future: task.home for task in tasks})
            yield from [(task.share, results[task.future]) for task in tasks if results[task.future] is not LOST]
            lost = sorted(i for task in tasks if results[task.future] is LOST for i in task.share)
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
        """Divide blocks into tasks with blocks of one worker each, in the order of their first blocks."""
        of_home: dict[str, list[int]] = {}
        for i in numbers:
            of_home.setdefault(homes[i], []).append(i)
        shares: list[_Share] = []
        for home, blocks in of_home.items():
            size = most or -(-len(blocks) // self.threads.get(home, 1))
            shares += [tuple(blocks[low : low + size]) for low in range(0, len(blocks), size)]
        return sorted(shares)


class _DaskBlocks(Blocks):
    """Objects on workers, one for each block; the log has the changes to repeat if a worker dies."""

    def __init__(self, store: DaskStore, factory: Callable[..., Any], args: Sequence[Any]) -> None:
        self._store = store
        self._recipe = Calls([[factory, *args]])
        self._log: list[Change] = []
        self._n_changes = 0
        self._deferred: list[Change] = []
        self._homes = list(store.homes)
        self._objects: list[Any] = [None] * len(store.blocks)
        self._make(range(len(store.blocks)))

    def call(self, method: str, *args: Any) -> list[Any]:
        """Return the results of a method of each object, in the order of the blocks."""
        done = self._done(list, method, args)
        results = dict(pair for share, values in done for pair in zip(share, values, strict=True))
        changed = [results[i] is None for i in range(len(results))]
        if any(changed) and not all(changed):
            raise ContractError(f"{method} returned None for some blocks, and something for others")
        if changed[0]:
            self._note([(method, list(args))])
        return [results[i] for i in range(len(results))]

    def change(self, method: str, *args: Any) -> None:
        """Change each object by a method, together with the next call."""
        self._deferred.append((method, list(args)))

    def each(self, method: str, *args: Any) -> Iterator[Any]:
        """Yield the results of a method of each object, in the order of the blocks."""
        return iter(self.call(method, *args))

    def sum(self, method: str, *args: Any) -> list[Any]:
        """Add up the results of a method of each object: whole numbers on the workers, others in block order."""
        return _joined(self._done(sum_whole, method, args))

    def _done(self, collect: Callable[..., Any], method: str, args: Sequence[Any]) -> list[tuple[_Share, Any]]:
        """Return the blocks and results of tasks, after the deferred changes."""
        calls = Calls([[name, *given] for name, given in (*self._deferred, (method, args))])

        def submit(share: _Share, home: str) -> Future:
            kept, parcel = [self._objects[i] for i in share], self._store.parcel(calls, home, share)
            return self._store.submit(home, call, kept, self._n_changes, parcel, collect)

        done = list(self._store.done(_Pass(submit, lambda: self._homes, self._recover)))
        self._note(self._deferred)
        self._deferred = []
        return done

    def _note(self, changes: Iterable[Change]) -> None:
        """Log changes that were made to all objects."""
        for method, args in changes:
            self._n_changes += 1
            self._log = [] if method == "clear" else [*self._log, (method, args)]

    def _make(self, numbers: Iterable[int]) -> None:
        """Create the objects of some blocks, with all changes so far."""
        store = self._store
        for i in numbers:
            home = self._homes[i] = store.homes[i]
            log = pack([(method, EachBlock.of(args, i)) for method, args in self._log])
            parcel = store.parcel(self._recipe, home, (i,))
            self._objects[i] = store.submit(home, make, store.blocks[i], parcel, log, self._n_changes)

    def _recover(self, lost: _Share) -> None:
        self._store.locate()
        self._make(lost)


def _joined(done: Iterable[tuple[_Share, Sums]]) -> list[Any]:
    """Add up the sums of tasks: of whole numbers first, then all others in the order of the blocks."""
    tasks = list(done)
    others = {share[position]: parts for share, sums in tasks for position, parts in sums.others}
    return sum_in_order([*(sums.whole for _, sums in tasks if sums.whole), *(others[i] for i in sorted(others))])


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickle compiled functions of modules by name: pickled by value, each worker would compile them again."""

    def reducer_override(self, obj: Any) -> Any:
        if is_jitted(obj):
            function: Any = obj.py_func
            if getattr(sys.modules.get(function.__module__), function.__name__, None) is obj:
                return _named, (function.__module__, function.__name__)
        return super().reducer_override(obj)


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def pack(content: Any) -> bytes:
    """Pickle; functions that are not in a module are pickled by value."""
    file = io.BytesIO()
    _Pickler(file).dump(content)
    return file.getvalue()


class Calls:
    """Calls of a pass over the blocks, pickled once or, if an argument differs between blocks, for every task."""

    def __init__(self, content: Sequence[Sequence[Any]]) -> None:
        self._content = [list(call) for call in content]
        self.each = any(isinstance(argument, EachBlock) for call in content for argument in call)
        self._packed: bytes | None = None
        # The futures of large calls, by worker and blocks.
        self.sent: dict[tuple[str, Sequence[int]], Any] = {}

    def of(self, numbers: Sequence[int]) -> bytes:
        """Return the pickled calls of some blocks."""
        if self.each:
            return pack([[EachBlock.of(call, number) for call in self._content] for number in numbers])
        if self._packed is None:
            self._packed = pack([self._content])
        return self._packed


def for_each(parcel: bytes, n: int) -> list[list[list[Any]]]:
    """Return the calls of each of n blocks."""
    calls: list[list[list[Any]]] = cloudpickle.loads(parcel)
    return calls if len(calls) == n else calls * n


class Sums(NamedTuple):
    """The sums over blocks with only whole numbers, if any, and position and results of every other block."""

    whole: list[Any]
    others: list[tuple[int, list[Any]]]


class Kept:
    """The object of one block, and the number of its changes; empty in another process, where it is not valid."""

    def __init__(self, value: Any = None, n_changes: int = -1) -> None:
        self.value, self.n_changes = value, n_changes

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, ()


def run(blocks: Sequence[Rows], parcel: bytes, collect: Callable[[Iterable[Any]], Any] = list) -> Any:
    """Return the results of the parcel's only function for each block, as a list or as sums (:func:`sum_whole`)."""
    calls = zip(blocks, for_each(parcel, len(blocks)), strict=True)
    return collect(function(rows, *args) for rows, ((function, *args),) in calls)


def make(block: Rows, parcel: bytes, log: bytes, n_changes: int) -> Kept:
    """Create the object of a block, and repeat the changes in the log."""
    (((factory, *args),),) = cloudpickle.loads(parcel)
    value = factory(block, *args)
    for method, arguments in cloudpickle.loads(log):
        getattr(value, method)(*arguments)
    return Kept(value, n_changes)


def call(
    kept: Sequence[Kept], n_changes: int, parcel: bytes, collect: Callable[[Iterable[Any]], Any] = list
) -> Any | State:
    """Return the results of the last call for each block, after the changes; LOST if a block has seen others."""
    each = list(zip(kept, for_each(parcel, len(kept)), strict=True))
    # More changes: this task was done, at least in part, and its result was lost.
    if any(not n_changes <= block.n_changes <= n_changes + len(calls) for block, calls in each):
        return LOST
    return collect(_called(block, n_changes, calls) for block, calls in each)


def _called(kept: Kept, n_changes: int, calls: list[list[Any]]) -> Any:
    result, last = None, n_changes + len(calls) - 1
    for number, (method, *args) in enumerate(calls, n_changes):
        if kept.n_changes <= number:
            result = getattr(kept.value, method)(*args)
            if number < last:
                check_change(method, [result])
            kept.n_changes += result is None
    return result


def sum_whole(results: Iterable[Sequence[Any]]) -> Sums:
    """Add up whole numbers, which is exact; the caller adds all others in the order of the blocks."""
    whole: list[Any] = []
    others: list[tuple[int, list[Any]]] = []
    for position, parts in enumerate(results):
        if not all(map(_is_whole, parts)):
            others.append((position, list(parts)))
        else:
            whole = sum_in_order([whole, parts]) if whole else list(parts)
    return Sums(whole, others)


def _is_whole(part: Any) -> bool:
    values = np.asarray(part)
    if values.dtype.kind != "f":
        return values.dtype.kind in "iub"
    return bool((np.abs(values) < _LARGEST_WHOLE).all() and (values == np.rint(values)).all())


def take_rows(block: Rows, rows: IntArray) -> Rows:
    """Return some rows of a block."""
    codes, weights, shares = Rows(*block)
    return Block(codes, weights, rows, shares).load()


def n_rows(block: Rows) -> int:
    """Return the number of rows of a block."""
    return int(block[0].shape[1])
